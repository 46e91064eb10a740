/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A write buffer: stores leave the processor and reach the cache later, in order.  A store to the line of the
 * youngest entry joins it if that has not begun to drain; a store that finds the buffer full waits for the oldest.
 * Who owns the buffer says how long an entry takes when it drains.
 */
#ifndef PEET_SIM_WRITEBUFFER_H
#define PEET_SIM_WRITEBUFFER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_WRITEBUFFER_MAX = 128 };

struct peet_sim_writebuffer {
    uint32_t n; /* entries, 1..PEET_SIM_WRITEBUFFER_MAX */
    uint32_t first, used;
    struct {
        uint64_t line, start, end;
    } entries[PEET_SIM_WRITEBUFFER_MAX]; /* a ring */
    uint64_t last_end;
    uint64_t stores, joined, full_cycles;
};

/** Entries that are over by now go. */
static inline void peet__sim_writebuffer_retire(struct peet_sim_writebuffer *w, uint64_t now)
{
    while (w->used && w->entries[w->first].end <= now) {
        w->first = (w->first + 1) % w->n;
        w->used--;
    }
}

/**
 * peet_sim_writebuffer_begin() - a store comes
 * @out_start: when it begins to drain, if an entry is made
 * Returns: when the processor is rid of it (>= now); the caller sees with @out_joined whether it joined an entry, and
 * if not says with peet_sim_writebuffer_end() when its entry has drained
 */
static inline uint64_t peet_sim_writebuffer_begin(struct peet_sim_writebuffer *w, uint64_t line, uint64_t now,
    int *out_joined, uint64_t *out_start)
{
    uint64_t enter = now;
    uint32_t last;

    w->stores++;
    peet__sim_writebuffer_retire(w, now);
    last = (w->first + w->used + w->n - 1) % w->n;
    *out_joined = w->used && w->entries[last].line == line && w->entries[last].start > now;
    if (*out_joined) {
        w->joined++;
        *out_start = w->entries[last].start;
        return now;
    }
    if (w->used == w->n) {
        enter = w->entries[w->first].end;
        w->full_cycles += enter - now;
        peet__sim_writebuffer_retire(w, enter);
    }
    last = (w->first + w->used) % w->n;
    w->used++;
    w->entries[last].line = line;
    w->entries[last].start = *out_start = w->last_end > enter ? w->last_end : enter;
    w->entries[last].end = UINT64_MAX;
    return enter;
}

/** peet_sim_writebuffer_end() - the entry just made has drained by then (>= its start) */
static inline void peet_sim_writebuffer_end(struct peet_sim_writebuffer *w, uint64_t end)
{
    w->entries[(w->first + w->used - 1) % w->n].end = w->last_end = end;
}

/** peet_sim_writebuffer_holds() - is a store to the line still on its way? (forwarding, or a read must wait) */
static inline int peet_sim_writebuffer_holds(const struct peet_sim_writebuffer *w, uint64_t line, uint64_t now)
{
    for (uint32_t i = 0; i < w->used; i++)
        if (w->entries[(w->first + i) % w->n].line == line && w->entries[(w->first + i) % w->n].end > now)
            return 1;
    return 0;
}

/** peet_sim_writebuffer_empty_at() - when all of it has drained: what a fence waits for */
static inline uint64_t peet_sim_writebuffer_empty_at(const struct peet_sim_writebuffer *w, uint64_t now)
{
    return w->last_end > now ? w->last_end : now;
}

#ifdef __cplusplus
}
#endif
#endif
