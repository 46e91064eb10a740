/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm LIMIT ROUNDS: an interpreter of a small byte code running a sieve of primes.  A switch in a loop: indirect jumps,
 * short blocks.
 */
#include "common.h"

enum op { PUSH, LOAD, STORE, AT, PUT, ADD, MUL, LESS, JZ, JUMP, HALT };

/* sieve: a[i] = 1 marks composites; count in variable 2
 *   i = 2; while (i < n) { if (!a[i]) { count++; j = i * i; while (j < n) { a[j] = 1; j += i; } } i++; } */
static const int32_t sieve[] = {
    PUSH,
    2,
    STORE,
    0, /*  0: i = 2 */
    LOAD,
    0,
    LOAD,
    3,
    LESS,
    JZ,
    62, /*  4: while i < n */
    LOAD,
    0,
    AT,
    JZ,
    18,
    JUMP,
    53, /* 11: if a[i], skip to 53 */
    LOAD,
    2,
    PUSH,
    1,
    ADD,
    STORE,
    2, /* 18: count++ */
    LOAD,
    0,
    LOAD,
    0,
    MUL,
    STORE,
    1, /* 25: j = i * i */
    LOAD,
    1,
    LOAD,
    3,
    LESS,
    JZ,
    53, /* 32: while j < n */
    PUSH,
    1,
    LOAD,
    1,
    PUT, /* 39: a[j] = 1 */
    LOAD,
    1,
    LOAD,
    0,
    ADD,
    STORE,
    1, /* 44: j += i */
    JUMP,
    32, /* 51 */
    LOAD,
    0,
    PUSH,
    1,
    ADD,
    STORE,
    0, /* 53: i++ */
    JUMP,
    4,    /* 60 */
    HALT, /* 62 */
};

static int64_t run(const int32_t *code, int64_t *a, int64_t n)
{
    int64_t stack[16], *sp = stack, var[4] = {0, 0, 0, n};
    for (const int32_t *pc = code;;) {
        switch ((enum op) * pc++) {
        case PUSH:
            *sp++ = *pc++;
            break;
        case LOAD:
            *sp++ = var[*pc++];
            break;
        case STORE:
            var[*pc++] = *--sp;
            break;
        case AT:
            sp[-1] = a[sp[-1]];
            break;
        case PUT:
            sp -= 2;
            a[sp[1]] = sp[0];
            break;
        case ADD:
            sp--;
            sp[-1] += sp[0];
            break;
        case MUL:
            sp--;
            sp[-1] *= sp[0];
            break;
        case LESS:
            sp--;
            sp[-1] = sp[-1] < sp[0];
            break;
        case JZ:
            pc = *--sp ? pc + 1 : code + *pc;
            break;
        case JUMP:
            pc = code + *pc;
            break;
        case HALT:
            return var[2];
        }
    }
}

static int64_t count_primes(int64_t n)
{
    int64_t count = 0;
    for (int64_t k = 2; k < n; k++) {
        int prime = 1;
        for (int64_t d = 2; d * d <= k && prime; d++)
            prime = k % d != 0;
        count += prime;
    }
    return count;
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 200000, 2, 10000000), rounds = bench_arg(argc, argv, 2, 25, 1, 100000);
    int64_t *a = bench_alloc((size_t)n, sizeof *a);
    uint64_t hash = 0;
    if (run(sieve, a, n < 1000 ? n : 1000) != count_primes(n < 1000 ? n : 1000))
        bench_wrong("number of primes");
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        memset(a, 0, (size_t)n * sizeof *a);
        hash = bench_mix(hash, (uint64_t)run(sieve, a, n - r % 2));
    }
    bench_print("vm", hash);
    free(a);
    return 0;
}
