/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu N BLOCK: blocked LU factorisation of a dense matrix without pivoting (made diagonally dominant), then a solve
 * with a known answer.  Floating point with reuse inside blocks.
 */
#include <math.h>
#include "common.h"

static long n, bs;
static double *a;

static void factor_diagonal(long k, long end)
{
    for (long d = k; d < end; d++)
        for (long i = d + 1; i < end; i++) {
            double f = a[i * n + d] /= a[d * n + d];
            for (long j = d + 1; j < end; j++)
                a[i * n + j] -= f * a[d * n + j];
        }
}

static void update_row(long k, long kend, long j0, long jend)
{
    for (long d = k; d < kend; d++)
        for (long i = d + 1; i < kend; i++) {
            double f = a[i * n + d];
            for (long j = j0; j < jend; j++)
                a[i * n + j] -= f * a[d * n + j];
        }
}

static void update_column(long k, long kend, long i0, long iend)
{
    for (long i = i0; i < iend; i++)
        for (long d = k; d < kend; d++) {
            double f = a[i * n + d] /= a[d * n + d];
            for (long j = d + 1; j < kend; j++)
                a[i * n + j] -= f * a[d * n + j];
        }
}

static void update_inner(long k, long kend, long i0, long iend, long j0, long jend)
{
    for (long i = i0; i < iend; i++)
        for (long d = k; d < kend; d++) {
            double f = a[i * n + d];
            for (long j = j0; j < jend; j++)
                a[i * n + j] -= f * a[d * n + j];
        }
}

static long min(long x, long y)
{
    return x < y ? x : y;
}

static void factor(void)
{
    for (long k = 0; k < n; k += bs) {
        long kend = min(k + bs, n);
        bench_lap();
        factor_diagonal(k, kend);
        for (long j = kend; j < n; j += bs)
            update_row(k, kend, j, min(j + bs, n));
        for (long i = kend; i < n; i += bs)
            update_column(k, kend, i, min(i + bs, n));
        for (long i = kend; i < n; i += bs)
            for (long j = kend; j < n; j += bs)
                update_inner(k, kend, i, min(i + bs, n), j, min(j + bs, n));
    }
}

int main(int argc, char **argv)
{
    n = bench_arg(argc, argv, 1, 900, 1, 8000);
    bs = bench_arg(argc, argv, 2, 32, 1, 1000);
    a = bench_alloc((size_t)(n * n), sizeof *a);
    double *x = bench_alloc((size_t)n, sizeof *x);
    uint64_t random = 3, hash = 0;
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++) {
            double value = bench_uniform(&random) + (i == j ? (double)n : 0.0);
            a[i * n + j] = value;
            x[i] += value; /* right-hand side of the system whose answer is all ones */
        }
    }
    factor();
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++)
            x[i] -= a[i * n + j] * x[j];
    for (long i = n - 1; i >= 0; i--) {
        for (long j = i + 1; j < n; j++)
            x[i] -= a[i * n + j] * x[j];
        x[i] /= a[i * n + i];
    }
    for (long i = 0; i < n; i++) {
        if (!(fabs(x[i] - 1.0) < 1e-8))
            bench_wrong("the solution is not all ones");
        hash = bench_mix_double(hash, x[i]);
    }
    bench_print("lu", hash);
    free(a), free(x);
    return 0;
}
