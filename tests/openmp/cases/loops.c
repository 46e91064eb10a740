/* SPDX-License-Identifier: Apache-2.0 */
/* Worksharing loops: schedules, types of loop variables, bounds, collapse, lastprivate, ordered, doacross. */
#include "harness.h"
#include <limits.h>
#include <stdint.h>

#define N 257
static int hits[4096];

static void clear(void)
{
    memset(hits, 0, sizeof hits);
}

/* Every iteration once? */
static void show(int n)
{
    int sum = 0, bad = 0;
    for (int i = 0; i < n; i++) {
        sum += hits[i];
        bad += hits[i] != 1;
    }
    printf("%d iterations, %d not once\n", sum, bad);
}

#define SCHEDULED(name, clause)                                                                                        \
    CASE(name)                                                                                                         \
    {                                                                                                                  \
        clear();                                                                                                       \
        _Pragma("omp parallel") _Pragma(#clause) for (int i = 0; i < N; i++) hits[i]++;                                \
        show(N);                                                                                                       \
    }

SCHEDULED(schedule_none, omp for)
SCHEDULED(schedule_static, omp for schedule(static))
SCHEDULED(schedule_static_1, omp for schedule(static, 1))
SCHEDULED(schedule_static_7, omp for schedule(static, 7))
SCHEDULED(schedule_static_large, omp for schedule(static, 1000))
SCHEDULED(schedule_dynamic, omp for schedule(dynamic))
SCHEDULED(schedule_dynamic_5, omp for schedule(dynamic, 5))
SCHEDULED(schedule_dynamic_large, omp for schedule(dynamic, 1000))
SCHEDULED(schedule_guided, omp for schedule(guided))
SCHEDULED(schedule_guided_9, omp for schedule(guided, 9))
SCHEDULED(schedule_auto, omp for schedule(auto))
SCHEDULED(schedule_runtime, omp for schedule(runtime))
SCHEDULED(schedule_monotonic, omp for schedule(monotonic : dynamic, 3))
SCHEDULED(schedule_nonmonotonic, omp for schedule(nonmonotonic : guided, 3))
SCHEDULED(schedule_simd, omp for simd simdlen(4) schedule(simd : static))
SCHEDULED(nowait_loop, omp for nowait)
SCHEDULED(loop_directive, omp loop bind(parallel))

/* The standard says which thread gets which iteration. */
CASE(static_owners)
{
    static int owner[N];
#pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < N; i++)
        owner[i] = omp_get_thread_num();
    int bad = 0;
    for (int i = 0; i < N; i++)
        bad += owner[i] != i / 3 % threads;
    printf("%d wrong, %lx\n", bad, digest(owner, N));
}

CASE(static_owners_blocks)
{
    static int owner[N];
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++)
        owner[i] = omp_get_thread_num();
    printf("%lx\n", digest(owner, N));
}

CASE(static_same_assignment)
{
    static int first[N], second[N];
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++)
            first[i] = omp_get_thread_num();
#pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++)
            second[i] = first[i] == omp_get_thread_num();
    }
    int same = 0;
    for (int i = 0; i < N; i++)
        same += second[i];
    printf("%d\n", same);
}

CASE(runtime_set)
{
    for (int kind = 1; kind <= 4; kind++)
        for (int chunk = 0; chunk < 10; chunk += 3) {
            omp_sched_t got;
            int got_chunk;
            omp_set_schedule((omp_sched_t)kind, chunk);
            omp_get_schedule(&got, &got_chunk);
            clear();
#pragma omp parallel for schedule(runtime)
            for (int i = 0; i < N; i++)
                hits[i]++;
            printf("%d ", (int)got);
            show(N);
        }
    omp_set_schedule(omp_sched_static, 0);
}

