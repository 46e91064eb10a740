/* SPDX-License-Identifier: Apache-2.0 */
/* Following the contexts of a trace for peet trace cut: slice by slice, with what each has asked for. */
#ifndef PEET_CLI_TRACE_WALK_H
#define PEET_CLI_TRACE_WALK_H

#include "decode/decode.h"
#include "trace_fold.h"

#include <jansson.h>

enum { EVENT_ARGS = 16 };

/** Somewhere in a stream. */
struct peet_cut_place {
    size_t chunk, slice; /* the slice that comes next, or in which it lies */
    size_t word;         /* of that slice */
    uint64_t instructions, cycle;
    uint64_t threads, forks;
    uint64_t *state;
    size_t nstate;
};

/** A stream that is followed. */
struct peet_walk {
    uint32_t stream, context;
    struct peet_slices *slices;
    struct peet_decode_state *state;
    struct peet_slice slice; /* the present one */
    int has_slice, ended;
    size_t chunk, in_chunk; /* of the present one */
    uint64_t *words;
    size_t room;
    const uint64_t *cursor, *end;
    uint64_t instructions, threads, forks;
    uint64_t threads_end, forks_end;  /* where the part ends */
    unsigned marked;                  /* marked loops that it is in */
    struct peet_abstract_event asked; /* the last event, whose effect is still to come; type 0: none */
    uint64_t args[EVENT_ARGS];
    int starts, over; /* it has a place; it is not followed to one */
    struct peet_cut_place place;
    uint64_t *saved, saved_instructions; /* copying: the state to be kept, */
    size_t nstate;                       /* so many words, or 0 */
};

struct peet_cut {
    struct peet_recording *from;
    struct peet_program *program;
    struct peet_fold *fold;
    struct peet_walk *walks; /* by stream */
    json_t *before;          /* what the trace says of its own beginning, or NULL */
    uint64_t first, last, first_cycle;
    int by_cycles;
};

/** peet_walk_open(), _close() - a stream from its beginning.  @w: with its stream's number.  Returns: 0 or a peet_err */
int peet_walk_open(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error);
void peet_walk_close(struct peet_walk *w);
/** peet_walk_begin() - what a part of a trace says of how this stream begins.  Returns: 0 or a peet_err */
int peet_walk_begin(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error);
/** peet_walk_take() - the next slice is the present one.  Returns: 1, 0 at the end, or a peet_err */
int peet_walk_take(struct peet_cut *cut, struct peet_walk *w, struct peet_error *error);
/** peet_walk_settle() - the event that the context has asked for has had its effect.  Returns: 0 or PEET_ENOMEM */
int peet_walk_settle(struct peet_cut *cut, struct peet_walk *w, uint64_t result, struct peet_error *error);
/** peet_walk_follow() - go on to the end of the slice, or, by instructions, to the first record that is not before @until
 *  Returns: 1: that is here, 0: the slice is over, or a peet_err */
int peet_walk_follow(struct peet_cut *cut, struct peet_walk *w, uint64_t until, struct peet_error *error);

#endif
