/* SPDX-License-Identifier: Apache-2.0 */
/* doall ITERATIONS: iterations that all execute the same blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <peet/doall.h>

enum { MOST = 1024 };

static double results[MOST];

static void body(long i, void *arg)
{
    double x = (double)i, *scale = arg;

    for (int k = 0; k < 500; k++)
        x = x * *scale + 1.0;
    results[i] = x;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1;
    double scale = 0.5, sum = 0;

    if (n < 1 || n > MOST)
        return 2;
    peet_doall(0, n, PEET_DOALL_DEFAULT, 0, body, &scale);
    for (long i = 0; i < MOST; i++)
        sum += results[i];
    printf("%.17g\n", sum);
    return 0;
}
