/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache surfaces against lists that are shifted at every reference, and against closed forms: scans, strided walks,
 * uniform and Zipf references.
 */
#include "common/random.h"
#include "common/surface.h"
#include "run_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15 };

/* ---- brute force: a list for each width, the newest first */
static uint64_t list[PEET_SIM_WIDTHS][MOST];
static unsigned lines[PEET_SIM_WIDTHS];
static uint64_t last_word;
static int8_t half[PEET_SIM_HALVINGS][1 << 20];

static void brute_begin(void)
{
    memset(lines, 0, sizeof lines);
    memset(half, -1, sizeof half);
    last_word = UINT64_MAX;
}

static void brute(uint64_t address, uint32_t strided, struct peet_sim_tally *t)
{
    const int again = address >> 2 == last_word;

    last_word = address >> 2;
    t->references++;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        uint64_t line = address >> (9 - w);
        unsigned i = 0, bucket = 0;

        while (i < lines[w] && list[w][i] != line)
            i++;
        if (i == lines[w]) {
            lines[w]++;
            bucket = PEET_SIM_COLD;
        } else {
            while (bucket < PEET_SIM_BEYOND && i >= 1u << bucket)
                bucket++;
        }
        memmove(&list[w][1], &list[w][0], i * sizeof list[w][0]);
        list[w][0] = line;
        t->reuse[w][bucket]++;
        if (w == PEET_SIM_STRIDED_WIDTH)
            t->strided[bucket] += strided && !again;
        if (w < PEET_SIM_HALVINGS) {
            int8_t which = (int8_t)(address >> (8 - w) & 1);

            if (bucket != PEET_SIM_COLD)
                t->same[w][bucket] += half[w][line] == which;
            half[w][line] = which;
        }
    }
}

static uint64_t stream(int kind, uint64_t i, uint64_t *seed)
{
    switch (kind) {
    case 0:
        return peet_sim_random_below(seed, 1 << 10);
    case 1:
        return peet_sim_random_below(seed, 1 << 17);
    case 2:
        return i * 8 % (1 << 14);
    case 3:
        return i % 3 << 17 | i / 3 * 4 % (1 << 15);
    case 4:
        return peet_sim_random_below(seed, 2) ? peet_sim_random_below(seed, 64) : peet_sim_random_below(seed, 1 << 16);
    case 5:
        return peet_sim_random_below(seed, 1ull << (1 + peet_sim_random_below(seed, 18)));
    case 6: { /* two words by turns, near or far from each other */
        const uint64_t pair = i / 6 * 0x9e3779b97f4a7c15ull >> 32;

        return pair % (1 << 16) + (i % 2 ? 4ull << (pair >> 16) % 9 : 0);
    }
    default:
        return (i % 97) * 520 + peet_sim_random_below(seed, 3) * 4;
    }
}

static void compare_with_brute_force(enum peet__sim_vectors vectors)
{
    for (int kind = 0; kind < 8; kind++) {
        struct peet_sim_surface *s = peet_sim_surface_new(), *copy;
        struct peet_sim_tally got = {0}, expected = {0};
        uint64_t seed = (uint64_t)kind + 1;

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        peet__sim_surface_vectors(s, vectors);
        brute_begin();
        for (uint64_t i = 0; i < 30000; i++) {
            uint64_t address = stream(kind, i, &seed);

            const uint32_t strided = i * i % 7 < 3; /* whatever it is told */

            CU_ASSERT(peet_sim_surface_strided(s, address, &got, strided) >= 0);
            brute(address, strided, &expected);
            if (i % 9000 == 5000) { /* a copy goes on as the original would */
                CU_ASSERT(!peet_sim_surface_flush(s));
                copy = peet_sim_surface_copy(s);
                CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
                peet_sim_surface_free(s);
                s = copy;
            }
        }
        CU_ASSERT(!peet_sim_surface_flush(s));
        peet_sim_tally_settle(&got);
        CU_ASSERT(!memcmp(&got, &expected, sizeof got));
        peet_sim_surface_free(s);
    }
}