#define TYPED(name, type, from, to, step, comparison, clause)                                                          \
    CASE(name)                                                                                                         \
    {                                                                                                                  \
        unsigned long long n = 0, sum = 0;                                                                             \
        _Pragma(#clause) for (type i = (type)(from); i comparison(type)(to); i += (type)(step))                        \
        {                                                                                                              \
            n++;                                                                                                       \
            sum += (unsigned long long)i;                                                                              \
        }                                                                                                              \
        printf("%llu %llx\n", n, sum);                                                                                 \
    }

TYPED(int_down_static, int, 1000, -77, -3, >, omp parallel for reduction(+ : n, sum))
TYPED(int_down_dynamic, int, 1000, -77, -3, >, omp parallel for reduction(+ : n, sum) schedule(dynamic, 4))
TYPED(int_down_guided, int, 1000, -77, -3, >=, omp parallel for reduction(+ : n, sum) schedule(guided))
TYPED(int_wide_static, int, -1000000000, 1000000000, 10000019, <, omp parallel for reduction(+ : n, sum))
TYPED(int_wide_dynamic, int, -1000000000, 1000000000, 10000019, <, omp parallel for reduction(+ : n, sum) schedule(dynamic))
TYPED(unsigned_static, unsigned, 3, 4000000000u, 16777213u, <, omp parallel for reduction(+ : n, sum))
TYPED(unsigned_dynamic, unsigned, 3, 4000000000u, 16777213u, <, omp parallel for reduction(+ : n, sum) schedule(dynamic, 3))
TYPED(long_static, long, -1000000000000, 1000000000000, 10000000019, <=, omp parallel for reduction(+ : n, sum) schedule(static, 2))
TYPED(long_dynamic, long, -1000000000000, 1000000000000, 10000000019, <=, omp parallel for reduction(+ : n, sum) schedule(dynamic, 2))
TYPED(size_static, size_t, 5, SIZE_MAX - SIZE_MAX / 90, SIZE_MAX / 100, <, omp parallel for reduction(+ : n, sum))
TYPED(size_guided, size_t, 5, SIZE_MAX - SIZE_MAX / 90, SIZE_MAX / 100, <, omp parallel for reduction(+ : n, sum) schedule(guided, 2))
TYPED(short_loop, short, -300, 300, 7, <, omp parallel for reduction(+ : n, sum) schedule(dynamic))
TYPED(empty_static, int, 10, 10, 1, <, omp parallel for reduction(+ : n, sum))
TYPED(empty_dynamic, long, 10, -10, 1, <, omp parallel for reduction(+ : n, sum) schedule(dynamic))
TYPED(one_iteration, int, 10, 11, 1, <, omp parallel for reduction(+ : n, sum) schedule(guided))

CASE(collapse_2)
{
    clear();
#pragma omp parallel for collapse(2) schedule(dynamic, 3)
    for (int i = 0; i < 17; i++)
        for (int j = 0; j < 13; j++)
            hits[i * 13 + j]++;
    show(17 * 13);
}

CASE(collapse_3_steps)
{
    clear();
#pragma omp parallel for collapse(3)
    for (int i = 0; i < 10; i += 3)
        for (int j = 5; j > 0; j--)
            for (long k = 0; k < 6; k += 2)
                hits[(i / 3 * 5 + (5 - j)) * 3 + k / 2]++;
    show(4 * 5 * 3);
}

CASE(collapse_triangle)
{
    long sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < i; j++)
            sum += i * 100 + j;
    printf("%ld\n", sum);
}

CASE(lastprivate_static)
{
    int x = -1, y = -1;
#pragma omp parallel for lastprivate(x, y)
    for (int i = 0; i < 100; i++) {
        x = i * 3;
        y = -i;
    }
    printf("%d %d\n", x, y);
}

CASE(lastprivate_chunks)
{
    int x = -1, i;
#pragma omp parallel for lastprivate(x, i) schedule(static, 7)
    for (i = 0; i < 100; i += 3)
        x = i * 3;
    printf("%d %d\n", x, i);
}

CASE(lastprivate_dynamic)
{
    int x = -1;
#pragma omp parallel for lastprivate(x) schedule(monotonic : dynamic, 3)
    for (int i = 0; i < 100; i++)
        x = i * 3 + work(i & 7) * 0;
    printf("%d\n", x);
}

CASE(lastprivate_conditional)
{
    int x = -1;
#pragma omp parallel for lastprivate(conditional : x)
    for (int i = 0; i < 100; i++)
        if (i % 10 == 3)
            x = i;
    printf("%d\n", x);
}

CASE(firstprivate_lastprivate)
{
    int x = 5;
#pragma omp parallel for firstprivate(x) lastprivate(x) schedule(static, 1)
    for (int i = 0; i < 64; i++)
        x = x * 0 + i;
    printf("%d\n", x);
}

CASE(linear_clause)
{
    int k = 7, sum = 0;
#pragma omp parallel for linear(k : 2) reduction(+ : sum)
    for (int i = 0; i < 50; i++) {
        sum += k;
        k += 2;
    }
    printf("%d %d\n", k, sum);
}

