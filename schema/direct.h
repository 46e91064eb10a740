/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding and what it is for in one: machine code that reads the words of a record, does with the block what the machine
 * asked for (<peet/direct.h>), and goes on to the next.  decode.c calls it and does what it leaves over.
 */
#ifndef PEET_DIRECT_CODE_H
#define PEET_DIRECT_CODE_H

#include "program.h"
#include <peet/direct.h>

typedef void peet__direct_enter(struct peet_direct_run *run, const void *to);

/** The code of a function. */
struct peet__direct_function {
    peet__direct_enter *enter;
    const void *leave;
    const void **blocks;  /* where to go for a plain record of the block; leave if there is no code.  Before the first: the function,
                             and before that, backwards by index, how often each block was taken */
    const void **sync;    /* the same for a record that says where it is */
};

/** Records that say where they are, met before. */
struct peet__direct_sync { uint64_t pc; const void *to; };
enum { PEET__DIRECT_SYNCS = 4096 };

struct peet__direct {
    const struct peet_direct *ops;
    void *self;
    struct peet_direct_table table;
    struct peet__chunk *chunks;
    uint32_t slots;       /* the most of a record with code */
    struct peet__direct_sync sync[PEET__DIRECT_SYNCS];
};

/** peet__direct_make() - Returns: the code; NULL: not possible.  Lives as long as the program */
struct peet__direct_function *peet__direct_make(struct peet_program *program, struct peet__function *function);
void peet__direct_free(struct peet_program *program);

static inline struct peet__function *peet__direct_function_of(const void *const *blocks)
{
    return (struct peet__function *)(uintptr_t)blocks[-1];
}

#endif
