/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion with two call sites of one function, mutual recursion, and Ackermann's function. */
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
static NOINLINE long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static NOINLINE long odd(long n);
static NOINLINE long even(long n) { return n == 0 ? 1 : odd(n - 1) ^ (n == 77); }
static NOINLINE long odd(long n) { return n == 0 ? 0 : even(n - 1) ^ (n == 33); }
static NOINLINE long ackermann(long m, long n)
{
    if (m == 0)
        return n + 1;
    long below = n == 0 ? 1 : ackermann(m, n - 1);
    return ackermann(m - 1, below) + (below < 0);
}
static NOINLINE long three(long n) { return fib(n) + fib(n + 1) + even(n); }
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 12;
    long sum = fib(n) + even(50) + odd(51) + ackermann(2, 5) + three(6);
    printf("%ld\n", sum);
    return 0;
}
