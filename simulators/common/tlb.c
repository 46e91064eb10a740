/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misses of the first level, and walks.
 */
#include "tlb.h"

#include <string.h>

int peet_sim_tlb_init(struct peet_sim_tlb *t, const struct peet_sim_tlb_config *c)
{
    int failed;

    memset(t, 0, sizeof *t);
    t->config = *c;
    failed = peet_sim_tags_init(&t->l1, c->l1_entries / c->l1_ways, c->l1_ways, PEET_SIM_LRU, 0);
    if (c->l2_entries)
        failed |= peet_sim_tags_init(&t->l2, c->l2_entries / c->l2_ways, c->l2_ways, PEET_SIM_LRU, 0);
    if (c->upper_entries)
        failed |= peet_sim_tags_init(&t->upper, 1, c->upper_entries, PEET_SIM_LRU, 0);
    return failed ? -1 : 0;
}

int peet_sim_tlb_init_sharing(struct peet_sim_tlb *t, const struct peet_sim_tlb_config *c, struct peet_sim_tlb *other)
{
    memset(t, 0, sizeof *t);
    t->config = *c;
    t->config.l2_entries = other->config.l2_entries;
    t->config.upper_entries = other->config.upper_entries;
    t->shared = other;
    return peet_sim_tags_init(&t->l1, c->l1_entries / c->l1_ways, c->l1_ways, PEET_SIM_LRU, 0);
}

void peet_sim_tlb_fini(struct peet_sim_tlb *t)
{
    peet_sim_tags_fini(&t->l1);
    peet_sim_tags_fini(&t->l2);
    peet_sim_tags_fini(&t->upper);
}

/** Returns: whether it was there; it is now. */
static int look(struct peet_sim_tags *tags, uint64_t number)
{
    uint64_t slot = peet_sim_tags_find(tags, number);

    if (slot != PEET_SIM_NO_SLOT) {
        peet_sim_tags_touch(tags, slot);
        return 1;
    }
    peet_sim_tags_fill(tags, peet_sim_tags_victim(tags, number), number, 1);
    return 0;
}

/** Levels of the table by the bits of an address below their index: 39, 30, 21, 12. */
uint64_t peet__sim_tlb_miss(struct peet_sim_tlb *t, uint64_t page, uint64_t now, peet_sim_walk_read *read, void *self)
{
    struct peet_sim_tags *l2 = t->shared ? &t->shared->l2 : &t->l2, *upper = t->shared ? &t->shared->upper : &t->upper;
    uint64_t address = page << t->config.page_bits, begin = now;
    uint32_t shift = 39;

    t->l1_misses++;
    peet_sim_tags_fill(&t->l1, peet_sim_tags_victim(&t->l1, page), page, 1);
    if (t->config.l2_entries && look(l2, page))
        return now + t->config.l2_cycles;
    if (t->config.l2_entries)
        now += t->config.l2_cycles;
    t->walks++;
    begin = now;
    if (t->config.upper_entries) {
        /* begin below the lowest upper entry that is known */
        for (uint32_t s = t->config.page_bits + 9; s <= 39; s += 9)
            if (peet_sim_tags_find(upper, (address >> s) << 6 | s) != PEET_SIM_NO_SLOT) {
                shift = s - 9;
                break;
            }
        for (uint32_t s = t->config.page_bits + 9; s <= 39; s += 9)
            look(upper, (address >> s) << 6 | s);
    }
    for (;; shift -= 9) {
        now =
            read(self, PEET_SIM_PAGE_TABLES | (uint64_t)(shift / 9) << 52 | (address >> shift & 0xfffffffff) << 3, now);
        t->walk_refs++;
        if (shift == t->config.page_bits)
            break;
    }
    t->walk_cycles += now - begin;
    return now;
}
