/* SPDX-License-Identifier: Apache-2.0 */
/* Extended precision: long double arithmetic, conversions, comparisons and arguments in the x87 unit. */
#include <math.h>
#include <stdio.h>

static long double series[400];

__attribute__((noinline)) static long double horner(const long double *c, int n, long double x)
{
    long double r = 0;
    for (int i = n - 1; i >= 0; i--)
        r = r * x + c[i];
    return r;
}

__attribute__((noinline)) static long double root(long double x)
{
    long double y = x;
    for (int i = 0; i < 30; i++)
        y = 0.5L * (y + x / y);
    return y;
}

__attribute__((noinline)) static long convert(long double x, float *f, double *d, short *s)
{
    *f = (float)x;
    *d = (double)x;
    *s = (short)x;
    return (long)x + (int)x + (x > 3 ? 1 : -1) + (long)(unsigned)x;
}

__attribute__((noinline)) static long double back(long a, int b, float c, double d, unsigned long e)
{
    return (long double)a + b + c + d + e;
}

int main(void)
{
    long double sum = 0;
    long whole = 0;
    float f = 0;
    double d = 0;
    short s = 0;
    for (int i = 0; i < 400; i++)
        series[i] = 1.0L / (i + 1);
    for (int i = 1; i < 200; i++) {
        sum += horner(series, 400, (long double)i / 250);
        sum += root(i);
        whole += convert(root(i) * 30, &f, &d, &s);
        sum += back(whole, i, f, d, (unsigned long)s) * 1e-12L;
        sum = i % 7 == 0 ? -sum : fabsl(sum);
    }
    printf("%.15Lg %ld %g %.12g %d\n", sum, whole, (double)f, d, s);
    return 0;
}
