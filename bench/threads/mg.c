/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mg THREADS LOG2SIZE CYCLES: multigrid V-cycles for a Poisson problem on a cube that repeats itself, as OpenMP loops
 * over planes on grids from 2^LOG2SIZE down to 4 points a side (the shape of NPB's MG).
 */
#include <math.h>
#include <omp.h>
#include "threads.h"

enum { LEVELS = 10 };

/* A cube of size^3 points. */
struct grid {
    long size;
    double *u, *v, *r; /* solution, right-hand side, what is left over */
};

static struct grid grids[LEVELS];

static long at(long size, long i, long j, long k)
{
    return ((i & (size - 1)) * size + (j & (size - 1))) * size + (k & (size - 1));
}

/* r = v - A u, A the Laplacian by seven points. */
static void residual(const struct grid *g)
{
    const long n = g->size;
    const double *u = g->u;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            for (long k = 0; k < n; k++)
                g->r[at(n, i, j, k)] = g->v[at(n, i, j, k)] -
                    (6.0 * u[at(n, i, j, k)] - u[at(n, i - 1, j, k)] - u[at(n, i + 1, j, k)] - u[at(n, i, j - 1, k)] -
                        u[at(n, i, j + 1, k)] - u[at(n, i, j, k - 1)] - u[at(n, i, j, k + 1)]);
}

/* u += r / 8, twice: damped Jacobi */
static void smooth(const struct grid *g)
{
    const long points = g->size * g->size * g->size;
    for (int again = 0; again < 2; again++) {
        residual(g);
#pragma omp parallel for schedule(static)
        for (long p = 0; p < points; p++)
            g->u[p] += g->r[p] / 8.0;
    }
}

/* The coarse right-hand side: means of eight points; scaled by the coarser grid's step. */
static void restrict_to(const struct grid *coarse, const struct grid *fine)
{
    const long n = coarse->size, m = fine->size;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            for (long k = 0; k < n; k++) {
                double sum = 0.0;
                for (int c = 0; c < 8; c++)
                    sum += fine->r[at(m, 2 * i + (c >> 2), 2 * j + (c >> 1 & 1), 2 * k + (c & 1))];
                coarse->v[at(n, i, j, k)] = sum / 2.0;
                coarse->u[at(n, i, j, k)] = 0.0;
            }
}

static void prolong(const struct grid *fine, const struct grid *coarse)
{
    const long n = fine->size, m = coarse->size;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            for (long k = 0; k < n; k++)
                fine->u[at(n, i, j, k)] += 0.5 * coarse->u[at(m, i / 2, j / 2, k / 2)];
}

static void cycle(int levels)
{
    for (int l = 0; l < levels - 1; l++) {
        smooth(&grids[l]);
        residual(&grids[l]);
        restrict_to(&grids[l + 1], &grids[l]);
    }
    for (int again = 0; again < 4; again++)
        smooth(&grids[levels - 1]);
    for (int l = levels - 2; l >= 0; l--) {
        prolong(&grids[l], &grids[l + 1]);
        smooth(&grids[l]);
    }
}

static double norm(const struct grid *g)
{
    double sum = 0.0;
    residual(g);
    for (long p = 0; p < g->size * g->size * g->size; p++)
        sum += g->r[p] * g->r[p];
    return sqrt(sum);
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    long log2size = bench_arg(argc, argv, 2, 5, 3, 8), cycles = bench_arg(argc, argv, 3, 2, 1, 1000);
    int levels = 0;
    omp_set_num_threads((int)bench_threads);
    for (; log2size - levels >= 2; levels++) {
        long size = 1L << (log2size - levels);
        size_t points = (size_t)(size * size * size);
        grids[levels] = (struct grid){size, bench_alloc(points, 8), bench_alloc(points, 8), bench_alloc(points, 8)};
    }
    uint64_t random = 10;
    for (long k = 0; k < 20; k++) { /* as many points of +1 as of -1: else there is no solution */
        long size = grids[0].size, p = (long)(bench_random(&random) % (uint64_t)(size * size * size));
        grids[0].v[p] += k % 2 ? 1.0 : -1.0;
    }
    double before = norm(&grids[0]);
    for (long c = 0; c < cycles; c++)
        cycle(levels);
    double after = norm(&grids[0]);
    if (!(after < before * pow(0.85, (double)cycles) + 1e-12))
        bench_wrong("the cycles do not converge");
    bench_print("mg", bench_mix_double(0, after));
    return 0;
}
