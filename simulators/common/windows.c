/* SPDX-License-Identifier: Apache-2.0 */
/* See windows.h. */
#include "windows.h"
#include <string.h>

void peet_sim_windows_init(struct peet_sim_windows *w, uint64_t width_cycles)
{
    memset(w, 0, sizeof *w);
    w->width_cycles = width_cycles;
}

static void join(struct peet_sim_windows *w)
{
    for (uint32_t i = 0; i < PEET_SIM_WINDOWS_MAX / 2; i++)
        w->busy_cycles[i] = w->busy_cycles[2 * i] + w->busy_cycles[2 * i + 1];
    memset(w->busy_cycles + PEET_SIM_WINDOWS_MAX / 2, 0, sizeof w->busy_cycles / 2);
    w->width_cycles *= 2;
    w->latest_from = w->latest_to = 0;
    w->used = (w->used + 1) / 2;
}

void peet_sim_windows_reach(struct peet_sim_windows *w, uint64_t time)
{
    while (time && (time - 1) / w->width_cycles >= PEET_SIM_WINDOWS_MAX)
        join(w);
}

__attribute__((noinline)) void peet__sim_windows_spread(struct peet_sim_windows *w, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    peet_sim_windows_reach(w, to);
    for (uint64_t i = from / w->width_cycles; from < to; i++) {
        uint64_t edge = (i + 1) * w->width_cycles, end = to < edge ? to : edge;
        w->busy_cycles[i] += end - from;
        from = end;
        if (i >= w->used)
            w->used = (uint32_t)i + 1;
        w->latest = (uint32_t)i;
        w->latest_from = i * w->width_cycles;
        w->latest_to = edge;
    }
}
