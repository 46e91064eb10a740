/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radix THREADS KEYS ROUNDS: parallel radix sort, 8 bits a pass: histograms of each thread, offsets from everybody's,
 * keys written to where they belong, scattered over everybody's part (the shape of SPLASH's radix).
 */
#include "threads.h"

enum { DIGITS = 256 };

static long n, rounds;
static uint32_t *keys, *other;
static long (*count)[DIGITS]; /* of each thread */

/* Where this thread's first key of each digit goes. */
static void offsets(long me, long *next)
{
    long before = 0;
    for (int d = 0; d < DIGITS; d++) {
        next[d] = before;
        for (long t = 0; t < bench_threads; t++) {
            if (t < me)
                next[d] += count[t][d];
            before += count[t][d];
        }
    }
}

static void pass(long me, const uint32_t *from, uint32_t *to, int shift)
{
    struct bench_part mine = bench_part(n, me);
    long next[DIGITS];
    memset(count[me], 0, sizeof count[me]);
    for (long i = mine.begin; i < mine.end; i++)
        count[me][from[i] >> shift & (DIGITS - 1)]++;
    bench_wait();
    offsets(me, next);
    for (long i = mine.begin; i < mine.end; i++)
        to[next[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    bench_wait();
}

static void work(long me)
{
    struct bench_part mine = bench_part(n, me);
    for (long r = 0; r < rounds; r++) {
        for (long i = mine.begin; i < mine.end; i++) {
            uint64_t random = (uint64_t)(i + r * n) * 0x9e3779b97f4a7c15u + 1;
            keys[i] = (uint32_t)(bench_random(&random) >> 32);
        }
        bench_wait();
        for (int shift = 0; shift < 32; shift += 16) {
            pass(me, keys, other, shift);
            pass(me, other, keys, shift + 8);
        }
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 200000, 1, 100000000);
    rounds = bench_arg(argc, argv, 3, 3, 1, 100000);
    keys = bench_alloc((size_t)n, sizeof *keys), other = bench_alloc((size_t)n, sizeof *other);
    count = bench_alloc((size_t)bench_threads, sizeof *count);
    uint64_t hash = 0;
    bench_team(work);
    for (long i = 0; i < n; i++) {
        if (i && keys[i - 1] > keys[i])
            bench_wrong("keys are not in order");
        hash = bench_mix(hash, keys[i]);
    }
    bench_print("radix", hash);
    return 0;
}
