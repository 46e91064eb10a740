/* SPDX-License-Identifier: Apache-2.0 */
/* Regions, data clauses, reductions, sections, single, critical, atomic, locks, barriers, flush, threadprivate. */
#include "harness.h"
#include <math.h>

CASE(parallel_all)
{
    int seen[64] = {0}, n = 0;
#pragma omp parallel
    {
        seen[omp_get_thread_num()] = omp_get_thread_num() + 1;
#pragma omp master
        n = omp_get_num_threads();
    }
    printf("%d %lx\n", n, digest(seen, threads));
}

CASE(parallel_if)
{
    int n = 0, m = 0;
#pragma omp parallel if (threads > 100)
    n = omp_get_num_threads();
#pragma omp parallel if (threads > 0)
#pragma omp single
    m = omp_get_num_threads();
    printf("%d %d\n", n, m);
}

CASE(num_threads_clause)
{
    for (int n = 1; n <= 9; n += 2) {
        int sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
        printf("%d ", sum);
    }
    printf("\n");
}

CASE(growing_and_shrinking)
{
    static const int sizes[] = {2, 5, 1, 3, 8, 2, 7, 7, 1, 4};
    int sum = 0;
    for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(sizes[i]) reduction(+ : sum)
        sum += omp_get_thread_num() * 10 + omp_get_num_threads();
    }
    printf("%d\n", sum);
}

CASE(many_arguments)
{
    int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12;
    int m = 13, n = 14, o = 15, p = 16, q = 17, r = 18, s = 19, t = 20;
#pragma omp parallel
#pragma omp critical
    {
        a++, b++, c++, d++, e++, f++, g++, h++, i++, j++, k++, l++;
        m++, n++, o++, p++, q++, r++, s++, t++;
    }
    printf("%d %d %d %d %d %d %d %d %d %d ", a, b, c, d, e, f, g, h, i, j);
    printf("%d %d %d %d %d %d %d %d %d %d\n", k, l, m, n, o, p, q, r, s, t);
}

CASE(firstprivate_private)
{
    int x = 10, y = 20, sum = 0;
    double z = 2.5;
#pragma omp parallel firstprivate(x, z) private(y) reduction(+ : sum)
    {
        y = omp_get_thread_num();
        x += y;
        sum += x + (int)(z * 2);
    }
    printf("%d %d %d\n", x, y, sum);
}

CASE(default_none)
{
    int shared_value = 3, sum = 0;
#pragma omp parallel default(none) shared(shared_value) reduction(+ : sum)
    sum += shared_value;
    printf("%d\n", sum);
}

CASE(vla_firstprivate)
{
    int n = threads + 3, a[n];
    for (int i = 0; i < n; i++)
        a[i] = i;
    int sum = 0;
#pragma omp parallel firstprivate(a) reduction(+ : sum)
    {
        a[0] = omp_get_thread_num();
        for (int i = 0; i < n; i++)
            sum += a[i];
    }
    printf("%d\n", sum);
}

#define PRAGMA(text) _Pragma(#text)
#define REDUCE(name, op, type, init, expression, format)                                                               \
    CASE(name)                                                                                                         \
    {                                                                                                                  \
        type x = init;                                                                                                 \
        PRAGMA(omp parallel for reduction(op : x))                                                                     \
        for (int i = 1; i <= 60; i++)                                                                                  \
            expression;                                                                                                \
        printf(format "\n", x);                                                                                        \
    }

REDUCE(reduction_add, +, int, 5, x += i * i, "%d")
REDUCE(reduction_subtract, -, long, 5, x -= i, "%ld")
REDUCE(reduction_multiply, *, unsigned long, 3, x *= (unsigned long)i | 1, "%lx")
REDUCE(reduction_and, &, unsigned, 0xffffff, x &= ~(unsigned)(1 << i % 20), "%x")
REDUCE(reduction_or, |, unsigned, 1u << 30, x |= 1u << i % 25, "%x")
REDUCE(reduction_xor, ^, unsigned, 7, x ^= (unsigned)i * 2654435761u, "%x")
REDUCE(reduction_logical_and, &&, int, 1, x = x && i < 100, "%d")
REDUCE(reduction_logical_or, ||, int, 0, x = x || i == 59, "%d")
REDUCE(reduction_max, max, int, -5, if (i * 37 % 61 > x) x = i * 37 % 61, "%d")
REDUCE(reduction_min, min, double, 1e9, if (i * 37 % 61 < x) x = i * 37 % 61, "%g")
REDUCE(reduction_double, +, double, 0.5, x += i, "%.3f")
REDUCE(reduction_float, +, float, 0, x += (float)i, "%.1f")
REDUCE(reduction_char, +, signed char, 0, x += (signed char)(i % 3), "%d")
REDUCE(reduction_short, max, short, 0, if (i * 7 % 59 > x) x = (short)(i * 7 % 59), "%d")

