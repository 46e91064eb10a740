/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resource that serves one request at a time: a link, a data bus, a bank, a port.  Requests arrive nearly
 * but not exactly in the order of their times, since the processors of a simulation run a little ahead of one
 * another; the server therefore remembers the gaps before its last reservation, and a late-delivered request
 * gets the first gap at or after its own time that is long enough.  What has been promised is never moved.
 * Gaps are forgotten oldest first when there are too many.  What comes before the end of one that was forgotten is
 * served after all that is known; or, if requests come far out of order (`apart`), as if alone.
 */
#ifndef PEET_SIM_SERVER_H
#define PEET_SIM_SERVER_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_SERVER_GAPS = 16, PEET_SIM_SERVER_ROOM = 64 };

struct peet_sim_server_gap {
    uint64_t from, to;
};

struct peet_sim_server {
    uint64_t free_from;    /* after the last reservation */
    uint32_t first, ngaps; /* gaps: as many from the first on, in order of time; they wander through the room */
    struct peet_sim_server_gap gaps[PEET_SIM_SERVER_ROOM];
    uint64_t busy_cycles, waited_cycles, requests;
    int apart;           /* requests may also come long after later ones */
    uint64_t known_from; /* the end of the last gap that was forgotten */
};

/** Room for one more gap after the last.  Returns: the first */
static inline struct peet_sim_server_gap *peet__sim_server_room(struct peet_sim_server *s)
{
    if (s->first + s->ngaps == PEET_SIM_SERVER_ROOM) {
        memmove(&s->gaps[0], &s->gaps[s->first], s->ngaps * sizeof *s->gaps);
        s->first = 0;
    }
    return &s->gaps[s->first];
}

/** The slow half of peet_sim_server_request(): before the last reservation. */
static inline uint64_t peet__sim_server_fill(struct peet_sim_server *s, uint64_t now, uint64_t cycles)
{
    struct peet_sim_server_gap *gaps = &s->gaps[s->first];
    uint32_t i = s->ngaps;

    while (i && gaps[i - 1].to >= now + cycles) /* those before end too early */
        i--;
    for (; i < s->ngaps; i++) {
        uint64_t start = gaps[i].from > now ? gaps[i].from : now;

        if (start + cycles > gaps[i].to)
            continue;
        if (start == gaps[i].from && start + cycles == gaps[i].to) {
            memmove(&gaps[i], &gaps[i + 1], (--s->ngaps - i) * sizeof *gaps);
        } else if (start == gaps[i].from) {
            gaps[i].from += cycles;
        } else if (start + cycles == gaps[i].to) {
            gaps[i].to = start;
        } else {
            uint64_t to = gaps[i].to;

            gaps[i].to = start;
            if (s->ngaps == PEET_SIM_SERVER_GAPS) { /* the later part stays in the place of the oldest gap */
                s->known_from = gaps[0].to;         /* perhaps the first part of this one */
                memmove(&gaps[0], &gaps[1], i * sizeof *gaps);
                gaps[i].from = start + cycles;
                gaps[i].to = to;
                return start;
            }
            gaps = peet__sim_server_room(s);
            memmove(&gaps[i + 2], &gaps[i + 1], (s->ngaps++ - i - 1) * sizeof *gaps);
            gaps[i + 1].from = start + cycles;
            gaps[i + 1].to = to;
        }
        return start;
    }
    if (s->apart && now < s->known_from)
        return now;
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
            struct peet_sim_server_gap *gaps;

            if (s->ngaps == PEET_SIM_SERVER_GAPS) {
                s->known_from = s->gaps[s->first].to;
                s->first++;
                s->ngaps--;
            }
            gaps = peet__sim_server_room(s);
            gaps[s->ngaps].from = s->free_from;
            gaps[s->ngaps++].to = now;
        }
        s->free_from = now + cycles;
        return now;
    }
    start = cycles ? peet__sim_server_fill(s, now, cycles) : now;
    s->waited_cycles += start - now;
    return start;
}

#ifdef __cplusplus
}
#endif
#endif
