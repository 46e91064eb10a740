/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of foreign code, which no schema describes: the translator (runtime/foreign) says what they are when they are
 * first executed.  They come as traces: blocks of which each is followed by the next one or by something else.  The
 * first is a sync block whose word is a number of the translator's own.  To modules they are blocks of functions of
 * their image, as any other.
 */
#ifndef PEET_SCHEMA_FOREIGN_H
#define PEET_SCHEMA_FOREIGN_H

#include "program/program.h"

/** An address, or a count: slot[0] + slot[1] * multiplier + disp (+ the thread pointer).  A slot from 0 on is a word of the
 * block's record; PEET_FOREIGN_KEPT(n), what a block before it in the trace has kept as n. */
enum { PEET_FOREIGN_NO_SLOT = -1, PEET_FOREIGN_MOST_KEPT = 16 };
#define PEET_FOREIGN_KEPT(n) (-2 - (n))
struct peet_foreign_value {
    uint64_t disp;
    int16_t slot[2];
    int32_t multiplier;
    uint8_t fs;
};

/** A word of the block's record that later blocks of the trace need, too. */
struct peet_foreign_keep {
    uint16_t slot, number; /* number: below PEET_FOREIGN_MOST_KEPT */
};

struct peet_foreign_function {
    const char *name, *image; /* live as long as the program */
    uint64_t pc;
    uint32_t bytes;
    void *known; /* schema's own; NULL at first */
};

/** A block as it was translated; all arrays live as long as the program.  insns[].first_ref and refs[].value are
 * filled, pcs are run-time addresses. */
struct peet_foreign_block {
    uint64_t word, pc;
    struct peet_foreign_function *function;
    const struct peet_insn *insns;
    const struct peet_ref *refs;
    const struct peet_foreign_value *values;
    const struct peet_foreign_keep *keeps;
    uint32_t ninsns, nrefs, nvalues, nkeeps, nslots, code_bytes;
    int turn;        /* begins with an access that waits */
    uint32_t ntrace; /* of the first block of a trace: how many it has, one behind the other in memory */
};

/** peet_program_add_foreign() - from now on the decoder knows a trace: its first block's word, and plain words for the
 * others Returns: 0, or PEET_ENOMEM with @error */
int peet_program_add_foreign(struct peet_program *program, const struct peet_foreign_block *trace,
    struct peet_error *error);

#endif
