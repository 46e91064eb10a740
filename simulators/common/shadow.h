/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fully associative cache with LRU replacement would hold: beside a cache of the same size, and shown what that
 * is asked for, it tells misses of conflict, which it would not have, from those of capacity (Hill and Smith,
 * "Evaluating Associativity in CPU Caches", IEEE ToC 38(12), 1989).  A hash table and a list in order of use: some ten
 * nanoseconds for each reference, however large.  It knows lines by number, and nothing else of them.
 */
#ifndef PEET_SIM_SHADOW_H
#define PEET_SIM_SHADOW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peet_sim_shadow {
    uint32_t lines, used;           /* places, and how many have been given out; places count from 1 on */
    uint32_t newest, oldest, spare; /* spare: places given back, linked by `next` */
    uint32_t mask;                  /* of buckets */
    uint32_t *buckets;
    struct peet_sim_shadow_place {
        uint64_t number;
        uint32_t newer, older, next;
    } *places;
};

/** @lines: 1 or more, below 2^30.  Returns: 0, or -1 without memory (fini is safe then) */
int peet_sim_shadow_init(struct peet_sim_shadow *s, uint32_t lines);
void peet_sim_shadow_fini(struct peet_sim_shadow *s);

/** peet_sim_shadow_use() - a reference: the line is the newest now, and the oldest gives way if need be.  Returns:
 * whether it was there */
int peet_sim_shadow_use(struct peet_sim_shadow *s, uint64_t number);

/** peet_sim_shadow_has() - is it there?  Changes nothing */
int peet_sim_shadow_has(const struct peet_sim_shadow *s, uint64_t number);

/** peet_sim_shadow_drop() - it is there no more, if it was */
void peet_sim_shadow_drop(struct peet_sim_shadow *s, uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
