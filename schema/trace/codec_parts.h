/* SPDX-License-Identifier: Apache-2.0 */
/* What codec.c (pieces by distance, and which piece is encoded how) and codec_context.c (pieces by context) share. */
#ifndef PEET_TRACE_CODEC_PARTS_H
#define PEET_TRACE_CODEC_PARTS_H

#include "trace/codec.h"

enum {
    PEET__CONTEXT_BITS = 10,
    PEET__BY_CONTEXT = 0x80 /* the first code of such a piece: one by distance cannot begin with a run */
};

/** What is left of codes and literals. */
struct peet__packed {
    const uint8_t *code, *codes_end, *literal, *literals_end;
};

/** peet__context_encode() - append a piece
 * @table: 1 << PEET__CONTEXT_BITS entries, for the call's own use
 * Returns: 0 or PEET_ENOMEM */
int peet__context_encode(uint64_t *table, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals);

/** peet__context_decode() - a piece, whose first code is PEET__BY_CONTEXT; moves @packed behind it.  Returns: 0 or
 * PEET_EFORMAT */
int peet__context_decode(uint64_t *table, struct peet__packed *packed, uint64_t *words, size_t n);

#endif
