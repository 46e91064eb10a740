/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft THREADS LOG2N ROUNDS: a complex transform of n = m * m points as rows of m: transpose, transform the rows,
 * multiply by roots, transpose, transform the rows, transpose.  Each thread owns some rows; transposes read everybody's
 * (the shape of SPLASH's six-step FFT).  Forward and back, and the result must be what it was.
 */
#include <math.h>
#include "threads.h"

struct complex {
    double re, im;
};

static long log2m, m, rounds;
static struct complex *x, *y, *roots, *twiddles, *start;

static void transpose(const struct complex *from, struct complex *to, struct bench_part mine)
{
    enum { BLOCK = 8 };
    for (long j0 = 0; j0 < m; j0 += BLOCK)
        for (long i = mine.begin; i < mine.end; i++)
            for (long j = j0; j < j0 + BLOCK && j < m; j++)
                to[i * m + j] = from[j * m + i];
}

static void reverse_bits(struct complex *row)
{
    for (long i = 1, j = 0; i < m; i++) {
        long bit = m >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex t = row[i];
            row[i] = row[j];
            row[j] = t;
        }
    }
}

static struct complex times(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void transform_row(struct complex *row, double sign)
{
    reverse_bits(row);
    for (long half = 1; half < m; half *= 2)
        for (long base = 0; base < m; base += 2 * half)
            for (long k = 0; k < half; k++) {
                struct complex w = roots[k * (m / (2 * half))], *a = &row[base + k], *b = a + half;
                w.im *= -sign;
                struct complex t = times(*b, w);
                *b = (struct complex){a->re - t.re, a->im - t.im};
                *a = (struct complex){a->re + t.re, a->im + t.im};
            }
}

static void transform(struct bench_part mine, double sign)
{
    transpose(x, y, mine);
    bench_wait();
    for (long i = mine.begin; i < mine.end; i++) {
        transform_row(&y[i * m], sign);
        for (long j = 0; j < m; j++) {
            struct complex w = twiddles[i * m + j];
            w.im *= -sign;
            y[i * m + j] = times(y[i * m + j], w);
        }
    }
    bench_wait();
    transpose(y, x, mine);
    bench_wait();
    for (long i = mine.begin; i < mine.end; i++)
        transform_row(&x[i * m], sign);
    bench_wait();
    transpose(x, y, mine);
    bench_wait();
    memcpy(&x[mine.begin * m], &y[mine.begin * m], (size_t)((mine.end - mine.begin) * m) * sizeof *x);
    bench_wait();
}

static void work(long me)
{
    struct bench_part mine = bench_part(m, me);
    for (long r = 0; r < rounds; r++) {
        transform(mine, 1.0);
        transform(mine, -1.0);
        for (long i = mine.begin * m; i < mine.end * m; i++) {
            x[i].re /= (double)(m * m);
            x[i].im /= (double)(m * m);
        }
        bench_wait();
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    log2m = bench_arg(argc, argv, 2, 14, 2, 26) / 2;
    rounds = bench_arg(argc, argv, 3, 2, 1, 100000);
    m = 1L << log2m;
    const double circle = 2.0 * 3.14159265358979323846;
    size_t n = (size_t)(m * m);
    x = bench_alloc(n, sizeof *x), y = bench_alloc(n, sizeof *y), start = bench_alloc(n, sizeof *x);
    twiddles = bench_alloc(n, sizeof *x), roots = bench_alloc((size_t)m, sizeof *x);
    uint64_t random = 1, hash = 0;
    for (long k = 0; k < m; k++)
        roots[k] = (struct complex){cos(circle * (double)k / (double)m), sin(circle * (double)k / (double)m)};
    for (long i = 0; i < m; i++)
        for (long j = 0; j < m; j++) {
            double angle = circle * (double)(i * j) / (double)n;
            twiddles[i * m + j] = (struct complex){cos(angle), sin(angle)};
            start[i * m + j] = (struct complex){bench_uniform(&random) - 0.5, bench_uniform(&random) - 0.5};
        }
    memcpy(x, start, n * sizeof *x);
    bench_team(work);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(x[i].re - start[i].re) < 1e-9) || !(fabs(x[i].im - start[i].im) < 1e-9))
            bench_wrong("forth and back does not give what it was");
        hash = bench_mix_double(bench_mix_double(hash, x[i].re), x[i].im);
    }
    bench_print("fft", hash);
    return 0;
}
