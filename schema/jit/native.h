/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders in machine code. For each block of a function that is decoded often, they do what peet_decode_batch() does
 * with a plain record, and jump to the code of the next block. decode.c calls them and does the rest. Without
 * executable memory, or on a host other than x86-64, decode.c does everything.
 */
#ifndef PEET_NATIVE_H
#define PEET_NATIVE_H

#include "program/parts.h"

/** What the code and decode.c tell each other. */
struct peet__native_run {
    const uint64_t *at;                   /* next word */
    uint64_t *values;                     /* next value */
    struct peet_block_event *events;      /* next event; the one before it is the last block of this activation */
    const uint64_t *safe;                 /* a record that begins before it is whole */
    uint64_t *values_stop;                /* no more blocks once `values` is past it, */
    struct peet_block_event *events_stop; /* ... or `events` past it */
    int64_t tail;                         /* out: as in struct peet_decode_state; in: -1 */
    uint64_t context, turns;              /* as events have them */
};

typedef void peet__native_enter(struct peet__native_run *run, uint64_t *regs, const void **blocks, const void *to);

/** The code of a function. */
struct peet__native {
    peet__native_enter *enter;
    const void **blocks; /* where to go for a plain record of the block; leave if that is not known */
    const void **sync;   /* the same for a record that says where it is */
    const void *leave;
    uint32_t slots, values, events; /* the most that going to one of them takes */
};

/** peet__native_make() - Returns: the code; NULL: not possible.  Lives as long as the program.
 *  @want_addresses: events have values */
const struct peet__native *peet__native_make(struct peet_program *program, struct peet__function *function,
    int want_addresses);

#endif
