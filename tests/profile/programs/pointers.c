/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through tables, and a function that is called from many places. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static NOINLINE long twice(long n) { return 2 * n; }
static NOINLINE long thrice(long n) { return twice(n) + n; }
static NOINLINE long half(long n) { long s = 0; for (long i = 0; i < n % 7; i++) s += twice(i); return s + n / 2; }
static long (*const volatile table[])(long) = { twice, thrice, half };
static NOINLINE long apply(long k, long n) { return table[k % 3](n) + 1; }
static NOINLINE long many(long n)
{
    long s = twice(n) + thrice(n + 1);
    for (long i = 0; i < n; i++)
        s += apply(i, n) + half(i);
    return s;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 9; i++)
        sum += many(i) ^ apply(i, sum & 15);
    printf("%ld\n", sum);
    return 0;
}
