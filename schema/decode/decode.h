/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From raw words to events.  A *decode state* is what the decoder remembers of one software context between records:
 * followed registers, and the place in the program.  Callers: the mapper's source of events, and tests.  Nothing here
 * runs the subject.
 *
 *     peet_decode_next()     one event; the plain meaning of the words
 *     peet_decode_batch()    blocks in batches, with machine code that only decodes (jit/native.c)
 *     peet_decode_direct()   machine code that also does the machine's part (jit/direct.c); peet_decode_undo() goes
 *                            back
 *
 *   1. After each record the followed registers hold what the compiler planned as known at that block's exit.  The
 *      forms of the next block's addresses refer to them.
 *   2. A block without a record (a last jump, alignment padding) is a *tail*: the next word says whether it was
 *      executed.
 *   3. A record is never cut: the words of a turn end where a record ends.
 *   4. Machine code is entered and left between two records, and leaves everything as decoding block by block would
 *      have left it.
 */
#ifndef PEET_DECODE_H
#define PEET_DECODE_H

#include "jit/jit.h"
#include "program/program.h"

struct peet_decode_state; /* one per software context */

/** @fs_base: the context's thread pointer, for thread-local references */
int peet_decode_state_new(struct peet_program *program, uint32_t context, uint64_t fs_base,
    struct peet_decode_state **out_state);
void peet_decode_state_free(struct peet_decode_state *state);
/** Forget everything, as for a new context in the same storage. */
void peet_decode_state_reset(struct peet_decode_state *state, uint32_t context, uint64_t fs_base);

/**
 * peet_decode_state_save() - the state in words that another run can restore, with the same images at the same addresses
 * Returns: how many words; 0: there is no room for them, or the state is one that cannot be found again
 */
enum { PEET_DECODE_STATE_WORDS = 1024 }; /* room that is enough but where handlers of signals nest deeply */
size_t peet_decode_state_save(const struct peet_decode_state *state, uint64_t *words, size_t room);
/**
 * peet_decode_state_restore() - go on from a saved state; the context's number stays
 * Returns: 0; PEET_EFORMAT: it is none of this program's, and nothing has changed; PEET_ENOMEM
 */
int peet_decode_state_restore(struct peet_decode_state *state, const uint64_t *words, size_t n,
    struct peet_error *error);

/**
 * peet_decode_but_last() - where the last record before @end begins; the state stays as it is
 * A thread makes room for its record before it fills it: if it was killed in between, the last record holds words of an
 * older one.
 * Returns: @end if the state cannot be kept meanwhile
 */
const uint64_t *peet_decode_but_last(struct peet_decode_state *state, const uint64_t *cursor, const uint64_t *end);

enum peet_event_kind { PEET_EVENT_NEED_WORDS = 0, PEET_EVENT_BLOCK = 1, PEET_EVENT_ABSTRACT = 2 };
struct peet_event {
    union {
        struct peet_block_event block;
        struct peet_abstract_event abstract;
    };
};

/**
 * peet_decode_next() - the next event of a stream
 * @cursor: in/out, next raw word; advanced past what was consumed
 * @end: one past the last word that the context has written; a record is never cut by it
 * @want_addresses: fill block.values (else they are NULL, but for blocks that are not PEET_BLOCK_SIMPLE)
 * Returns: enum peet_event_kind, or PEET_ESTREAM / PEET_EFORMAT with @error
 *
 * The event is valid until the next call on any state of this program.
 */
int peet_decode_next(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end, int want_addresses,
    struct peet_event *out_event, struct peet_error *error);

enum peet_decode_want {
    PEET_DECODE_ADDRESSES = 1, /* fill values */
    PEET_DECODE_LOOPS = 2,     /* events of more than one iteration may come, where strides are known */
};

/**
 * peet_decode_batch() - blocks, as many as come before anything else
 * @events: room for nevents
 * @values: room for nvalues words, at least peet_program_values()
 * @want: mask of enum peet_decode_want
 * Returns: how many blocks; 0 when peet_decode_next() must be asked: at the end of the words, before an
 * abstract event, at code not met before, at an error.  Events and values live in the caller's arrays.
 */
unsigned peet_decode_batch(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end, int want,
    struct peet_block_event *events, unsigned nevents, uint64_t *values, size_t nvalues);

/**
 * peet_decode_direct() - take blocks, and range operations as such, before the run's limit
 * The word at @end, of which there are PEET_DECODE_ROOM_WORDS, is written to meanwhile
 * @sink: gets those that have no machine code, or that an observer wants to see; the event is valid until it returns
 * @shown: gets what the machine has taken already and @observers (a bit each, as they were added) see: iterations of
 * loops, if they have a watch for the block, and range operations. May be NULL if there are none Returns: 1, or 0:
 * nothing was taken, peet_decode_batch() and peet_decode_next() know more
 */
enum { PEET_DECODE_ROOM_WORDS = 1 };
typedef void peet_decode_sink(void *arg, struct peet_direct_run *run, const struct peet_block_event *event);
int peet_decode_direct(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end,
    struct peet_direct_run *run, peet_decode_sink *sink, peet_decode_shown *shown, void *arg);
/** peet_decode_goes_on() - as peet_decode_direct(), for a run that has come to its limit: with another `until` and
 * `limit`.  Nobody looks on, and no words have come since */
int peet_decode_goes_on(struct peet_direct_run *run);
/** peet_decode_busy() - are iterations of a loop still to come, whose record has been read? */
int peet_decode_busy(const struct peet_decode_state *state);
/** peet_decode_in_path() - are blocks still to come whose addresses are told by a record that has been passed? */
int peet_decode_in_path(const struct peet_decode_state *state);
/** peet_decode_state_until() - both states are in one loop: the saved one's turns end where the other one is */
void peet_decode_state_until(uint64_t *words, const struct peet_decode_state *later);
/** peet_decode_loop_value() - while it is busy: the loop's counter after the turns that have come.  A record with this value
 * stands for those */
uint64_t peet_decode_loop_value(const struct peet_decode_state *state);
/** peet_decode_pass_over() - notes that nobody wants (jit/jit.h), if they come next */
void peet_decode_pass_over(const struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end);
/** peet_decode_ahead() - what comes next.  For an event all else need not be asked: blocks do not come before it.  A range
 * operation counts as blocks */
enum peet_decode_ahead { PEET_AHEAD_NOTHING, PEET_AHEAD_BLOCKS, PEET_AHEAD_EVENT };
enum peet_decode_ahead peet_decode_ahead(const struct peet_decode_state *state, const uint64_t *cursor,
    const uint64_t *end);
/** peet_decode_undo() - back to the last checkpoint of a run of ahead(); the words are still there
 *  @fn: hears of each block that was taken since, the oldest first; @values: if it is not PEET_BLOCK_SIMPLE, or observers
 * with guards are told at the commit; NULL for iterations of a loop */
typedef void peet_decode_undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times);
void peet_decode_undo(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end,
    peet_decode_undone *fn, void *arg);

#endif
