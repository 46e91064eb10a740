/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small reproducible generator for random replacement: splitmix64 (Steele, Lea, Flood 2014).  The stream
 * depends on the seed alone.  mapper/base/splitmix.h has the same for the mapper, which may not include this.
 */
#ifndef PEET_SIM_RANDOM_H
#define PEET_SIM_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t peet_sim_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/** Uniform in [0, n), n > 0; the bias is below n / 2^64. */
static inline uint64_t peet_sim_random_below(uint64_t *state, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)peet_sim_random(state) * n >> 64);
}

#ifdef __cplusplus
}
#endif
#endif
