/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing of raw words: what is packed is unpacked again, whatever the words are; words that follow from the words
 * before them cost next to nothing; bytes that nobody packed are refused or give some words, and nothing worse.
 */
#include "trace/codec_parts.h"

#include <peet/error.h>
#include <peet/raw.h>

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200000 };

static uint64_t words[MOST], unpacked[MOST];
static uint64_t seed;

static uint64_t number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 24;
}

static uint64_t plain(uint64_t index)
{
    return ~(uint64_t)0 << 32 | (uint32_t)~index;
}

/** A loop whose addresses have strides, with another block now and then. */
static void loop(size_t n, unsigned now_and_then)
{
    for (size_t i = 0, k = 0; i < n; k++) {
        const uint64_t record[] = {plain(3), 0x200000001000 + 8 * k, plain(4), 0x200000900000 - 24 * k, 77};
        const uint64_t other[] = {0x555555556120, 0x11fffffffd80, plain(9)};

        for (size_t j = 0; j < 5 && i < n; j++)
            words[i++] = record[j];
        for (size_t j = 0; j < 3 && i < n && now_and_then && number() % now_and_then == 0; j++)
            words[i++] = other[j];
    }
}

static void anything(size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (number() % 6) {
        case 0:
            words[i] = number() << 40 ^ number();
            break;
        case 1:
            words[i] = plain(number() % 5000);
            break;
        case 2:
            words[i] = i ? words[i - 1] : 0;
            break;
        case 3:
            words[i] = PEET_RAW_ABSTRACT(number() % 60, number() % 4);
            break;
        case 4:
            words[i] = 0x555555550000 + number() % 100 * 16;
            break;
        default:
            words[i] = i ? words[i / 2] + 8 : UINT64_MAX;
        }
}

/** Branches and data that nobody foresees: one of many blocks after each other one, some addresses of its own each. */
static void irregular(size_t n)
{
    for (size_t i = 0; i < n;) {
        const uint64_t block = number() % 12;

        words[i++] = block < 2 ? 0x555555556000 + 64 * block : plain(block);
        for (size_t k = 0; k < block % 3 && i < n; k++)
            words[i++] = 0x200000000000 + (block << 24) + number() % 5000 * 8;
    }
}

/** Returns: how many bytes the words take */
static size_t packed_and_back(struct peet__codec *codec, size_t n)
{
    struct peet__bytes codes = {0}, literals = {0};
    size_t bytes;

    CU_ASSERT_FATAL(peet__codec_encode(codec, words, n, &codes, &literals) == 0);
    memset(unpacked, 0x5a, sizeof unpacked);
    CU_ASSERT_EQUAL(peet__codec_decode(codec, codes.at, codes.n, literals.at, literals.n, unpacked, n), 0);
    CU_ASSERT_FATAL(memcmp(words, unpacked, n * sizeof *words) == 0);
    if (codes.n)
        CU_ASSERT_EQUAL(peet__codec_decode(codec, codes.at, codes.n - 1, literals.at, literals.n, unpacked, n),
            PEET_EFORMAT);
    if (literals.n)
        CU_ASSERT_EQUAL(peet__codec_decode(codec, codes.at, codes.n, literals.at, literals.n - 1, unpacked, n),
            PEET_EFORMAT);
    CU_ASSERT_EQUAL(peet__bytes_add(&codes, "", 1), 0);
    CU_ASSERT_EQUAL(peet__codec_decode(codec, codes.at, codes.n, literals.at, literals.n, unpacked, n), PEET_EFORMAT);
    bytes = codes.n - 1 + literals.n;
    peet__bytes_fini(&codes);
    peet__bytes_fini(&literals);
    return bytes;
}

/** As packed_and_back(), with a codec of its own. */
static size_t there_and_back(size_t n)
{
    struct peet__codec *codec;
    size_t bytes;

    CU_ASSERT_FATAL(peet__codec_new(0, &codec) == 0);
    bytes = packed_and_back(codec, n);
    peet__codec_free(codec);
    return bytes;
}

/** Is the first piece of these words encoded by context? */
static int by_context(struct peet__codec *codec, size_t n)
{
    struct peet__bytes codes = {0}, literals = {0};
    int first;

    CU_ASSERT_FATAL(peet__codec_encode(codec, words, n, &codes, &literals) == 0 && codes.n);
    first = *codes.at;
    peet__bytes_fini(&codes);
    peet__bytes_fini(&literals);
    return first == PEET__BY_CONTEXT;
}

/** What docs/TRACES.md says a word is held against, word for word, in a piece by distance. */
static uint64_t by_the_page_distance(const uint64_t *w, size_t i, size_t distance)
{
    uint64_t a, b, c;

    if (!distance)
        return 0;
    a = w[i - distance];
    if (i < 3 * distance)
        return a;
    b = w[i - 2 * distance];
    c = w[i - 3 * distance];
    return a - b == b - c ? a + (a - b) : a;
}

