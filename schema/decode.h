/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From raw words to events.  A *program* is the set of images (executable, shared objects) that carry
 * schemas; a *decode state* is what the decoder remembers of one software context between records.
 * Callers: the mapper's host side (live), the peet schema verb, tests.  Nothing here runs the subject.
 */
#ifndef PEET_DECODE_H
#define PEET_DECODE_H

#include <peet/direct.h>
#include <peet/error.h>
#include <peet/module.h>

struct peet_program; /* images, functions, blocks; grows while functions are met for the first time */

/** peet_program_new() / _free(): an empty program */
int peet_program_new(struct peet_program **out_program);
void peet_program_free(struct peet_program *program);

/**
 * peet_program_add_image() - read the schema of one ELF file
 * @path: the file; borrowed
 * @bias: load bias (dlpi_addr), 0 when only looking
 * Returns: number of functions (>= 0; PEET_ENOTFOUND if the file carries no schema), or a peet_err
 */
int peet_program_add_image(struct peet_program *program, const char *path, uint64_t bias, struct peet_error *error);

/** Number of functions known so far, and the i-th (digested on first use; NULL and error if damaged). */
unsigned peet_program_nfunctions(const struct peet_program *program);
const struct peet_function *peet_program_function(struct peet_program *program, unsigned i, struct peet_error *error);
const struct peet_function *peet_program_function_of_pc(struct peet_program *program, uint64_t runtime_pc);

/** peet_program_block_of_turn() - the block that begins with the access before which a context waits; NULL: not known
 *  @runtime_pc: as in PEET_ABSTRACT_ATOMIC */
const struct peet_block *peet_program_block_of_turn(const struct peet_program *program, uint64_t runtime_pc);

/** The coarsest unit at which every function so far can be stopped: 0 iteration, 1 block, 2 ref */
int peet_program_granularity(const struct peet_program *program);

/** Things that the schema says cannot be observed: inline assembly statements, skipped functions. */
struct peet_program_gaps { uint64_t asm_statements, opaque_functions; };
void peet_program_gaps(struct peet_program *program, struct peet_program_gaps *out_gaps);

/** A call of a function by its name, which stands at the end of a block. */
typedef void peet_program_call(void *arg, const struct peet_block *block, const char *callee);
/** peet_program_calls() - all there are in what is known */
void peet_program_calls(struct peet_program *program, peet_program_call *fn, void *arg);

/** Called on a pc that no known image covers (dlopen): returns > 0 if an image was added. */
typedef int peet_program_rescan(void *arg, struct peet_program *program, uint64_t pc);
void peet_program_set_rescan(struct peet_program *program, peet_program_rescan *fn, void *arg);

/**
 * Blocks that stand for what no compiled code of the subject does itself: the traffic of lock models and
 * the references of library calls.  Each is a function of one block in the image "peet", so that every
 * module sees them as it sees compiled code.
 * X(NAME, function name, shape): MODIFY, LOAD, STORE: one reference of 8 bytes, values[0] its address (MODIFY
 * is a locked instruction).  READ, WRITE, COPY, COMPARE: ranges; a range at address a of n bytes is two refs,
 * {a, n / 8} of 8 bytes and {a + n / 8 * 8, n % 8} of 1 byte; COPY: source read, destination written;
 * COMPARE: both read, destination first.
 */
#define PEET_SYNTHETICS(X) \
    X(LOCK_MODIFY, "lock model: atomic", MODIFY) \
    X(LOCK_LOAD, "lock model: read", LOAD) \
    X(LOCK_STORE, "lock model: write", STORE) \
    X(MEMCPY, "memcpy", COPY) \
    X(MEMMOVE, "memmove", COPY) \
    X(MEMSET, "memset", WRITE) \
    X(MEMCMP, "memcmp", COMPARE) \
    X(MEMCHR, "memchr", READ) \
    X(STRLEN, "strlen", READ) \
    X(STRCPY, "strcpy", COPY) \
    X(STRCAT, "strcat", COPY) \
    X(STRCMP, "strcmp", COMPARE) \
    X(STRCHR, "strchr", READ) \
    X(STRSTR, "strstr", READ) \
    X(READ, "read", WRITE) \
    X(WRITE, "write", READ) \
    X(STDIO_READ, "stdio read", WRITE) \
    X(STDIO_WRITE, "stdio write", READ) \
    X(QSORT, "qsort", READ) \
    X(LIBRARY_READ, "library read", READ) \
    X(LIBRARY_WRITE, "library write", WRITE)

