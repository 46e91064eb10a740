/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with all kinds of frames, called by step.c. */
#include <alloca.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic long counter;
static volatile long seen;
long sink;

__attribute__((noinline)) static long leaf(long a)
{
    return a * 3 + atomic_load(&counter);
}

__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
    long r = leaf(a) + leaf(b);
    for (long k = 0; k < c % 5 + 2; k++)
        r += leaf(k) ^ leaf(d + k) ^ e ^ f ^ g ^ h ^ i;
    return r;
}

__attribute__((noinline)) static long list(int n, ...)
{
    va_list args;
    long sum = 0;
    va_start(args, n);
    while (n--)
        sum += va_arg(args, long);
    va_end(args);
    return sum;
}

__attribute__((noinline)) static long moves(int n)
{
    char *text = alloca((size_t)n);
    memset(text, n, (size_t)n);
    atomic_fetch_add(&counter, text[n / 2]);
    return text[n - 1] + leaf(n);
}

__attribute__((noinline)) static long large(long a)
{
    long table[400];
    for (int i = 0; i < 40; i++)
        table[i * 7] = a ^ seen;
    return table[(unsigned)a % 40 * 7] + leaf(a);
}

__attribute__((noinline)) static long aligned(long a)
{
    _Alignas(64) long t[16];
    for (int i = 0; i < 16; i++)
        t[i] = leaf(a + i);
    return t[a & 15] + seen;
}

/* A frame only where it is needed. */
__attribute__((noinline)) static long shrunk(long a, long b)
{
    if (a < 3)
        return b;
    long x = leaf(a), y = leaf(b), z = leaf(x + y);
    for (long i = 0; i < 3; i++)
        x += leaf(y + i) * z;
    atomic_thread_fence(memory_order_seq_cst);
    return x + y + z;
}

__attribute__((noinline)) static long down(int n)
{
    if (!n)
        return seen;
    long a = down(n - 1);
    seen = a + 1;
    return a + many(n, a, 3, 4, 5, 6, 7, 8, 9);
}

void subject(void)
{
    sink += down(4) + list(7, 1L, 2L, 3L, 4L, 5L, 6L, 7L) + moves(20) + moves(100) + large(12) + aligned(5) + shrunk(1, 2) + shrunk(7, 8);
}
