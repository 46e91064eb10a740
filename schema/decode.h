/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From raw words to events.  A *program* is the set of images (executable, shared objects) that carry
 * schemas; a *decode state* is what the decoder remembers of one software context between records.
 * Callers: the mapper's host side (live), the peet schema verb, tests.  Nothing here runs the subject.
 */
#ifndef PEET_DECODE_H
#define PEET_DECODE_H

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

/** The coarsest unit at which every function so far can be stopped: 0 iteration, 1 block, 2 ref */
int peet_program_granularity(const struct peet_program *program);

/** Things that the schema says cannot be observed: inline assembly statements, skipped functions. */
struct peet_program_gaps { uint64_t asm_statements, opaque_functions; };
void peet_program_gaps(struct peet_program *program, struct peet_program_gaps *out_gaps);

/** Called on a pc that no known image covers (dlopen): returns > 0 if an image was added. */
typedef int peet_program_rescan(void *arg, struct peet_program *program, uint64_t pc);
void peet_program_set_rescan(struct peet_program *program, peet_program_rescan *fn, void *arg);

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

/** The most values that one block of the program has; grows when images are added. */
size_t peet_program_values(const struct peet_program *program);

#endif
