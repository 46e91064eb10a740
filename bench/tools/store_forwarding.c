/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many cycles a value needs through memory: rounds that store a register and load it back, in several ways, beside a chain of
 * multiplications, which take 3 cycles each and so tell the frequency. 1 or less: the processor renames memory, and the load waits for nothing.
 * Source of memory_renaming in the presets that say [FWD].  cc -O1 store_forwarding.c && ./a.out [ROUNDS [TRIES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long rounds = 4000000;
static int tries = 25;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Nanoseconds of a round of the instructions: %0 is the value that goes round, %2 memory that is nobody else's. */
#define TIME(out, instructions) \
    do { \
        out = 1e30; \
        for (int try = 0; try < tries; try++) { \
            unsigned long value = 1, left = rounds, memory[8] = {0}; \
            const double begin = now_ns(); \
            __asm__ volatile("1:\n" instructions "\ndec %1\njnz 1b" \
                : "+r"(value), "+r"(left) \
                : "r"(memory) \
                : "memory", "rcx"); \
            const double ns = (now_ns() - begin) / (double)rounds; \
            out = ns < out ? ns : out; \
        } \
    } while (0)

int main(int argc, char **argv)
{
    double multiply, same, other, change, stack;
    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : rounds;
    tries = argc > 2 ? atoi(argv[2]) : tries;
    TIME(multiply, "imul %0, %0");
    TIME(same, "mov %0, (%2)\nmov (%2), %0");
    TIME(other, "mov %0, (%2)\nlea (%2), %%rcx\nmov (%%rcx), %0");
    TIME(change, "addq $1, (%2)");
    TIME(stack, "lea -128(%%rsp), %%rsp\npush %0\npop %0\nlea 128(%%rsp), %%rsp");
    const double cycle_ns = multiply / 3;
    printf("store, load                        %5.2f cycles\n", same / cycle_ns);
    printf("store, load by another register    %5.2f cycles\n", other / cycle_ns);
    printf("addition to memory                 %5.2f cycles\n", change / cycle_ns);
    printf("push, pop                          %5.2f cycles\n", stack / cycle_ns);
    return 0;
}
