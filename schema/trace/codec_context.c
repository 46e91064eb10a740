/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second way to encode a piece of words, for programs whose branches and data nobody foresees; see codec.h.  Each
 * word is held against the last word in the same *context*: the place of the code that was named last, and how many
 * words ago that was.  The difference goes to the literals in as many bytes as it needs.  There is no branch that
 * depends on a word, so words that cannot be foreseen cost no more than others.
 *
 * codes      the byte PEET__BY_CONTEXT, then half a byte for each word, the low half first: the bytes of its difference
 * literals   differences, zigzag (the sign in the lowest bit), low byte first
 *
 * Contexts share the entries of a table by their hash.  Which context comes next follows from the word alone, so that
 * the encoder may have several words under way at once.
 */
#include "trace/codec_parts.h"

#include <peet/error.h>

#include <immintrin.h>
#include <string.h>

enum { TABLE_BITS_MIN = 4, GROUP = 8 };

/** Code of a program, of libraries and of traces of others lies at 0x55.., 0x7f..: so does a plain block's number, which
 * begins with ones.  Headers of events and addresses of the heap and of stacks have a 0 there. */
#define CODE_BIT 46
#define HASH UINT64_C(0x9e3779b97f4a7c15)
#define NEXT UINT64_C(0x6a09e667f3bcc909) /* from the context of a word to that of the next one */

/** The entries that a piece uses, cleared.  Returns: 64 - bits of an index */
static unsigned reset(uint64_t *table, size_t n)
{
    unsigned bits = TABLE_BITS_MIN;

    while (bits < PEET__CONTEXT_BITS && (size_t)8 << bits < n)
        bits++;
    memset(table, 0, sizeof *table << bits);
    return 64 - bits;
}

static inline uint64_t next_context(uint64_t context, uint64_t word)
{
    const uint64_t named = word * HASH, further = context + NEXT;

    return word >> CODE_BIT & 1 ? named : further;
}

/** One word.  Returns: how many bytes at @literal are its difference; 8 are written */
static inline __attribute__((always_inline)) unsigned put_word(uint64_t *table, unsigned shift, uint64_t *context,
    uint64_t word, uint8_t *literal)
{
    uint64_t *last = &table[*context >> shift];
    const uint64_t difference = word - *last, value = difference << 1 ^ (uint64_t)((int64_t)difference >> 63);

    *last = word;
    *context = next_context(*context, word);
    memcpy(literal, &value, sizeof value);
    return (71 - (value ? (unsigned)__builtin_clzll(value) : 64)) >> 3;
}

/** The last words of a piece, one by one.  Returns: the end of the literals */
static inline __attribute__((always_inline)) uint8_t *put_rest(uint64_t *table, unsigned shift, uint64_t context,
    const uint64_t *words, size_t n, uint8_t *code, uint8_t *literal)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned bytes = put_word(table, shift, &context, words[i], literal);

        code[i / 2] = (uint8_t)(i % 2 ? code[i / 2] | bytes << 4 : bytes);
        literal += bytes;
    }
    return literal;
}

/** @code: room for n / 2 + 7 bytes; @literal: for 8 * n + 64.  Returns: the end of the literals */
static inline __attribute__((always_inline)) uint8_t *put_words(uint64_t *table, const uint64_t *words, size_t n,
    uint8_t *code, uint8_t *literal)
{
    const unsigned shift = reset(table, n);
    uint64_t context = 0;
    size_t i = 0;

    for (; n - i >= GROUP; i += GROUP) {
        uint32_t lengths = 0;

#pragma clang loop unroll(full)
        for (unsigned k = 0; k < GROUP; k++) {
            const unsigned bytes = put_word(table, shift, &context, words[i + k], literal);

            literal += bytes;
            lengths |= bytes << 4 * k;
        }
        memcpy(code, &lengths, sizeof lengths);
        code += sizeof lengths;
    }
    return put_rest(table, shift, context, words + i, n - i, code, literal);
}

static uint8_t *put_words_plain(uint64_t *table, const uint64_t *words, size_t n, uint8_t *code, uint8_t *literal)
{
    return put_words(table, words, n, code, literal);
}

/** With an instruction that counts leading zeros of 0 as well. */
__attribute__((target("lzcnt,bmi,bmi2"))) static uint8_t *put_words_counting(uint64_t *table, const uint64_t *words,
    size_t n, uint8_t *code, uint8_t *literal)
{
    return put_words(table, words, n, code, literal);
}

#define VECTORS "avx512f,avx512bw,avx512vl,avx512cd,avx512vbmi,avx512vbmi2,lzcnt,bmi,bmi2,popcnt"

