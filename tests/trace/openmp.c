/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP: chunks given out at run time, a reduction, a critical section, tasks. */
#include <omp.h>
#include <stdio.h>

enum { N = 5000 };
static double a[N];

static long fib(int n)
{
    long x, y;

    if (n < 2)
        return n;
#pragma omp task shared(x)
    x = fib(n - 1);
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

int main(void)
{
    double s = 0;
    long f = 0;

    for (int round = 0; round < 2; round++) {
#pragma omp parallel for schedule(dynamic, 50) reduction(+ : s)
        for (int i = 0; i < N; i++)
            s += a[i] += i * round;
#pragma omp parallel
        {
#pragma omp critical
            s += a[omp_get_thread_num()];
#pragma omp single
            f += fib(8);
        }
    }
    printf("%g %ld\n", s, f);
    return 0;
}
