/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86, core=simple: what module.c calls in the place of core.c's x86_core_block().
 */
#ifndef PEET_X86_SIMPLE_H
#define PEET_X86_SIMPLE_H

#include "core.h"

/** x86_simple_block() - one execution of a block, between x86_core_begin() and the next; the frontier moves */
void x86_simple_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values);

#endif
