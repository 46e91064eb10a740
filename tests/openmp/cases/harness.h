/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each case is a function that prints a line or more which do not depend on who ran first; `main` runs them
 * all, with as many threads as its argument says.  The same source, built by the plain compiler and run with the ordinary OpenMP
 * library, says what is right.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *name;
    void (*run)(void);
};
static struct test_case cases[100];
static int ncases, threads;

#define CASE(name)                                                                                                     \
    static void name(void);                                                                                            \
    __attribute__((constructor)) static void add_##name(void)                                                          \
    {                                                                                                                  \
        cases[ncases++] = (struct test_case){#name, name};                                                             \
    }                                                                                                                  \
    static void name(void)

/** An order-independent digest of a sequence with places. */
static inline unsigned long digest(const int *values, int n)
{
    unsigned long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 1000003u + (unsigned)values[i];
    return sum;
}

/** Some work, so that simulated times differ between iterations. */
static inline int work(int n)
{
    volatile int x = 0;
    for (int i = 0; i < n; i++)
        x += i;
    return x;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < ncases; i++) {
        omp_set_num_threads(threads);
        printf("%s: ", cases[i].name);
        fflush(stdout);
        cases[i].run();
        fflush(stdout);
    }
    return 0;
}

#endif