CASE(reduction_long_double)
{
    long double x = 1;
#pragma omp parallel for reduction(+ : x)
    for (int i = 0; i < 100; i++)
        x += i;
    printf("%.1Lf\n", x);
}

CASE(reduction_complex)
{
    _Complex double z = 0;
#pragma omp parallel for reduction(+ : z)
    for (int i = 0; i < 100; i++)
        z += i + (100 - i) * (_Complex double){0, 1};
    printf("%.1f %.1f\n", __real__ z, __imag__ z);
}

CASE(reduction_array)
{
    int a[10] = {0};
#pragma omp parallel for reduction(+ : a)
    for (int i = 0; i < 1000; i++)
        a[i % 10] += i;
    printf("%lx\n", digest(a, 10));
}

CASE(reduction_array_section)
{
    int n = 20, *a = calloc((size_t)n, sizeof *a);
#pragma omp parallel for reduction(max : a[3 : 10])
    for (int i = 0; i < 1000; i++)
        if (a[3 + i % 10] < i * 7 % 997)
            a[3 + i % 10] = i * 7 % 997;
    printf("%lx\n", digest(a, n));
    free(a);
}

CASE(reduction_several)
{
    int sum = 0, max = 0, min = 1000, xor = 0;
    double d = 0;
#pragma omp parallel for reduction(+ : sum, d) reduction(max : max) reduction(min : min) reduction(^ : xor) schedule(dynamic, 3)
    for (int i = 1; i < 300; i++) {
        sum += i;
        d += 0.5 * i;
        max = i * 31 % 257 > max ? i * 31 % 257 : max;
        min = i * 31 % 257 < min ? i * 31 % 257 : min;
        xor ^= i * 7;
    }
    printf("%d %.1f %d %d %d\n", sum, d, max, min, xor);
}

CASE(reduction_nowait)
{
    int a = 0, b = 0;
#pragma omp parallel
    {
#pragma omp for reduction(+ : a) nowait
        for (int i = 0; i < 100; i++)
            a += i;
#pragma omp for reduction(+ : b)
        for (int i = 0; i < 100; i++)
            b += 2 * i;
    }
    printf("%d %d\n", a, b);
}

CASE(reduction_in_region)
{
    int a = 1;
#pragma omp parallel
    for (int k = 0; k < 5; k++) {
#pragma omp for reduction(+ : a)
        for (int i = 0; i < 10; i++)
            a += i;
    }
    printf("%d\n", a);
}

struct pair {
    int a, b;
};
#pragma omp declare reduction(both : struct pair : omp_out.a += omp_in.a, omp_out.b = omp_out.b > omp_in.b ? omp_out.b : omp_in.b) initializer(omp_priv = {0, -1})

CASE(reduction_declared)
{
    struct pair p = {100, 3};
#pragma omp parallel for reduction(both : p)
    for (int i = 0; i < 77; i++) {
        p.a += i;
        p.b = i * 5 % 71 > p.b ? i * 5 % 71 : p.b;
    }
    printf("%d %d\n", p.a, p.b);
}

CASE(sections_each_once)
{
    int a = 0, b = 0, c = 0, d = 0, e = 0;
#pragma omp parallel sections
    {
        a++;
#pragma omp section
        b += 2;
#pragma omp section
        c += 3;
#pragma omp section
        d += 4;
#pragma omp section
        e += 5;
    }
    printf("%d %d %d %d %d\n", a, b, c, d, e);
}

CASE(sections_lastprivate)
{
    int x = 0;
#pragma omp parallel sections lastprivate(x)
    {
#pragma omp section
        x = 1;
#pragma omp section
        x = 2;
#pragma omp section
        x = 3;
    }
    printf("%d\n", x);
}

CASE(sections_reduction_nowait)
{
    int sum = 0, other = 0;
#pragma omp parallel
    {
#pragma omp sections reduction(+ : sum) nowait
        {
#pragma omp section
            sum += 10;
#pragma omp section
            sum += 20;
        }
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            other++;
#pragma omp section
#pragma omp atomic
            other++;
        }
    }
    printf("%d %d\n", sum, other);
}