/** The last words in the contexts of the next two, which take their places. */
__attribute__((target(VECTORS))) static inline __m128i exchange(uint64_t *table, unsigned shift, uint64_t *context,
    const uint64_t *words)
{
    uint64_t *last = &table[*context >> shift];
    const __m128d first = _mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)(const void *)last));
    __m128d both;

    *last = words[0];
    *context = next_context(*context, words[0]);
    last = &table[*context >> shift];
    both = _mm_loadh_pd(first, (const double *)(const void *)last);
    *last = words[1];
    *context = next_context(*context, words[1]);
    return _mm_castpd_si128(both);
}

/** Eight differences: their lengths and bytes.  Returns: the end of the literals */
__attribute__((target(VECTORS))) static inline uint8_t *put_differences(__m512i difference, uint8_t *code,
    uint8_t *literal)
{
    const __m512i place = _mm512_set1_epi64(0x0706050403020100); /* of a byte in its word */
    const __m512i first = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0));
    const __m512i value = _mm512_xor_si512(_mm512_add_epi64(difference, difference), _mm512_srai_epi64(difference, 63));
    const __m512i bytes = _mm512_srli_epi64(_mm512_sub_epi64(_mm512_set1_epi64(71), _mm512_lzcnt_epi64(value)), 3);
    const __mmask64 kept = _mm512_cmplt_epu8_mask(place, _mm512_shuffle_epi8(bytes, first));
    const uint32_t lengths =
        (uint32_t)_pext_u64((uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(bytes)), 0x0f0f0f0f0f0f0f0f);

    memcpy(code, &lengths, sizeof lengths);
    _mm512_storeu_si512(literal, _mm512_maskz_compress_epi8(kept, value));
    return literal + __builtin_popcountll(kept);
}

/** With vectors of eight words: 0.6 ns for each word in place of 1.1. */
__attribute__((target(VECTORS))) static uint8_t *put_words_wide(uint64_t *table, const uint64_t *words, size_t n,
    uint8_t *code, uint8_t *literal)
{
    const unsigned shift = reset(table, n);
    uint64_t context = 0;
    size_t i = 0;

    for (; n - i >= GROUP; i += GROUP, code += GROUP / 2) {
        const __m128i a = exchange(table, shift, &context, words + i);
        const __m128i b = exchange(table, shift, &context, words + i + 2);
        const __m128i c = exchange(table, shift, &context, words + i + 4);
        const __m128i d = exchange(table, shift, &context, words + i + 6);
        const __m512i last =
            _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(b, a)), _mm256_set_m128i(d, c), 1);

        literal = put_differences(_mm512_sub_epi64(_mm512_loadu_si512(words + i), last), code, literal);
    }
    return put_rest(table, shift, context, words + i, n - i, code, literal);
}

static int has_vectors(void)
{
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
}

int peet__context_encode(uint64_t *table, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    const int counts = __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("bmi2");
    uint8_t *code, *literal;

    if (peet__bytes_reserve(codes, n / 2 + 8) || peet__bytes_reserve(literals, 8 * n + 64))
        return PEET_ENOMEM;
    code = codes->at + codes->n;
    literal = literals->at + literals->n;
    *code = PEET__BY_CONTEXT;
    literal = (has_vectors() ? put_words_wide
            : counts         ? put_words_counting
                             : put_words_plain)(table, words, n, code + 1, literal);
    codes->n += 1 + (n + 1) / 2;
    literals->n = (size_t)(literal - literals->at);
    return 0;
}

/** The low bytes of what lies at @at, of which @left bytes are literals: a load where there are eight. */
static inline uint64_t low_bytes(const uint8_t *at, size_t left, size_t bytes)
{
    uint64_t value = 0;

    if (__builtin_expect(left >= sizeof value, 1))
        memcpy(&value, at, sizeof value);
    else
        memcpy(&value, at, left);
    return bytes < 8 ? value & ((UINT64_C(1) << 8 * bytes) - 1) : value;
}

int peet__context_decode(uint64_t *table, struct peet__packed *p, uint64_t *words, size_t n)
{
    const uint8_t *const code = p->code + 1, *literal = p->literal;
    uint64_t context = 0;
    unsigned shift;

    if ((size_t)(p->codes_end - p->code) < 1 + (n + 1) / 2 || (n % 2 && code[n / 2] >> 4))
        return PEET_EFORMAT;
    shift = reset(table, n);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = code[i / 2] >> i % 2 * 4 & 15, left = (size_t)(p->literals_end - literal);
        uint64_t *last = &table[context >> shift], value;

        if (bytes > 8 || bytes > left)
            return PEET_EFORMAT;
        value = low_bytes(literal, left, bytes);
        literal += bytes;
        words[i] = *last += value >> 1 ^ -(value & 1);
        if (words[i] >> CODE_BIT & 1) {
            __asm__ volatile(""); /* a branch: most words name no code, and the next one need not wait for them */
            context = words[i] * HASH;
        } else {
            context += NEXT;
        }
    }
    p->literal = literal;
    p->code += 1 + (n + 1) / 2;
    return 0;
}
