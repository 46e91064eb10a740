/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul N BLOCK ROUNDS: blocked matrix product, checked by random vectors (Freivalds).  Floating point, dense inner
 * loops.
 */
#include <math.h>
#include "common.h"

static void multiply(const double *a, const double *b, double *c, long n, long bs)
{
    for (long i0 = 0; i0 < n; i0 += bs)
        for (long k0 = 0; k0 < n; k0 += bs)
            for (long j0 = 0; j0 < n; j0 += bs)
                for (long i = i0; i < i0 + bs && i < n; i++)
                    for (long k = k0; k < k0 + bs && k < n; k++) {
                        double f = a[i * n + k];
                        for (long j = j0; j < j0 + bs && j < n; j++)
                            c[i * n + j] += f * b[k * n + j];
                    }
}

static void apply(const double *a, const double *x, double *y, long n)
{
    for (long i = 0; i < n; i++) {
        y[i] = 0.0;
        for (long j = 0; j < n; j++)
            y[i] += a[i * n + j] * x[j];
    }
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 512, 1, 4096), bs = bench_arg(argc, argv, 2, 64, 1, 4096);
    long rounds = bench_arg(argc, argv, 3, 5, 1, 100000);
    size_t cells = (size_t)(n * n);
    double *a = bench_alloc(cells, sizeof *a), *b = bench_alloc(cells, sizeof *b), *c = bench_alloc(cells, sizeof *c);
    double *x = bench_alloc((size_t)n, sizeof *x), *y = bench_alloc((size_t)n, sizeof *y);
    double *z = bench_alloc((size_t)n, sizeof *z), *w = bench_alloc((size_t)n, sizeof *w);
    uint64_t random = 7, hash = 0;
    for (size_t k = 0; k < cells; k++) {
        a[k] = bench_uniform(&random) - 0.5;
        b[k] = bench_uniform(&random) - 0.5;
    }
    for (long i = 0; i < n; i++)
        x[i] = bench_uniform(&random);
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        memset(c, 0, cells * sizeof *c);
        multiply(a, b, c, n, bs);
        hash = bench_mix_double(hash, c[(size_t)r % cells]);
        a[(size_t)r % cells] += 0.25;
    }
    a[(size_t)(rounds - 1) % cells] -= 0.25; /* c is the product of what a was then */
    apply(b, x, y, n);
    apply(a, y, z, n);
    apply(c, x, w, n);
    for (long i = 0; i < n; i++)
        if (!(fabs(z[i] - w[i]) < 1e-9 * (double)n))
            bench_wrong("C x differs from A (B x)");
    for (size_t k = 0; k < cells; k++)
        hash = bench_mix_double(hash, c[k]);
    bench_print("matmul", hash);
    free(a), free(b), free(c), free(x), free(y), free(z), free(w);
    return 0;
}
