/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the small programs of this folder share: each has several kernels, of which the first argument names one; the
 * second says how often it runs. A program prints one checksum, the same natively and simulated.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#include "../programs/common.h"

/** One kernel: does its work once and returns what it has found. */
struct kernel {
    const char *name;
    uint64_t (*run)(void);
};

/** The kernel that the arguments name, as often as they say; @return the program's status */
static inline int run_kernel(int argc, char **argv, const struct kernel *kernels, size_t n)
{
    const long times = bench_arg(argc, argv, 2, 1, 1, 1000000);
    for (size_t i = 0; argc > 1 && i < n; i++)
        if (!strcmp(kernels[i].name, argv[1])) {
            uint64_t hash = 0;
            for (long k = 0; k < times; k++) {
                bench_lap();
                hash = bench_mix(hash, kernels[i].run());
            }
            bench_print(argv[1], hash);
            return 0;
        }
    fprintf(stderr, "usage: %s KERNEL [TIMES]\nkernels:", argv[0]);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %s", kernels[i].name);
    fprintf(stderr, "\n");
    return 2;
}

#define KERNELS(...) \
    int main(int argc, char **argv) \
    { \
        static const struct kernel kernels[] = {__VA_ARGS__}; \
        return run_kernel(argc, argv, kernels, sizeof kernels / sizeof *kernels); \
    }

#endif
