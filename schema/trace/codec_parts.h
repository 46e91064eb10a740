/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the codec share: codec.c (pieces by distance, and which piece is encoded how), codec_context.c (pieces
 * by context) and codec_bytes.c (what is left of words that were predicted, and their bytes). */
#ifndef PEET_TRACE_CODEC_PARTS_H
#define PEET_TRACE_CODEC_PARTS_H

#include "trace/codec.h"

enum {
    PEET__CONTEXT_BITS = 10,
    PEET__CODEC_UNIT = 64,   /* words whose bytes stand together */
    PEET__CODEC_SOME = 1024, /* are predicted at a time, and then become bytes */
    /* the first code of a piece: */
    PEET__BY_DISTANCE = 0,
    PEET__BY_CONTEXT = 1
};

/** What is left of codes and literals. */
struct peet__packed {
    const uint8_t *code, *codes_end, *literal, *literals_end;
};

/** peet__codec_put() - the bytes of n words, of which most bytes are 0
 * @words: with as many zeros behind them as are missing to whole units
 * @code, @literal: where to append; both move */
void peet__codec_put(const uint64_t *words, size_t n, uint8_t **code, uint8_t **literal);
/** peet__codec_take() - the other way round.  @words: room for whole units.  Returns: 0 or PEET_EFORMAT */
int peet__codec_take(struct peet__packed *packed, uint64_t *words, size_t n);

/** A piece by context, from word to word. */
struct peet__contexts {
    uint64_t *table; /* 1 << PEET__CONTEXT_BITS entries */
    uint64_t context;
    unsigned shift;
};

/** peet__contexts_begin() - a piece of n words */
void peet__contexts_begin(struct peet__contexts *contexts, uint64_t *table, size_t n);
/** peet__contexts_from() - what is left of n words; peet__contexts_to() - and the words again */
void peet__contexts_from(struct peet__contexts *contexts, const uint64_t *words, size_t n, uint64_t *out_left);
void peet__contexts_to(struct peet__contexts *contexts, const uint64_t *left, size_t n, uint64_t *out_words);

#endif
