/* SPDX-License-Identifier: Apache-2.0 */
/* Calling conventions: naked functions, the Microsoft one, preserve_most, regcall, vectorcall, must-tail calls. */
#include <stdarg.h>
#include <stdio.h>

__attribute__((naked, noinline)) static long twice(long x)
{
    __asm__("leaq (%rdi,%rdi), %rax\n\tret");
}

__attribute__((naked, noinline)) static long through(long (*f)(long), long x)
{
    __asm__("movq %rdi, %rax\n\tmovq %rsi, %rdi\n\tjmp *%rax");
}

__attribute__((ms_abi, noinline)) static double microsoft(int a, double b, long c, float d, long e, double f)
{
    double sum = a + b * 2 + (double)c * 3 + (double)d * 4 + (double)e * 5 + f * 6;
    for (int i = 0; i < a % 5; i++)
        sum += i * b;
    return sum;
}

__attribute__((ms_abi, noinline)) static long microsoft_list(int n, ...)
{
    __builtin_ms_va_list ap;
    long sum = 0;
    __builtin_ms_va_start(ap, n);
    for (int i = 0; i < n; i++)
        sum += __builtin_va_arg(ap, int);
    __builtin_ms_va_end(ap);
    return sum;
}

static long memory[32];
__attribute__((preserve_most, noinline)) static void rare(int i)
{
    memory[i & 31] += i;
}
__attribute__((preserve_all, noinline)) static void rarer(int i)
{
    memory[i & 31] ^= i;
}
__attribute__((regcall, noinline)) static long registers(long a, long b, long c, long d, long e, long f, long g, long h)
{
    long sum = 0;
    for (int i = 0; i < 3; i++)
        sum = sum * 3 + (a ^ b) + (c ^ d) + (e ^ f) + (g ^ h);
    return sum;
}

static long state_b(const char *s, long n);
static long state_a(const char *s, long n)
{
    if (*s == 0)
        return n;
    if (*s == 'b')
        __attribute__((musttail)) return state_b(s + 1, n + 1);
    __attribute__((musttail)) return state_a(s + 1, n * 2);
}
static long state_b(const char *s, long n)
{
    if (*s == 0)
        return -n;
    if (*s == 'a')
        __attribute__((musttail)) return state_a(s + 1, n + 3);
    __attribute__((musttail)) return state_b(s + 1, n ^ 1);
}

int main(void)
{
    double d = 0;
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        double kept = i * 0.5, kept2 = i * 0.25;
        d += microsoft(i, 1.5, i, 2.5f, 3, i) + kept;
        sum += microsoft_list(6, i, 1, 2, 3, i, 5) + twice(i) + through(twice, i);
        rare(i);
        rarer(i);
        d += kept2;
        sum += registers(i, 1, 2, i, 4, 5, 6, 7) + state_a("abbabababbbaaab", i);
    }
    for (int i = 0; i < 32; i++)
        sum += memory[i];
    printf("%ld %g\n", sum, d);
    return 0;
}
