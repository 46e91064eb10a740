/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program: the set of images (executable, shared objects) that carry schemas, with their functions and blocks, and
 * the synthetic blocks.  Callers: the decoder, the mapper, the command, tests.  Nothing here runs the subject.
 */
#ifndef PEET_SCHEMA_PROGRAM_H
#define PEET_SCHEMA_PROGRAM_H

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
 * Returns: number of functions (>= 0; PEET_ENOTFOUND if the file carries no schema, or has been there before: its functions
 * are those that it had), or a peet_err
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
struct peet_program_gaps {
    uint64_t asm_statements, opaque_functions;
};
void peet_program_gaps(struct peet_program *program, struct peet_program_gaps *out_gaps);

/** A call of a function by its name, which stands at the end of a block. */
/** peet_program_nblocks() - so many are known so far; their ids are below that */
uint32_t peet_program_nblocks(const struct peet_program *program);

typedef void peet_program_call(void *arg, const struct peet_block *block, const char *callee);
/** peet_program_calls() - all there are in what is known */
void peet_program_calls(struct peet_program *program, peet_program_call *fn, void *arg);

/** Called on a pc that no known image covers (dlopen): returns > 0 if an image was added; PEET_ENOTFOUND: what would say
 * it was lost, and the words end here. */
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
unsigned peet_synthetic_values(unsigned what, uint64_t destination, uint64_t source, uint64_t bytes,
    uint64_t out_values[8]);

/** The most values that one block of the program has; grows when images are added. */
size_t peet_program_values(const struct peet_program *program);

#endif
