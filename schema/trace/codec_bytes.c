/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of words of which most are 0, and most bytes of the others: only bytes that are not 0 are written, and where
 * they belong.  For each unit of 64 words, the codes have
 *
 *   a byte                   which of its eight groups of eight words are not all 0 (the lowest bit: the first); for each of these
 *   a byte                   which words of the group are not 0; for each of these
 *   a byte                   which bytes of the word are not 0
 *
 * and the literals have these bytes, in their order.  No branch depends on the words but one for each unit: whether it is
 * all 0.  A byte of 0 that is said to be none is read like any other: nobody writes it.
 */
#include "trace/codec_parts.h"

#include <peet/error.h>

#include <immintrin.h>
#include <string.h>

enum { GROUP = 8, GROUPS = PEET__CODEC_UNIT / GROUP };

#define VECTORS "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"
#define BITS "bmi,bmi2,popcnt"

/** A byte for each bit: 0 or 255. */
__attribute__((target(BITS))) static inline uint64_t bytes_of(uint64_t bits)
{
    const uint64_t ones = _pdep_u64(bits, 0x0101010101010101);

    return (ones << 8) - ones;
}

/* --------------------------------------------------------------------------------------- to bytes */

static int is_zero(const uint64_t *words)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < PEET__CODEC_UNIT; i++)
        any |= words[i];
    return !any;
}

/** Eight words at once: what their group is in the codes.  Returns: 1 if it is there */
__attribute__((target(VECTORS))) static inline unsigned put_group_wide(const uint64_t *words, uint8_t **code,
    uint8_t **literal)
{
    const __m512i eight = _mm512_loadu_si512(words);
    const uint64_t bytes = _mm512_test_epi8_mask(eight, eight);
    const uint8_t nonzero = _mm512_test_epi64_mask(eight, eight);
    const uint64_t masks = _pext_u64(bytes, bytes_of(nonzero));

    _mm512_storeu_si512(*literal, _mm512_maskz_compress_epi8(bytes, eight));
    *literal += __builtin_popcountll(bytes);
    **code = nonzero;
    memcpy(*code + 1, &masks, sizeof masks);
    *code += (nonzero != 0) + __builtin_popcount(nonzero);
    return nonzero != 0;
}

__attribute__((target(VECTORS))) static void put_wide(const uint64_t *words, size_t n, uint8_t **inout_code,
    uint8_t **inout_literal)
{
    uint8_t *code = *inout_code, *literal = *inout_literal;

    for (size_t i = 0; i < n; i += PEET__CODEC_UNIT) {
        uint8_t *const groups = code++;

        *groups = 0;
        if (is_zero(words + i))
            continue;
        for (unsigned g = 0; g < GROUPS; g++)
            *groups |= (uint8_t)(put_group_wide(words + i + g * GROUP, &code, &literal) << g);
    }
    *inout_code = code;
    *inout_literal = literal;
}

/** Which bytes are not 0. */
static inline unsigned mask_of(uint64_t word)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f, high = (((word & low) + low) | word) & ~low; /* the highest bit of each */

    return (unsigned)((high >> 7) * 0x0102040810204080 >> 56);
}

static inline __attribute__((always_inline)) void put_some(const uint64_t *words, size_t n, uint8_t **inout_code,
    uint8_t **inout_literal, uint8_t *(*put_word)(uint64_t word, unsigned mask, uint8_t *literal))
{
    uint8_t *code = *inout_code, *literal = *inout_literal;

    for (size_t i = 0; i < n; i += PEET__CODEC_UNIT) {
        uint8_t *const groups = code++;

        *groups = 0;
        if (is_zero(words + i))
            continue;
        for (unsigned g = 0; g < GROUPS; g++) {
            uint8_t *const group = code++;
            unsigned nonzero = 0;

            for (unsigned k = 0; k < GROUP; k++) {
                const uint64_t word = words[i + g * GROUP + k];
                const unsigned mask = mask_of(word);

                literal = put_word(word, mask, literal);
                *code = (uint8_t)mask;
                code += mask != 0;
                nonzero |= (unsigned)(mask != 0) << k;
            }
            *group = (uint8_t)nonzero; /* a group of zeros is written over */
            code -= !nonzero;
            *groups |= (uint8_t)((nonzero != 0) << g);
        }
    }
    *inout_code = code;
    *inout_literal = literal;
}

__attribute__((target(BITS))) static inline uint8_t *put_word_by_bits(uint64_t word, unsigned mask, uint8_t *literal)
{
    const uint64_t bytes = _pext_u64(word, bytes_of(mask));

    memcpy(literal, &bytes, sizeof bytes);
    return literal + __builtin_popcount(mask);
}

static inline uint8_t *put_word(uint64_t word, unsigned mask, uint8_t *literal)
{
    for (; mask; mask >>= 1, word >>= 8) {
        *literal = (uint8_t)word;
        literal += mask & 1;
    }
    return literal;
}

__attribute__((target(BITS))) static void put_by_bits(const uint64_t *words, size_t n, uint8_t **code,
    uint8_t **literal)
{
    put_some(words, n, code, literal, put_word_by_bits);
}

