/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of one block, string instructions, gathers' neighbours: blocks that come by the turn, called from loops. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static double x[512], y[512];
static char text[4096];
static NOINLINE double dot(long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i] * y[i]; return s; }
static NOINLINE void axpy(double a, long n) { for (long i = 0; i < n; i++) y[i] += a * x[i]; }
static NOINLINE void clear(long n) { __asm__("" ::: "memory"); for (long i = 0; i < n; i++) ((volatile char *)text)[i] = 0; }
static NOINLINE double step(long k) { axpy(0.5, k * 16); clear(k); return dot(k * 16); }
static NOINLINE double all(long n) { double s = 0; for (long k = 0; k < n; k++) s += step(k); return s; }
int main(void)
{
    for (long i = 0; i < 512; i++)
        x[i] = (double)(i % 9), y[i] = (double)(i % 5);
    double sum = all(30) + dot(512);
    printf("%.1f\n", sum);
    return 0;
}
