/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary logarithm, without the mathematical library: a module that needs a library which the program opens later
 * is one more object that the dynamic linker has on that library's list, and the list's memory is the program's.
 */
#ifndef PEET_SIM_LOG2_H
#define PEET_SIM_LOG2_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Of a number above 0, to the last bits of a double. */
static inline double peet_sim_log2(double x)
{
    enum { TERMS = 12 };
    int exponent;
    double m = frexp(x, &exponent); /* of the C library itself */

    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 (t + t^3/3 + t^5/5 ...), t at most 0.172 */
    const double t = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = TERMS - 1; k >= 0; k--)
        sum = sum * t * t + 1.0 / (2 * k + 1);
    return exponent + 2.8853900817779268 * t * sum; /* 2 / ln 2 */
}

#ifdef __cplusplus
}
#endif
#endif
