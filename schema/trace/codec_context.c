/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second way to predict the words of a piece, for programs whose branches nobody foresees; see codec.h.  Each word is
 * held against the last word in the same *context*: the place of the code that was named last, and how many words ago that
 * was.  There is no branch that depends on a word, so words that cannot be foreseen cost no more than others.
 *
 * Contexts share the entries of a table by their hash.  Which context comes next follows from the word alone, so that
 * the encoder may have several words under way at once.
 */
#include "trace/codec_parts.h"

#include <immintrin.h>
#include <string.h>

enum { TABLE_BITS_MIN = 4, GROUP = 8 };

/** Code of a program, of libraries and of traces of others lies at 0x55.., 0x7f..: so does a plain block's number, which
 * begins with ones.  Headers of events and addresses of the heap and of contexts' stacks have a 0 there. */
#define CODE_BIT 46
#define HASH UINT64_C(0x9e3779b97f4a7c15)
#define NEXT UINT64_C(0x6a09e667f3bcc909) /* from the context of a word to that of the next one */

void peet__contexts_begin(struct peet__contexts *c, uint64_t *table, size_t n)
{
    unsigned bits = TABLE_BITS_MIN;

    while (bits < PEET__CONTEXT_BITS && (size_t)8 << bits < n)
        bits++;
    memset(table, 0, sizeof *table << bits);
    *c = (struct peet__contexts){table, 0, 64 - bits};
}

static inline uint64_t next_context(uint64_t context, uint64_t word)
{
    const uint64_t named = word * HASH, further = context + NEXT;

    return word >> CODE_BIT & 1 ? named : further;
}

static inline __attribute__((always_inline)) void from_words(struct peet__contexts *c, const uint64_t *words, size_t n,
    uint64_t *left)
{
    uint64_t *const table = c->table, context = c->context;
    const unsigned shift = c->shift;

#pragma clang loop unroll_count(8)
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = words[i];
        uint64_t *last = &table[context >> shift];

        left[i] = word - *last;
        *last = word;
        context = next_context(context, word);
    }
    c->context = context;
    for (size_t i = 0; i < n; i++) /* the sign in the lowest bit; apart from the rest, for vectors */
        left[i] = left[i] << 1 ^ (uint64_t)((int64_t)left[i] >> 63);
}

static void from_words_plain(struct peet__contexts *c, const uint64_t *words, size_t n, uint64_t *left)
{
    from_words(c, words, n, left);
}

__attribute__((target("avx2,bmi,bmi2"))) static void from_words_wide(struct peet__contexts *c, const uint64_t *words,
    size_t n, uint64_t *left)
{
    from_words(c, words, n, left);
}

#define VECTORS "avx512f,avx512vl,bmi,bmi2"

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

/** With vectors of eight words: a seventh less time. */
__attribute__((target(VECTORS))) static void from_words_widest(struct peet__contexts *c, const uint64_t *words,
    size_t n, uint64_t *left)
{
    uint64_t context = c->context;
    size_t i = 0;

    for (; n - i >= GROUP; i += GROUP) {
        const __m128i a = exchange(c->table, c->shift, &context, words + i);
        const __m128i b = exchange(c->table, c->shift, &context, words + i + 2);
        const __m128i d = exchange(c->table, c->shift, &context, words + i + 4);
        const __m128i e = exchange(c->table, c->shift, &context, words + i + 6);
        const __m512i last =
            _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(b, a)), _mm256_set_m128i(e, d), 1);
        const __m512i difference = _mm512_sub_epi64(_mm512_loadu_si512(words + i), last);

        _mm512_storeu_si512(left + i,
            _mm512_xor_si512(_mm512_add_epi64(difference, difference), _mm512_srai_epi64(difference, 63)));
    }
    c->context = context;
    from_words(c, words + i, n - i, left + i);
}

void peet__contexts_from(struct peet__contexts *c, const uint64_t *words, size_t n, uint64_t *left)
{
    const int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");

    (wide && __builtin_cpu_supports("avx512vl") ? from_words_widest
            : wide                              ? from_words_wide
                                                : from_words_plain)(c, words, n, left);
}

void peet__contexts_to(struct peet__contexts *c, const uint64_t *left, size_t n, uint64_t *words)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t *last = &c->table[c->context >> c->shift];

        words[i] = *last += left[i] >> 1 ^ -(left[i] & 1);
        if (words[i] >> CODE_BIT & 1) {
            __asm__ volatile(""); /* a branch: most words name no code, and the next one need not wait for them */
            c->context = words[i] * HASH;
        } else {
            c->context += NEXT;
        }
    }
}
