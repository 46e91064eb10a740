/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maximum of an array as a doall loop: the first example of the PEET report of 1991 (its Figure 1).
 * S independent iterations each find the largest of N elements; the maxima are reduced sequentially.
 * The loop is written in both forms that <peet/doall.h> offers:
 *
 *   function  the body is a function; every iteration runs as a context of its own, and the simulated
 *             machine decides which processor takes it, and when
 *   marker    the report's own form: the loop stays a sequential loop with marks in it; the iterations
 *             are recorded one after the other and interleaved when they are simulated
 *
 *   peetcc -O2 -o maximum maximum.c
 *   ./maximum                                   plainly: 8 iterations of 10000 elements, function form
 *   peet run --cores 2 -- ./maximum 8 10000 marker
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <peet/doall.h>

static long S, N;     /* iterations; elements in each */
static double *A, *M; /* the array, S * N elements; the maximum of each part */

static void part_maximum(long p, void *unused)
{
    (void)unused;
    M[p] = A[p * N];
    for (long i = p * N; i < (p + 1) * N; i++)
        if (M[p] < A[i])
            M[p] = A[i];
}

static void function_form(void)
{
    peet_doall(0, S, PEET_DOALL_DEFAULT, 0, part_maximum, NULL);
}

static void marker_form(void)
{
    PEET_FORK_DOALL(S);
    for (long p = 0; p < S; p++) {
        PEET_START_DOALL_ITER(p);
        M[p] = A[p * N];
        for (long i = p * N; i < (p + 1) * N; i++)
            if (M[p] < A[i])
                M[p] = A[i];
        PEET_FINISH_DOALL_ITER(p);
    }
    PEET_JOIN_DOALL();
}

int main(int argc, char **argv)
{
    S = argc > 1 ? atol(argv[1]) : 8;
    N = argc > 2 ? atol(argv[2]) : 10000;
    const char *form = argc > 3 ? argv[3] : "function";
    if (argc > 4 || S < 1 || N < 1 || S > 1000000 || N > 100000000 / S ||
        (strcmp(form, "function") != 0 && strcmp(form, "marker") != 0)) {
        fprintf(stderr, "usage: maximum [ITERATIONS [ELEMENTS [function|marker]]]\n");
        return 2;
    }
    A = malloc((size_t)(S * N) * sizeof *A);
    M = malloc((size_t)S * sizeof *M);
    if (!A || !M) {
        fprintf(stderr, "maximum: out of memory\n");
        return 1;
    }
    uint64_t random = 88172645463325252u;
    for (long i = 0; i < S * N; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        A[i] = (double)(random >> 11) * 0x1p-53;
    }

    if (form[0] == 'f')
        function_form();
    else
        marker_form();

    long best = 0;
    for (long p = 1; p < S; p++)
        if (M[p] > M[best])
            best = p;
    printf("maximum of %ld elements: %.17g, in part %ld of %ld\n", S * N, M[best], best, S);
    free(A);
    free(M);
    return 0;
}