static void test_brute_force(void)
{
    compare_with_brute_force(PEET__SIM_PLAIN);
    compare_with_brute_force(PEET__SIM_AVX2);
    compare_with_brute_force(PEET__SIM_AVX512);
}

/* ---- one width, as deep as need be: a tree of sums (Fenwick, 1994) over all references */
enum { FAR_REFERENCES = 1 << 19, FAR_WORDS = 1 << 18 };
static uint32_t tree[FAR_REFERENCES + 1], latest[FAR_WORDS];
static int8_t latest_half[FAR_WORDS];

static void count(uint32_t i, uint32_t by)
{
    for (; i <= FAR_REFERENCES; i += i & -i)
        tree[i] += by;
}

static uint32_t sum(uint32_t i)
{
    uint32_t n = 0;

    for (; i; i -= i & -i)
        n += tree[i];
    return n;
}

/** The @time-th reference, from 1 on. */
static void far_reference(unsigned w, uint32_t time, uint64_t address, struct peet_sim_tally *t)
{
    const uint64_t line = address >> (9 - w);
    unsigned bucket = PEET_SIM_COLD;

    if (latest[line]) {
        const uint32_t others = sum(time - 1) - sum(latest[line]);

        for (bucket = 0; bucket < PEET_SIM_BEYOND && others >= 1u << bucket;)
            bucket++;
        count(latest[line], (uint32_t)-1);
    }
    t->reuse[w][bucket]++;
    if (w < PEET_SIM_HALVINGS) {
        const int8_t half_now = (int8_t)(address >> (8 - w) & 1);

        if (bucket != PEET_SIM_COLD)
            t->same[w][bucket] += latest_half[line] == half_now;
        latest_half[line] = half_now;
    }
    latest[line] = time;
    count(time, 1);
}

/** Words of 2^20 bytes: by chance, near each other, in order from both ends, and some again and again. */
static uint64_t far_address(uint32_t i, uint64_t *seed)
{
    const uint64_t bytes = FAR_WORDS * 4ull;

    switch (i >> 16 & 7) {
    case 0:
    case 5:
        return i * 8ull % bytes;
    case 1:
        return peet_sim_random_below(seed, bytes);
    case 2:
        return bytes - 1 - i * 4ull % bytes;
    case 3:
        return peet_sim_random_below(seed, 4) ? peet_sim_random_below(seed, 3000) : peet_sim_random_below(seed, bytes);
    default:
        return i % 2 ? i * 20ull % bytes : peet_sim_random_below(seed, 1ull << (2 + peet_sim_random_below(seed, 19)));
    }
}

/** Distances beyond 2^16, halves of lines that are beyond, distances at powers of two, slots that are used up. */
static void test_far(void)
{
    struct peet_sim_tally got[PEET__SIM_AVX512 + 1] = {0}, expected = {.references = FAR_REFERENCES - 1};
    uint64_t seed;

    for (int vectors = PEET__SIM_PLAIN; vectors <= PEET__SIM_AVX512; vectors++) {
        struct peet_sim_surface *s = peet_sim_surface_new();

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        peet__sim_surface_vectors(s, (enum peet__sim_vectors)vectors);
        seed = 3;
        for (uint32_t i = 1; i < FAR_REFERENCES; i++)
            CU_ASSERT(!peet_sim_surface_reference(s, far_address(i, &seed), &got[vectors]));
        CU_ASSERT(!peet_sim_surface_flush(s));
        peet_sim_tally_settle(&got[vectors]);
        peet_sim_surface_free(s);
    }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        seed = 3;
        memset(tree, 0, sizeof tree);
        memset(latest, 0, sizeof latest);
        for (uint32_t i = 1; i < FAR_REFERENCES; i++)
            far_reference(w, i, far_address(i, &seed), &expected);
    }
    CU_ASSERT(expected.reuse[7][PEET_SIM_BEYOND] > 1000);
    for (int vectors = PEET__SIM_PLAIN; vectors <= PEET__SIM_AVX512; vectors++)
        CU_ASSERT(!memcmp(&got[vectors], &expected, sizeof expected));
}

