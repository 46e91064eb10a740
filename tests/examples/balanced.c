/* SPDX-License-Identifier: Apache-2.0 */
/* balanced ITERATIONS: a doall loop whose iterations all execute exactly the same blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <peet/doall.h>

static double results[1024];

static void body(long i, void *arg)
{
    double x = (double)i, *scale = arg;
    for (int k = 0; k < 1000; k++)
        x = x * *scale + 1.0;
    results[i] = x;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    double scale = 0.5, sum = 0.0;
    if (n < 0 || n > 1024)
        return 2;
    peet_doall(0, n, PEET_DOALL_DEFAULT, 0, body, &scale);
    for (long i = 0; i < 1024; i++)
        sum += results[i];
    printf("%.17g\n", sum);
    return 0;
}
