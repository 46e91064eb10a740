/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random walks: what the strategies promise, counted over many walks of threads that only make steps, against closed
 * forms; bounds are five standard deviations wide.
 */
#include "consistency/walks.h"
#include "run_suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WALKS = 30000, THREADS = 300, STEPS = 64 };

static struct peet_walk walk;

/** @n threads, numbered from @first, of @steps[i] steps each, one after another as a walk says.
 * @order: whose step each was.  Returns: how many */
static unsigned execute(uint32_t first, unsigned n, const unsigned *steps, unsigned *order)
{
    struct peet_option options[THREADS];
    unsigned done[THREADS] = {0}, count = 0;

    for (;;) {
        unsigned some = 0, whose[THREADS];

        for (unsigned t = 0; t < n; t++)
            if (done[t] < steps[t]) {
                whose[some] = t;
                options[some++] = (struct peet_option){.id = first + t, .hw = t};
            }
        if (!some)
            return count;
        order[count] = whose[peet__walk_choose(&walk, options, some)];
        done[order[count++]]++;
    }
}

static void begin(uint64_t number, enum peet_walk_how how, uint64_t length)
{
    peet__walk_begin(&walk, 7, number * PEET_WALK_HOWS + how, length);
    CU_ASSERT_EQUAL_FATAL(walk.how, how);
}

static int near(unsigned times, double probability)
{
    const double sigma = sqrt(probability * (1 - probability) / WALKS);

    return fabs((double)times / WALKS - probability) < 5 * sigma;
}

/** A thread of one step beside one of m: it is the last if its priority is below m others, which is 1 in m + 1; a coin
 * for each step would make it 1 in 2^m. */
static void last_of_many(void)
{
    for (unsigned m = 1; m <= 16; m *= 2) {
        const unsigned steps[] = {m, 1};
        unsigned order[STEPS], times = 0;

        for (uint64_t k = 0; k < WALKS; k++) {
            begin(k, PEET_WALK_ORDERS, 0);
            const unsigned n = execute(1, 2, steps, order);
            times += order[n - 1] == 1;
        }
        CU_ASSERT(near(times, 1.0 / (m + 1)));
    }
}

/** Without changes threads run one after the other, and each order is equally likely. */
static void one_after_the_other(void)
{
    const unsigned steps[] = {5, 5, 5};
    unsigned order[STEPS], times[27] = {0}, walks = 0;

    for (uint64_t k = 0; walks < WALKS; k++) {
        begin(k, PEET_WALK_PRIORITIES, 15);
        if (walk.nchanges != 0)
            continue;
        walks++;
        CU_ASSERT_EQUAL_FATAL(execute(1, 3, steps, order), 15);
        for (unsigned i = 0; i < 15; i++)
            CU_ASSERT_EQUAL_FATAL(order[i], order[i / 5 * 5]);
        times[order[0] * 9 + order[5] * 3 + order[10]]++;
    }
    for (unsigned p = 0; p < 27; p++)
        if (times[p] != 0)
            CU_ASSERT(near(times[p], 1.0 / 6));
}

/** A bug of depth 2 among three threads: all of the second between two given steps of the first.  Walks with one change
 * meet it with a probability of at least 1 / (n k). */
static void depth_two(void)
{
    const unsigned steps[] = {8, 4, 4};
    unsigned order[STEPS], met = 0, walks = 0;

    for (uint64_t k = 0; walks < WALKS; k++) {
        unsigned of_first = 0, between = 0;

        begin(k, PEET_WALK_PRIORITIES, 16);
        if (walk.nchanges != 1)
            continue;
        walks++;
        CU_ASSERT_EQUAL_FATAL(execute(1, 3, steps, order), 16);
        for (unsigned i = 0; i < 16; i++) {
            of_first += order[i] == 0;
            between += order[i] == 1 && of_first == 5;
        }
        met += between == 4;
    }
    CU_ASSERT((double)met / WALKS > 1.0 / (3 * 16) - 5 * sqrt(1.0 / (3 * 16) / WALKS));
}

/** In half of the walks main goes first, whatever the strategy. */
static void main_goes_first(void)
{
    const unsigned steps[] = {40, 1, 1};
    unsigned order[STEPS], times = 0;

    for (uint64_t k = 0; k < WALKS; k++) {
        unsigned n = 0;

        begin(k, (enum peet_walk_how)(k % PEET_WALK_HOWS), 42);
        const int first = walk.first;
        times += (unsigned)first;
        execute(0, 3, steps, order);
        while (n < 40 && order[n] == 0)
            n++;
        if (first)
            CU_ASSERT_EQUAL_FATAL(n, 40);
    }
    CU_ASSERT(near(times, 0.5));
}

/** More threads at once than an exhaustive search lists: each of them comes first now and then. */
static void many_threads(void)
{
    static unsigned order[THREADS], steps[THREADS];
    unsigned first[THREADS] = {0}, met = 0;

    for (unsigned t = 0; t < THREADS; t++)
        steps[t] = 1;
    for (uint64_t k = 0; k < WALKS / 10; k++) {
        begin(k, (enum peet_walk_how)(k % PEET_WALK_HOWS), THREADS);
        execute(1, THREADS, steps, order);
        first[order[0]]++;
    }
    for (unsigned t = 0; t < THREADS; t++)
        met += first[t] != 0;
    CU_ASSERT_EQUAL(met, THREADS); /* one of them never: 300 times 0.99667^3000 = 0.013, and the seed is what it is */
}

/** Of several things that one context can do, each is done now and then. */
static void ties(void)
{
    const struct peet_option options[] = {{.id = 1 | 1ull << 32}, {.id = 1 | 2ull << 32}, {.id = 1 | 3ull << 32}};
    unsigned times[3] = {0};

    for (uint64_t k = 0; k < WALKS; k++) {
        begin(k, PEET_WALK_PRIORITIES, 1);
        times[peet__walk_choose(&walk, options, 3)]++;
    }
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(near(times[i], 1.0 / 3));
}

static void the_same_again(void)
{
    const unsigned steps[] = {9, 9, 9, 9};
    unsigned one[STEPS], other[STEPS], unlike = 0;

    for (uint64_t k = 0; k < 1000; k++) {
        const unsigned n = (peet__walk_begin(&walk, 3, k, 36), execute(0, 4, steps, one));

        memset(&walk, 0xa5, sizeof walk);
        peet__walk_begin(&walk, 3, k, 36);
        CU_ASSERT_EQUAL_FATAL(execute(0, 4, steps, other), n);
        CU_ASSERT_EQUAL(memcmp(one, other, n * sizeof *one), 0);
        peet__walk_begin(&walk, 4, k, 36);
        execute(0, 4, steps, other);
        unlike += memcmp(one, other, n * sizeof *one) != 0;
    }
    CU_ASSERT(unlike > 900);
}

int main(void)
{
    CU_TestInfo tests[] = {{"last_of_many", last_of_many}, {"one_after_the_other", one_after_the_other},
        {"depth_two", depth_two}, {"main_goes_first", main_goes_first}, {"many_threads", many_threads}, {"ties", ties},
        {"the_same_again", the_same_again}, CU_TEST_INFO_NULL};

    return run_suite("walks", tests);
}
