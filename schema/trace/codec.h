/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first of two compressions of raw words: words that the words before them foretell go into a count, and only the
 * others are kept.  zstd, the second, then has little left to do.
 *
 * A program does again what it did before.  So the encoder stays at a *distance*: it holds each word against the one so
 * many words before.  That one is what the word is foreseen as, or that one and its step, if it had the same step twice: 0
 * for blocks and registers that stay, the stride for addresses that go on.  What is left is the exclusive or of both, for eight words at once.
 * Where another block comes than was foreseen, the distance changes to the place where the program went the same way last;
 * the decoder finds it like the encoder, so the distance is never written.  This is dictionary compression with implicit
 * references (Williams, "LZRW4", 1991) on values that are predicted by last value and stride (two-delta: Sazeides and Smith,
 * "The Predictability of Data Values", MICRO 1997; Burtscher, "VPC3", SIGMETRICS 2004).
 *
 * Of what is left, only bytes that are not 0 are kept (codec_bytes.c):
 *
 * codes      for each piece a byte that says how it was predicted, then where bytes stand that are not 0
 * literals   these bytes
 *
 * Strings of more than 65536 words are encoded in pieces of as many, which share nothing.
 *
 * Each change of the distance costs the processor a branch that it does not foresee either.  Pieces with many of them
 * are predicted in another way (codec_context.c), which takes a third of the time then and leaves as many bytes or some
 * more.
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

/** peet__codec_new() - @fast: pieces that cost much by distance are followed by pieces by context.  Returns: 0 or
 * PEET_ENOMEM */
int peet__codec_new(int fast, struct peet__codec **out_codec);
void peet__codec_free(struct peet__codec *codec);
/** peet__codec_init() - the same in memory of the caller's, peet__codec_bytes() of it, aligned to 8 */
size_t peet__codec_bytes(void);
void peet__codec_init(struct peet__codec *codec, int fast);

/** Strings with so much room are not made longer while n words are encoded into them. */
#define PEET__CODES_ROOM(n) ((n) + (n) / 4 + 256)
#define PEET__LITERALS_ROOM(n) (8 * (n) + 64)

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