/** Beyond 2^16 lines: a cycle of 65536 lines always hits in as many and never in fewer; one of 65537 never hits. */
static void test_deepest(void)
{
    for (uint64_t n = 65535; n <= 65537; n++) {
        struct peet_sim_surface *s = peet_sim_surface_new();
        struct peet_sim_tally t = {0};
        uint64_t rounds = 9;

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        for (uint64_t i = 0; i < n * rounds; i++)
            peet_sim_surface_reference(s, i % n * 512, &t);
        CU_ASSERT(!peet_sim_surface_flush(s));
        peet_sim_tally_settle(&t);
        for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
            CU_ASSERT_EQUAL(t.reuse[w][PEET_SIM_COLD], n);
            CU_ASSERT_EQUAL(t.reuse[w][n <= 65536 ? 16 : PEET_SIM_BEYOND], n * (rounds - 1));
        }
        peet_sim_surface_free(s);
    }
}

/** A walk through 2^20 bytes, again and again. */
static void test_walks(void)
{
    static const uint64_t strides[] = {4, 8, 16, 64, 256, 1024};

    for (unsigned k = 0; k < 3 * sizeof strides / sizeof *strides; k++) {
        struct peet_sim_surface *s = peet_sim_surface_new();
        struct peet_sim_tally t = {0};
        const uint64_t stride = strides[k / 3], bytes = 1 << 20, n = bytes / stride, rounds = 3;

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        peet__sim_surface_vectors(s, (enum peet__sim_vectors)(k % 3));
        for (uint64_t i = 0; i < n * rounds; i++)
            peet_sim_surface_reference(s, i % n * stride, &t);
        CU_ASSERT(!peet_sim_surface_flush(s));
        peet_sim_tally_settle(&t);
        for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
            uint64_t width = peet_sim_bytes_of_width(w), step = width > stride ? width : stride, visited = bytes / step;
            unsigned deep = 0;

            while (deep < PEET_SIM_BEYOND && visited > 1ull << deep)
                deep++;
            CU_ASSERT_EQUAL(t.reuse[w][0], (n - visited) * rounds);
            CU_ASSERT_EQUAL(t.reuse[w][PEET_SIM_COLD], visited);
            CU_ASSERT_EQUAL(t.reuse[w][deep], visited * (rounds - 1));
        }
        peet_sim_surface_free(s);
    }
}

/** Of M equally likely lines, c hold a reference with probability c / M. */
static void test_uniform(void)
{
    enum { LINES = 1 << 12, N = 400000, WARM = 60000 };
    struct peet_sim_surface *s = peet_sim_surface_new();
    struct peet_sim_tally t = {0}, warm;
    uint64_t seed = 5;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (unsigned i = 0; i < N + WARM; i++) {
        if (i == WARM) {
            CU_ASSERT(!peet_sim_surface_flush(s));
            peet_sim_tally_settle(&t);
            warm = t;
        }
        peet_sim_surface_reference(s, peet_sim_random_below(&seed, LINES) * 512, &t);
    }
    CU_ASSERT(!peet_sim_surface_flush(s));
    peet_sim_tally_settle(&t);
    peet_sim_tally_add(&t, &warm, -1);
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
            double p = k >= 12 ? 1 : (double)(1 << k) / LINES, sigma = sqrt(p * (1 - p) / N);

            CU_ASSERT(fabs((double)peet_sim_hits(&t, w, k) / N - p) <= 5 * sigma + 1e-12);
        }
    peet_sim_surface_free(s);
}

