#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Microbenchmarks of the cores: what is configured is what comes out.
. "$(dirname "$0")/lib.sh"
cat >micro.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 4000 };
static unsigned char coin[N];
static _Atomic long counter;
static long plain[8];
__attribute__((noinline)) long branches(long n)
{
    long s = 0;
    for (long i = 0; i < n; i++) {
        if (coin[i])
            s = s * 3 + 1;
        else
            s ^= i << 2;
        asm volatile("" : "+r"(s));
    }
    return s;
}
__attribute__((noinline)) long multiply_many(long n, long k)
{
    long a = 1, b = 2, c = 3, d = 5;
#pragma clang loop unroll(disable)
    for (long i = 0; i < n; i++) {
        a *= k;
        b *= k;
        c *= k;
        d *= k;
    }
    return a ^ b ^ c ^ d;
}
__attribute__((noinline)) long multiply_chain(long n, long k)
{
    long a = 1;
#pragma clang loop unroll(disable)
    for (long i = 0; i < n; i++)
        a *= k;
    return a;
}
__attribute__((noinline)) long independent(long n, long k)
{
    long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
#pragma clang loop unroll(disable)
    for (long i = 0; i < n; i++) {
        a += k, b ^= k, c -= k, d += k, e ^= k, f -= k;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    return a ^ b ^ c ^ d ^ e ^ f;
}
__attribute__((noinline)) void locked(long n)
{
    for (long i = 0; i < n; i++)
        atomic_fetch_add(&counter, 1);
}
__attribute__((noinline)) void fences(long n)
{
    for (long i = 0; i < n; i++)
        __builtin_ia32_mfence();
}
__attribute__((noinline)) void stores(long n)
{
    for (long i = 0; i < n; i++)
        *(volatile long *)&plain[i & 7] = i;
}
static long (*work)(long, long);
static void *thread(void *argument) { return (void *)work(20000, (long)argument); }
int main(int argc, char **argv)
{
    unsigned r = 1;
    long n = 2000, k = argc + 5;
    for (int i = 0; i < N; i++) {
        r = r * 1103515245 + 12345;
        coin[i] = strcmp(argv[1], "random") ? i & 1 : r >> 16 & 1;
    }
    if (!strncmp(argv[1], "pair", 4)) {
        pthread_t other;
        work = strcmp(argv[1], "pair-many") ? multiply_chain : multiply_many;
        pthread_create(&other, NULL, thread, (void *)k);
        thread((void *)k);
        pthread_join(other, NULL);
        return 0;
    }
    locked(n);
    fences(n);
    stores(n);
    if (independent(8 * n, k) == 42)
        return 1;
    return branches(N) == 42;
}
END
must "$peetcc" -O2 -fno-vectorize -fno-slp-vectorize -pthread -o micro micro.c 2>errors
flat="preset=none,mcpu=skylake-avx512,memory=flat"

# A mispredicted branch costs what is configured: the same predictions at two prices.
run "$flat,mispredict_cycles=15" ./micro random
few=$(cycles branches) wrong=$("$json_get" out/stats.json x86.cores.branches_mispredicted)
run "$flat,mispredict_cycles=45" ./micro random
many=$(cycles branches)
equal "mispredictions" "$("$json_get" out/stats.json x86.cores.branches_mispredicted)" "$wrong"
[ "$wrong" -gt 300 ] || fail "only $wrong branches are mispredicted of a random sequence"
near "price of $wrong mispredictions" $((many - few)) $((30 * wrong)) 5
# ... and a pattern is learnt
run "$flat" ./micro pattern
[ "$("$json_get" out/stats.json x86.cores.branches_mispredicted)" -lt 200 ] || fail "an alternating branch is not learnt"
run "$flat,branch=perfect" ./micro random
equal "mispredictions of a perfect predictor" "$("$json_get" out/stats.json x86.cores.branches_mispredicted)" 0

# Locked operations and fences, one after the other.
for price in 20 70; do
    run "$flat,locked_cycles=$price,fence_cycles=$price,stores_cycle=1" ./micro pattern
    near "locked_cycles=$price" "$(cycles locked)" $((2000 * price)) 5
    near "fence_cycles=$price" "$(cycles fences)" $((2000 * price)) 5
done
near "a store a cycle" "$(cycles stores)" 2000 10

# Eight independent micro-ops a turn (six operations, a count and its branch): the narrower of front end and dispatch is the limit.
for fetch in 1 2 3 4 6; do
    run "$flat,branch=perfect,dispatch_uops=4,fetch_uops=$fetch" ./micro pattern
    width=$((fetch < 4 ? fetch : 4))
    near "a front end of $fetch, four dispatched" "$(cycles independent)" $((16000 * 8 / width)) 3
done
run "$flat,branch=perfect,dispatch_uops=4,fetch_uops=3,fetch_past_taken=off" ./micro pattern
near "eight by threes, and nothing behind the branch" "$(cycles independent)" $((16000 * 3)) 3
run "$flat,branch=perfect,dispatch_uops=4" ./micro pattern
near "no limit of the front end" "$(cycles independent)" $((16000 * 8 / 4)) 3

# Two threads that want the same unit: on one core they take turns; where latency is the limit they do not meet.
options="-n 2"
run "$flat" ./micro pair-many
alone=$("$json_get" out/stats.json time.cycles)
options="-n 1"
run "$flat,threads=2" ./micro pair-many
near "two threads that share the multiplier" "$("$json_get" out/stats.json time.cycles)" $((2 * alone)) 10
options="-n 2"
run "$flat" ./micro pair-chain
alone=$("$json_get" out/stats.json time.cycles)
options="-n 1"
for smt in partitioned shared; do
    run "$flat,threads=2,smt=$smt" ./micro pair-chain
    near "two threads with a chain each, $smt" "$("$json_get" out/stats.json time.cycles)" "$alone" 5
done
echo "microbenchmarks: all right"
