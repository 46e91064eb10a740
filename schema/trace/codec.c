/* SPDX-License-Identifier: Apache-2.0 */
/* See codec.h. */
#include "trace/codec_parts.h"

#include <peet/error.h>
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

enum {
    TABLE_BITS_MAX = 12,
    TABLE_BITS_MIN = 6,
    BLOCK_WORDS = 64 * 1024,
    TOKENS = 4096, /* for which room is made at once */
    NUMBER_BYTES = 10,
    GROUP = 8,           /* words that are looked at at once, */
    FAR_WORDS = 64,      /* at such distances */
    LONG_RUN = 15,       /* the rest of the run's length is a literal */
    CONTEXT_PIECES = 3,  /* are encoded by context before the distance is tried again; after each try in vain */
    CONTEXT_MOST = 127,  /* twice as many and one, up to so many */
    CONTEXT_WORDS = 1024 /* pieces of fewer words are always encoded by distance */
};

/* What comes after a run: a difference of 1 to 8 bytes, or */
enum {
    KIND_END = 0,  /* nothing: the words of the block are used up */
    KIND_LAST = 9, /* the word itself, without its step */
    KIND_KNOWN,    /* a code word, by its place in `known` */
    KIND_NEW       /* a code word */
};
/* A code each for n words, and for those made ready; 8 bytes for each word, and a number for each run of 15 or more. */
_Static_assert(PEET__CODES_ROOM(0) > TOKENS && PEET__LITERALS_ROOM(0) >= TOKENS * (8 + NUMBER_BYTES) + 8 + 64,
    "room for what is made ready at once");
static const uint8_t literal_bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 8};

