/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ocean N SWEEPS: red-black Gauss-Seidel with over-relaxation for Poisson's equation on an N x N grid.  Floating
 * point stencil with stride two, the grid walked again and again.
 */
#include <math.h>
#include "common.h"

static long n;
static double *u, *f;

static double sweep(int colour, double omega)
{
    double change = 0.0;
    long stride = n + 2;
    for (long i = 1; i <= n; i++)
        for (long j = 1 + ((i + colour) & 1); j <= n; j += 2) {
            double *here = &u[i * stride + j];
            double delta = 0.25 * (here[-1] + here[1] + here[-stride] + here[stride] - f[i * stride + j]) - *here;
            *here += omega * delta;
            change += delta * delta;
        }
    return change;
}

int main(int argc, char **argv)
{
    n = bench_arg(argc, argv, 1, 512, 1, 8192);
    long sweeps = bench_arg(argc, argv, 2, 400, 1, 1000000);
    u = bench_alloc((size_t)((n + 2) * (n + 2)), sizeof *u);
    f = bench_alloc((size_t)((n + 2) * (n + 2)), sizeof *f);
    const double pi = 3.14159265358979323846;
    double omega = 2.0 / (1.0 + sin(pi / (double)(n + 1))), first = 0.0, last = 0.0;
    uint64_t hash = 0;
    for (long i = 1; i <= n; i++)
        for (long j = 1; j <= n; j++)
            f[i * (n + 2) + j] = (double)((i * 7 + j * 13) % 17 - 8) / (double)(n * n);
    for (long s = 0; s < sweeps; s++) {
        bench_lap();
        last = sweep(0, omega) + sweep(1, omega);
        if (s == 0)
            first = last;
    }
    if (sweeps > 3 * n && !(last <= first))
        bench_wrong("the iteration does not converge");
    for (long k = 0; k < (n + 2) * (n + 2); k++)
        hash = bench_mix_double(hash, u[k]);
    bench_print("ocean", hash);
    free(u), free(f);
    return 0;
}
