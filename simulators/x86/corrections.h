/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a preset says of instructions instead of LLVM's model (docs/X86.md, "Presets"): groups of opcodes by patterns, the last one that fits
 * counts.  Called by digest.c.
 */
#ifndef PEET_X86_CORRECTIONS_H
#define PEET_X86_CORRECTIONS_H

#include "core.h"

/** A cost as the preset corrects it, and what it points to. */
struct x86_corrected {
    struct peet_cost cost;
    struct peet_resource_use uses[X86_USES];
    uint16_t writes[16];
};

/** The model's resource of that name.  Returns: its index; -1: there is none */
int x86_resource_named(const struct peet_processor *p, const char *name);
/** x86_corrections_check() - do the corrections' units exist?  Returns: 0, or -1 after env->fail() */
int x86_corrections_check(struct x86 *x);
/** x86_correct() - an instruction's cost as the preset has it.  Returns: @cost, or a copy in @out */
const struct peet_cost *x86_correct(struct x86 *x, const struct peet_insn *insn, const struct peet_cost *cost,
    struct x86_corrected *out);
void x86_corrections_fini(struct x86 *x);

#endif
