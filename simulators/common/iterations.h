/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many iterations of a loop have something in common, for machines whose processors run ahead of each other.
 */
#ifndef PEET_SIM_ITERATIONS_H
#define PEET_SIM_ITERATIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_STRADDLES = -1 };

/** For how many of these iterations do @span bytes stay in their line?  PEET_SIM_STRADDLES: they lie in two. */
static inline int64_t peet_sim_iterations_within(uint64_t line_bytes, uint64_t span, uint64_t begin, int64_t stride,
    uint64_t iterations)
{
    const uint64_t offset = begin & (line_bytes - 1), most = iterations < INT64_MAX ? iterations : INT64_MAX;
    if (offset + span > line_bytes)
        return PEET_SIM_STRADDLES;
    if (!stride)
        return (int64_t)most;
    const uint64_t room = stride > 0 ? line_bytes - span - offset : offset,
                   step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    if (most == 1 || step > room)
        return 1;
    const uint64_t n = (step & (step - 1) ? room / step : room >> __builtin_ctzll(step)) + 1; /* divisions take long */
    return (int64_t)(n < most ? n : most);
}

/** How many of these iterations, of @cost each, begin before the limit?  @time: of the first one, before the limit. */
static inline uint64_t peet_sim_iterations_before(uint64_t limit, uint64_t time, uint64_t cost, uint64_t iterations)
{
    if (limit == UINT64_MAX || !cost ||
        (iterations <= UINT16_MAX && cost <= UINT32_MAX && iterations * cost < limit - time))
        return iterations;
    const uint64_t n = (limit - time - 1) / cost + 1;
    return n < iterations ? n : iterations;
}

#ifdef __cplusplus
}
#endif

#endif
