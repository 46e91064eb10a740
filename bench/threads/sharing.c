/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing THREADS SAMPLES ROUNDS: each thread counts its part of the samples in a histogram of its own, but the
 * histograms are small and lie side by side, so that threads share lines without sharing data (false sharing).
 */
#include "threads.h"

struct histogram {
    uint32_t bins[4]; /* modulo 2^32 */
};

static long n, rounds;
static unsigned char *samples;
static struct histogram *histograms;

static void work(long me)
{
    struct bench_part mine = bench_part(n, me);
    uint32_t *bins = histograms[me].bins;
    for (long r = 0; r < rounds; r++)
        for (long i = mine.begin; i < mine.end; i++) {
            bins[samples[i] & 3]++;
            bins[samples[i] >> 4 & 3] += samples[i] >> 6;
        }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 200000, 1, 1000000000);
    rounds = bench_arg(argc, argv, 3, 10, 1, 1000000);
    samples = bench_alloc((size_t)n, 1);
    histograms = bench_alloc((size_t)bench_threads, sizeof *histograms);
    uint64_t random = 6, hash = 0, expected = 0, total = 0;
    for (long i = 0; i < n; i++) {
        samples[i] = (unsigned char)(bench_random(&random) >> 56);
        expected += 1u + (samples[i] >> 6u);
    }
    bench_team(work);
    for (int b = 0; b < 4; b++) {
        uint64_t sum = 0;
        for (long t = 0; t < bench_threads; t++)
            sum += histograms[t].bins[b];
        hash = bench_mix(hash, sum);
        total += sum;
    }
    if ((uint32_t)total != (uint32_t)(expected * (uint64_t)rounds))
        bench_wrong("samples were lost");
    bench_print("sharing", hash);
    return 0;
}
