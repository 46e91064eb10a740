/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splitmix64 (Steele, Lea, Flood 2014): the mapper's random numbers, which depend on nothing but a seed (random() has one
 * state for the whole process, the subject's too).  simulators/common/random.h has the same for modules: it is
 * installed with the toolkit and stands alone, and neither folder may include the other.  Used for:
 * seeds of modules (deliver.c), the order of waiters (sync.c), walks of an exploration (walks.c).
 */
#ifndef PEET_SPLITMIX_H
#define PEET_SPLITMIX_H

#include <stdint.h>

/** peet__splitmix64() - the next number of the stream that @state stands in */
static inline uint64_t peet__splitmix64(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
