/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of reading one function's record: reader.c fills the arrays, build.c makes the function of
 * them.  Nobody else includes this.
 */
#ifndef PEET_READER_H
#define PEET_READER_H

#include "program/parts.h"

struct reader {
    struct peet__image *image;
    uint32_t version;
    const uint8_t *at, *end; /* payload */
    const uint8_t *lengths;
    uint32_t nlengths, length_at;
    const uint8_t *offsets;
    uint32_t noffsets, offset_at;
    uint64_t address; /* link address of the function */
    const char *why;  /* first thing wrong; NULL while fine */
    int error_code;

    struct peet__function *f;
    struct peet_opcode *kinds;
    uint32_t nkinds;
    const char **callees;
    uint32_t ncallees;
    uint32_t segment; /* that is being read */
    struct peet__call *calls;
    size_t ncalls, ccalls;

    struct peet_insn *insns;
    struct peet__layout_insn *layout;
    uint32_t ninsns, cinsns, clayout;
    uint32_t *ref_at; /* per insn: first ref, function-wide */
    uint32_t nref_at, cref_at;
    uint32_t *reg_at;
    uint32_t nreg_at, creg_at;
    uint8_t *regs;
    uint32_t nregs, cregs;
    struct peet_ref *refs;
    uint32_t nrefs, crefs;
    struct peet__value *values;
    uint32_t nvalues, cvalues;
    struct peet__update *updates;
    uint32_t nupdates, cupdates;
};

struct segment {
    uint32_t insn, ninsns, ref, nrefs, value, nvalues, update, nupdates, layout_block;
};

/** The first thing wrong wins; nothing more is read after it. */
void peet__reader_fail(struct reader *r, const char *why);

/** build.c: copy what was read into the function and lay the plain program out. */
void peet__build(struct reader *r, const struct segment *segs, const struct peet__block *code,
    struct peet__layout_block *blocks, uint32_t nblocks);

#endif