CASE(single_once)
{
    int n = 0, m = 0;
#pragma omp parallel
    for (int i = 0; i < 10; i++) {
#pragma omp single
        n++;
#pragma omp single nowait
        {
#pragma omp atomic
            m++;
        }
    }
    printf("%d %d\n", n, m);
}

CASE(single_copyprivate)
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int x, y[3];
#pragma omp single copyprivate(x, y)
        {
            x = 42;
            for (int i = 0; i < 3; i++)
                y[i] = i + 1;
        }
        sum += x + y[0] + y[1] + y[2];
    }
    printf("%d\n", sum);
}

CASE(master_and_masked)
{
    int n = 0, m = 0, k = 0;
#pragma omp parallel
    {
#pragma omp master
        n += 1 + omp_get_thread_num();
#pragma omp barrier
#pragma omp masked
        n += 10 + omp_get_thread_num();
#pragma omp masked filter(omp_get_num_threads() - 1)
        m = omp_get_thread_num();
    }
#pragma omp parallel masked
    k = omp_get_num_threads();
    printf("%d %d %d\n", n, m, k);
}

CASE(scope_directive)
{
    int sum = 0;
#pragma omp parallel
    {
#pragma omp scope reduction(+ : sum)
        sum += 1 + omp_get_thread_num();
    }
    printf("%d\n", sum);
}

CASE(critical_counts)
{
    int n = 0;
#pragma omp parallel
    for (int i = 0; i < 50; i++) {
#pragma omp critical
        {
            int old = n;
            work(3);
            n = old + 1;
        }
    }
    printf("%d\n", n);
}

CASE(critical_named)
{
    int a = 0, b = 0;
#pragma omp parallel
    for (int i = 0; i < 20; i++) {
#pragma omp critical(first)
        {
            int old = a;
            work(2);
            a = old + 1;
#pragma omp critical(second) hint(omp_sync_hint_contended)
            b += 2;
        }
    }
    printf("%d %d\n", a, b);
}

CASE(atomic_forms)
{
    int x = 0, y = 0, captured = 0;
    double d = 0;
    unsigned u = 1;
#pragma omp parallel
    for (int i = 0; i < 25; i++) {
        int v;
#pragma omp atomic
        x++;
#pragma omp atomic update
        d += 0.5;
#pragma omp atomic capture
        v = y++;
#pragma omp atomic
        captured += v;
#pragma omp atomic
        u = u * 3;
#pragma omp atomic read seq_cst
        v = x;
        if (v < 1)
            printf("bad ");
    }
    printf("%d %.1f %d %d %x\n", x, d, y, captured, u);
}

CASE(atomic_write)
{
    int x = 0;
#pragma omp parallel
#pragma omp atomic write release
    x = 17;
    printf("%d\n", x);
}

CASE(atomic_compare)
{
    int max = 0, changed = 0;
#pragma omp parallel for schedule(dynamic, 3)
    for (int i = 0; i < 200; i++) {
        int v = i * 53 % 211;
#pragma omp atomic compare
        if (max < v) {
            max = v;
        }
        int expected = i;
#pragma omp atomic compare capture
        {
            expected = changed;
            if (changed == 200) {
                changed = 0;
            }
        }
    }
    printf("%d %d\n", max, changed);
}

CASE(locks)
{
    omp_lock_t lock;
    int n = 0;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 30; i++) {
        omp_set_lock(&lock);
        int old = n;
        work(2);
        n = old + 1;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    printf("%d\n", n);
}

CASE(lock_test)
{
    omp_lock_t lock;
    int n = 0, failures = 0;
    omp_init_lock_with_hint(&lock, omp_lock_hint_contended);
#pragma omp parallel reduction(+ : failures)
    for (int i = 0; i < 20; i++) {
        while (!omp_test_lock(&lock)) {
            failures++;
            work(5);
        }
        int old = n;
        work(3);
        n = old + 1;
        omp_unset_lock(&lock);
    }
    omp_set_lock(&lock);
    int while_held = omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    printf("%d %d\n", n, while_held);
}

CASE(nest_lock)
{
    omp_nest_lock_t lock;
    int n = 0, depth = 0;
    omp_init_nest_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 10; i++) {
        omp_set_nest_lock(&lock);
        int d = omp_test_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        n++;
        if (d > depth)
            depth = d;
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    int first = omp_test_nest_lock(&lock), second = omp_test_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
    printf("%d %d %d %d\n", n, depth, first, second);
}

