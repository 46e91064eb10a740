/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86, references one after the other: core=simple, for which module.c calls this in the place of core.c's
 * x86_core_block(), and what comes between the windows of sampling.h.
 */
#ifndef PEET_X86_SIMPLE_H
#define PEET_X86_SIMPLE_H

#include "core.h"

/** x86_simple_warm() - one execution of a block that takes no time: what it changes in predictors, TLBs and caches
 * @fetches: 0: nothing that is asked before instructions are there: branch predictors, instruction cache */
void x86_simple_warm(struct x86_thread *t, const struct x86_code *code, const uint64_t *values, int fetches);

/** x86_simple_block() - one execution of a block, between x86_core_begin() and the next; the frontier moves */
void x86_simple_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values);

#endif
