/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit LENGTH ROUNDS: Levenshtein distance of two random strings by dynamic programming, two rows.  Integer, short
 * dependent chains, every cell read from its neighbours.
 */
#include "common.h"

static long distance(const unsigned char *a, long n, const unsigned char *b, long m, int *row)
{
    for (long j = 0; j <= m; j++)
        row[j] = (int)j;
    for (long i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (long j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 6000, 2, 1000000), rounds = bench_arg(argc, argv, 2, 10, 1, 100000);
    unsigned char *a = bench_alloc((size_t)n, 1), *b = bench_alloc((size_t)n, 1);
    int *row = bench_alloc((size_t)n + 1, sizeof *row);
    uint64_t random = 9, hash = 0;
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        for (long i = 0; i < n; i++) {
            a[i] = (unsigned char)("acgt"[bench_random(&random) >> 62]);
            b[i] = (unsigned char)("acgt"[bench_random(&random) >> 62]);
        }
        long there = distance(a, n, b, n, row);
        hash = bench_mix(hash, (uint64_t)there);
        if (r == 0) {
            if (distance(b, n, a, n, row) != there)
                bench_wrong("the distance is not symmetric");
            /* one letter inserted in front: distance of a and its own shift is at most two */
            if (distance(a, n - 1, a + 1, n - 1, row) > 2)
                bench_wrong("a shift by one costs more than two edits");
        }
    }
    bench_print("edit", hash);
    free(a), free(b), free(row);
    return 0;
}
