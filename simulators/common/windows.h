/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy a resource was over time: busy cycles in windows of equal width.  When there are too many
 * windows, neighbours are joined and the width doubles, so that memory stays bounded and nothing is lost.
 */
#ifndef PEET_SIM_WINDOWS_H
#define PEET_SIM_WINDOWS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_WINDOWS_MAX = 2048 };

struct peet_sim_windows {
    uint64_t width_cycles;
    uint32_t used;                   /* windows [0, used) may hold cycles */
    uint32_t latest;                 /* the window of the latest addition, */
    uint64_t latest_from, latest_to; /* and what it covers */
    uint64_t busy_cycles[PEET_SIM_WINDOWS_MAX];
};

/** @width_cycles: first width, > 0 */
void peet_sim_windows_init(struct peet_sim_windows *w, uint64_t width_cycles);

/** The slow half of peet_sim_windows_add(). */
void peet__sim_windows_spread(struct peet_sim_windows *w, uint64_t from, uint64_t to);

/** peet_sim_windows_add() - the resource was busy in [from, to) */
static inline void peet_sim_windows_add(struct peet_sim_windows *w, uint64_t from, uint64_t to)
{
    if (from >= w->latest_from && to <= w->latest_to && from < to)
        w->busy_cycles[w->latest] += to - from;
    else
        peet__sim_windows_spread(w, from, to);
}

/** peet_sim_windows_go_on() - the same if nothing was ever added that is later than @from */
static inline void peet_sim_windows_go_on(struct peet_sim_windows *w, uint64_t from, uint64_t to)
{
    if (__builtin_expect(to <= w->latest_to, 1))
        w->busy_cycles[w->latest] += to - from;
    else
        peet__sim_windows_spread(w, from, to);
}

/** peet_sim_windows_reach() - make the windows cover [0, time), without adding anything */
void peet_sim_windows_reach(struct peet_sim_windows *w, uint64_t time);

#ifdef __cplusplus
}
#endif
#endif
