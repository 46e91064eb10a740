/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation: two levels of translation buffers, a cache of upper page-table entries, and the walk through a
 * four-level page table (Intel SDM volume 3, chapter 4), whose reads the caller times on its own caches.  Page
 * tables lie at addresses of their own (PEET_SIM_PAGE_TABLES and above), eight bytes an entry.
 */
#ifndef PEET_SIM_TLB_H
#define PEET_SIM_TLB_H

#include "tags.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PEET_SIM_PAGE_TABLES 0xff00000000000000u

struct peet_sim_tlb_config {
    uint32_t l1_entries, l1_ways; /* entries a multiple of ways */
    uint32_t l2_entries, l2_ways; /* 0 entries: there is none */
    uint32_t l2_cycles;           /* what a hit in the second level costs */
    uint32_t upper_entries;       /* of the cache of upper entries, fully associative up to 64; 0: none */
    uint32_t page_bits;           /* 12 (4 KiB), 21 (2 MiB) or 30 (1 GiB) */
};

struct peet_sim_tlb {
    struct peet_sim_tlb_config config;
    struct peet_sim_tags l1, l2, upper;
    struct peet_sim_tlb *shared; /* whose l2 and upper it uses; NULL: its own */
    uint64_t accesses, l1_misses, walks, walk_refs, walk_cycles;
};

/** A read of the page table at `now`.  Returns: when it is over */
typedef uint64_t peet_sim_walk_read(void *self, uint64_t address, uint64_t now);

/** Returns: 0, or -1 without memory (fini is safe then); the configuration is taken as valid */
int peet_sim_tlb_init(struct peet_sim_tlb *t, const struct peet_sim_tlb_config *config);
/** peet_sim_tlb_init_sharing() - the second level and the upper entries are another's, which outlives it: buffers for
 *  instructions and data with a second level for both.  @config: of l2 and upper only the latency is used */
int peet_sim_tlb_init_sharing(struct peet_sim_tlb *t, const struct peet_sim_tlb_config *config,
    struct peet_sim_tlb *other);
void peet_sim_tlb_fini(struct peet_sim_tlb *t);

/** The slow half of peet_sim_tlb_translate(). */
uint64_t peet__sim_tlb_miss(struct peet_sim_tlb *t, uint64_t page, uint64_t now, peet_sim_walk_read *read, void *self);

/** peet_sim_tlb_translate() - Returns: when the translation is there; now if the first level has it */
static inline uint64_t peet_sim_tlb_translate(struct peet_sim_tlb *t, uint64_t address, uint64_t now,
    peet_sim_walk_read *read, void *self)
{
    uint64_t page = address >> t->config.page_bits, slot = peet_sim_tags_find(&t->l1, page);

    t->accesses++;
    if (__builtin_expect(slot != PEET_SIM_NO_SLOT, 1)) {
        peet_sim_tags_touch(&t->l1, slot);
        return now;
    }
    return peet__sim_tlb_miss(t, page, now, read, self);
}

#ifdef __cplusplus
}
#endif
#endif
