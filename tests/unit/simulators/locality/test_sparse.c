/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of chosen lines against lists that are shifted at every reference; which lines are chosen. */
#include "common/random.h"
#include "locality/sparse.h"
#include "run_suite.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 13, FEW = 3 };

static unsigned one_of(unsigned w)
{
    return locality__sparse_from(w) - FEW;
}

static uint32_t is_chosen(uint64_t address, unsigned w)
{
    return (uint32_t)(locality__sparse_chosen(address) >> (8 * w + 7)) & 1;
}

/** Of neighbours, and of lines a power of two apart, exactly one of so many is chosen. */
static void test_choice(void)
{
    uint64_t random = 5;

    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned apart = 0; apart < 12; apart++)
            for (unsigned repeat = 0; repeat < 50; repeat++) {
                const uint64_t bytes = 512ull >> w << apart,
                               begin = peet_sim_random_below(&random, 1 << 30) & -(bytes << one_of(w));
                unsigned n = 0;

                for (uint64_t i = 0; i < 1ull << one_of(w); i++)
                    n += is_chosen(begin + i * bytes + (apart ? 0 : peet_sim_random_below(&random, bytes)), w);
                CU_ASSERT_EQUAL(n, 1);
            }
}

/** The newest first; which half of each was referenced last. */
static uint64_t list[PEET_SIM_WIDTHS][MOST];
static uint8_t half[PEET_SIM_WIDTHS][MOST];
static unsigned lines[PEET_SIM_WIDTHS];

static unsigned digits(unsigned n)
{
    unsigned d = 0;

    for (; n; n >>= 1)
        d++;
    return d;
}

/** What must be found, as struct locality_sparse_found has it; 0: nothing. */
static unsigned brute(uint64_t address, unsigned w, uint32_t *out_other)
{
    const uint64_t line = address >> (9 - w);
    const uint8_t which = w < PEET_SIM_HALVINGS ? address >> (8 - w) & 1 : 0;
    unsigned i = 0, meeting;

    while (i < lines[w] && list[w][i] != line)
        i++;
    *out_other = i < lines[w] && half[w][i] != which;
    if (i == lines[w])
        meeting = PEET_SIM_UNSEEN + (i ? digits(i) + one_of(w) : 0);
    else
        meeting = i < 1 << (FEW - 1)                  ? 0
            : digits(i) + one_of(w) < PEET_SIM_BEYOND ? digits(i) + one_of(w)
                                                      : PEET_SIM_BEYOND;
    lines[w] += i == lines[w];
    memmove(&list[w][1], &list[w][0], i * sizeof list[w][0]);
    memmove(&half[w][1], &half[w][0], i * sizeof half[w][0]);
    list[w][0] = line;
    half[w][0] = which;
    return meeting;
}

static void compare(struct locality_sparse *s, uint64_t address)
{
    const uint64_t chosen = locality__sparse_chosen(address);
    struct locality_sparse_found found;

    locality__sparse_prefetch(s, chosen, address);
    CU_ASSERT_FATAL(!locality__sparse_reference(s, chosen, address, &found));
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        uint32_t other = 0;
        const unsigned meeting = is_chosen(address, w) ? brute(address, w, &other) : 0;

        CU_ASSERT_EQUAL(found.widths >> w & 1, meeting != 0);
        if (!meeting)
            continue;
        CU_ASSERT_EQUAL(found.meeting[w], meeting);
        if (w < PEET_SIM_HALVINGS && meeting < PEET_SIM_UNSEEN)
            CU_ASSERT_EQUAL(found.others >> w & 1, other);
    }
}

/** Random references near and far, walks, and a beginning anew. */
static void test_brute_force(void)
{
    struct locality_sparse *s = locality__sparse_new();
    const int n = 3000000 / TEST_SHARE;
    uint64_t random = 7, at = 0;
    double seen[PEET_SIM_WIDTHS] = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int part = 0; part < 2; part++) {
        memset(lines, 0, sizeof lines);
        for (int i = 0; i < n; i++) {
            const uint64_t kind = peet_sim_random_below(&random, 4);

            at = kind == 0  ? at + 4
                : kind == 1 ? peet_sim_random_below(&random, 1 << 10)
                : kind == 2 ? peet_sim_random_below(&random, 1 << 15)
                            : peet_sim_random_below(&random, part ? 1 << 17 : 1 << 20);
            compare(s, at);
        }
        locality__sparse_lines(s, seen);
        for (unsigned w = 0; part == 0 && w < PEET_SIM_WIDTHS; w++)
            CU_ASSERT_EQUAL(seen[w], (double)(lines[w] << one_of(w)));
        locality__sparse_forget(s);
    }
    locality__sparse_free(s);
}

/** A scan that comes round finds each line as far as there are lines. */
static void test_scan(void)
{
    enum { WORDS = 1 << 16 };
    struct locality_sparse *s = locality__sparse_new();
    struct locality_estimate e = {0};
    struct locality_sparse_found found;

    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int round = 0; round < 3; round++)
        for (uint64_t i = 0; i < WORDS; i++) {
            CU_ASSERT_FATAL(!locality__sparse_reference(s, locality__sparse_chosen(4 * i), 4 * i, &found));
            locality__sparse_count(&e, &found, 2);
        }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        const unsigned depth = 16 - (7 - w); /* 2^depth lines */

        CU_ASSERT_EQUAL(e.far.reuse[w][depth], 2 * 2 * (double)(1u << (depth - one_of(w))));
    }
    locality__sparse_free(s);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"choice", test_choice}, {"brute force", test_brute_force}, {"scan", test_scan}, CU_TEST_INFO_NULL};

    locality__sparse_init();
    return run_suite("locality: sparse", tests);
}
