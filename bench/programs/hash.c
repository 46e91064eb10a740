/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash KEYS ROUNDS: open addressing with linear probing: insert, look up (half of the keys are absent), remove by
 * shifting back.  Integer with random access.
 */
#include "common.h"

static uint64_t mask, *keys, *values, used;

static uint64_t home(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15u >> 20 & mask;
}

static uint64_t *find(uint64_t key)
{
    for (uint64_t i = home(key); keys[i]; i = (i + 1) & mask)
        if (keys[i] == key)
            return &values[i];
    return NULL;
}

static void put(uint64_t key, uint64_t value)
{
    uint64_t i = home(key);
    for (; keys[i]; i = (i + 1) & mask)
        if (keys[i] == key) {
            values[i] = value;
            return;
        }
    keys[i] = key;
    values[i] = value;
    used++;
}

static void take(uint64_t key)
{
    uint64_t hole = home(key);
    for (; keys[hole] != key; hole = (hole + 1) & mask)
        if (!keys[hole])
            return;
    used--;
    for (uint64_t i = (hole + 1) & mask; keys[i]; i = (i + 1) & mask) {
        if (((i - home(keys[i])) & mask) >= ((i - hole) & mask)) {
            keys[hole] = keys[i];
            values[hole] = values[i];
            hole = i;
        }
    }
    keys[hole] = 0;
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 200000, 1, 50000000), rounds = bench_arg(argc, argv, 2, 20, 1, 100000);
    uint64_t size = 2;
    while (size < (uint64_t)n * 2)
        size *= 2;
    mask = size - 1;
    keys = bench_alloc(size, sizeof *keys);
    values = bench_alloc(size, sizeof *values);
    uint64_t hash = 0;
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        uint64_t random = 6 + (uint64_t)r, again = random;
        for (long i = 0; i < n; i++)
            put(bench_random(&random) | 1, (uint64_t)i);
        long found = 0;
        for (long i = 0; i < n; i++) {
            uint64_t key = bench_random(&again) | 1, *value = find(key);
            if (!value)
                bench_wrong("a key is lost");
            hash = bench_mix(hash, *value);
            found += find(key ^ 0xff00) != NULL;
        }
        again = 6 + (uint64_t)r;
        for (long i = 0; i < n; i++)
            take(bench_random(&again) | 1);
        if (used)
            bench_wrong("the table is not empty");
        hash = bench_mix(hash, (uint64_t)found);
    }
    bench_print("hash", hash);
    free(keys), free(values);
    return 0;
}