CASE(barrier_phases)
{
    int a[64] = {0}, bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        for (int phase = 1; phase <= 20; phase++) {
            work(me * 3);
            a[me] = phase;
#pragma omp barrier
            for (int i = 0; i < n; i++)
                bad += a[i] != phase;
#pragma omp barrier
        }
    }
    printf("%d\n", bad);
}

CASE(flush_handshake)
{
    if (threads < 2) {
        printf("1000\n");
        return;
    }
    int flag = 0, value = 0, got = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            work(100);
            value = 1000;
#pragma omp flush
#pragma omp atomic write
            flag = 1;
        } else {
            int seen = 0;
            while (!seen) {
#pragma omp flush
#pragma omp atomic read
                seen = flag;
            }
#pragma omp flush
            got = value;
        }
    }
    printf("%d\n", got);
}

CASE(pipeline_of_flags)
{
    int stage[64] = {0}, out = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads(), ready = 0;
        while (me > 0 && !ready) {
#pragma omp atomic read acquire
            ready = stage[me - 1];
        }
#pragma omp atomic write release
        stage[me] = ready + 1 + me;
        if (me == n - 1)
            out = ready + 1 + me;
    }
    printf("%d\n", out);
}

static int private_counter = 5;
static double private_array[4] = {1, 2, 3, 4};
#pragma omp threadprivate(private_counter, private_array)

CASE(threadprivate_persists)
{
    int sum = 0;
    private_counter = 5;
#pragma omp parallel copyin(private_counter)
    private_counter += omp_get_thread_num() * 10;
    private_counter += 1000;
#pragma omp parallel reduction(+ : sum)
    sum += private_counter;
    printf("%d %d\n", sum, private_counter);
    private_counter = 5;
}

CASE(threadprivate_copyin_array)
{
    double sum = 0;
    private_array[2] = 30;
#pragma omp parallel copyin(private_array) reduction(+ : sum)
    {
        private_array[0] += omp_get_thread_num();
        for (int i = 0; i < 4; i++)
            sum += private_array[i];
    }
    printf("%.1f\n", sum);
    private_array[0] = 1;
}

static _Thread_local int own = 3;

CASE(thread_local_variable)
{
    int sum = 0;
    own = 3;
#pragma omp parallel reduction(+ : sum)
    {
        own += omp_get_thread_num();
#pragma omp barrier
        sum += own;
    }
    printf("%d\n", sum);
#pragma omp parallel
    own = 3;
}

CASE(errno_is_private)
{
    int bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        volatile double x = -1.0 - omp_get_thread_num();
        double y = sqrt(x);
        bad += !(y != y);
    }
    printf("%d\n", bad);
}

CASE(orphaned_work)
{
    static int sum;
    sum = 0;
#pragma omp for
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp single
    sum += 100;
#pragma omp sections
    {
#pragma omp section
        sum += 1000;
    }
#pragma omp critical
    sum += 10000;
    printf("%d %d\n", sum, omp_in_parallel());
}

CASE(parallel_master_taskloop)
{
    int sum = 0;
#pragma omp parallel master taskloop reduction(+ : sum)
    for (int i = 0; i < 50; i++)
        sum += i;
    printf("%d\n", sum);
}

CASE(allocators)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 128}, {omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t own_allocator = omp_init_allocator(omp_large_cap_mem_space, 3, traits);
    char *p = omp_alloc(1000, own_allocator), *q = omp_alloc(100000, own_allocator);
    int *z = omp_calloc(100, sizeof(int), omp_default_mem_alloc), sum = 0;
    for (int i = 0; i < 100; i++)
        sum += z[i];
    z = omp_realloc(z, 4000, omp_default_mem_alloc, omp_default_mem_alloc);
    z[999] = 1;
    char *r = omp_aligned_alloc(256, 512, omp_high_bw_mem_alloc);
    printf("%d %d %d %d %d\n", p != NULL, (int)((size_t)p % 128), q == NULL, sum, (int)((size_t)r % 256));
    omp_free(p, own_allocator);
    omp_free(z, omp_default_mem_alloc);
    omp_free(r, omp_high_bw_mem_alloc);
    omp_destroy_allocator(own_allocator);
}

CASE(allocate_clause)
{
    int x = 3, sum = 0;
#pragma omp parallel firstprivate(x) allocate(omp_default_mem_alloc : x) reduction(+ : sum)
    {
        x += omp_get_thread_num();
        sum += x;
    }
    printf("%d\n", sum);
}
