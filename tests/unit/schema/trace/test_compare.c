/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing sequences, held against the textbook's tables: the longest common subsequence, the whole warping table, all
 * permutations. */
#include "trace/compare.h"

#include "share.h"

#include <CUnit/Basic.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };

static size_t common(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    static size_t table[MOST + 1][MOST + 1];

    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++)
            table[i][k] = !i || !k                  ? 0
                : a[i - 1] == b[k - 1]              ? table[i - 1][k - 1] + 1
                : table[i - 1][k] > table[i][k - 1] ? table[i - 1][k]
                                                    : table[i][k - 1];
    return table[n][m];
}

struct script {
    const uint64_t *a, *b;
    size_t at_a, at_b, n;
    int bad;
};

static void check(void *arg, size_t a, size_t b, size_t n)
{
    struct script *s = arg;

    s->bad |= a < s->at_a || b < s->at_b || memcmp(s->a + a, s->b + b, n * sizeof *s->a);
    s->at_a = a + n;
    s->at_b = b + n;
    s->n += n;
}

static void test_distance(void)
{
    uint64_t a[MOST], b[MOST];

    srand(1);
    for (int round = 0; round < 20000 / TEST_SHARE; round++) {
        const size_t n = (size_t)rand() % (MOST + 1), m = (size_t)rand() % (MOST + 1), symbols = 1 + (size_t)rand() % 6,
                     effort = round % 3 ? 0 : 1 + (size_t)rand() % 4;
        struct script s = {a, b, 0, 0, 0, 0};
        struct peet_distance d;
        size_t longest;

        for (size_t i = 0; i < n; i++)
            a[i] = (size_t)rand() % symbols;
        for (size_t i = 0; i < m; i++)
            b[i] = i < n && rand() % 4 ? a[i] : (size_t)rand() % symbols;
        longest = common(a, n, b, m);
        if (peet_edit_distance(a, n, b, m, effort, check, &s, &d) || s.bad || s.n != d.matched ||
            d.edits != n + m - 2 * d.matched) {
            CU_FAIL_FATAL("the script does not turn one into the other");
        }
        if ((!effort && d.edits != n + m - 2 * longest) || d.edits < n + m - 2 * longest ||
            d.least > n + m - 2 * longest)
            CU_FAIL_FATAL("not the distance, or outside its bounds");
        if (fabs(peet_similarity(&d, n, m) - (n + m ? 200.0 * (double)d.matched / (double)(n + m) : 100)) > 1e-9)
            CU_FAIL_FATAL("similarity");
    }
    CU_PASS("distances");
}

static double warp(const double *a, size_t n, const double *b, size_t m)
{
    static double table[MOST][MOST];

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            const double d = fabs(a[i] - b[k]);
            double best = i || k ? INFINITY : d;

            if (i && k)
                best = fmin(best, table[i - 1][k - 1] + d);
            if (i)
                best = fmin(best, table[i - 1][k] + d / 2);
            if (k)
                best = fmin(best, table[i][k - 1] + d / 2);
            table[i][k] = best;
        }
    return table[n - 1][m - 1];
}

static void test_warp(void)
{
    const double still[] = {1, 2, 3}, slow[] = {1, 1, 1, 2, 2, 3, 3, 3};
    double a[MOST], b[MOST], d, back, banded;

    CU_ASSERT_EQUAL(peet_time_warp(still, 3, slow, 8, 0, &d), 0);
    CU_ASSERT_EQUAL(d, 0); /* the same but for its pace */
    for (int round = 0; round < 2000; round++) {
        const size_t n = 1 + (size_t)rand() % MOST, m = 1 + (size_t)rand() % MOST;

        for (size_t i = 0; i < n; i++)
            a[i] = rand() % 100;
        for (size_t i = 0; i < m; i++)
            b[i] = rand() % 100;
        peet_time_warp(a, n, b, m, 0, &d);
        peet_time_warp(b, m, a, n, 0, &back);
        peet_time_warp(a, n, b, m, MOST, &banded);
        if (fabs(d - warp(a, n, b, m)) > 1e-9 || fabs(d - back) > 1e-9 || banded < d - 1e-9)
            CU_FAIL_FATAL("not the best path, or not symmetric");
    }
}

struct path {
    const double *a, *b;
    double cost;
    size_t i, k, n; /* the last place; links */
    int bad;
};

static void follow(void *arg, size_t i, size_t k, double weight)
{
    struct path *p = arg;

    if (p->n && !(i <= p->i && k <= p->k && p->i - i <= 1 && p->k - k <= 1 && (i != p->i || k != p->k)))
        p->bad = 1;
    p->i = i, p->k = k, p->n++;
    p->cost += weight * fabs(p->a[i] - p->b[k]);
}