struct peet__codec {
    unsigned shift;                       /* 64 - bits of an index */
    uint32_t before;                      /* larger than all places of earlier pieces */
    uint32_t pair[1 << TABLE_BITS_MAX];   /* by two code words: the place of the second, plus one */
    uint32_t single[1 << TABLE_BITS_MAX]; /* by one */
    uint64_t known[1 << TABLE_BITS_MAX];  /* code words that were not foreseen, where `single` has one */
    uint64_t steps[BLOCK_WORDS];          /* of each word: the difference from the one that it was held against */
    size_t realigned;                     /* how often the distance has changed in the piece */
    int fast;                             /* pieces may be encoded by context */
    unsigned by_context, next_by_context; /* so many next pieces are, and so many will be */
    uint64_t contexts[1 << PEET__CONTEXT_BITS];
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

/* ------------------------------------------------------------------------------------- prediction */

int peet__codec_new(int fast, struct peet__codec **out_codec)
{
    struct peet__codec *c = *out_codec = malloc(sizeof *c);

    if (!c)
        return PEET_ENOMEM;
    peet__codec_init(c, fast);
    return 0;
}

size_t peet__codec_bytes(void)
{
    return sizeof(struct peet__codec);
}

void peet__codec_init(struct peet__codec *codec, int fast)
{
    codec->fast = fast;
    codec->before = UINT32_MAX - BLOCK_WORDS; /* the tables are cleared first */
    codec->by_context = 0;
    codec->next_by_context = CONTEXT_PIECES;
}

void peet__codec_free(struct peet__codec *codec)
{
    free(codec);
}

/** Tables in proportion to the words.  Entries of earlier pieces are empty: clearing them would cost as much as packing
 * an eighth of the words. */
static void reset(struct peet__codec *c, size_t n)
{
    unsigned bits = TABLE_BITS_MIN;

    while (bits < TABLE_BITS_MAX && (size_t)1 << bits < n)
        bits++;
    c->shift = 64 - bits;
    c->before += BLOCK_WORDS;
    if (c->before > UINT32_MAX - 2 * BLOCK_WORDS) {
        memset(c->pair, 0, sizeof c->pair);
        memset(c->single, 0, sizeof c->single);
        c->before = BLOCK_WORDS;
    }
}

static inline uint64_t slot_of(const struct peet__codec *c, uint64_t x)
{
    return x * 0x9e3779b97f4a7c15u >> c->shift;
}

/** A block's word or an event's?  Code of a program and of traces of others lies at 0x5555...; a library's first blocks
 * pass for data, the others say their number.  Without branches: there is no knowing which it will be. */
static inline int says_code(uint64_t word)
{
    const uint32_t top = (uint32_t)(word >> 32);

    return (top == 0xffffffffu) | ((top >= 0x80000000u) & (top < 0xffff0000u)) | (top == 0x5555);
}

/**
 * A code word was not foreseen: where did the program go on like that before?  The place after the last one that was
 * not foreseen either and had the same code word before it, or after the last such word, or no other than now.
 * Returns: the distance from there to here
 */
static inline size_t realign(struct peet__codec *c, const uint64_t *words, size_t i, size_t distance)
{
    const uint64_t word = words[i];
    const uint64_t one = i > 0 ? words[i - 1] : 0, two = i > 1 ? words[i - 2] : 0, three = i > 2 ? words[i - 3] : 0;
    const uint64_t before = says_code(one) ? one : says_code(two) ? two : three;
    uint32_t *pair = &c->pair[slot_of(c, word * 31 + before)], *single = &c->single[slot_of(c, word)];
    const size_t p = *pair > c->before ? *pair - c->before : 0; /* places plus one */
    const size_t s = *single > c->before ? *single - c->before : 0;

    c->realigned++;
    *pair = *single = c->before + (uint32_t)i + 1;
    distance = s && words[s - 1] == word ? i + 1 - s : distance;
    return p && words[p - 1] == word ? i + 1 - p : distance;
}

static inline uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

/** Words that are foreseen from those @distance before.  Returns: the place of the first that is not, or n */
static inline __attribute__((always_inline)) size_t foreseen(uint64_t *steps, const uint64_t *words, size_t i, size_t n,
    size_t distance)
{
    /* Several at once, in vectors, if the steps that are read are no longer on their way to memory.  They have been the
     * same at each multiple of the distance since the run began. */
    size_t far = distance;

    if (distance < FAR_WORDS) {
        for (const size_t end = n - i < FAR_WORDS ? n : i + FAR_WORDS; i < end; i++) {
            const uint64_t step = words[i] - words[i - distance];

            steps[i] = step;
            if (step != steps[i - distance])
                return i;
        }
        far = (FAR_WORDS / distance + 1) * distance;
    }
    for (; n - i >= GROUP; i += GROUP) {
        uint64_t step[GROUP], other = 0;

        for (unsigned k = 0; k < GROUP; k++) {
            step[k] = words[i + k] - words[i + k - distance];
            other |= step[k] ^ steps[i + k - far];
        }
        if (other)
            break;
        memcpy(&steps[i], step, sizeof step);
    }
    for (; i < n; i++) {
        const uint64_t step = words[i] - words[i - distance];

        steps[i] = step;
        if (step != steps[i - distance])
            break;
    }
    return i;
}

/** The words of a block.  @code, @literal: where to append; @literal has room for TOKENS * (8 + NUMBER_BYTES) + 8.
 * Returns: how many words were done */
static inline __attribute__((always_inline)) size_t encode_some(struct peet__codec *c, const uint64_t *words,
    size_t from, size_t n, size_t *inout_distance, uint8_t **inout_code, uint8_t **inout_literal)
{
    uint8_t *code = *inout_code, *literal = *inout_literal;
    size_t distance = *inout_distance, i = from;

    for (int t = 0; t < TOKENS && i < n; t++) {
        const size_t next = distance ? foreseen(c->steps, words, i, n, distance) : i, run = next - i;
        uint64_t value, word;
        unsigned kind, bytes;

        *code = (uint8_t)(run < LONG_RUN ? run << 4 : LONG_RUN << 4);
        if (__builtin_expect(run >= LONG_RUN, 0))
            literal = put_number(literal, run - LONG_RUN);
        i = next;
        if (i == n) {
            *code++ |= KIND_END;
            break;
        }
        word = words[i];
        if (says_code(word)) {
            const uint64_t slot = slot_of(c, word);

            kind = c->known[slot] == word && c->single[slot] > c->before ? KIND_KNOWN : KIND_NEW;
            value = kind == KIND_KNOWN ? slot : word;
            c->known[slot] = word;
            c->steps[i] = 0;
            distance = realign(c, words, i, distance);
            bytes = literal_bytes[kind];
        } else {
            const uint64_t last = distance ? words[i - distance] : 0, step = distance ? c->steps[i - distance] : 0;

            value = zigzag(word - last - step);
            bytes = (71 - (unsigned)__builtin_clzll(value | 1)) >> 3;
            kind = word == last ? KIND_LAST : bytes;
            bytes = word == last ? 0 : bytes;
            c->steps[i] = distance ? word - last : 0;
        }
        memcpy(literal, &value, sizeof value);
        literal += bytes;
        *code++ |= (uint8_t)kind;
        i++;
    }
    *inout_distance = distance;
    *inout_code = code;
    *inout_literal = literal;
    return i;
}

static size_t encode_some_plain(struct peet__codec *c, const uint64_t *words, size_t from, size_t n,
    size_t *inout_distance, uint8_t **inout_code, uint8_t **inout_literal)
{
    return encode_some(c, words, from, n, inout_distance, inout_code, inout_literal);
}

__attribute__((target("avx2,bmi,bmi2"))) static size_t encode_some_wide(struct peet__codec *c, const uint64_t *words,
    size_t from, size_t n, size_t *inout_distance, uint8_t **inout_code, uint8_t **inout_literal)
{
    return encode_some(c, words, from, n, inout_distance, inout_code, inout_literal);
}

static int encode_by_distance(struct peet__codec *c, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    const int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    size_t distance = 0;

    reset(c, n);
    c->realigned = 0;
    for (size_t i = 0; i < n;) {
        uint8_t *code, *literal;

        if (peet__bytes_reserve(codes, TOKENS) ||
            peet__bytes_reserve(literals, TOKENS * (size_t)(8 + NUMBER_BYTES) + 8))
            return PEET_ENOMEM;
        code = codes->at + codes->n;
        literal = literals->at + literals->n;
        i = (wide ? encode_some_wide : encode_some_plain)(c, words, i, n, &distance, &code, &literal);
        codes->n = (size_t)(code - codes->at);
        literals->n = (size_t)(literal - literals->at);
    }
    return 0;
}

/**
 * Has the piece cost more by distance than it would have cost by context?  Measured on sixteen programs: 0.35 ns for
 * each word, 2.6 for each code and 15 for each change of the distance, most of it for branches that the processor does
 * not foresee; 0.6 to 1.2 ns for each word by context.
 */
static int is_irregular(size_t n, size_t ncodes, size_t realigned)
{
    return 26 * ncodes + 150 * realigned > 11 * n;
}

/** How the pieces after one by distance are encoded. */
static void choose_next(struct peet__codec *c, int irregular)
{
    c->by_context = irregular ? c->next_by_context : 0;
    c->next_by_context = !irregular    ? CONTEXT_PIECES
        : c->by_context < CONTEXT_MOST ? 2 * c->by_context + 1
                                       : CONTEXT_MOST;
}

int peet__codec_encode(struct peet__codec *c, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    while (n) {
        const size_t piece = n < BLOCK_WORDS ? n : BLOCK_WORDS, before = codes->n;
        const int by_context = c->by_context && piece >= CONTEXT_WORDS;

        if (by_context ? peet__context_encode(c->contexts, words, piece, codes, literals)
                       : encode_by_distance(c, words, piece, codes, literals))
            return PEET_ENOMEM;
        if (by_context)
            c->by_context--;
        else if (c->fast && piece >= CONTEXT_WORDS)
            choose_next(c, is_irregular(piece, codes->n - before, c->realigned));
        words += piece;
        n -= piece;
    }
    return 0;
}

/** The word that a token says.  Returns: 0 or PEET_EFORMAT */
static inline int take_literal(struct peet__codec *c, struct peet__packed *p, unsigned kind, uint64_t *out_value)
{
    const size_t bytes = literal_bytes[kind], left = (size_t)(p->literals_end - p->literal);
    uint64_t value = 0;

    if (left < bytes)
        return PEET_EFORMAT;
    if (__builtin_expect(left >= sizeof value, 1)) /* of a length that the compiler knows: a load, not a call */
        memcpy(&value, p->literal, sizeof value);
    else
        memcpy(&value, p->literal, left);
    value &= bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
    p->literal += bytes;
    if (kind == KIND_KNOWN) {
        if (value >> (64 - c->shift) || c->single[value] <= c->before)
            return PEET_EFORMAT;
        value = c->known[value];
    }
    *out_value = value;
    return 0;
}

static int decode_block(struct peet__codec *c, struct peet__packed *p, uint64_t *words, size_t n)
{
    size_t distance = 0, i = 0;

    if (p->code != p->codes_end && *p->code == PEET__BY_CONTEXT)
        return peet__context_decode(c->contexts, p, words, n);
    reset(c, n);
    while (i < n) {
        uint64_t run, more = 0, value;
        unsigned kind;

        if (p->code == p->codes_end)
            return PEET_EFORMAT;
        kind = *p->code & 15;
        run = *p->code++ >> 4;
        if (run == LONG_RUN && peet__take_number(&p->literal, p->literals_end, &more))
            return PEET_EFORMAT;
        if (more > n || (run += more) > n - i || (run && !distance) || kind > KIND_NEW)
            return PEET_EFORMAT;
        for (const size_t end = i + run; i < end; i++) {
            c->steps[i] = c->steps[i - distance];
            words[i] = words[i - distance] + c->steps[i];
        }
        if ((kind == KIND_END) != (i == n) || (kind != KIND_END && take_literal(c, p, kind, &value)))
            return PEET_EFORMAT;
        if (kind == KIND_END)
            return 0;
        if (kind == KIND_KNOWN || kind == KIND_NEW) {
            words[i] = value;
            c->known[slot_of(c, value)] = value;
            c->steps[i] = 0;
            distance = realign(c, words, i, distance);
        } else {
            const uint64_t last = distance ? words[i - distance] : 0, step = distance ? c->steps[i - distance] : 0;

            words[i] = kind == KIND_LAST ? last : last + step + (value >> 1 ^ -(value & 1));
            c->steps[i] = distance ? words[i] - last : 0;
        }
        i++;
    }
    return 0;
}

int peet__codec_decode(struct peet__codec *c, const uint8_t *codes, size_t codes_bytes, const uint8_t *literals,
    size_t literals_bytes, uint64_t *words, size_t n)
{
    struct peet__packed p = {codes, codes + codes_bytes, literals, literals + literals_bytes};

    for (size_t at = 0; at < n; at += BLOCK_WORDS)
        if (decode_block(c, &p, words + at, n - at < BLOCK_WORDS ? n - at : BLOCK_WORDS))
            return PEET_EFORMAT;
    return p.code == p.codes_end && p.literal == p.literals_end ? 0 : PEET_EFORMAT;
}
