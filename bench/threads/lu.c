/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu THREADS N BLOCK: blocked LU factorisation without pivoting of a dense matrix kept block by block.  Blocks are
 * dealt to the threads in two dimensions; three barriers for each diagonal block (the shape of SPLASH's contiguous LU).
 */
#include <math.h>
#include "threads.h"

static long n, bs, blocks, rows, columns; /* threads stand in rows x columns */
static double **tile;

static long owner(long i, long j)
{
    return j % columns + i % rows * columns;
}

static void factor_diagonal(double *a)
{
    for (long k = 0; k < bs; k++)
        for (long i = k + 1; i < bs; i++) {
            double f = a[i * bs + k] /= a[k * bs + k];
            for (long j = k + 1; j < bs; j++)
                a[i * bs + j] -= f * a[k * bs + j];
        }
}

/* a := a * U^-1 */
static void update_column(double *a, const double *diagonal)
{
    for (long i = 0; i < bs; i++)
        for (long k = 0; k < bs; k++) {
            double f = a[i * bs + k] /= diagonal[k * bs + k];
            for (long j = k + 1; j < bs; j++)
                a[i * bs + j] -= f * diagonal[k * bs + j];
        }
}

/* a := L^-1 * a */
static void update_row(double *a, const double *diagonal)
{
    for (long k = 0; k < bs; k++)
        for (long i = k + 1; i < bs; i++) {
            double f = diagonal[i * bs + k];
            for (long j = 0; j < bs; j++)
                a[i * bs + j] -= f * a[k * bs + j];
        }
}

static void update_inner(double *a, const double *left, const double *above)
{
    for (long i = 0; i < bs; i++)
        for (long k = 0; k < bs; k++) {
            double f = left[i * bs + k];
            for (long j = 0; j < bs; j++)
                a[i * bs + j] -= f * above[k * bs + j];
        }
}

static void work(long me)
{
    bench_wait();
    for (long k = 0; k < blocks; k++) {
        double *diagonal = tile[k * blocks + k];
        if (owner(k, k) == me)
            factor_diagonal(diagonal);
        bench_wait();
        for (long i = k + 1; i < blocks; i++) {
            if (owner(i, k) == me)
                update_column(tile[i * blocks + k], diagonal);
            if (owner(k, i) == me)
                update_row(tile[k * blocks + i], diagonal);
        }
        bench_wait();
        for (long i = k + 1; i < blocks; i++)
            for (long j = k + 1; j < blocks; j++)
                if (owner(i, j) == me)
                    update_inner(tile[i * blocks + j], tile[i * blocks + k], tile[k * blocks + j]);
        bench_wait();
    }
}

static double *at(long i, long j)
{
    return &tile[i / bs * blocks + j / bs][i % bs * bs + j % bs];
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 256, 1, 8000);
    bs = bench_arg(argc, argv, 3, 16, 1, 1000);
    n = (n + bs - 1) / bs * bs;
    blocks = n / bs;
    for (rows = 1; rows * rows * 4 <= bench_threads; rows *= 2)
        ;
    while (bench_threads % rows)
        rows--;
    columns = bench_threads / rows;
    tile = bench_alloc((size_t)(blocks * blocks), sizeof *tile);
    for (long b = 0; b < blocks * blocks; b++)
        tile[b] = bench_alloc((size_t)(bs * bs), sizeof **tile);
    double *x = bench_alloc((size_t)n, sizeof *x);
    uint64_t random = 3, hash = 0;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            *at(i, j) = bench_uniform(&random) + (i == j ? (double)n : 0.0);
            x[i] += *at(i, j); /* right-hand side of the system whose answer is all ones */
        }
    bench_team(work);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++)
            x[i] -= *at(i, j) * x[j];
    for (long i = n - 1; i >= 0; i--) {
        for (long j = i + 1; j < n; j++)
            x[i] -= *at(i, j) * x[j];
        x[i] /= *at(i, i);
    }
    for (long i = 0; i < n; i++) {
        if (!(fabs(x[i] - 1.0) < 1e-8))
            bench_wrong("the solution is not all ones");
        hash = bench_mix_double(hash, x[i]);
    }
    bench_print("lu", hash);
    return 0;
}
