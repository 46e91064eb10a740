/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file timeline.bin that the observer `timeline` leaves in a results folder: who ran where, and who waited for
 * what.  A header and `slices` records, all little-endian, without padding.  Slices stand in the order of their ends.
 */
#ifndef PEET_TIMELINE_H
#define PEET_TIMELINE_H

#include <stdint.h>

#define PEET_TIMELINE_FILE "timeline.bin"
#define PEET_TIMELINE_MAGIC "peet tl1"

struct peet_timeline_header {
    char magic[8]; /* PEET_TIMELINE_MAGIC, without its 0 */
    uint64_t slices;
    uint64_t omitted; /* slices that the limit left out, all after the last one here */
    uint64_t end_cycles;
    uint32_t hw_contexts;
    uint32_t slice_bytes; /* sizeof(struct peet_timeline_slice) */
};

/** What a software context did from `begin` to before `end`, in cycles of the simulated clock. */
enum peet_timeline_state {
    PEET_TIMELINE_RUNS,    /* on hardware context `hw` */
    PEET_TIMELINE_LOCK,    /* waits for a mutex, a spin lock or a read-write lock; `object`: its address */
    PEET_TIMELINE_BARRIER, /* waits at a barrier, in a join, for the end of a parallel loop */
    PEET_TIMELINE_SIGNAL,  /* waits for a condition, semaphore, post, or somebody's initialisation */
    PEET_TIMELINE_OUTSIDE, /* sleeps, or waits for input or output */
    PEET_TIMELINE_STATES
};

struct peet_timeline_slice {
    uint64_t begin, end;
    uint64_t object;  /* address in the program; 0: none */
    uint32_t context; /* software context */
    uint16_t hw;      /* RUNS: where; else where it waits from */
    uint8_t state;    /* enum peet_timeline_state */
    uint8_t zero;
};

#ifdef __cplusplus
static_assert
#else
_Static_assert
#endif
    (sizeof(struct peet_timeline_header) == 40 && sizeof(struct peet_timeline_slice) == 32, "the file has no padding");

#endif