static void test_links(void)
{
    static double lazy[10000];
    double a[MOST], b[MOST], d;

    for (int round = 0; round < 2000; round++) {
        const size_t n = 1 + (size_t)rand() % MOST, m = 1 + (size_t)rand() % MOST;
        struct path p = {a, b, 0, 0, 0, 0, 0};

        for (size_t i = 0; i < n; i++)
            a[i] = rand() % 100;
        for (size_t i = 0; i < m; i++)
            b[i] = rand() % 100;
        CU_ASSERT_EQUAL_FATAL(peet_time_links(a, n, b, m, (size_t)(round % 3 == 0 ? 0 : MOST), follow, &p, &d), 0);
        if (p.bad || p.i || p.k || fabs(p.cost - d) > 1e-9 || fabs(d - warp(a, n, b, m)) > 1e-9)
            CU_FAIL_FATAL("no path, or not the best one");
    }
    /* however much longer one of them is, a band leaves a path */
    for (size_t i = 0; i < 10000; i++)
        lazy[i] = (double)(i / 1000);
    for (size_t i = 0; i < 10; i++)
        a[i] = (double)i;
    CU_ASSERT_EQUAL(peet_time_warp(a, 10, lazy, 10000, 600, &d), 0);
    CU_ASSERT_EQUAL(d, 0);
    CU_ASSERT_EQUAL(peet_time_warp(a, 10, lazy, 10000, 3, &d), 0);
    CU_ASSERT(isfinite(d));
}

static double sum_of_distances(const double *at, size_t n, const double *const *series, const size_t *lengths,
    size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += warp(at, n, series[i], lengths[i]);
    return sum;
}

static void test_average(void)
{
    enum { COUNT = 5 };
    static double all[COUNT][MOST];
    const double *series[COUNT];
    size_t lengths[COUNT];
    struct peet_average average;

    /* a pace of its own each, and an error of its own: the average is without both */
    for (size_t i = 0; i < COUNT; i++) {
        lengths[i] = 0;
        for (int value = 0; value < 5; value++)
            for (size_t k = 0; k <= i % 3; k++)
                all[i][lengths[i]++] = 100 * value + (value == (int)i ? 30 : 0);
        series[i] = all[i];
    }
    CU_ASSERT_EQUAL_FATAL(peet_time_average(series, lengths, COUNT, 0, &average), 0);
    for (size_t k = 0; k < average.n; k++) {
        CU_ASSERT_EQUAL(fmod(average.values[k], 100), 0);
        CU_ASSERT(average.deviation[k] > 0 && average.deviation[k] < 30); /* each value is one series' error */
    }
    peet_average_free(&average);
    /* of two of one pace: the mean */
    series[0] = (const double[]){0, 1000, 2000}, series[1] = (const double[]){10, 1020, 2030};
    lengths[0] = lengths[1] = 3;
    CU_ASSERT_EQUAL_FATAL(peet_time_average(series, lengths, 2, 0, &average), 0);
    CU_ASSERT_EQUAL_FATAL(average.n, 3);
    CU_ASSERT(average.values[0] == 5 && average.values[1] == 1010 && average.values[2] == 2015);
    CU_ASSERT(average.distances[0] == average.distances[1] && average.deviation[2] == 15);
    peet_average_free(&average);
    for (int round = 0; round < 300; round++) { /* never further from all than the best of them */
        const size_t count = 1 + (size_t)rand() % COUNT;
        double best = INFINITY, sum = 0;

        for (size_t i = 0; i < count; i++) {
            lengths[i] = 1 + (size_t)rand() % MOST;
            for (size_t k = 0; k < lengths[i]; k++)
                all[i][k] = rand() % 100;
            series[i] = all[i];
        }
        for (size_t i = 0; i < count; i++)
            best = fmin(best, sum_of_distances(series[i], lengths[i], series, lengths, count));
        CU_ASSERT_EQUAL_FATAL(peet_time_average(series, lengths, count, 0, &average), 0);
        for (size_t i = 0; i < count; i++)
            sum += average.distances[i];
        if (fabs(sum - sum_of_distances(average.values, average.n, series, lengths, count)) > 1e-6 || sum > best + 1e-6)
            CU_FAIL_FATAL("the average is further away than one of them");
        peet_average_free(&average);
    }
}

