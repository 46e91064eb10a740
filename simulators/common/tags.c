/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacement: what a use, a fill and the search for a victim do to a set.
 */
#include "tags.h"
#include "random.h"
#include "ways.h"

#include <stdlib.h>

enum { RRIP_FAR = 3, RRIP_LONG = 2 }; /* 2 bits: distant, and long as given to what comes in */

int peet_sim_tags_init(struct peet_sim_tags *t, uint64_t sets, uint32_t ways, enum peet_sim_replacement policy,
    uint64_t seed)
{
    uint64_t slots = sets * ways;
    int failed;

    memset(t, 0, sizeof *t);
    t->sets = sets;
    t->mask = sets & (sets - 1) ? 0 : sets - 1;
    t->ways = ways;
    t->row = (ways + 7) / 8 * 8;
    t->policy = policy;
    t->random = seed;
    t->numbers = calloc(slots, sizeof *t->numbers);
    t->states = calloc(slots + 8, sizeof *t->states);
    t->marks = calloc(sets * t->row, sizeof *t->marks);
    failed = !t->numbers || !t->states || !t->marks;
    if (policy == PEET_SIM_LRU || policy == PEET_SIM_FIFO)
        failed |= !(t->stamps = calloc(slots, sizeof *t->stamps));
    if (policy == PEET_SIM_PLRU)
        failed |= !(t->trees = calloc(sets, sizeof *t->trees));
    if (policy == PEET_SIM_RRIP)
        failed |= !(t->distances = calloc(slots, sizeof *t->distances));
    return failed ? -1 : 0;
}

void peet_sim_tags_fini(struct peet_sim_tags *t)
{
    free(t->numbers);
    free(t->states);
    free(t->marks);
    free(t->stamps);
    free(t->trees);
    free(t->distances);
    memset(t, 0, sizeof *t);
}

/** Leaves of the tree over so many ways. */
static uint32_t leaves(uint32_t ways)
{
    uint32_t n = 1;

    while (n < ways)
        n *= 2;
    return n;
}

/** Every node on the way to a slot points to its other side. */
static void plru_away(struct peet_sim_tags *t, uint64_t slot)
{
    uint64_t *tree = &t->trees[slot / t->ways];
    uint32_t node = leaves(t->ways) + (uint32_t)(slot % t->ways);

    for (; node > 1; node /= 2) {
        uint64_t bit = 1ull << node / 2;

        *tree = node & 1 ? *tree & ~bit : *tree | bit;
    }
}

/** Where the tree points; a side without ways is not gone to. */
static uint32_t plru_victim(const struct peet_sim_tags *t, uint64_t set)
{
    uint32_t n = leaves(t->ways), node = 1, first = 0, width = n;

    while (node < n) {
        width /= 2;
        node *= 2;
        if (t->trees[set] >> node / 2 & 1 && first + width < t->ways) {
            node++;
            first += width;
        }
    }
    return first;
}

void peet__sim_tags_touch(struct peet_sim_tags *t, uint64_t slot)
{
    switch (t->policy) {
    case PEET_SIM_PLRU:
        plru_away(t, slot);
        break;
    case PEET_SIM_RRIP:
        t->distances[slot] = 0;
        break;
    case PEET_SIM_LRU:
    case PEET_SIM_FIFO:
    case PEET_SIM_RANDOM:
        break;
    }
}

static uint32_t oldest(const struct peet_sim_tags *t, uint64_t first)
{
    enum { FEW = 4, USUAL = 8, MANY = 16 };
    const uint64_t *const stamps = t->stamps + first;
    uint64_t used;

    switch (t->ways) {
    case FEW:
        return peet_sim_oldest_way(stamps, FEW, &used);
    case USUAL:
        return peet_sim_oldest_way(stamps, USUAL, &used);
    case MANY:
        return peet_sim_oldest_way(stamps, MANY, &used);
    }
    return peet_sim_oldest_one(stamps, t->ways);
}

/** The first that is distant; all grow older until there is one. */
static uint32_t rrip_victim(struct peet_sim_tags *t, uint64_t first)
{
    uint8_t most = 0;
    uint32_t way = 0;

    for (uint32_t i = 0; i < t->ways; i++)
        if (t->distances[first + i] > most || !i) {
            most = t->distances[first + i];
            way = i;
        }
    for (uint32_t i = 0; i < t->ways; i++)
        t->distances[first + i] += (uint8_t)(RRIP_FAR - most);
    return way;
}

uint64_t peet_sim_tags_victim(struct peet_sim_tags *t, uint64_t number)
{
    uint64_t set = peet_sim_tags_set(t, number), first = set * t->ways;

    for (uint32_t way = 0; way < t->ways; way += 8) {
        uint64_t empty = peet__sim_tags_zeros(&t->states[first + way], 0);
        uint32_t at = empty ? way + (uint32_t)__builtin_ctzll(empty) / 8 : t->ways;

        if (at < t->ways)
            return first + at;
    }
    switch (t->policy) {
    case PEET_SIM_LRU:
    case PEET_SIM_FIFO:
        return first + oldest(t, first);
    case PEET_SIM_RANDOM:
        return first + peet_sim_random_below(&t->random, t->ways);
    case PEET_SIM_PLRU:
        return first + plru_victim(t, set);
    case PEET_SIM_RRIP:
        return first + rrip_victim(t, first);
    }
    return first;
}

void peet_sim_tags_fill(struct peet_sim_tags *t, uint64_t slot, uint64_t number, uint8_t state)
{
    uint64_t set = peet_sim_tags_set(t, number);

    t->marks[set * t->row + (slot - set * t->ways)] = peet__sim_tags_mark(number);
    t->numbers[slot] = number;
    t->states[slot] = state;
    if (t->stamps)
        t->stamps[slot] = ++t->clock;
    if (t->trees)
        plru_away(t, slot);
    if (t->distances)
        t->distances[slot] = RRIP_LONG;
}
