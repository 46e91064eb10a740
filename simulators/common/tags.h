/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set-associative array of tags with a replacement policy: the common part of caches, translation
 * buffers, branch target buffers and predictors' tagged tables.  Any number of sets, any number of ways
 * up to 64.  It knows lines (or pages, or pcs) by number and keeps one byte of state for each, which is
 * its user's; 0 means that the slot is empty.  It knows nothing of time.
 *
 * Policies: LRU; FIFO; RANDOM; PLRU, the tree of one bit per node (for ways that are no power of two, the
 * tree of the next power with the missing ways never chosen); RRIP, static re-reference interval
 * prediction with 2 bits and hit priority (Jaleel, Theobald, Steely, Emer: ISCA 2010, SRRIP-HP).
 */
#ifndef PEET_SIM_TAGS_H
#define PEET_SIM_TAGS_H

#include <stdint.h>

enum peet_sim_replacement {
    PEET_SIM_LRU,
    PEET_SIM_FIFO,
    PEET_SIM_RANDOM,
    PEET_SIM_PLRU,
    PEET_SIM_RRIP,
};
/** In that order, for the range of a module's parameter. */
#define PEET_SIM_REPLACEMENTS "lru|fifo|random|plru|rrip"

enum { PEET_SIM_TAGS_WAYS_MAX = 64 };
#define PEET_SIM_NO_SLOT UINT64_MAX

struct peet_sim_tags {
    uint64_t sets, mask;    /* mask: sets - 1 if that is a power of two, else 0 */
    uint32_t ways;
    enum peet_sim_replacement policy;
    uint64_t *numbers;      /* per slot; slot = set * ways + way */
    uint8_t *states;        /* per slot; 0: empty */
    uint64_t *stamps;       /* LRU, FIFO: per slot */
    uint64_t *trees;        /* PLRU: per set; node i has children 2i and 2i + 1, the bit says where the victim is */
    uint8_t *distances;     /* RRIP: per slot */
    uint64_t clock, random;
};

/**
 * peet_sim_tags_init()
 * @ways: 1..PEET_SIM_TAGS_WAYS_MAX
 * @seed: of RANDOM
 * Returns: 0, or -1 without memory (fini is safe then)
 */
int peet_sim_tags_init(struct peet_sim_tags *t, uint64_t sets, uint32_t ways, enum peet_sim_replacement policy, uint64_t seed);
void peet_sim_tags_fini(struct peet_sim_tags *t);

static inline uint64_t peet_sim_tags_set(const struct peet_sim_tags *t, uint64_t number)
{
    return t->mask || t->sets == 1 ? number & t->mask : number % t->sets;
}

/** peet_sim_tags_find() - the slot that holds a number, or PEET_SIM_NO_SLOT; changes nothing */
static inline uint64_t peet_sim_tags_find(const struct peet_sim_tags *t, uint64_t number)
{
    uint64_t first = peet_sim_tags_set(t, number) * t->ways;

    for (uint32_t way = 0; way < t->ways; way++)
        if (t->numbers[first + way] == number && t->states[first + way])
            return first + way;
    return PEET_SIM_NO_SLOT;
}

/** peet_sim_tags_touch() - a slot that holds something was used (a hit) */
void peet_sim_tags_touch(struct peet_sim_tags *t, uint64_t slot);

/** peet_sim_tags_victim() - the slot into which a number would go: an empty one of its set, the lowest first, else the
 *  policy's choice.  RRIP ages the set, RANDOM draws: call it once per fill */
uint64_t peet_sim_tags_victim(struct peet_sim_tags *t, uint64_t number);

/** peet_sim_tags_fill() - put a number into a slot, with a state other than 0 */
void peet_sim_tags_fill(struct peet_sim_tags *t, uint64_t slot, uint64_t number, uint8_t state);

/** peet_sim_tags_drop() - empty a slot */
static inline void peet_sim_tags_drop(struct peet_sim_tags *t, uint64_t slot)
{
    t->states[slot] = 0;
}

#endif
