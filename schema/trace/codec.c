/* SPDX-License-Identifier: Apache-2.0 */
/* See codec.h. */
#include "trace/codec.h"

#include <peet/error.h>
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

enum {
    TABLE_BITS_MAX = 13,
    TABLE_BITS_MIN = 6,
    CONTEXT_HIT = 0,
    STRIDE_HIT = 1,
    LAST_HIT = 2,
    MISS = 3,
    NUMBER_BYTES = 10
};

struct stride {
    uint64_t last, difference;
};

struct peet__codec {
    unsigned shift; /* 64 - bits of an index */
    uint64_t path;  /* hash of the last blocks */
    uint64_t block; /* the last one, */
    uint64_t place; /* and how many words ago it was */
    uint64_t context[1 << TABLE_BITS_MAX];
    struct stride strides[1 << TABLE_BITS_MAX];
};

/* ------------------------------------------------------------------------------------------ bytes */

int peet__bytes_reserve(struct peet__bytes *bytes, size_t more)
{
    size_t room = bytes->room ? bytes->room : 256;
    uint8_t *at;

    if (bytes->room - bytes->n >= more)
        return 0;
    while (room - bytes->n < more)
        room *= 2;
    at = realloc(bytes->at, room);
    if (!at)
        return PEET_ENOMEM;
    bytes->at = at;
    bytes->room = room;
    return 0;
}

int peet__bytes_add(struct peet__bytes *bytes, const void *from, size_t n)
{
    if (peet__bytes_reserve(bytes, n))
        return PEET_ENOMEM;
    if (n)
        memcpy(bytes->at + bytes->n, from, n);
    bytes->n += n;
    return 0;
}

static inline uint8_t *put_number(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

int peet__bytes_number(struct peet__bytes *bytes, uint64_t value)
{
    if (peet__bytes_reserve(bytes, NUMBER_BYTES))
        return PEET_ENOMEM;
    bytes->n = (size_t)(put_number(bytes->at + bytes->n, value) - bytes->at);
    return 0;
}

void peet__bytes_fini(struct peet__bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct peet__bytes){0};
}

int peet__take_number(const uint8_t **at, const uint8_t *end, uint64_t *out_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out_value = value;
            return 0;
        }
    }
    return PEET_EFORMAT;
}

/* ------------------------------------------------------------------------------------- predictors */

int peet__codec_new(struct peet__codec **out_codec)
{
    *out_codec = malloc(sizeof **out_codec);
    return *out_codec ? 0 : PEET_ENOMEM;
}

void peet__codec_free(struct peet__codec *codec)
{
    free(codec);
}

/** Tables in proportion to the words: clearing large ones would cost more than a short string itself. */
static void reset(struct peet__codec *c, size_t n)
{
    unsigned bits = TABLE_BITS_MIN;

    while (bits < TABLE_BITS_MAX && (size_t)1 << bits < n)
        bits++;
    c->shift = 64 - bits;
    c->path = c->block = c->place = 0;
    memset(c->context, 0, sizeof *c->context << bits);
    memset(c->strides, 0, sizeof *c->strides << bits);
}

static inline uint64_t mix(uint64_t x)
{
    return x * 0x9e3779b97f4a7c15u;
}

static inline uint64_t *context_of(struct peet__codec *c)
{
    return &c->context[mix(c->path + c->place) >> c->shift];
}

static inline struct stride *stride_of(struct peet__codec *c)
{
    return &c->strides[mix(c->block * 64 + c->place) >> c->shift];
}

/** The low half of a plain block's word is its number; code of programs and of libraries lies in few places. */
static inline int says_code(uint64_t word)
{
    return PEET_RAW_IS_PLAIN(word) || PEET_RAW_IS_ABSTRACT(word) || word >> 32 == 0x5555;
}

/** Both predictors learn the word. */
static inline void learn(struct peet__codec *c, uint64_t *context, struct stride *s, uint64_t word)
{
    *context = word;
    s->difference = word - s->last;
    s->last = word;
    if (says_code(word)) {
        c->path = (c->path << 21 ^ c->path >> 43) + mix(word);
        c->block = word;
        c->place = 0;
    } else {
        c->place++;
    }
}

static inline uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

int peet__codec_encode(struct peet__codec *c, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    reset(c, n);
    for (size_t i = 0; i < n;) {
        const size_t until = n - i > 4096 ? i + 4096 : n;
        uint8_t *code, *literal;

        if (peet__bytes_reserve(codes, 4096 / 4 + 1) || peet__bytes_reserve(literals, 4096 * NUMBER_BYTES))
            return PEET_ENOMEM;
        code = codes->at + codes->n;
        literal = literals->at + literals->n;
        while (i < until) {
            unsigned four = 0;

            for (unsigned k = 0; k < 8 && i < until; k += 2, i++) {
                uint64_t word = words[i], *context = context_of(c);
                struct stride *s = stride_of(c);

                if (__builtin_expect(word != *context, 0)) {
                    const unsigned kind = word == s->last + s->difference ? STRIDE_HIT
                        : word == s->last                                 ? LAST_HIT
                                                                          : MISS;

                    four |= kind << k;
                    if (kind == MISS)
                        literal = put_number(literal, zigzag(word - s->last));
                }
                learn(c, context, s, word);
            }
            *code++ = (uint8_t)four;
        }
        codes->n = (size_t)(code - codes->at);
        literals->n = (size_t)(literal - literals->at);
    }
    return 0;
}

int peet__codec_decode(struct peet__codec *c, const uint8_t *codes, size_t codes_bytes, const uint8_t *literals,
    size_t literals_bytes, uint64_t *words, size_t n)
{
    const uint8_t *end = literals + literals_bytes;

    if (codes_bytes != (n + 3) / 4) /* whole chunks of 4096 words are whole bytes */
        return PEET_EFORMAT;
    reset(c, n);
    for (size_t i = 0; i < n; i++) {
        const unsigned kind = codes[i / 4] >> i % 4 * 2 & 3;
        uint64_t *context = context_of(c), word, number;
        struct stride *s = stride_of(c);

        if (kind == CONTEXT_HIT) {
            word = *context;
        } else if (kind == STRIDE_HIT) {
            word = s->last + s->difference;
        } else if (kind == LAST_HIT) {
            word = s->last;
        } else {
            if (peet__take_number(&literals, end, &number))
                return PEET_EFORMAT;
            word = s->last + (number >> 1 ^ -(number & 1));
        }
        words[i] = word;
        learn(c, context, s, word);
    }
    return literals == end ? 0 : PEET_EFORMAT;
}