static int has_bits(void)
{
    return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

static int has_vectors(void)
{
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && has_bits();
}

void peet__codec_put(const uint64_t *words, size_t n, uint8_t **code, uint8_t **literal)
{
    if (has_vectors())
        put_wide(words, n, code, literal);
    else if (has_bits())
        put_by_bits(words, n, code, literal);
    else
        put_some(words, n, code, literal, put_word);
}

/* ------------------------------------------------------------------------------------- from bytes */

/** The next @n bytes of codes that end at @end, in the low bytes.  Returns: 0, or PEET_EFORMAT: they are not there */
static inline int take_bytes(const uint8_t **at, const uint8_t *end, unsigned n, uint64_t *out)
{
    const size_t left = (size_t)(end - *at);

    *out = 0;
    if (left < n)
        return PEET_EFORMAT;
    if (__builtin_expect(left >= sizeof *out, 1)) /* of a length that the compiler knows: a load, not a call */
        memcpy(out, *at, sizeof *out);
    else
        memcpy(out, *at, left);
    *at += n;
    return 0;
}

__attribute__((target(VECTORS))) static inline int take_group_wide(struct peet__packed *p, unsigned nonzero,
    uint64_t *words)
{
    const size_t left = (size_t)(p->literals_end - p->literal);
    uint64_t masks;
    unsigned n;

    if (take_bytes(&p->code, p->codes_end, (unsigned)__builtin_popcount(nonzero), &masks))
        return PEET_EFORMAT;
    masks = _pdep_u64(masks, bytes_of(nonzero));
    n = (unsigned)__builtin_popcountll(masks);
    if (left < n)
        return PEET_EFORMAT;
    _mm512_storeu_si512(words,
        __builtin_expect(left >= sizeof(__m512i), 1) /* a load that asks for no mask is faster */
            ? _mm512_maskz_expand_epi8(masks, _mm512_loadu_si512(p->literal))
            : _mm512_maskz_expandloadu_epi8(masks, p->literal));
    p->literal += n;
    return 0;
}

static inline __attribute__((always_inline)) int take_group(struct peet__packed *p, unsigned nonzero, uint64_t *words,
    uint64_t (*spread)(uint64_t bytes, unsigned mask))
{
    for (unsigned k = 0; k < GROUP; k++) {
        uint64_t bytes = 0;
        unsigned mask = 0;

        if (nonzero >> k & 1) {
            if (p->code == p->codes_end)
                return PEET_EFORMAT;
            mask = *p->code++;
            if (take_bytes(&p->literal, p->literals_end, (unsigned)__builtin_popcount(mask), &bytes))
                return PEET_EFORMAT;
        }
        words[k] = spread(bytes, mask);
    }
    return 0;
}

__attribute__((target(BITS))) static inline uint64_t spread_by_bits(uint64_t bytes, unsigned mask)
{
    return _pdep_u64(bytes, bytes_of(mask));
}

static inline uint64_t spread(uint64_t bytes, unsigned mask)
{
    uint64_t word = 0;

    for (unsigned k = 0; k < 8; k++)
        if (mask >> k & 1) {
            word |= (bytes & 255) << 8 * k;
            bytes >>= 8;
        }
    return word;
}

__attribute__((target(BITS))) static inline int take_group_by_bits(struct peet__packed *p, unsigned nonzero,
    uint64_t *words)
{
    return take_group(p, nonzero, words, spread_by_bits);
}

static inline int take_group_plain(struct peet__packed *p, unsigned nonzero, uint64_t *words)
{
    return take_group(p, nonzero, words, spread);
}

static inline __attribute__((always_inline)) int take_some(struct peet__packed *from, uint64_t *words, size_t n,
    int (*take)(struct peet__packed *, unsigned, uint64_t *))
{
    struct peet__packed p = *from;

    for (size_t i = 0; i < n; i += PEET__CODEC_UNIT) {
        unsigned groups;

        if (p.code == p.codes_end)
            return PEET_EFORMAT;
        groups = *p.code++;
        memset(words + i, 0, PEET__CODEC_UNIT * sizeof *words);
        for (; groups; groups &= groups - 1) {
            const unsigned g = (unsigned)__builtin_ctz(groups);
            unsigned nonzero;

            if (p.code == p.codes_end)
                return PEET_EFORMAT;
            nonzero = *p.code++;
            if (take(&p, nonzero, words + i + g * GROUP))
                return PEET_EFORMAT;
        }
    }
    *from = p;
    return 0;
}

__attribute__((target(VECTORS))) static int take_wide(struct peet__packed *p, uint64_t *words, size_t n)
{
    return take_some(p, words, n, take_group_wide);
}

__attribute__((target(BITS))) static int take_by_bits(struct peet__packed *p, uint64_t *words, size_t n)
{
    return take_some(p, words, n, take_group_by_bits);
}

int peet__codec_take(struct peet__packed *p, uint64_t *words, size_t n)
{
    return has_vectors() ? take_wide(p, words, n)
        : has_bits()     ? take_by_bits(p, words, n)
                         : take_some(p, words, n, take_group_plain);
}
