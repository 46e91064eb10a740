/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of foreign code, which no schema describes: the translator (runtime/foreign) says what they are when they are
 * first executed.  They come as paths: blocks that were executed one behind the other, with one record for all of them,
 * whose word is a number of the translator's own.  To modules they are blocks of functions of their image, as any other.
 */
#ifndef PEET_SCHEMA_FOREIGN_H
#define PEET_SCHEMA_FOREIGN_H

#include "program/program.h"

/** An address, or a count: slot[0] + slot[1] * multiplier + disp (+ the thread pointer).  A slot is a word of the path's
 * record. */
enum { PEET_FOREIGN_NO_SLOT = -1, PEET_FOREIGN_MOST_BLOCKS = 24 /* of a path */ };
struct peet_foreign_value {
    uint64_t disp;
    int16_t slot[2];
    int32_t multiplier;
    uint8_t fs;
};

/** Names of functions that are rows of stubs: of 16 bytes each, of 8. */
#define PEET_FOREIGN_STUBS ".plt"
#define PEET_FOREIGN_SHORT_STUBS ".plt.got"

struct peet_foreign_function {
    const char *name, *image; /* live as long as the program */
    uint64_t pc;
    uint32_t bytes;
    void *known; /* schema's own; NULL at first */
};

/** A block as it was translated; all arrays live as long as the program.  insns[].first_ref and refs[].value are
 * filled, pcs are run-time addresses. */
struct peet_foreign_block {
    uint64_t pc;
    struct peet_foreign_function *function;
    const struct peet_insn *insns;
    const struct peet_ref *refs;
    const struct peet_foreign_value *values;
    uint32_t ninsns, nrefs, nvalues, code_bytes;
    uint32_t nslots; /* of the record of a path that ends with it */
};

/** peet_program_add_foreign() - from now on the decoder knows the word of a path of @n blocks
 * Returns: 0, or PEET_ENOMEM with @error */
int peet_program_add_foreign(struct peet_program *program, uint64_t word, const struct peet_foreign_block *path,
    uint32_t n, struct peet_error *error);

#endif
