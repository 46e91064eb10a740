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
    SOME = PEET__CODEC_SOME,
    NUMBER_BYTES = 10,
    GROUP = 8,           /* words that are looked at at once */
    STEPS = 3,           /* a word's step is foreseen from so many words before it */
    CONTEXT_PIECES = 3,  /* are encoded by context before the distance is tried again; after each try in vain */
    CONTEXT_MOST = 31,   /* twice as many and one, up to so many */
    CONTEXT_WORDS = 1024 /* pieces of fewer words are always encoded by distance */
};

struct peet__codec {
    unsigned shift;                         /* 64 - bits of an index */
    uint32_t before;                        /* larger than all places of earlier pieces */
    uint32_t pair[1 << TABLE_BITS_MAX];     /* by two code words: the place of the second, plus one */
    uint32_t single[1 << TABLE_BITS_MAX];   /* by one */
    size_t distance;                        /* of the piece; 0: none yet */
    size_t realigned;                       /* how often it has changed in the piece */
    int fast;                               /* pieces may be encoded by context */
    unsigned by_context, next_by_context;   /* so many next pieces are, and so many will be */
    uint64_t left[SOME + PEET__CODEC_UNIT]; /* of some words: what was not foreseen */
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
    c->distance = c->realigned = 0;
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

/* A block's word or an event's?  They have the highest bit, or are code of a program or of traces of others, at 0x5555...;
 * a library's first blocks pass for data, the others say their number. */
#define CODE_TOP 0x5555
static inline int says_code(uint64_t word)
{
    return ((int64_t)word < 0) | (word >> 32 == CODE_TOP);
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

/** What a word is foreseen as that comes after words at three times its distance. */
static inline uint64_t foreseen(uint64_t a, uint64_t b, uint64_t c)
{
    return a + (a - b == b - c ? a - b : 0);
}

#define WIDE "avx2,bmi,bmi2"
#define WIDEST "avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2"

/** Which of these the processor has: 0, 1, 2 for both. */
static int width(void)
{
    const int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");

    return wide +
        (wide && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw"));
}

typedef uint64_t eight __attribute__((ext_vector_type(GROUP), aligned(8)));
typedef int64_t eight_signed __attribute__((ext_vector_type(GROUP)));
typedef _Bool eight_bits __attribute__((ext_vector_type(GROUP)));

/** As foreseen(), for eight words. */
static inline __attribute__((always_inline)) eight foreseen_eight(const uint64_t *words, size_t distance)
{
    const eight a = *(const eight *)(const void *)(words - distance);
    const eight b = *(const eight *)(const void *)(words - 2 * distance);
    const eight step = a - b, before = b - *(const eight *)(const void *)(words - 3 * distance);

    return a + (step & (eight)(step == before));
}

/** Which of eight words, of which @left is left, are code that was not foreseen: a bit each. */
static inline __attribute__((always_inline)) unsigned unforeseen_code(eight words, eight left)
{
    const eight_bits each =
        __builtin_convertvector((left != 0) & (((eight_signed)words < 0) | (words >> 32 == CODE_TOP)), eight_bits);
    uint8_t bits;

    memcpy(&bits, &each, sizeof bits);
    return bits;
}

/** What is left of eight words.  @distance: 0, or from there on there are words; @far: also at three times it
 * Returns: as unforeseen_code() */
static inline __attribute__((always_inline)) unsigned left_of_eight(const uint64_t *words, size_t distance, int far,
    uint64_t *left)
{
    const eight x = *(const eight *)(const void *)words;
    const eight is = far ? x ^ foreseen_eight(words, distance)
        : distance       ? x ^ *(const eight *)(const void *)(words - distance)
                         : x;

    *(eight *)(void *)left = is;
    return unforeseen_code(x, is);
}

/** As left_of_eight(), one by one, for up to eight words at the end of a piece. */
static unsigned left_of_few(const uint64_t *words, size_t n, size_t distance, int far, uint64_t *left)
{
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t *w = words + i;

        left[i] = *w ^
            (!distance     ? 0
                    : !far ? *(w - distance)
                           : foreseen(*(w - distance), *(w - 2 * distance), *(w - 3 * distance)));
        bits |= (unsigned)(left[i] && says_code(*w)) << i;
    }
    return bits;
}

/** Some words of a piece, from @i to before @end: what is left of them.  @n: words that there are */
static inline __attribute__((always_inline)) void from_words(struct peet__codec *c, const uint64_t *words, size_t i,
    size_t end, size_t n, uint64_t *left)
{
    while (i < end) {
        const size_t distance = c->distance, far = STEPS * distance;
        const size_t stop = !distance || far <= i || far > end ? end : far;
        unsigned bits = 0;

        if (distance && far <= i)
            for (; i < stop && n - i >= GROUP && !(bits = left_of_eight(words + i, distance, 1, left)); left += GROUP)
                i += GROUP;
        else
            for (; i < stop && n - i >= GROUP && !(bits = left_of_eight(words + i, distance, 0, left)); left += GROUP)
                i += GROUP;
        if (i < stop && n - i < GROUP)
            bits = left_of_few(words + i, n - i, distance, distance && far <= i, left);
        if (i > stop) { /* at the last of these eight */
            left -= i - stop;
            i = stop;
        } else if (i < stop) {
            const size_t some = bits ? (size_t)__builtin_ctz(bits) + 1 : n - i;

            i += some;
            left += some;
            if (i > stop) {
                left -= i - stop;
                i = stop;
            } else if (bits) {
                c->distance = realign(c, words, i - 1, distance);
            }
        }
    }
}

static void from_words_plain(struct peet__codec *c, const uint64_t *words, size_t i, size_t end, size_t n,
    uint64_t *left)
{
    from_words(c, words, i, end, n, left);
}

__attribute__((target(WIDE))) static void from_words_wide(struct peet__codec *c, const uint64_t *words, size_t i,
    size_t end, size_t n, uint64_t *left)
{
    from_words(c, words, i, end, n, left);
}

__attribute__((target(WIDEST))) static void from_words_widest(struct peet__codec *c, const uint64_t *words, size_t i,
    size_t end, size_t n, uint64_t *left)
{
    from_words(c, words, i, end, n, left);
}

/** What of words of a piece is not foreseen. */
static void leave(struct peet__codec *c, const uint64_t *words, size_t i, size_t end, size_t n, uint64_t *left)
{
    const int wide = width();

    (wide > 1 ? from_words_widest : wide ? from_words_wide : from_words_plain)(c, words, i, end, n, left);
}

/** Some words of a piece again, from @i to before @end. */
static inline __attribute__((always_inline)) void to_words(struct peet__codec *c, const uint64_t *left, uint64_t *words,
    size_t i, size_t end)
{
    left -= i;
    while (i < end) {
        const size_t distance = c->distance, far = STEPS * distance;
        const size_t stop = !distance || far <= i || far > end ? end : far;
        uint64_t *const a = words - distance, *const b = a - distance, *const d = b - distance;

        if (!distance) {
            for (; i < stop && !((words[i] = left[i]) && says_code(words[i])); i++)
                ;
        } else if (far > i) {
            for (; i < stop; i++) {
                words[i] = a[i] ^ left[i];
                if (__builtin_expect(left[i] != 0, 0) && says_code(words[i]))
                    break;
            }
        } else {
            /* what a word is made of is there before eight of them begin */
            for (eight x, y; distance >= GROUP && stop - i >= GROUP; i += GROUP) {
                y = *(const eight *)(const void *)(left + i);
                x = foreseen_eight(words + i, distance) ^ y;
                *(eight *)(void *)(words + i) = x;
                if (unforeseen_code(x, y))
                    break;
            }
            for (; i < stop; i++) {
                words[i] = foreseen(a[i], b[i], d[i]) ^ left[i];
                if (__builtin_expect(left[i] != 0, 0) && says_code(words[i]))
                    break;
            }
        }
        if (i < stop) {
            c->distance = realign(c, words, i, distance);
            i++;
        }
    }
}

static void to_words_plain(struct peet__codec *c, const uint64_t *left, uint64_t *words, size_t i, size_t end)
{
    to_words(c, left, words, i, end);
}

__attribute__((target(WIDE))) static void to_words_wide(struct peet__codec *c, const uint64_t *left, uint64_t *words,
    size_t i, size_t end)
{
    to_words(c, left, words, i, end);
}

__attribute__((target(WIDEST))) static void to_words_widest(struct peet__codec *c, const uint64_t *left,
    uint64_t *words, size_t i, size_t end)
{
    to_words(c, left, words, i, end);
}

static void again(struct peet__codec *c, const uint64_t *left, uint64_t *words, size_t i, size_t end)
{
    const int wide = width();

    (wide > 1 ? to_words_widest : wide ? to_words_wide : to_words_plain)(c, left, words, i, end);
}

/**
 * Has the piece cost more by distance than it would have cost by context?  Measured on sixteen programs: 0.3 ns for
 * each word and 17 for each change of the distance, since the processor does not foresee it either; 0.6 ns for each word
 * by context, and half a byte more, which takes some 0.2 to write.
 */
static int is_irregular(size_t n, size_t realigned)
{
    return 25 * realigned > n;
}

/** How the pieces after one by distance are encoded. */
static void choose_next(struct peet__codec *c, int irregular)
{
    c->by_context = irregular ? c->next_by_context : 0;
    c->next_by_context = !irregular    ? CONTEXT_PIECES
        : c->by_context < CONTEXT_MOST ? 2 * c->by_context + 1
                                       : CONTEXT_MOST;
}

static void encode_piece(struct peet__codec *c, const uint64_t *words, size_t n, int by_context,
    struct peet__bytes *codes, struct peet__bytes *literals)
{
    uint8_t *code = codes->at + codes->n, *literal = literals->at + literals->n;
    struct peet__contexts contexts;

    *code++ = by_context ? PEET__BY_CONTEXT : PEET__BY_DISTANCE;
    if (by_context)
        peet__contexts_begin(&contexts, c->contexts, n);
    else
        reset(c, n);
    for (size_t at = 0; at < n; at += SOME) {
        const size_t some = n - at < SOME ? n - at : SOME;

        if (by_context)
            peet__contexts_from(&contexts, words + at, some, c->left);
        else
            leave(c, words, at, at + some, n, c->left);
        if (some % PEET__CODEC_UNIT)
            memset(c->left + some, 0, (PEET__CODEC_UNIT - some % PEET__CODEC_UNIT) * sizeof *c->left);
        peet__codec_put(c->left, some, &code, &literal);
    }
    codes->n = (size_t)(code - codes->at);
    literals->n = (size_t)(literal - literals->at);
}

int peet__codec_encode(struct peet__codec *c, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    while (n) {
        const size_t piece = n < BLOCK_WORDS ? n : BLOCK_WORDS;
        const int by_context = c->by_context && piece >= CONTEXT_WORDS;

        if (peet__bytes_reserve(codes, PEET__CODES_ROOM(piece)) ||
            peet__bytes_reserve(literals, PEET__LITERALS_ROOM(piece)))
            return PEET_ENOMEM;
        encode_piece(c, words, piece, by_context, codes, literals);
        if (by_context)
            c->by_context--;
        else if (c->fast && piece >= CONTEXT_WORDS)
            choose_next(c, is_irregular(piece, c->realigned));
        words += piece;
        n -= piece;
    }
    return 0;
}

static int decode_piece(struct peet__codec *c, struct peet__packed *p, uint64_t *words, size_t n)
{
    struct peet__contexts contexts;
    int by_context;

    if (p->code == p->codes_end || *p->code > PEET__BY_CONTEXT)
        return PEET_EFORMAT;
    by_context = *p->code++ == PEET__BY_CONTEXT;
    if (by_context)
        peet__contexts_begin(&contexts, c->contexts, n);
    else
        reset(c, n);
    for (size_t at = 0; at < n; at += SOME) {
        const size_t some = n - at < SOME ? n - at : SOME;

        if (peet__codec_take(p, c->left, some))
            return PEET_EFORMAT;
        for (size_t i = some; i % PEET__CODEC_UNIT; i++)
            if (c->left[i]) /* there are no such words */
                return PEET_EFORMAT;
        if (by_context)
            peet__contexts_to(&contexts, c->left, some, words + at);
        else
            again(c, c->left, words, at, at + some);
    }
    return 0;
}

int peet__codec_decode(struct peet__codec *c, const uint8_t *codes, size_t codes_bytes, const uint8_t *literals,
    size_t literals_bytes, uint64_t *words, size_t n)
{
    struct peet__packed p = {codes, codes + codes_bytes, literals, literals + literals_bytes};

    for (size_t at = 0; at < n; at += BLOCK_WORDS)
        if (decode_piece(c, &p, words + at, n - at < BLOCK_WORDS ? n - at : BLOCK_WORDS))
            return PEET_EFORMAT;
    return p.code == p.codes_end && p.literal == p.literals_end ? 0 : PEET_EFORMAT;
}