#define ORDERED(name, clause)                                                                                          \
    CASE(name)                                                                                                         \
    {                                                                                                                  \
        static int order[N];                                                                                           \
        int n = 0;                                                                                                     \
        _Pragma(#clause) for (int i = 0; i < N; i++)                                                                   \
        {                                                                                                              \
            work((N - i) & 15);                                                                                        \
            _Pragma("omp ordered") order[n++] = i;                                                                     \
        }                                                                                                              \
        int bad = 0;                                                                                                   \
        for (int i = 0; i < N; i++)                                                                                    \
            bad += order[i] != i;                                                                                      \
        printf("%d of %d out of order\n", bad, n);                                                                     \
    }

ORDERED(ordered_static, omp parallel for ordered)
ORDERED(ordered_static_2, omp parallel for ordered schedule(static, 2))
ORDERED(ordered_dynamic, omp parallel for ordered schedule(dynamic))
ORDERED(ordered_dynamic_4, omp parallel for ordered schedule(dynamic, 4))
ORDERED(ordered_guided, omp parallel for ordered schedule(guided, 2))
ORDERED(ordered_runtime, omp parallel for ordered schedule(runtime))

CASE(ordered_sometimes)
{
    static int order[N];
    int n = 0;
#pragma omp parallel for ordered schedule(dynamic, 2)
    for (int i = 0; i < N; i++)
        if (i % 3 == 0) {
#pragma omp ordered
            order[n++] = i;
        }
    printf("%d %lx\n", n, digest(order, n));
}

CASE(doacross_1)
{
    static long a[200];
    a[0] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1)
    for (int i = 1; i < 200; i++) {
        work(i & 7);
#pragma omp ordered depend(sink : i - 1)
        a[i] = (a[i - 1] * 31 + i) % 1000003;
#pragma omp ordered depend(source)
    }
    printf("%ld\n", a[199]);
}

CASE(doacross_dynamic)
{
    static long a[200];
    a[0] = a[1] = a[2] = 1;
#pragma omp parallel for ordered(1) schedule(dynamic)
    for (int i = 3; i < 200; i++) {
#pragma omp ordered depend(sink : i - 1) depend(sink : i - 3)
        a[i] = (a[i - 1] * 31 + a[i - 3] + i) % 1000003;
#pragma omp ordered depend(source)
    }
    printf("%ld\n", a[199]);
}

CASE(doacross_2)
{
    static long a[20][30];
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            a[i][j] = i == 0 || j == 0;
#pragma omp parallel for ordered(2) schedule(dynamic)
    for (int i = 1; i < 20; i++)
        for (int j = 1; j < 30; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            a[i][j] = (a[i - 1][j] + a[i][j - 1]) % 1000003;
#pragma omp ordered depend(source)
        }
    printf("%ld\n", a[19][29]);
}

CASE(doacross_backwards)
{
    static long a[100];
    a[99] = 7;
#pragma omp parallel for ordered(1)
    for (int i = 98; i >= 0; i -= 2) {
#pragma omp ordered depend(sink : i + 2)
        a[i] = (a[i + 2 > 98 ? 99 : i + 2] * 13 + i) % 10007;
#pragma omp ordered depend(source)
    }
    printf("%ld\n", a[0]);
}

CASE(doacross_doacross_51)
{
    static long a[100];
    a[0] = 3;
#pragma omp parallel for ordered(1)
    for (int i = 1; i < 100; i++) {
#pragma omp ordered doacross(sink : i - 1)
        a[i] = (a[i - 1] * 17 + i) % 10007;
#pragma omp ordered doacross(source :)
    }
    printf("%ld\n", a[99]);
}

CASE(many_loops_nowait)
{
    static int sum[40];
    memset(sum, 0, sizeof sum);
#pragma omp parallel
    for (int k = 0; k < 40; k++) {
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < 20; i++) {
            work(i);
#pragma omp atomic
            sum[k] += i;
        }
    }
    printf("%lx\n", digest(sum, 40));
}

CASE(loop_in_function)
{
    clear();
#pragma omp parallel
    for (int r = 0; r < 3; r++) {
#pragma omp for schedule(guided)
        for (int i = r * 100; i < r * 100 + 100; i++)
            hits[i]++;
    }
    show(300);
}

CASE(inscan_inclusive)
{
    static int a[100], b[100];
    int x = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i % 7;
#pragma omp parallel for reduction(inscan, + : x)
    for (int i = 0; i < 100; i++) {
        x += a[i];
#pragma omp scan inclusive(x)
        b[i] = x;
    }
    printf("%d %lx\n", x, digest(b, 100));
}

CASE(inscan_exclusive)
{
    static int a[100], b[100];
    int x = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i % 5;
#pragma omp parallel for reduction(inscan, + : x)
    for (int i = 0; i < 100; i++) {
        b[i] = x;
#pragma omp scan exclusive(x)
        x += a[i];
    }
    printf("%d %lx\n", x, digest(b, 100));
}

CASE(tiled)
{
    clear();
#pragma omp parallel for
#pragma omp tile sizes(4)
    for (int i = 0; i < 101; i++)
        hits[i]++;
    show(101);
}

CASE(unrolled)
{
    clear();
#pragma omp parallel for
#pragma omp unroll partial(3)
    for (int i = 0; i < 101; i++)
        hits[i]++;
    show(101);
}
