/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range operations of libraries (PEET_ABSTRACT_RANGE) among blocks that are taken without events: the code that direct.c makes calls here,
 * here the machine is told, and what there is to count is added up.  The first of each kind goes the way of all other
 * records (decode.c), which makes its block.
 */
#include "direct.h"
#include <peet/raw.h>

/* Which of the ranges[]; PEET__DIRECT_RANGES and more: none. */
static inline uint64_t index_of(uint64_t what)
{
    const uint64_t kind = what & ~(uint64_t)PEET_SYNTHETIC_MORE;
    return kind < PEET_SYNTHETIC_COUNT ? kind + (what & PEET_SYNTHETIC_MORE ? PEET_SYNTHETIC_COUNT : 0) : PEET__DIRECT_RANGES;
}

uint64_t peet__direct_range(struct peet_direct_run *run)
{
    struct peet__direct *const direct = peet__direct_of(run);
    const uint64_t *at = run->at;
    uint64_t instructions = 0, values[8];
    do {
        const uint64_t what = at[1], bytes = at[4], index = index_of(what);
        struct peet__direct_range *r;
        if (bytes != 0) {
            if (index >= PEET__DIRECT_RANGES || (r = &direct->ranges[index])->block == NULL)
                break;
            peet_synthetic_values((unsigned)what, at[2], at[3], bytes, values);
            r->times++;
            r->elements += bytes / 8 + bytes % 8;
            instructions += r->block->ninsns;
            direct->table.range(run, r->block, values);
            if (direct->nobservers != 0)
                direct->shown(direct->shown_arg, &(struct peet_block_event){r->block, values, run->context, 1, NULL}, UINT32_MAX);
        }
        at += 1 + PEET__RANGE_ARGS;
    } while (at < run->end && *at == PEET__RANGE_RECORD && run->time < run->limit);
    run->at = at;
    return instructions;
}

void peet__direct_range_known(struct peet__direct *direct, unsigned what, const struct peet_block *block)
{
    const uint64_t index = index_of(what);
    if (direct->table.range != NULL && index < PEET__DIRECT_RANGES)
        direct->ranges[index].block = block;
}

void peet__direct_ranges_executed(struct peet__direct *direct, peet_program_executed *fn, void *arg)
{
    for (unsigned k = 0; k < PEET__DIRECT_RANGES; k++) {
        struct peet__direct_range *r = &direct->ranges[k];
        uint64_t reads = 0, writes = 0;
        if (r->times == 0)
            continue;
        for (uint32_t i = 0; i < r->block->insns[0].nrefs; i++) { /* words; bytes are the same */
            reads += r->block->refs[i].kind == PEET_REF_LOAD;
            writes += r->block->refs[i].kind == PEET_REF_STORE;
        }
        fn(arg, r->block, r->times, reads * r->elements, writes * r->elements);
        r->times = r->elements = 0;
    }
}
