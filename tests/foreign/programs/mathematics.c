/* SPDX-License-Identifier: Apache-2.0 */
/* libm: many functions over many arguments. */
#include "regions.h"

#include <math.h>
#include <stdio.h>

static double sum;

static void work(int rounds)
{
    for (int k = 1; k < 10 * rounds; k++) {
        const double x = 0.137 * k;
        sum += sin(x) + cos(x) + tan(x) + exp(-x) + log(x) + pow(x, 1.3) + atan2(x, 2) + sinh(x / 30) + cbrt(x) + erf(x / 10) + tgamma(x / 10 + 1);
        sum += sinf((float)x) + expf((float)-x) + fmod(x, 0.7) + floor(x) + hypot(x, 3);
    }
}

void measured(int rounds)
{
    work(rounds);
}

int main(int argc, char **argv)
{
    MEASURE(argc, argv);
    printf("%.17g\n", sum);
    return 0;
}
