/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft LOG2N ROUNDS: complex radix-2 transform in place, forward and back.  Strided floating point; strides grow
 * from one element to half the array.
 */
#include <math.h>
#include "common.h"

struct complex {
    double re, im;
};

static void reverse_bits(struct complex *x, long n)
{
    for (long i = 1, j = 0; i < n; i++) {
        long bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
}

/* roots[k] = exp(-2 pi i k / n); sign -1 forward, +1 back. */
static void transform(struct complex *x, const struct complex *roots, long n, double sign)
{
    reverse_bits(x, n);
    for (long half = 1; half < n; half *= 2) {
        long step = n / (2 * half);
        for (long base = 0; base < n; base += 2 * half)
            for (long k = 0; k < half; k++) {
                struct complex w = roots[k * step], *a = &x[base + k], *b = a + half;
                w.im = sign < 0 ? w.im : -w.im;
                double re = b->re * w.re - b->im * w.im, im = b->re * w.im + b->im * w.re;
                b->re = a->re - re;
                b->im = a->im - im;
                a->re += re;
                a->im += im;
            }
    }
}

int main(int argc, char **argv)
{
    long log2n = bench_arg(argc, argv, 1, 18, 2, 26), rounds = bench_arg(argc, argv, 2, 10, 1, 100000);
    long n = 1L << log2n;
    struct complex *x = bench_alloc((size_t)n, sizeof *x), *y = bench_alloc((size_t)n, sizeof *y);
    struct complex *roots = bench_alloc((size_t)n / 2, sizeof *roots);
    uint64_t random = 1, hash = 0;
    for (long k = 0; k < n / 2; k++) {
        double angle = -2.0 * 3.14159265358979323846 * (double)k / (double)n;
        roots[k] = (struct complex){cos(angle), sin(angle)};
    }
    for (long i = 0; i < n; i++)
        x[i] = y[i] = (struct complex){bench_uniform(&random) - 0.5, bench_uniform(&random) - 0.5};
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        transform(x, roots, n, -1.0);
        hash = bench_mix_double(hash, x[r % n].re);
        transform(x, roots, n, 1.0);
        for (long i = 0; i < n; i++) {
            x[i].re /= (double)n;
            x[i].im /= (double)n;
        }
    }
    for (long i = 0; i < n; i++) {
        if (!(fabs(x[i].re - y[i].re) < 1e-9 && fabs(x[i].im - y[i].im) < 1e-9))
            bench_wrong("the inverse transform does not give the input back");
        hash = bench_mix_double(hash, x[i].re);
    }
    bench_print("fft", hash);
    free(x), free(y), free(roots);
    return 0;
}
