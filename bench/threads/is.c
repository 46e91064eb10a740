/* SPDX-License-Identifier: Apache-2.0 */
/*
 * is THREADS KEYS ROUNDS: ranks of integer keys by counting: private histograms, added up in a critical section, then
 * each key's rank looked up, as OpenMP loops (the shape of NPB's IS).
 */
#include <omp.h>
#include "threads.h"

enum { BINS = 2048 };

static long n;
static uint32_t *keys, *rank, *sorted;
static uint32_t before[BINS + 1];

static void rank_keys(void)
{
    memset(before, 0, sizeof before);
#pragma omp parallel
    {
        uint32_t mine[BINS] = {0};
#pragma omp for schedule(static)
        for (long i = 0; i < n; i++)
            mine[keys[i]]++;
#pragma omp critical
        for (long b = 0; b < BINS; b++)
            before[b + 1] += mine[b];
#pragma omp barrier
#pragma omp single
        for (long b = 0; b < BINS; b++)
            before[b + 1] += before[b];
#pragma omp for schedule(dynamic, 1024)
        for (long i = 0; i < n; i++)
            rank[i] = before[keys[i]];
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 200000, 1, 100000000);
    long rounds = bench_arg(argc, argv, 3, 4, 1, 100000);
    omp_set_num_threads((int)bench_threads);
    keys = bench_alloc((size_t)n, sizeof *keys), rank = bench_alloc((size_t)n, sizeof *rank);
    sorted = bench_alloc((size_t)n, sizeof *sorted);
    uint64_t random = 13, hash = 0;
    for (long i = 0; i < n; i++) /* the mean of two: few keys are very small or very large */
        keys[i] = (uint32_t)((bench_random(&random) % BINS + bench_random(&random) % BINS) / 2);
    for (long r = 0; r < rounds; r++) {
        keys[r % n] = (uint32_t)(r % BINS);
        rank_keys();
        hash = bench_mix(hash, rank[(r * 7919) % n]);
    }
    uint32_t next[BINS];
    memcpy(next, before, sizeof next);
    for (long i = 0; i < n; i++)
        sorted[next[keys[i]]++] = keys[i];
    for (long i = 1; i < n; i++)
        if (sorted[i - 1] > sorted[i])
            bench_wrong("keys are not in order");
    bench_print("is", hash);
    return 0;
}
