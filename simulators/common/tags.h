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
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    uint64_t sets, mask; /* mask: sets - 1 if that is a power of two, else 0 */
    uint32_t ways;
    enum peet_sim_replacement policy;
    uint32_t row;       /* bytes of a set in marks: ways, up to a multiple of 8 */
    uint8_t *marks;     /* per slot, in rows: a byte of each number that was ever put in; 0: nothing was */
    uint64_t *numbers;  /* per slot; slot = set * ways + way */
    uint8_t *states;    /* per slot, and 8 more; 0: empty */
    uint64_t *stamps;   /* LRU, FIFO: per slot */
    uint64_t *trees;    /* PLRU: per set; node i has children 2i and 2i + 1, the bit says where the victim is */
    uint8_t *distances; /* RRIP: per slot */
    uint64_t clock, random;
};

/**
 * peet_sim_tags_init()
 * @ways: 1..PEET_SIM_TAGS_WAYS_MAX
 * @seed: of RANDOM
 * Returns: 0, or -1 without memory (fini is safe then)
 */
int peet_sim_tags_init(struct peet_sim_tags *t, uint64_t sets, uint32_t ways, enum peet_sim_replacement policy,
    uint64_t seed);
void peet_sim_tags_fini(struct peet_sim_tags *t);

static inline uint64_t peet_sim_tags_set(const struct peet_sim_tags *t, uint64_t number)
{
    return t->mask || t->sets == 1 ? number & t->mask : number % t->sets;
}

/** What of a number stands in its mark: mostly different for the numbers of one set, and not 0. */
static inline uint8_t peet__sim_tags_mark(uint64_t number)
{
    uint8_t mark = (uint8_t)(number * 0x9e3779b97f4a7c15u >> 56);

    return mark ? mark : 1;
}

/** The bytes of eight that are 0, by their highest bits. */
static inline uint64_t peet__sim_tags_zeros(const uint8_t *bytes, uint64_t differ)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t eight;

    memcpy(&eight, bytes, sizeof eight);
    eight ^= differ;
    return ~(((eight & low) + low) | eight | low);
}

/** peet_sim_tags_find() - the slot that holds a number, or PEET_SIM_NO_SLOT; changes nothing */
static inline uint64_t peet_sim_tags_find(const struct peet_sim_tags *t, uint64_t number)
{
    uint64_t set = peet_sim_tags_set(t, number), mark = peet__sim_tags_mark(number) * 0x0101010101010101u;

    for (uint32_t way = 0; way < t->ways; way += 8)
        for (uint64_t same = peet__sim_tags_zeros(&t->marks[set * t->row + way], mark); same; same &= same - 1) {
            uint64_t slot = set * t->ways + way + (uint64_t)__builtin_ctzll(same) / 8;

            if (t->numbers[slot] == number && t->states[slot])
                return slot;
        }
    return PEET_SIM_NO_SLOT;
}

/** peet_sim_tags_prefetch() - a number will soon be looked for, and put in if it is not there */
static inline void peet_sim_tags_prefetch(const struct peet_sim_tags *t, uint64_t number)
{
    uint64_t set = peet_sim_tags_set(t, number), first = set * t->ways;

    __builtin_prefetch(&t->marks[set * t->row]);
    __builtin_prefetch(&t->states[first]);
    for (uint32_t way = 0; way < t->ways; way += 8) {
        __builtin_prefetch(&t->numbers[first + way]);
        if (t->stamps)
            __builtin_prefetch(&t->stamps[first + way]);
    }
}

/** The half of peet_sim_tags_touch() for all policies but LRU. */
void peet__sim_tags_touch(struct peet_sim_tags *t, uint64_t slot);

/** peet_sim_tags_touch() - a slot that holds something was used (a hit) */
static inline void peet_sim_tags_touch(struct peet_sim_tags *t, uint64_t slot)
{
    if (t->policy == PEET_SIM_LRU)
        t->stamps[slot] = ++t->clock;
    else
        peet__sim_tags_touch(t, slot);
}

/** peet_sim_tags_victim() - the slot into which a number would go: an empty one of its set, the lowest first, else the
 *  policy's choice.  RRIP ages the set, RANDOM draws: call it once per fill */
uint64_t peet_sim_tags_victim(struct peet_sim_tags *t, uint64_t number);

/** peet_sim_tags_fill() - put a number into a slot of its set, with a state other than 0 */
void peet_sim_tags_fill(struct peet_sim_tags *t, uint64_t slot, uint64_t number, uint8_t state);

/** peet_sim_tags_drop() - empty a slot */
static inline void peet_sim_tags_drop(struct peet_sim_tags *t, uint64_t slot)
{
    t->states[slot] = 0;
}

#ifdef __cplusplus
}
#endif
#endif
