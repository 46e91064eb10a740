/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe that fails, with one processor whose blocks go by groups (miss.c): how machine code (direct.c) and loops
 * (groups.c, straddle.c, loops.c) call it.
 */
#ifndef PEET_BUS_MISS_H
#define PEET_BUS_MISS_H

#include "bus.h"

/** A probe of a watched block. */
struct bus_direct_site {
    const struct peet_block *block;
    uint32_t access, probe;
};

/** What peet's machine code and its calls share (direct.c). */
struct bus_direct {
    struct peet_direct_run run;
    struct execution execution;
    struct bus *bus;
    uint64_t stalled;
    const struct peet_block **blocks; /* by id, those that were asked for */
    uint32_t nblocks;
    struct bus_direct_site *sites; /* watched */
    uint32_t nsites, sites_size;
};

/** The site of a block's probe for a line access. If the bus is not watched, sites have the numbers of line accesses
 * (direct.c). Returns: the site; UINT32_MAX without memory */
uint32_t peet__bus_site_of(struct bus *b, const struct peet_block *block, uint32_t access, uint32_t probe);

/** Where a line is now, and how long its reference waited for that. */
struct access_result {
    uint64_t stalled;
    uint32_t frame;
};

typedef uint32_t bus_slowly(struct bus *b, struct execution *t, uint64_t begin, uint64_t line,
    const struct line_access *w);
typedef struct peet_direct_miss bus_miss(struct peet_direct_run *run, uint32_t site, uint64_t line);

/** A probe of machine code has waited so many cycles for its line. */
static inline __attribute__((always_inline)) struct peet_direct_miss peet__bus_missed(struct bus_direct *d,
    uint32_t frame, uint64_t stalled)
{
    d->stalled += stalled;
    if (__builtin_expect(!d->bus->dead, 1))
        return (struct peet_direct_miss){frame, stalled * CPI_ONE};
    d->run.limit = 0;
    return (struct peet_direct_miss){frame, UINT64_MAX};
}

/** The functions for this geometry: for loops and blocks, and for machine code (not while the bus is watched). */
bus_slowly *peet__bus_slowly_for(const struct bus *b);
bus_miss *peet__bus_miss_for(const struct bus *b);

#endif