/** Independent references with probabilities p: one line holds the next with sum p^2; two lines by King, IFIP 1971. */
static void test_zipf(void)
{
    enum { LINES = 300, N = 400000 };
    struct peet_sim_surface *s = peet_sim_surface_new();
    struct peet_sim_tally t = {0};
    double p[LINES], cdf[LINES], sum = 0, one = 0, two = 0;
    uint64_t seed = 11;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (unsigned i = 0; i < LINES; i++)
        sum += p[i] = 1.0 / (i + 1);
    for (unsigned i = 0; i < LINES; i++) {
        p[i] /= sum;
        cdf[i] = p[i] + (i ? cdf[i - 1] : 0);
        one += p[i] * p[i];
    }
    for (unsigned i = 0; i < LINES; i++)
        for (unsigned j = 0; j < LINES; j++)
            two += j == i ? p[i] * p[i] : p[i] * p[j] * p[i] / (1 - p[j]);
    for (unsigned i = 0; i < N; i++) {
        double x = (double)peet_sim_random_below(&seed, 1 << 30) / (1 << 30);
        unsigned line = 0;

        while (line < LINES - 1 && cdf[line] < x)
            line++;
        peet_sim_surface_reference(s, line * 512ull, &t);
    }
    CU_ASSERT(!peet_sim_surface_flush(s));
    peet_sim_tally_settle(&t);
    CU_ASSERT(fabs((double)peet_sim_hits(&t, 0, 0) / N - one) < 5 * sqrt(one / N));
    CU_ASSERT(fabs((double)peet_sim_hits(&t, 7, 1) / N - two) < 5 * sqrt(two / N));
    CU_ASSERT_EQUAL(peet_sim_hits(&t, 3, 9), N - LINES);
    peet_sim_surface_free(s);
}

/* ---- more than 2^16 blocks of 512 bytes, over and over, each time another word of each: no line is found again within 2^16,
 * at any width, and which half was referenced last is known all the same */
enum { BLOCKS = (1 << 16) + 3000, ROUNDS = 4, WORDS = 128 };
static int8_t half_of_node[BLOCKS][2 * WORDS];

static unsigned word_of_round(unsigned block, unsigned round)
{
    const unsigned hash = (block * ROUNDS + round) * 0x9e3779b9u;

    return round ? word_of_round(block, 0) ^ (hash >> 25 & ((1u << (hash >> 22 & 7)) - 1)) : hash >> 25;
}

static void test_halves_beyond(void)
{
    struct peet_sim_tally expected = {.references = BLOCKS * ROUNDS};

    memset(half_of_node, -1, sizeof half_of_node);
    for (unsigned i = 0; i < BLOCKS * ROUNDS; i++)
        for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
            const unsigned word = word_of_round(i % BLOCKS, i / BLOCKS) | WORDS, node = word >> (7 - w);
            int8_t *half_of = &half_of_node[i % BLOCKS][node];
            const int8_t now = (int8_t)(w < PEET_SIM_HALVINGS ? word >> (6 - w) & 1 : 0);

            expected.reuse[w][*half_of < 0 ? PEET_SIM_COLD : PEET_SIM_BEYOND]++;
            if (w < PEET_SIM_HALVINGS)
                expected.same[w][PEET_SIM_BEYOND] += *half_of == now;
            *half_of = now;
        }
    CU_ASSERT(expected.same[0][PEET_SIM_BEYOND] < expected.reuse[0][PEET_SIM_BEYOND]);
    for (int vectors = PEET__SIM_PLAIN; vectors <= PEET__SIM_AVX512; vectors++) {
        struct peet_sim_surface *s = peet_sim_surface_new();
        struct peet_sim_tally got = {0};

        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        peet__sim_surface_vectors(s, (enum peet__sim_vectors)vectors);
        for (unsigned i = 0; i < BLOCKS * ROUNDS; i++)
            CU_ASSERT(!peet_sim_surface_reference(s, i % BLOCKS * 512ull + word_of_round(i % BLOCKS, i / BLOCKS) * 4,
                &got));
        CU_ASSERT(!peet_sim_surface_flush(s));
        peet_sim_tally_settle(&got);
        CU_ASSERT(!memcmp(&got, &expected, sizeof got));
        peet_sim_surface_free(s);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"brute force", test_brute_force}, {"far", test_far}, {"halves beyond", test_halves_beyond},
        {"the deepest", test_deepest}, {"walks", test_walks}, {"uniform", test_uniform}, {"Zipf", test_zipf},
        CU_TEST_INFO_NULL};

    return run_suite("toolkit: surface", tests);
}
