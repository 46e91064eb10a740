/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetchers on walks whose next lines are known.
 */
#include "common/prefetch.h"
#include "common/random.h"
#include "run_suite.h"
#include <string.h>

static uint64_t out[PEET_SIM_PREFETCH_MAX];

static void test_next(void)
{
    struct peet_sim_prefetcher p;

    peet_sim_prefetcher_init(&p, PEET_SIM_PREFETCH_NEXT, 3, 6, 12);
    CU_ASSERT_EQUAL(peet_sim_prefetcher_see(&p, 1, 0x1000, 0, out), 0);
    CU_ASSERT_EQUAL(peet_sim_prefetcher_see(&p, 1, 0x1008, 1, out), 3);
    CU_ASSERT(out[0] == 0x41 && out[1] == 0x42 && out[2] == 0x43);
    CU_ASSERT_EQUAL(peet_sim_prefetcher_see(&p, 1, 0x1fa0, 1, out), 1); /* one line is left in the page */
    CU_ASSERT_EQUAL(out[0], 0x7f);
}

/* Every stride within a page: from the fourth reference on, the lines of the next ones. */
static void test_stride(void)
{
    for (int64_t stride = -1000; stride <= 1000; stride += 8) {
        struct peet_sim_prefetcher p;
        uint64_t address = 0x60000800;
        unsigned wrong = 0;

        if (!stride)
            continue;
        peet_sim_prefetcher_init(&p, PEET_SIM_PREFETCH_STRIDE, 2, 6, 30);
        for (int i = 0; i < 50; i++, address += (uint64_t)stride) {
            uint32_t n = peet_sim_prefetcher_see(&p, 0x77, address, 1, out);
            uint64_t ahead = address, last = address >> 6;

            if (i < 3) {
                wrong += n != (i < 2 ? 0 : n);
                continue;
            }
            wrong += n != 2;
            for (uint32_t k = 0; k < n; k++) {
                do
                    ahead += (uint64_t)stride;
                while (ahead >> 6 == last);
                last = ahead >> 6;
                wrong += out[k] != last;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    /* no stride, no lines: a random walk */
    struct peet_sim_prefetcher p;
    uint64_t seed = 4, lines = 0;

    peet_sim_prefetcher_init(&p, PEET_SIM_PREFETCH_STRIDE, 2, 6, 30);
    for (int i = 0; i < 10000; i++)
        lines += peet_sim_prefetcher_see(&p, 5, peet_sim_random_below(&seed, 1u << 29) & ~7ull, 1, out);
    CU_ASSERT_EQUAL(lines, 0);
}

/* What lies ahead, reference by reference. */
static void test_ahead(void)
{
    struct peet_sim_prefetcher p;
    uint64_t seed = 9;

    for (int i = 0; i < 200000; i++) {
        uint64_t address = 0x7000000 + peet_sim_random_below(&seed, 8192), last, expected[PEET_SIM_PREFETCH_MAX];
        int64_t stride = (int64_t)peet_sim_random_below(&seed, i % 3 ? 300 : 20000) - (i % 3 ? 150 : 10000);
        uint32_t degree = 1 + (uint32_t)peet_sim_random_below(&seed, PEET_SIM_PREFETCH_MAX), n = 0,
                 line_bits = 5 + (uint32_t)(i % 3);

        peet_sim_prefetcher_init(&p, PEET_SIM_PREFETCH_STRIDE, degree, line_bits, 12);
        if (!stride)
            continue;
        last = address >> line_bits;
        for (uint64_t k = 1; n < degree && k < 1u << line_bits; k++) {
            uint64_t ahead = address + k * (uint64_t)stride;

            if (ahead >> 12 != address >> 12)
                break;
            if (ahead >> line_bits != last)
                expected[n++] = last = ahead >> line_bits;
        }
        CU_ASSERT_FATAL(peet_sim_prefetcher_ahead(&p, address, stride, out) == n &&
            !memcmp(out, expected, n * sizeof *out));
    }
}

/* Up or down through a page: each line is asked for once, and before it is needed from the third on. */
static void test_stream(void)
{
    for (int down = 0; down < 2; down++) {
        struct peet_sim_prefetcher p;
        uint8_t asked[64] = {0};
        unsigned wrong = 0, late = 0;

        peet_sim_prefetcher_init(&p, PEET_SIM_PREFETCH_STREAM, 4, 6, 12);
        for (unsigned i = 0; i < 64; i++) {
            uint64_t line = down ? 63 - i : i;
            uint32_t n;

            late += i > 2 && !asked[line];
            n = peet_sim_prefetcher_see(&p, i % 7, 0x5000 + 64 * line, 1, out);
            for (uint32_t k = 0; k < n; k++) {
                wrong += out[k] >> 6 != 5 || asked[out[k] & 63]++;
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(late, 0);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"next line", test_next}, {"stride", test_stride}, {"what lies ahead", test_ahead},
        {"stream", test_stream}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: prefetchers", tests);
}
