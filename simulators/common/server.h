/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resource that serves one request at a time: a link, a data bus, a bank, a port.  Requests arrive nearly
 * but not exactly in the order of their times, since the processors of a simulation run a little ahead of one
 * another; the server therefore remembers the gaps before its last reservation, and a late-delivered request
 * gets the first gap at or after its own time that is long enough.  What has been promised is never moved.
 * Gaps are forgotten oldest first when there are too many.
 */
#ifndef PEET_SIM_SERVER_H
#define PEET_SIM_SERVER_H

#include <stdint.h>
#include <string.h>

enum { PEET_SIM_SERVER_GAPS = 16 };

struct peet_sim_server {
    uint64_t free_from;     /* after the last reservation */
    uint32_t ngaps;
    struct { uint64_t from, to; } gaps[PEET_SIM_SERVER_GAPS]; /* in order of time */
    uint64_t busy_cycles, waited_cycles, requests;
};

/** The slow half of peet_sim_server_request(): before the last reservation. */
static inline uint64_t peet__sim_server_fill(struct peet_sim_server *s, uint64_t now, uint64_t cycles)
{
    for (uint32_t i = 0; i < s->ngaps; i++) {
        uint64_t start = s->gaps[i].from > now ? s->gaps[i].from : now;

        if (start + cycles > s->gaps[i].to)
            continue;
        if (start == s->gaps[i].from && start + cycles == s->gaps[i].to) {
            memmove(&s->gaps[i], &s->gaps[i + 1], (--s->ngaps - i) * sizeof *s->gaps);
        } else if (start == s->gaps[i].from) {
            s->gaps[i].from += cycles;
        } else if (start + cycles == s->gaps[i].to) {
            s->gaps[i].to = start;
        } else {
            uint64_t to = s->gaps[i].to;

            s->gaps[i].to = start;
            if (s->ngaps == PEET_SIM_SERVER_GAPS) { /* the later part stays in the place of the oldest gap */
                memmove(&s->gaps[0], &s->gaps[1], i * sizeof *s->gaps);
                s->gaps[i].from = start + cycles;
                s->gaps[i].to = to;
                return start;
            }
            memmove(&s->gaps[i + 2], &s->gaps[i + 1], (s->ngaps++ - i - 1) * sizeof *s->gaps);
            s->gaps[i + 1].from = start + cycles;
            s->gaps[i + 1].to = to;
        }
        return start;
    }
    now = s->free_from;
    s->free_from += cycles;
    return now;
}

/**
 * peet_sim_server_request() - the resource for so long
 * @now: when it is asked for
 * Returns: when it starts, >= now
 */
static inline uint64_t peet_sim_server_request(struct peet_sim_server *s, uint64_t now, uint64_t cycles)
{
    uint64_t start;

    s->busy_cycles += cycles;
    s->requests++;
    if (now >= s->free_from) {
        if (now > s->free_from) {
            if (s->ngaps == PEET_SIM_SERVER_GAPS)
                memmove(&s->gaps[0], &s->gaps[1], --s->ngaps * sizeof *s->gaps);
            s->gaps[s->ngaps].from = s->free_from;
            s->gaps[s->ngaps++].to = now;
        }
        s->free_from = now + cycles;
        return now;
    }
    start = cycles ? peet__sim_server_fill(s, now, cycles) : now;
    s->waited_cycles += start - now;
    return start;
}

#endif
