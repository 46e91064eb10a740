/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first of two compressions of raw words: each word is predicted from the words before it, and only what the
 * prediction misses is kept.  zstd, the second, then has little left to do.  This is value-prediction-based compression
 * (Burtscher, "VPC3", SIGMETRICS 2004), made for streams of raw.h: a plain block's word says which code runs, so the
 * block, and the place since it, select the predictor.
 *
 * Two predictors, both updated by every word:
 *   context  the word that followed the same three blocks at the same place: paths through the code, constant registers
 *   stride   the last word after the same block at the same place, and its difference from the one before it: addresses
 * A word becomes a code of two bits (context hit, stride hit, last value, miss) and, after a miss, the
 * difference from the stride predictor's last value as a variable-length number.
 */
#ifndef PEET_TRACE_CODEC_H
#define PEET_TRACE_CODEC_H

#include <stddef.h>
#include <stdint.h>

/** A growable string of bytes; starts as all zeros, ends with peet__bytes_fini(). */
struct peet__bytes {
    uint8_t *at;
    size_t n, room;
};

/** peet__bytes_reserve() - room for `more` bytes after the last.  Returns: 0 or PEET_ENOMEM */
int peet__bytes_reserve(struct peet__bytes *bytes, size_t more);
/** peet__bytes_add() - append; Returns: 0 or PEET_ENOMEM */
int peet__bytes_add(struct peet__bytes *bytes, const void *from, size_t n);
/** peet__bytes_number() - append a number, seven bits a byte, low bits first.  Returns: 0 or PEET_ENOMEM */
int peet__bytes_number(struct peet__bytes *bytes, uint64_t value);
void peet__bytes_fini(struct peet__bytes *bytes);

/** peet__take_number() - the other way round.  Returns: 0, or PEET_EFORMAT beyond @end */
int peet__take_number(const uint8_t **at, const uint8_t *end, uint64_t *out_value);

struct peet__codec; /* tables of the predictors; may serve one string of words after the other */

int peet__codec_new(struct peet__codec **out_codec);
void peet__codec_free(struct peet__codec *codec);

/** peet__codec_encode() - append the codes of n words to @codes, and what was not predicted to @literals.  Returns: 0
 * or PEET_ENOMEM */
int peet__codec_encode(struct peet__codec *codec, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals);

/**
 * peet__codec_decode() - n words from codes and literals
 * Returns: 0, or PEET_EFORMAT if there are too few or too many of either
 */
int peet__codec_decode(struct peet__codec *codec, const uint8_t *codes, size_t codes_bytes, const uint8_t *literals,
    size_t literals_bytes, uint64_t *words, size_t n);

#endif