static double cheapest(const double *cost, size_t n, size_t m, size_t i, unsigned used)
{
    double best = i == n ? 0 : INFINITY;

    for (size_t k = 0; i < n && k < m; k++)
        if (!(used >> k & 1))
            best = fmin(best, cost[i * m + k] + cheapest(cost, n, m, i + 1, used | 1u << k));
    return best;
}

static void test_assignment(void)
{
    double cost[36];
    size_t column[6];

    for (int round = 0; round < 500; round++) {
        const size_t n = 1 + (size_t)rand() % 6, m = n + (size_t)rand() % (7 - n);
        unsigned used = 0;
        double sum = 0;

        for (size_t i = 0; i < n * m; i++)
            cost[i] = rand() % 50;
        CU_ASSERT_EQUAL_FATAL(peet_assignment(cost, n, m, column), 0);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_FATAL(column[i] < m && !(used >> column[i] & 1));
            used |= 1u << column[i];
            sum += cost[i * m + column[i]];
        }
        CU_ASSERT_EQUAL_FATAL(sum, cheapest(cost, n, m, 0, 0));
    }
}

/** A sequence that is read piece by piece. */
struct feed {
    const uint64_t *all;
    size_t n, at;
};

static long read_feed(void *arg, uint64_t *out, size_t n)
{
    struct feed *f = arg;

    n = n < f->n - f->at ? n : f->n - f->at;
    memcpy(out, f->all + f->at, n * sizeof *out);
    f->at += n;
    return (long)n;
}

static int rewind_feed(void *arg)
{
    ((struct feed *)arg)->at = 0;
    return 0;
}

/** Like a program's: loops that repeat, so that most of what is there is there often. */
static size_t make_long(uint64_t *out, size_t length, unsigned symbols)
{
    size_t n = 0;

    while (n < length)
        for (int k = rand() % 20, symbol = rand() % (int)symbols; k >= 0 && n < length; k--)
            out[n++] = (uint64_t)symbol;
    return n;
}

/** The second of the two: small differences everywhere; in some rounds thousands of symbols more or fewer in one place. */
static size_t change(const uint64_t *a, size_t n, uint64_t *b, unsigned symbols, int round)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if (rand() % 400 == 0)
            continue;
        if (rand() % 500 == 0)
            b[m++] = (uint64_t)rand() % symbols;
        for (int k = 0; round % 4 == 1 && i == n / 3 && k < 5000; k++)
            b[m++] = (uint64_t)rand() % symbols;
        if (round % 4 != 2 || i < n / 2 || i > n / 2 + 5000)
            b[m++] = a[i];
    }
    return m;
}

/** With a limited effort: a script, bounds on the right sides, and nearly as short as the shortest. */
static void test_anchored(void)
{
    enum { LENGTH = 60000, ROOM = 2 * LENGTH };
    uint64_t *a = malloc(ROOM * sizeof *a), *b = malloc(ROOM * sizeof *b);
    double found = 0, exact = 0;

    srand(6);
    for (int round = 0; round < 20; round++) {
        const unsigned symbols = round % 3 ? 300 : 5;
        const size_t n = make_long(a, LENGTH, symbols), m = change(a, n, b, symbols, round);
        struct feed fa = {a, n, 0}, fb = {b, m, 0};
        const struct peet_symbols from = {read_feed, rewind_feed, &fa}, to = {read_feed, rewind_feed, &fb};
        struct script s = {a, b, 0, 0, 0, 0};
        struct peet_distance d, e;

        CU_ASSERT_FATAL(!peet_edit_distance_long(&from, &to, round % 2 ? 16384 : ROOM, 4000, check, &s, &d));
        CU_ASSERT_FATAL(!peet_edit_distance(a, n, b, m, 0, NULL, NULL, &e));
        CU_ASSERT(!s.bad && s.n == d.matched && d.edits == n + m - 2 * d.matched);
        CU_ASSERT(d.least <= e.edits && e.edits <= d.edits);
        CU_ASSERT(d.least >= (n > m ? n - m : m - n));
        CU_ASSERT(d.first_a == e.first_a && d.first_b == e.first_b);
        found += (double)d.edits;
        exact += (double)e.edits;
    }
    CU_ASSERT(found <= 1.02 * exact);
    free(a);
    free(b);
}