/** The `operation` of PEET_ABSTRACT_RANGE. */
enum peet_synthetic {
#define PEET_X(name, text, shape) PEET_SYNTHETIC_##name,
    PEET_SYNTHETICS(PEET_X)
#undef PEET_X
    PEET_SYNTHETIC_COUNT
};
/* Added to the operation of a range: another piece of the call that the RANGE before began.  Long operations come in
 * pieces, so that none holds up the other processors; its block is the function's second, and counts no call. */
#define PEET_SYNTHETIC_MORE 0x100

/** peet_program_synthetic() - the block; NULL: out of memory, or no such operation.  Lives as long as the program.
 *  @what: enum peet_synthetic, for ranges with or without PEET_SYNTHETIC_MORE */
const struct peet_block *peet_program_synthetic(struct peet_program *program, unsigned what);

/** peet_synthetic_values() - the values of its event for an operation as PEET_ABSTRACT_RANGE describes it
 *  @destination: the address of MODIFY, LOAD, STORE, WRITE; COMPARE: the first.  @source: the address of READ
 *  @out_values: room for 8.  Returns: how many */
unsigned peet_synthetic_values(unsigned what, uint64_t destination, uint64_t source, uint64_t bytes, uint64_t out_values[8]);

struct peet_decode_state; /* one per software context */

/** @fs_base: the context's thread pointer, for thread-local references */
int peet_decode_state_new(struct peet_program *program, uint32_t context, uint64_t fs_base, struct peet_decode_state **out_state);
void peet_decode_state_free(struct peet_decode_state *state);
/** Forget everything, as for a new context in the same storage. */
void peet_decode_state_reset(struct peet_decode_state *state, uint32_t context, uint64_t fs_base);

enum peet_event_kind { PEET_EVENT_NEED_WORDS = 0, PEET_EVENT_BLOCK = 1, PEET_EVENT_ABSTRACT = 2 };
struct peet_event {
    union { struct peet_block_event block; struct peet_abstract_event abstract; };
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
    PEET_DECODE_LOOPS = 2,     /* events of more than one turn may come, where strides are known */
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
 * peet_program_set_direct() - a machine that lets its blocks be taken by peet itself
 * @ops, @self: of the module (direct.h); borrowed
 * Returns: 0, PEET_ENOTFOUND: not as it is configured, or not on this processor; PEET_ENOMEM
 */
int peet_program_set_direct(struct peet_program *program, const struct peet_direct *ops, void *self);
/** peet_program_add_observer() - one that looks on then; before any block is taken.  Returns: 0, or PEET_ELIMIT: that are too many */
int peet_program_add_observer(struct peet_program *program, const struct peet_direct_observer *ops, void *self);
/**
 * peet_decode_direct() - take blocks, and range operations as such, before the run's limit
 * The word at @end, of which there are PEET_DECODE_ROOM_WORDS, is written to meanwhile
 * @sink: gets those that have no machine code, or that an observer wants to see; the event is valid until it returns
 * @shown: gets what the machine has taken already and @observers (a bit each, as they were added) see: turns of loops, if they have a watch for the
 *  block, and range operations.
 *  May be NULL if there are none
 * Returns: 1, or 0: nothing was taken, peet_decode_batch() and peet_decode_next() know more
 */
enum { PEET_DECODE_ROOM_WORDS = 1 };
typedef void peet_decode_sink(void *arg, struct peet_direct_run *run, const struct peet_block_event *event);
typedef void peet_decode_shown(void *arg, const struct peet_block_event *event, uint32_t observers);
int peet_decode_direct(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end, struct peet_direct_run *run,
                       peet_decode_sink *sink, peet_decode_shown *shown, void *arg);
/** peet_decode_busy() - are turns of a loop still to come, whose record has been read? */
int peet_decode_busy(const struct peet_decode_state *state);
/** peet_decode_undo() - back to where a run of ahead() was marked last; the words are still there
 *  @fn: hears of each block that was taken since, the oldest first; @values: if it is not PEET_BLOCK_SIMPLE */
typedef void peet_decode_undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times);
void peet_decode_undo(struct peet_decode_state *state, const uint64_t **cursor, const uint64_t *end, peet_decode_undone *fn, void *arg);
/** peet_program_direct_host() - table.go_back, and its first argument */
void peet_program_direct_host(struct peet_program *program, void (*go_back)(void *host, unsigned hw, uint64_t until), void *host);
/** peet_program_direct_executed() - how often each block was taken since the last call; observers that have no watch for it hear the same
 *  @reads, @writes: what its ranges came to in all, which the block itself does not say */
typedef void peet_program_executed(void *arg, const struct peet_block *block, uint64_t times, uint64_t reads, uint64_t writes);
void peet_program_direct_executed(struct peet_program *program, peet_program_executed *fn, void *arg);

/** The most values that one block of the program has; grows when images are added. */
size_t peet_program_values(const struct peet_program *program);

#endif
