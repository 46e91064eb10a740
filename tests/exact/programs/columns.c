/* SPDX-License-Identifier: Apache-2.0 */
/* Loops whose strides are in registers: columns of matrices, backwards and forwards, two at once, of any size, within loops that keep the stride or not. */
#include <stdint.h>
#include <stdio.h>

#ifdef SMALL
#define N 24
#else
#define N 64
#endif

static double a[N * N], b[N * N];
static unsigned char bytes[4 * N * N];

__attribute__((noinline)) static double column(const double *p, long n, long width)
{
    double s = 0;
    for (long i = 0; i < n; i++)
        s += p[i * width];
    return s;
}

__attribute__((noinline)) static void transpose(double *to, const double *from, long n, long width)
{
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++)
            to[i * width + k] = from[k * width + i];
}

__attribute__((noinline)) static double product(const double *x, const double *y, long n, long sx, long sy)
{
    double s = 0;
    for (long i = 0; i < n; i++, x += sx, y += sy)
        s += *x * *y;
    return s;
}

__attribute__((noinline)) static void copy(unsigned char *to, const unsigned char *from, long n, long step)
{
    for (long i = 0; i < n; i++) {
        *to = *from;
        to += step;
        from -= step;
    }
}

/* The stride changes while the outer loop goes round. */
__attribute__((noinline)) static unsigned sieve(unsigned char *marks, long n)
{
    unsigned count = 0;
    for (long p = 2; p < n; p++) {
        if (marks[p])
            continue;
        count++;
        for (long k = p * p; k < n; k += p)
            marks[k] = 1;
    }
    return count;
}

/* What moves is what something else moves by. */
__attribute__((noinline)) static unsigned triangle(const unsigned char *p, long n)
{
    unsigned s = 0;
    for (long i = 0, at = 0; i < n; at += i, i++)
        s += p[at];
    return s;
}

__attribute__((noinline)) static double planes(const double *p, long nx, long ny, long nz)
{
    double s = 0;
    for (long z = 1; z < nz - 1; z++)
        for (long y = 1; y < ny - 1; y++)
            for (long x = 1; x < nx - 1; x++) {
                const double *q = p + (x * ny + y) * nz + z;
                s += q[0] - q[nz] - q[-nz] + q[ny * nz] * q[-ny * nz];
            }
    return s;
}

int main(void)
{
    double s = 0;
    for (int i = 0; i < N * N; i++)
        a[i] = i % 17 - 3;
    for (int r = 0; r < 4; r++) {
        for (long i = 0; i < N; i++)
            s += column(a + i, N - r, N) + column(a + N * N - 1 - i, N / 2, -N) + column(a + i, i, 0);
        transpose(b, a, N - r, N);
        for (long i = 0; i < N; i += 3)
            s += product(a + i * N, b + i, N, 1, N) + product(a + i, b + N - 1, N / 2, N, r - 2);
        copy(bytes, bytes + 4 * N * N - 1, N, 3 + r);
        s += sieve(bytes, 4 * N * N >> r) + triangle(bytes, N) + planes(a, 8, 4, 8);
    }
    printf("%.3f\n", s);
    return 0;
}