static int names_code(uint64_t word)
{
    return word >> 63 || word >> 32 == 0x5555;
}

/** Where the program went the same way last: tables of the last places, plus one, of code that was not foreseen, by it and the code
 * before it, and by it alone.  Returns: the new distance */
static size_t realigned(const uint64_t *w, size_t i, unsigned bits, size_t (*places)[4096], size_t distance)
{
    uint64_t before = i > 2 ? w[i - 3] : 0;
    size_t at[2];

    for (size_t back = 3; back >= 1; back--)
        if (i >= back && names_code(w[i - back]))
            before = w[i - back];
    at[0] = (w[i] * 31 + before) * 0x9e3779b97f4a7c15 >> (64 - bits);
    at[1] = w[i] * 0x9e3779b97f4a7c15 >> (64 - bits);
    for (unsigned k = 2; k-- > 0;)
        if (places[k][at[k]] && w[places[k][at[k]] - 1] == w[i])
            distance = i - (places[k][at[k]] - 1);
    places[0][at[0]] = places[1][at[1]] = i + 1;
    return distance;
}

/** The bytes of words of which most are 0, as the page says.  Returns: bytes of codes */
static size_t bytes_by_the_page(const uint64_t *left, size_t n, uint8_t *codes, uint8_t *literals, size_t *inout_bytes)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i += 64) {
        const size_t unit = at++;

        codes[unit] = 0;
        for (unsigned g = 0; g < 8; g++) {
            const size_t group = at;

            codes[at++] = 0;
            for (unsigned k = 0; k < 8; k++) {
                const uint64_t word = i + 8 * g + k < n ? left[i + 8 * g + k] : 0;

                if (!word)
                    continue;
                codes[group] |= (uint8_t)(1 << k);
                codes[at] = 0;
                for (unsigned byte = 0; byte < 8; byte++)
                    if (word >> 8 * byte & 255) {
                        codes[at] |= (uint8_t)(1 << byte);
                        literals[(*inout_bytes)++] = (uint8_t)(word >> 8 * byte);
                    }
                at++;
            }
            if (codes[group])
                codes[unit] |= (uint8_t)(1 << g);
            else
                at = group;
        }
    }
    return at;
}

/** A piece as the page says.  @out_bytes: of literals; returns: bytes of codes */
static size_t as_the_page_says(const uint64_t *w, size_t n, int by_context, uint8_t *codes, uint8_t *literals,
    size_t *out_bytes)
{
    static uint64_t table[1024], left[65536];
    static size_t places[2][4096];
    uint64_t context = 0;
    unsigned bits = by_context ? 4 : 6;
    size_t distance = 0;

    while (bits < (by_context ? 10 : 12) && (size_t)(by_context ? 8 : 1) << bits < n)
        bits++;
    memset(table, 0, sizeof table);
    memset(places, 0, sizeof places);
    for (size_t i = 0; i < n; i++) {
        if (by_context) {
            uint64_t *last = &table[context >> (64 - bits)], difference = w[i] - *last;

            left[i] = (difference >> 63 ? ~(uint64_t)0 : 0) ^ 2 * difference;
            *last = w[i];
            context = w[i] & (uint64_t)1 << 46 ? w[i] * 0x9e3779b97f4a7c15 : context + 0x6a09e667f3bcc909;
            continue;
        }
        left[i] = w[i] ^ by_the_page_distance(w, i, distance);
        if (left[i] && names_code(w[i]))
            distance = realigned(w, i, bits, places, distance);
    }
    codes[0] = by_context ? PEET__BY_CONTEXT : PEET__BY_DISTANCE;
    *out_bytes = 0;
    return 1 + bytes_by_the_page(left, n, codes + 1, literals, out_bytes);
}

/** Vectors or none, the bytes are those that the page says. */
static void test_bytes(void)
{
    static uint8_t expected_codes[2 * MOST], expected[9 * MOST];
    struct peet__codec *codec;

    for (unsigned k = 0; k < 600; k++) {
        const size_t n = k < 200 ? 1 + k : k < 300 ? 1000 + k : k < 360 ? 2010 + k : 1024 + number() % 20000;
        const int context = k % 3 == 0 && n >= 1024;
        struct peet__bytes codes = {0}, literals = {0};
        size_t bytes, ncodes;

        CU_ASSERT_FATAL(peet__codec_new(context, &codec) == 0);
        if (context) {
            irregular(8192);
            CU_ASSERT(!by_context(codec, 8192));
        }
        if (k % 6 == 3 || k % 6 == 1)
            anything(n);
        else if (k % 3 == 2)
            loop(n, 20);
        else
            irregular(n);
        ncodes = as_the_page_says(words, n, context, expected_codes, expected, &bytes);
        CU_ASSERT_FATAL(peet__codec_encode(codec, words, n, &codes, &literals) == 0);
        CU_ASSERT_FATAL(codes.n == ncodes && literals.n == bytes);
        CU_ASSERT(!memcmp(codes.at, expected_codes, codes.n) && !memcmp(literals.at, expected, bytes));
        peet__bytes_fini(&codes);
        peet__bytes_fini(&literals);
        peet__codec_free(codec);
    }
}

