/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hit that most accesses are, inline: the translation is in the first-level buffer, the line in L1D with the
 * right that it takes, and on nobody's way.  Anything else is x86_memory_access(), which gives the same answer for
 * these, only slower.  A test holds the two against one another.
 */
#ifndef PEET_X86_MEMORY_FAST_H
#define PEET_X86_MEMORY_FAST_H

#include "memory_state.h"

/**
 * x86_memory_hit() - a load, store, or read-modify-write inside one line, if that is a hit
 * @kind: X86_LOAD, X86_STORE, X86_MODIFY
 * @out_done: as x86_outcome.done_cycles; loads: after x86_memory_l1_cycles(); stores: now
 * Returns: 1, and all is done and counted; 0: nothing has happened, ask x86_memory_access()
 */
static inline __attribute__((always_inline)) int x86_memory_hit(struct x86_memory *m, uint32_t core, uint64_t address, uint32_t size_bytes,
    enum x86_access_kind kind, uint64_t now, uint64_t *out_done)
{
    struct x86_core *c = &m->cores[core];
    struct peet_sim_tags *tags = &c->l1d.tags;
    uint64_t line = address >> m->line_shift, page = address >> m->page_shift;
    uint32_t slot = c->hints[line & m->hint_mask], page_slot = c->page_hints[page % X86_PAGE_HINTS];
    uint8_t state = tags->states[slot];

    if (__builtin_expect(!m->fast || tags->numbers[slot] != line || (kind == X86_LOAD ? (uint8_t)(state - 1) >= X86_M : state != X86_M), 0))
        return 0;
    if (m->translation) {
        struct peet_sim_tags *pages = &c->dtlb.l1;

        if (__builtin_expect(pages->numbers[page_slot] != page || !pages->states[page_slot], 0))
            return 0;
        if (__builtin_expect(c->l1d.ready[slot] > now || (kind != X86_LOAD && c->l1d.owned[slot] > now), 0))
            return 0;
        pages->stamps[page_slot] = ++pages->clock;
        c->dtlb.accesses++;
    } else if (__builtin_expect(c->l1d.ready[slot] > now || (kind != X86_LOAD && c->l1d.owned[slot] > now), 0)) {
        return 0;
    }
    if (m->lru)
        tags->stamps[slot] = ++tags->clock;
    else
        peet_sim_tags_touch(tags, slot);
    if (kind == X86_LOAD) {
        c->l1d.stats.reads++;
    } else {
        c->l1d.stats.writes++;
        if (m->causes)
            c->l1d.written[slot] |= peet__x86_grains(m, address, size_bytes);
    }
    *out_done = kind == X86_STORE ? now : now + m->l1d_cycles;
    return 1;
}

#endif
