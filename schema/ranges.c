/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range operations of libraries (PEET_ABSTRACT_RANGE) among blocks that are taken without events: the code that direct.c makes calls here,
 * here the machine is told, and what there is to count is added up.  The first of each kind goes the way of all other
 * records (decode.c), which makes its block.
 */
#include "direct.h"
#include "ranges.h"
#include <peet/raw.h>

enum { DESTINATION = 2, SOURCE = 3 }; /* words of the record */

/* Which of the ranges[]; PEET__DIRECT_RANGES and more: none. */
static inline uint64_t index_of(uint64_t what)
{
    const uint64_t kind = what & ~(uint64_t)PEET_SYNTHETIC_MORE;
    return kind < PEET_SYNTHETIC_COUNT ? kind + (what & PEET_SYNTHETIC_MORE ? PEET_SYNTHETIC_COUNT : 0) : PEET__DIRECT_RANGES;
}

/* The line of so many bytes, if it is where it was last.  Returns: whether they are in one, and it is */
static inline __attribute__((always_inline)) int look(const struct peet_direct_run *run, uint64_t address, uint64_t bytes, uint64_t either, uint32_t *out_at)
{
    const struct peet_direct_table *const t = run->table;
    const uint64_t line = address >> t->line_shift;
    *out_at = run->hints[line & t->hint_mask];
    return (run->keys[*out_at] | either) == (line << 2 | 3) && (address + bytes - 1) >> t->line_shift == line;
}

/* The elements are words, then bytes; first all words of the one range, then those of the other, and so with bytes.  Returns: whether
 * nothing is left to the machine */
static inline __attribute__((always_inline)) int hit(struct peet_direct_run *run, const struct peet__direct_range *r, const uint64_t *at, uint64_t bytes, uint64_t elements)
{
    uint32_t first, second;
    uint64_t stamp = run->stamp + elements;
    if (!look(run, at[r->first], bytes, r->either[0], &first))
        return 0;
    if (r->second != 0) {
        if (!look(run, at[r->second], bytes, r->either[1], &second))
            return 0;
        run->used[first] = bytes % 8 != 0 ? stamp + bytes / 8 : stamp;
        stamp += elements;
        first = second;
        run->time += run->table->touch_time * elements;
    }
    run->used[first] = run->stamp = stamp;
    run->time += run->table->touch_time * elements + r->time;
    run->reads += r->reads * elements;
    run->writes += r->writes * elements;
    return 1;
}

/* What is left to the machine, or shown to those who look on. */
static __attribute__((noinline)) void go_slowly(struct peet_direct_run *run, const struct peet__direct_range *r, const uint64_t *at, int is_hit)
{
    struct peet__direct *const direct = peet__direct_of(run);
    uint64_t values[8];
    peet__range_values(at[r->first], r->second != 0, at[r->second], at[4], values);
    if (!is_hit)
        direct->table.range(run, r->block, values);
    if (direct->nobservers != 0)
        direct->shown(direct->shown_arg, &(struct peet_block_event){r->block, values, run->context, 1, NULL}, UINT32_MAX);
}

uint64_t peet__direct_range(struct peet_direct_run *run)
{
    struct peet__direct *const direct = peet__direct_of(run);
    const int looks = direct->table.range_looks;
    const uint64_t *at = run->at;
    uint64_t instructions = 0;
    do {
        const uint64_t bytes = at[4], elements = bytes / 8 + bytes % 8, index = index_of(at[1]);
        struct peet__direct_range *r;
        if (__builtin_expect(bytes != 0, 1)) {
            if (index >= PEET__DIRECT_RANGES || (r = &direct->ranges[index])->block == NULL)
                break;
            r->times++;
            r->elements += elements;
            instructions += r->block->ninsns;
            const int is_hit = looks && hit(run, r, at, bytes, elements);
            if (!is_hit || direct->nobservers != 0)
                go_slowly(run, r, at, is_hit);
        }
        at += 1 + PEET__RANGE_ARGS;
    } while (at < run->end && *at == PEET__RANGE_RECORD && run->time < run->limit);
    run->at = at;
    return instructions;
}

void peet__direct_range_known(struct peet__direct *direct, unsigned what, const struct peet_block *block)
{
    enum { A_DESTINATION = 1, A_SOURCE = 2 };
    const uint64_t index = index_of(what);
    uint64_t values[8];
    if (direct->table.range == NULL || index >= PEET__DIRECT_RANGES)
        return;
    struct peet__direct_range *const r = &direct->ranges[index];
    peet_synthetic_values(what, A_DESTINATION, A_SOURCE, 8, values);
    r->block = block;
    r->time = direct->table.insn_time * block->ninsns;
    r->reads = r->writes = r->second = 0;
    for (uint32_t k = 0; k < block->insns[0].nrefs; k++) { /* of words; bytes are the same */
        const struct peet_ref *const ref = &block->refs[k];
        const int reads = ref->kind == PEET_REF_LOAD;
        *(k == 0 ? &r->first : &r->second) = values[ref->value] == A_DESTINATION ? DESTINATION : SOURCE;
        r->either[k] = reads;
        r->reads = (uint8_t)(r->reads + reads);
        r->writes = (uint8_t)(r->writes + !reads);
    }
}

void peet__direct_ranges_executed(struct peet__direct *direct, peet_program_executed *fn, void *arg)
{
    for (unsigned k = 0; k < PEET__DIRECT_RANGES; k++) {
        struct peet__direct_range *r = &direct->ranges[k];
        if (r->times == 0)
            continue;
        fn(arg, r->block, r->times, r->reads * r->elements, r->writes * r->elements);
        r->times = r->elements = 0;
    }
}
