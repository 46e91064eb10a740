/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radix KEYS ROUNDS: least significant digit first radix sort of 32-bit keys, 8 bits a pass.  Integer; scattered
 * writes through counters.
 */
#include "common.h"

static void sort(uint32_t *keys, uint32_t *other, long n)
{
    for (int shift = 0; shift < 32; shift += 8) {
        long count[257] = {0};
        for (long i = 0; i < n; i++)
            count[(keys[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++)
            count[d + 1] += count[d];
        for (long i = 0; i < n; i++)
            other[count[keys[i] >> shift & 255]++] = keys[i];
        uint32_t *t = keys;
        keys = other;
        other = t;
    }
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 1000000, 1, 100000000), rounds = bench_arg(argc, argv, 2, 30, 1, 100000);
    uint32_t *keys = bench_alloc((size_t)n, sizeof *keys), *other = bench_alloc((size_t)n, sizeof *other);
    uint64_t random = 2, hash = 0;
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        for (long i = 0; i < n; i++)
            keys[i] = (uint32_t)(bench_random(&random) >> 32);
        sort(keys, other, n);
        for (long i = 1; i < n; i++)
            if (keys[i - 1] > keys[i])
                bench_wrong("keys are not in order");
        hash = bench_mix(bench_mix(hash, keys[0]), keys[n / 2]);
    }
    bench_print("radix", hash);
    free(keys), free(other);
    return 0;
}