/** Pieces after one that cost much are encoded by context, as many as are said, and are the same words again. */
static void test_by_context(void)
{
    const size_t lengths[] = {1024, 1025, 1031, 4096, 16385, 65535, 65536, 65537, MOST};
    struct peet__codec *codec;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CU_ASSERT_FATAL(peet__codec_new(1, &codec) == 0);
        irregular(8192);
        CU_ASSERT(!by_context(codec, 8192));
        irregular(lengths[i]);
        packed_and_back(codec, lengths[i]);
        anything(lengths[i]);
        packed_and_back(codec, lengths[i]);
        CU_ASSERT(!by_context(codec, 1023));
        CU_ASSERT(by_context(codec, 2000));
        packed_and_back(codec, 2000);
        peet__codec_free(codec);
    }
    CU_ASSERT_FATAL(peet__codec_new(1, &codec) == 0);
    irregular(8192);
    CU_ASSERT(!by_context(codec, 8192));
    loop(8192, 0); /* it is seen that these are foreseen when the distance is tried again */
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(by_context(codec, 8192));
    for (unsigned i = 0; i < 40; i++)
        CU_ASSERT(!by_context(codec, 8192));
    irregular(8192); /* ... later each time that it is tried in vain */
    for (unsigned pieces = 3, tries = 0; tries < 8; tries++, pieces = pieces < 31 ? 2 * pieces + 1 : 31) {
        CU_ASSERT(!by_context(codec, 8192));
        for (unsigned i = 0; i < pieces; i++)
            CU_ASSERT(by_context(codec, 8192));
    }
    peet__codec_free(codec);
    CU_ASSERT_FATAL(peet__codec_new(0, &codec) == 0);
    irregular(8192);
    for (unsigned i = 0; i < 40; i++)
        CU_ASSERT(!by_context(codec, 8192));
    peet__codec_free(codec);
}

static void test_round_trips(void)
{
    const size_t lengths[] = {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 65535, 65536, 65537, MOST};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        anything(lengths[i]);
        there_and_back(lengths[i]);
        loop(lengths[i], 0);
        there_and_back(lengths[i]);
        loop(lengths[i], 7);
        there_and_back(lengths[i]);
        for (size_t k = 0; k < lengths[i]; k++)
            words[k] = k % 3 ? 0 : plain(0);
        there_and_back(lengths[i]);
    }
}

static void test_size(void)
{
    loop(65536, 0);
    CU_ASSERT(there_and_back(65536) < 1200);
    loop(65536, 20); /* some 2800 of the words come unforeseen, and where the loop goes on after them as well */
    CU_ASSERT(there_and_back(65536) < 80000);
    loop(MOST, 0);
    CU_ASSERT(there_and_back(MOST) < 3600);
    for (size_t i = 0; i < 1000; i++)
        words[i] = number() << 40 ^ number();
    CU_ASSERT(there_and_back(1000) <= 9200);
}

static void test_hostile(void)
{
    struct peet__codec *codec;
    uint8_t codes[64], literals[64];
    unsigned refused = 0;

    CU_ASSERT_FATAL(peet__codec_new(0, &codec) == 0);
    for (unsigned k = 0; k < 200000; k++) {
        const size_t ncodes = number() % sizeof codes, nliterals = number() % sizeof literals, n = number() % 300;

        for (size_t i = 0; i < ncodes; i++)
            codes[i] = (uint8_t)(number() % 4 ? 1 << number() % 8 : number());
        if (ncodes && k % 8)
            *codes = k % 2 ? PEET__BY_CONTEXT : PEET__BY_DISTANCE;
        for (size_t i = 0; i < nliterals; i++)
            literals[i] = (uint8_t)(number() % 3 ? 0 : number());
        unpacked[n] = 0x1234;
        refused += peet__codec_decode(codec, codes, ncodes, literals, nliterals, unpacked, n) != 0;
        CU_ASSERT_FATAL(unpacked[n] == 0x1234);
    }
    CU_ASSERT(refused > 100000);
    peet__codec_free(codec);
}

int main(void)
{
    CU_pSuite suite;
    unsigned failures;

    CU_initialize_registry();
    suite = CU_add_suite("codec", NULL, NULL);
    CU_add_test(suite, "round trips", test_round_trips);
    CU_add_test(suite, "size", test_size);
    CU_add_test(suite, "by context", test_by_context);
    CU_add_test(suite, "bytes", test_bytes);
    CU_add_test(suite, "hostile", test_hostile);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