/** Long ones in memory: exactly, if they differ in little; else a script of known edits that is about as short as these. */
static void test_long_in_memory(void)
{
    enum { LENGTH = 1200000, ROOM = LENGTH + LENGTH / 10 };
    uint64_t *a = malloc(ROOM * sizeof *a), *b = malloc(ROOM * sizeof *b);

    srand(7);
    make_long(a, LENGTH, 300);
    for (int every = 40000; every >= 40; every /= 1000) {
        struct script s = {a, b, 0, 0, 0, 0};
        struct peet_distance d;
        size_t m = 0, made = 0;

        for (size_t i = 0; i < LENGTH; i++) {
            if (i % (size_t)every == 17) {
                made++;
                if (i % 2 == 0)
                    continue;
                b[m++] = 1000 + i % 7;
            }
            b[m++] = a[i];
        }
        CU_ASSERT_FATAL(!peet_edit_distance(a, LENGTH, b, m, 4000, check, &s, &d));
        CU_ASSERT(!s.bad && s.n == d.matched && d.edits == LENGTH + m - 2 * d.matched);
        CU_ASSERT(d.first_a == d.first_b && d.first_a >= 17 && d.first_a < 60);
        CU_ASSERT(d.least <= made && d.edits <= 1.01 * (double)made);
        if (every == 40000)
            CU_ASSERT(d.edits == made && d.least == made);
    }
    free(a);
    free(b);
}

/** In memory, with an effort that is less than one place differs in: anchors find what Myers' search has left. */
static void test_limited(void)
{
    enum { LENGTH = 60000, ROOM = 2 * LENGTH };
    uint64_t *a = malloc(ROOM * sizeof *a), *b = malloc(ROOM * sizeof *b);
    double found = 0, exact = 0;

    srand(8);
    for (int round = 0; round < 12; round++) {
        const size_t n = make_long(a, LENGTH, 300), m = change(a, n, b, 300, round);
        struct script s = {a, b, 0, 0, 0, 0};
        struct peet_distance d, e;

        CU_ASSERT_FATAL(!peet_edit_distance(a, n, b, m, 200, check, &s, &d));
        CU_ASSERT_FATAL(!peet_edit_distance(a, n, b, m, 0, NULL, NULL, &e));
        CU_ASSERT(!s.bad && s.n == d.matched && d.edits == n + m - 2 * d.matched);
        CU_ASSERT(d.least <= e.edits && e.edits <= d.edits);
        found += (double)d.edits;
        exact += (double)e.edits;
    }
    CU_ASSERT(found <= 1.02 * exact);
    free(a);
    free(b);
}

static void test_long(void)
{
    enum { LENGTH = 12000, ROOM = 2 * LENGTH };
    uint64_t *a = malloc(ROOM * sizeof *a), *b = malloc(ROOM * sizeof *b);
    double found = 0, exact = 0;

    srand(5);
    for (int round = 0; round < 24; round++) {
        const unsigned symbols = round % 3 ? 300 : 5;
        const size_t n = round == 9 ? 0 : make_long(a, LENGTH, symbols), m = change(a, n, b, symbols, round);
        struct feed fa = {a, n, 0}, fb = {b, m, 0};
        const struct peet_symbols from = {read_feed, rewind_feed, &fa}, to = {read_feed, rewind_feed, &fb};
        struct script s = {a, b, 0, 0, 0, 0};
        struct peet_distance d, e;

        CU_ASSERT_FATAL(!peet_edit_distance_long(&from, &to, 1024, 0, check, &s, &d));
        CU_ASSERT_FATAL(!peet_edit_distance(a, n, b, m, 0, NULL, NULL, &e));
        CU_ASSERT(!s.bad && s.n == d.matched && d.edits == n + m - 2 * d.matched);
        CU_ASSERT(d.least <= e.edits && e.edits <= d.edits);
        CU_ASSERT(d.first_a == e.first_a && d.first_b == e.first_b);
        found += (double)d.edits;
        exact += (double)e.edits;
        fa.all = fb.all; /* with itself */
        fa.n = fb.n;
        CU_ASSERT_FATAL(!peet_edit_distance_long(&from, &to, 1024, 0, NULL, NULL, &d));
        CU_ASSERT(!d.edits && d.matched == m && d.first_a == m && !d.least);
    }
    CU_ASSERT(found < 1.1 * exact);
    free(a);
    free(b);
}

int main(void)
{
    CU_pSuite suite;
    unsigned failures;

    CU_initialize_registry();
    suite = CU_add_suite("compare", NULL, NULL);
    CU_add_test(suite, "edit distance", test_distance);
    CU_add_test(suite, "long sequences", test_long);
    CU_add_test(suite, "long, limited effort", test_anchored);
    CU_add_test(suite, "long, in memory", test_long_in_memory);
    CU_add_test(suite, "limited effort, in memory", test_limited);
    CU_add_test(suite, "time warping", test_warp);
    CU_add_test(suite, "links", test_links);
    CU_add_test(suite, "averages", test_average);
    CU_add_test(suite, "assignment", test_assignment);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
