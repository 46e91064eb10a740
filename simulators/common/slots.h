/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of equal places, each taken by one request for a time: miss registers, page walkers, entries of a
 * write-back buffer.  Unlike mshr.h it takes requests in any order of their times, as they come from a core that
 * follows its program while the machine would have gone ahead: a request is held against those that are there at
 * its own time, not against those that have been promised for later.  What has been promised is never moved, so
 * that a request which stays on into later ones' time can exceed the number for as long.
 *
 * Which request has which place does not matter, so that two sorted lists say all: the times at which places were
 * taken, and at which they were given back.  Taken at a time are as many as the first list has up to it beyond the
 * second.
 */
#ifndef PEET_SIM_SLOTS_H
#define PEET_SIM_SLOTS_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_SLOTS_MAX = 128, PEET_SIM_SLOTS_KEPT = 4 * PEET_SIM_SLOTS_MAX };

struct peet_sim_slots {
    uint32_t n;          /* places, 1..PEET_SIM_SLOTS_MAX */
    uint32_t kept;       /* requests remembered */
    uint32_t nfrom, nto; /* in the lists; nfrom - nto are without an end yet */
    uint64_t requests, waited_cycles;
    uint64_t full_until; /* requests that are not remembered any more left no place free before this time */
    /* by the lists there is no place free from the one to the other: found once, not looked for again */
    uint64_t full_from, full_to;
    uint64_t from[PEET_SIM_SLOTS_KEPT], to[PEET_SIM_SLOTS_KEPT];
};

static inline void peet_sim_slots_init(struct peet_sim_slots *s, uint32_t n)
{
    s->n = n;
    s->kept = 4 * n < 32 ? 32 : 4 * n;
    s->nfrom = s->nto = 0;
    s->requests = s->waited_cycles = s->full_until = s->full_from = s->full_to = 0;
}

/** How many of a sorted list are not later than a time; most often all, or nearly. */
static inline uint32_t peet__sim_slots_until(const uint64_t *times, uint32_t n, uint64_t now)
{
    while (n && times[n - 1] > now)
        n--;
    return n;
}

static inline void peet__sim_slots_insert(uint64_t *times, uint32_t *n, uint64_t time)
{
    uint32_t at = (*n)++;

    for (; at && times[at - 1] > time; at--)
        times[at] = times[at - 1];
    times[at] = time;
}

/** peet_sim_slots_busy() - places taken at a time */
static inline uint32_t peet_sim_slots_busy(const struct peet_sim_slots *s, uint64_t now)
{
    uint32_t taken = peet__sim_slots_until(s->from, s->nfrom, now), given = peet__sim_slots_until(s->to, s->nto, now);

    return taken > given ? taken - given : 0;
}

/** The first time from `now` on at which a place is free by the lists; that there is none before is remembered. */
static inline uint64_t peet__sim_slots_free(struct peet_sim_slots *s, uint64_t now)
{
    uint64_t start = now >= s->full_from && now < s->full_to ? s->full_to : now;
    uint32_t taken = peet__sim_slots_until(s->from, s->nfrom, start);
    uint32_t given = peet__sim_slots_until(s->to, s->nto, start);

    while (taken >= given + s->n && given < s->nto) {
        start = s->to[given];
        while (given < s->nto && s->to[given] <= start)
            given++;
        while (taken < s->nfrom && s->from[taken] <= start)
            taken++;
    }
    if (now < start) {
        int joined = now <= s->full_to && start >= s->full_from;

        s->full_from = joined && s->full_from < now ? s->full_from : now;
        s->full_to = joined && s->full_to > start ? s->full_to : start;
    }
    return start;
}

/** peet_sim_slots_full() - is none free at a time? */
static inline int peet_sim_slots_full(struct peet_sim_slots *s, uint64_t now)
{
    if (now >= s->full_from && now < s->full_to)
        return 1;
    return peet_sim_slots_busy(s, now) >= s->n && (peet__sim_slots_free(s, now), 1);
}

/** Places that were given back by now are forgotten; if there are none, some that are waited for: those who come wait
 * longer. */
static inline void peet__sim_slots_forget(struct peet_sim_slots *s, uint64_t now)
{
    uint32_t over = peet__sim_slots_until(s->to, s->nto, now);
    uint64_t last;

    if (over < s->kept / 8) {
        over = s->kept / 4 < s->nto ? s->kept / 4 : s->nto;
        last = over ? s->to[over - 1] : 0;
        if (last > now && last > s->full_until && peet_sim_slots_busy(s, last - 1) >= s->n)
            s->full_until = last;
    }
    if (over && s->to[over - 1] > s->full_from) /* what the lists say of earlier times changes */
        s->full_from = s->to[over - 1];
    s->nfrom -= over;
    s->nto -= over;
    memmove(s->from, s->from + over, s->nfrom * sizeof *s->from);
    memmove(s->to, s->to + over, s->nto * sizeof *s->to);
}

/**
 * peet_sim_slots_take() - a place, from the first time >= now at which one is free
 * @out_start: that time
 *
 * peet_sim_slots_until() has to follow.  In between there may be others, as many as there are places.
 */
static inline void peet_sim_slots_take(struct peet_sim_slots *s, uint64_t now, uint64_t *out_start)
{
    uint64_t start;

    if (s->nfrom == s->kept)
        peet__sim_slots_forget(s, now);
    start = peet__sim_slots_free(s, now > s->full_until ? now : s->full_until);
    s->requests++;
    s->waited_cycles += start - now;
    if (s->nfrom < s->kept)
        peet__sim_slots_insert(s->from, &s->nfrom, start);
    *out_start = start;
}

/** peet_sim_slots_until() - the place that was taken last, of those without an end, is free again then */
static inline void peet_sim_slots_until(struct peet_sim_slots *s, uint64_t end)
{
    if (s->nto < s->nfrom)
        peet__sim_slots_insert(s->to, &s->nto, end);
    if (s->full_to > end)
        s->full_to = end;
}

#ifdef __cplusplus
}
#endif
#endif
