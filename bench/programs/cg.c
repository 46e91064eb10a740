/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cg ROWS NONZEROS ROUNDS: conjugate gradients on a random sparse symmetric positive definite matrix in compressed
 * rows.  Floating point through an index array.
 */
#include <math.h>
#include "common.h"

static long n, *row;
static int *column;
static double *value;

static void multiply(const double *x, double *y)
{
    for (long i = 0; i < n; i++) {
        double sum = 0.0;
        for (long k = row[i]; k < row[i + 1]; k++)
            sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

static double dot(const double *x, const double *y)
{
    double sum = 0.0;
    for (long i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Pairs (i, j) and (j, i) with the same value, and a diagonal that outweighs them. */
static void make_matrix(long pairs)
{
    uint64_t random = 5;
    long *left = bench_alloc((size_t)pairs, sizeof *left), *right = bench_alloc((size_t)pairs, sizeof *right);
    long *fill = bench_alloc((size_t)n + 1, sizeof *fill);
    row = bench_alloc((size_t)n + 1, sizeof *row);
    column = bench_alloc((size_t)(2 * pairs + n), sizeof *column);
    value = bench_alloc((size_t)(2 * pairs + n), sizeof *value);
    for (long k = 0; k < pairs; k++) {
        left[k] = (long)(bench_random(&random) % (uint64_t)n);
        right[k] = (long)(bench_random(&random) % (uint64_t)n);
        fill[left[k]]++;
        fill[right[k]]++;
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

/* Right-hand side number `round`; returns the square of the residual. */
static double solve(long round, double *x, double *r, double *p, double *q)
{
    for (long i = 0; i < n; i++) {
        p[i] = r[i] = 1.0 + (double)((i * round) % 3);
        x[i] = 0.0;
    }
    double rho = dot(r, r), start = rho;
    for (int k = 0; k < 1000 && rho > 1e-24 * start; k++) {
        bench_lap();
        multiply(p, q);
        double alpha = rho / dot(p, q);
        for (long i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        double next = dot(r, r), beta = next / rho;
        rho = next;
        for (long i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
    }
    if (!(rho <= 1e-24 * start))
        bench_wrong("no convergence");
    return rho;
}

int main(int argc, char **argv)
{
    n = bench_arg(argc, argv, 1, 100000, 2, 10000000);
    long per_row = bench_arg(argc, argv, 2, 12, 2, 1000), rounds = bench_arg(argc, argv, 3, 8, 1, 100000);
    make_matrix(n * per_row / 2);
    double *x = bench_alloc((size_t)n, sizeof *x), *r = bench_alloc((size_t)n, sizeof *r);
    double *p = bench_alloc((size_t)n, sizeof *p), *q = bench_alloc((size_t)n, sizeof *q);
    uint64_t hash = 0;
    for (long round = 0; round < rounds; round++)
        hash = bench_mix_double(hash, solve(round, x, r, p, q));
    for (long i = 0; i < n; i++)
        hash = bench_mix_double(hash, x[i]);
    bench_print("cg", hash);
    free(row), free(column), free(value), free(x), free(r), free(p), free(q);
    return 0;
}
