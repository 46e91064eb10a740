/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doall loops in a plain run: every iteration once and in order, whatever the form, the schedule or the
 * range; from C and from C++.
 */
#include <CUnit/Basic.h>
#include <limits.h>
#include <peet/doall.h>
#include <peet/roi.h>
#include <pthread.h>

int cxx_sum(long lo, long hi); /* doall_cxx.cpp */

#define MAX 100
static long seen[MAX];
static unsigned nseen;

static void note(long i, void *arg)
{
    if (nseen < MAX)
        seen[nseen++] = i + *(long *)arg;
}

static void expect(long lo, long hi)
{
    CU_ASSERT_EQUAL(nseen, hi > lo ? (unsigned)(hi - lo) : 0);
    for (unsigned k = 0; k < nseen; k++)
        CU_ASSERT_EQUAL(seen[k], lo + (long)k);
    nseen = 0;
}

static const long ranges[][2] = {{0, 10}, {-5, 5}, {7, 8}, {3, 3}, {4, -4}, {LONG_MAX - 3, LONG_MAX}};
#define NRANGES (sizeof ranges / sizeof *ranges)

static void test_function_form(void)
{
    long zero = 0;
    for (unsigned r = 0; r < NRANGES; r++)
        for (int schedule = PEET_DOALL_STATIC; schedule <= PEET_DOALL_DEFAULT; schedule++) {
            peet_doall(ranges[r][0], ranges[r][1], (enum peet_doall_schedule)schedule, r, note, &zero);
            expect(ranges[r][0], ranges[r][1]);
        }
}

static void test_statement_form(void)
{
    long zero = 0;
    for (unsigned r = 0; r < NRANGES; r++) {
        PEET_DOALL(i, ranges[r][0], ranges[r][1])
        note(i, &zero);
        expect(ranges[r][0], ranges[r][1]);
        PEET_DOALL_WITH(i, ranges[r][0], ranges[r][1], PEET_DOALL_GUIDED, 2)
        {
            note(i, &zero);
        }
        expect(ranges[r][0], ranges[r][1]);
    }
}

static void test_leaving_an_iteration(void)
{
    long zero = 0;
    unsigned begun = 0;
    PEET_DOALL(i, 0, 10)
    {
        begun++;
        if (i % 3 == 0)
            break;
        if (i % 3 == 1)
            continue;
        note(i, &zero);
    }
    CU_ASSERT_EQUAL(begun, 10);
    CU_ASSERT_EQUAL(nseen, 3);
    CU_ASSERT(seen[0] == 2 && seen[1] == 5 && seen[2] == 8);
    nseen = 0;
}

static void test_nesting(void)
{
    unsigned n = 0;
    PEET_DOALL(i, 0, 4)
    PEET_DOALL(j, 0, i)
    n++;
    CU_ASSERT_EQUAL(n, 6);
    if (n == 6)
        PEET_DOALL(i, 0, 2)
    n++;
    else n = 0;
    CU_ASSERT_EQUAL(n, 8);
}

/* The paper's Figure 1: the maximum of every part of an array. */
static void test_marker_form(void)
{
    enum { S = 5, N = 8 };
    int a[S * N], m[S];
    for (int i = 0; i < S * N; i++)
        a[i] = i * 37 % 101;
    PEET_FORK_DOALL(S);
    for (int p = 0; p < S; p++) {
        PEET_START_DOALL_ITER(p);
        m[p] = 0;
        for (int i = p * N; i < (p + 1) * N; i++)
            if (m[p] < a[i])
                m[p] = a[i];
        PEET_FINISH_DOALL_ITER(p);
    }
    PEET_JOIN_DOALL();
    int expected[S];
    for (int p = 0; p < S; p++) { /* without the markers, the other way round */
        expected[p] = a[p * N + N - 1];
        for (int i = p * N + N - 2; i >= p * N; i--)
            expected[p] = a[i] > expected[p] ? a[i] : expected[p];
        CU_ASSERT_EQUAL(m[p], expected[p]);
    }
}

static void test_cxx(void)
{
    CU_ASSERT_EQUAL(cxx_sum(1, 11), 3 * 55);
}

static void *thread(void *arg)
{
    return arg;
}

static void test_marks_do_nothing(void)
{
    peet_phase(1);
    PEET_ROI_BEGIN();
    PEET_ROI_END();
    /* and threads of a plain run are as ever */
    pthread_t t;
    void *result;
    CU_ASSERT(pthread_create(&t, NULL, thread, &t) == 0 && pthread_join(t, &result) == 0 && result == &t);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite suite = CU_add_suite("doall", NULL, NULL);
    CU_add_test(suite, "function form", test_function_form);
    CU_add_test(suite, "statement form", test_statement_form);
    CU_add_test(suite, "break and continue end an iteration", test_leaving_an_iteration);
    CU_add_test(suite, "nesting", test_nesting);
    CU_add_test(suite, "marker form", test_marker_form);
    CU_add_test(suite, "C++", test_cxx);
    CU_add_test(suite, "marks", test_marks_do_nothing);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
