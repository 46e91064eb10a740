/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every bench program shares: arguments with defaults, a fixed random sequence, a checksum.  The
 * programs print one checksum, so that two builds can be compared; a program that finds its own result
 * wrong says so and ends with status 1.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
    void calibrate_lap(void) __attribute__((weak));

/** Between two rounds of a program: bench/hardware.sh times what lies between them, one by one. Nothing otherwise. */
static inline void bench_lap(void)
{
    if (calibrate_lap)
        calibrate_lap();
}

/** Argument number index, or its default; ends the program if it is no number in [min, max]. */
static inline long bench_arg(int argc, char **argv, int index, long preset, long min, long max)
{
    if (index >= argc)
        return preset;
    char *end;
    long value = strtol(argv[index], &end, 10);
    if (end == argv[index] || *end || value < min || value > max) {
        fprintf(stderr, "%s: argument %d must be a number from %ld to %ld\n", argv[0], index, min, max);
        exit(2);
    }
    return value;
}

/** xorshift64*: the same sequence everywhere. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 2685821657736338717u;
}

/** Uniform in [0, 1). */
static inline double bench_uniform(uint64_t *state)
{
    return (double)(bench_random(state) >> 11) * 0x1p-53;
}

static inline uint64_t bench_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static inline uint64_t bench_mix_double(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bench_mix(hash, bits);
}

static inline void *bench_alloc(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

static inline void bench_wrong(const char *what)
{
    fprintf(stderr, "wrong result: %s\n", what);
    exit(1);
}

static inline void bench_print(const char *name, uint64_t hash)
{
    printf("%s %016llx\n", name, (unsigned long long)hash);
}

#endif
