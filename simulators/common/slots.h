/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of equal places, each taken by one request for a time: miss registers, page walkers, entries of a
 * write-back buffer.  Unlike mshr.h it takes requests in any order of their times, as they come from a core that
 * follows its program while the machine would have gone ahead: a request is held against those that are there at
 * its own time, not against those that have been promised for later.  What has been promised is never moved, so
 * that a request which stays on into later ones' time can exceed the number for as long.
 */
#ifndef PEET_SIM_SLOTS_H
#define PEET_SIM_SLOTS_H

#include <stdint.h>

enum { PEET_SIM_SLOTS_MAX = 128, PEET_SIM_SLOTS_KEPT = 2 * PEET_SIM_SLOTS_MAX };

struct peet_sim_slots {
    uint32_t n;    /* places, 1..PEET_SIM_SLOTS_MAX */
    uint32_t kept; /* requests remembered: the latest to end */
    uint64_t requests, waited_cycles;
    uint64_t full_until; /* requests that are not remembered any more left no place free before this time */
    uint64_t from[PEET_SIM_SLOTS_KEPT], to[PEET_SIM_SLOTS_KEPT]; /* [from, to) */
};

static inline void peet_sim_slots_init(struct peet_sim_slots *s, uint32_t n)
{
    s->n = n;
    s->kept = 2 * n < 16 ? 16 : 2 * n;
    s->requests = s->waited_cycles = s->full_until = 0;
    for (uint32_t i = 0; i < PEET_SIM_SLOTS_KEPT; i++)
        s->from[i] = s->to[i] = 0;
}

/** peet_sim_slots_busy() - places taken at a time */
static inline uint32_t peet_sim_slots_busy(const struct peet_sim_slots *s, uint64_t now)
{
    uint64_t busy = 0;

    for (uint32_t i = 0; i < s->kept; i++)
        busy += s->from[i] <= now && s->to[i] > now;
    return (uint32_t)busy;
}

/**
 * peet_sim_slots_take() - a place, from the first time >= now at which one is free
 * @out_start: that time
 * Returns: its number, for peet_sim_slots_until(), which has to follow
 */
static inline uint32_t peet_sim_slots_take(struct peet_sim_slots *s, uint64_t now, uint64_t *out_start)
{
    uint64_t start = now > s->full_until ? now : s->full_until;
    uint32_t first = 0;

    while (peet_sim_slots_busy(s, start) >= s->n) {
        uint64_t next = UINT64_MAX;

        for (uint32_t i = 0; i < s->kept; i++)
            if (s->from[i] <= start && s->to[i] > start && s->to[i] < next)
                next = s->to[i];
        if (next == UINT64_MAX)
            break; /* all of them without an end: the caller's own, one within the other */
        start = next;
    }
    for (uint32_t i = 1; i < s->kept; i++)
        if (s->to[i] < s->to[first])
            first = i;
    if (s->to[first] > now && s->to[first] > s->full_until && s->to[first] != UINT64_MAX && peet_sim_slots_busy(s, s->to[first] - 1) >= s->n)
        s->full_until = s->to[first];
    s->requests++;
    s->waited_cycles += start - now;
    s->from[first] = start;
    s->to[first] = UINT64_MAX;
    *out_start = start;
    return first;
}

/** peet_sim_slots_until() - the place is free again then */
static inline void peet_sim_slots_until(struct peet_sim_slots *s, uint32_t number, uint64_t end)
{
    s->to[number] = end;
}

#endif
