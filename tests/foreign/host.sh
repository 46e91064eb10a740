#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recorded foreign code sees of the processor: rdtsc and rdtscp the simulated clock, in order with those of the program's own code; cpuid
# one processor, whatever the host is.  All other registers, vectors among them, stay as they are.
. "$(dirname "$0")/lib.sh"
cat >plain.c <<'END'
#include <cpuid.h>
#include <x86intrin.h>
unsigned long long stamp(void) { return __rdtsc(); }
unsigned long long stamp_where(unsigned *where) { return __rdtscp(where); }
void describe(unsigned leaf, unsigned sub, unsigned out[4]) { __cpuid_count(leaf, sub, out[0], out[1], out[2], out[3]); }
int supported(void)
{
    __builtin_cpu_init();
    return (__builtin_cpu_supports("avx2") != 0) + 2 * (__builtin_cpu_supports("popcnt") != 0) + 4 * (__builtin_cpu_supports("avx512f") != 0);
}
/* Everything that a compiler keeps in registers over both instructions. */
double mixture(const double *x, const long *n)
{
    double a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6], h = x[7];
    long i = n[0], j = n[1], k = n[2], l = n[3], m = n[4];
    unsigned eax = 0, ebx, ecx = 0, edx;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    __asm__ volatile("rdtsc" : "=a"(eax), "=d"(edx));
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (double)(i + 2 * j + 3 * k + 4 * l + 5 * m);
}
END
cat >main.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <x86intrin.h>
unsigned long long stamp(void), stamp_where(unsigned *where);
void describe(unsigned leaf, unsigned sub, unsigned out[4]);
double mixture(const double *x, const long *n);
int supported(void);
static pthread_barrier_t all;
static void *work(void *arg)
{
    unsigned own = 99, foreign = 98;
    pthread_barrier_wait(&all);
    unsigned long long before = __rdtscp(&own), at = stamp_where(&foreign), then = stamp(), after = __rdtsc();
    *(int *)arg = before <= at && at < then && then <= after && own == foreign ? (int)own : -1;
    pthread_barrier_wait(&all);
    return 0;
}
int main(void)
{
    const double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const long n[5] = {9, 10, 11, 12, 13};
    pthread_t threads[2];
    int where[2];
    printf("mixture %.1f\n", mixture(x, n));
    pthread_barrier_init(&all, 0, 2);
    for (int k = 0; k < 2; k++)
        pthread_create(&threads[k], 0, work, &where[k]);
    for (int k = 0; k < 2; k++)
        pthread_join(threads[k], 0);
    printf("in order %d\n", where[0] >= 0 && where[1] >= 0 && where[0] != where[1]);
    printf("stamp %llu\n", stamp());
    printf("supported %d\n", supported());
    for (unsigned k = 0; k < 14; k++) {
        const unsigned leaf = k < 12 ? k : 0x80000000 + k - 12;
        unsigned out[4];
        describe(leaf, 0, out);
        printf("leaf %x: %x %x %x %x\n", leaf, out[0], out[1], out[2], out[3]);
    }
    return 0;
}
END
must "$PEET_PLAIN_CC" -O2 -c plain.c
must "$peetcc" -O2 -pthread -o main main.c plain.o
must ./main >native
for time in 1 2; do
    must "$peet" run -q --foreign=record --cores 2 --observe hash -d out.$time -- ./main >printed.$time
    value out.$time/stats.json hash.hash >hash.$time
done
same printed.1 printed.2 "the second run saw another processor"
same hash.1 hash.2 "the second run was another"
grep -q '^in order 1$' printed.1 || fail "the clock of foreign code is not that of the program: $(cat printed.1)"
same <(grep mixture native) <(grep mixture printed.1) "registers were lost"
same <(sed -n 's/^leaf 0: \([^ ]*\) .*/\1/p' printed.1) <(echo 7) "the last leaf"
grep -q '^leaf 1: ff00f00 800 ' printed.1 || fail "family and model are another's: $(grep 'leaf 1:' printed.1)"
if grep -q avx2 /proc/cpuinfo && grep -q bmi2 /proc/cpuinfo; then
    grep -q '^supported 3$' printed.1 || fail "AVX2 and popcnt, but no AVX-512: $(grep supported printed.1)"
    same <(grep 'leaf 7:' printed.1) <(echo 'leaf 7: 0 128 0 0') "BMI, AVX2 and BMI2, and nothing else"
fi
[ "$(grep -cE '^leaf [234568-9ab]+: 0 0 0 0$' printed.1)" = 9 ] || fail "caches or topology of somebody are shown: $(cat printed.1)"
