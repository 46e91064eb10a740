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

/** @code: room for n / 2 + 5 bytes; @literal: for 8 * n + 8.  Returns: the end of the literals */
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
    for (size_t k = 0; i < n; i++, k++) {
        const unsigned bytes = put_word(table, shift, &context, words[i], literal);

        code[k / 2] = (uint8_t)(k % 2 ? code[k / 2] | bytes << 4 : bytes);
        literal += bytes;
    }
    return literal;
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

int peet__context_encode(uint64_t *table, const uint64_t *words, size_t n, struct peet__bytes *codes,
    struct peet__bytes *literals)
{
    const int counts = __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("bmi2");
    uint8_t *code, *literal;

    if (peet__bytes_reserve(codes, n / 2 + 8) || peet__bytes_reserve(literals, 8 * n + 8))
        return PEET_ENOMEM;
    code = codes->at + codes->n;
    literal = literals->at + literals->n;
    *code = PEET__BY_CONTEXT;
    literal = (counts ? put_words_counting : put_words_plain)(table, words, n, code + 1, literal);
    codes->n += 1 + (n + 1) / 2;
    literals->n = (size_t)(literal - literals->at);
    return 0;
}

int peet__context_decode(uint64_t *table, struct peet__packed *p, uint64_t *words, size_t n)
{
    const uint8_t *const code = p->code + 1;
    uint64_t context = 0;
    unsigned shift;

    if ((size_t)(p->codes_end - p->code) < 1 + (n + 1) / 2 || (n % 2 && code[n / 2] >> 4))
        return PEET_EFORMAT;
    shift = reset(table, n);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = code[i / 2] >> i % 2 * 4 & 15, left = (size_t)(p->literals_end - p->literal);
        uint64_t *last = &table[context >> shift], value = 0;

        if (bytes > 8 || bytes > left)
            return PEET_EFORMAT;
        memcpy(&value, p->literal, left < sizeof value ? left : sizeof value);
        value &= bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
        p->literal += bytes;
        words[i] = *last += value >> 1 ^ -(value & 1);
        context = next_context(context, words[i]);
    }
    p->code += 1 + (n + 1) / 2;
    return 0;
}
