/* SPDX-License-Identifier: Apache-2.0 */
/* The least recently used of the few ways of a set. */
#ifndef PEET_SIM_WAYS_H
#define PEET_SIM_WAYS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** peet_sim_oldest_one() - Returns: the first of the least of @n > 0 stamps */
static inline uint32_t peet_sim_oldest_one(const uint64_t *stamps, uint32_t n)
{
    uint32_t best = 0;
    uint64_t least = stamps[0];
    for (uint32_t i = 1; i < n; i++) {
        best = stamps[i] < least ? i : best;
        least = stamps[i] < least ? stamps[i] : least;
    }
    return best;
}
/**
 * peet_sim_oldest_way() - the way that was used longest ago
 * Scalar code: the stamps have just been written one by one, and a vector would wait for them.  Quick if @ways is a
 * constant power of two.
 * @used: a stamp for each way, below 2^60
 * @out_used: when
 * Returns: the first of the oldest
 */
static inline __attribute__((always_inline)) uint32_t peet_sim_oldest_way(const uint64_t *used, uint32_t ways,
    uint64_t *out_used)
{
    enum { MOST = 16 };
    const uint64_t unit = ways > 8 ? 16 : 8;
    uint64_t least[MOST];
    if (ways > MOST || (ways & (ways - 1))) {
        const uint32_t way = peet_sim_oldest_one(used, ways);
        *out_used = used[way];
        return way;
    }
    for (uint32_t way = 0; way < ways; way++)
        least[way] = used[way] * unit + way; /* none are equal */
    for (uint32_t half = ways / 2; half; half /= 2)
        for (uint32_t way = 0; way < half; way++)
            least[way] = least[way + half] < least[way] ? least[way + half] : least[way];
    *out_used = least[0] / unit;
    return least[0] & (unit - 1);
}

#ifdef __cplusplus
}
#endif
#endif
