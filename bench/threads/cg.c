/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg THREADS ROWS NONZEROS ROUNDS: conjugate gradients on a random sparse symmetric positive definite matrix, as OpenMP
 * loops with reductions (the shape of NPB's CG).
 */
#include <math.h>
#include <omp.h>
#include "threads.h"

static long n, *row;
static int *column;
static double *value;

/* Entries on both sides of the diagonal with the same value, and a diagonal that outweighs them. */
static void make_matrix(long each)
{
    uint64_t random = 5;
    long pairs = n * each / 2, *left = bench_alloc((size_t)pairs, sizeof *left),
         *right = bench_alloc((size_t)pairs, sizeof *right);
    long *fill = bench_alloc((size_t)n + 1, sizeof *fill);
    row = bench_alloc((size_t)n + 1, sizeof *row);
    column = bench_alloc((size_t)(2 * pairs + n), sizeof *column);
    value = bench_alloc((size_t)(2 * pairs + n), sizeof *value);
    for (long k = 0; k < pairs; k++) {
        fill[left[k] = (long)(bench_random(&random) % (uint64_t)n)]++;
        fill[right[k] = (long)(bench_random(&random) % (uint64_t)n)]++;
    }
    for (long i = 0; i < n; i++) {
        row[i + 1] = row[i] + fill[i] + 1;
        column[row[i]] = (int)i;
        value[row[i]] = 1.0 + (double)fill[i];
        fill[i] = row[i] + 1;
    }
    for (long k = 0; k < pairs; k++) {
        double w = -0.9 * bench_uniform(&random);
        column[fill[left[k]]] = (int)right[k];
        value[fill[left[k]]++] = w;
        column[fill[right[k]]] = (int)left[k];
        value[fill[right[k]]++] = w;
    }
    free(left), free(right), free(fill);
}

/* One solve of A x = b by so many steps.  Returns: what is left over, squared */
static double solve(const double *b, double *x, double *r, double *p, double *q, long steps)
{
    double rho = 0.0;
#pragma omp parallel for reduction(+ : rho) schedule(static)
    for (long i = 0; i < n; i++) {
        x[i] = 0.0;
        p[i] = r[i] = b[i];
        rho += r[i] * r[i];
    }
    for (long s = 0; s < steps; s++) {
        double pq = 0.0, rho_new = 0.0;
#pragma omp parallel
        {
#pragma omp for reduction(+ : pq) schedule(static)
            for (long i = 0; i < n; i++) {
                double sum = 0.0;
                for (long k = row[i]; k < row[i + 1]; k++)
                    sum += value[k] * p[column[k]];
                q[i] = sum;
                pq += p[i] * sum;
            }
#pragma omp for reduction(+ : rho_new) schedule(static)
            for (long i = 0; i < n; i++) {
                x[i] += rho / pq * p[i];
                r[i] -= rho / pq * q[i];
                rho_new += r[i] * r[i];
            }
#pragma omp for schedule(static)
            for (long i = 0; i < n; i++)
                p[i] = r[i] + rho_new / rho * p[i];
        }
        rho = rho_new;
    }
    return rho;
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 4000, 2, 10000000);
    long each = bench_arg(argc, argv, 3, 12, 2, 1000), rounds = bench_arg(argc, argv, 4, 2, 1, 10000);
    omp_set_num_threads((int)bench_threads);
    make_matrix(each);
    double *vectors = bench_alloc((size_t)(5 * n), sizeof *vectors), *b = vectors, *x = b + n;
    double norm = 0.0;
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < n; i++)
            b[i] = (double)((i * 7 + round) % 11) - 5.0;
        if (!(solve(b, x, x + n, x + 2 * n, x + 3 * n, 25) < 1e-10 * (double)n))
            bench_wrong("no convergence");
        for (long i = 0; i < n; i++)
            norm += x[i] * x[i];
    }
    printf("cg %.6e\n", norm); /* the order of a reduction's terms is free: six digits are the same in any */
    return 0;
}
