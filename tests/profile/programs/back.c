/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that begin with their function: a jump back to its first instruction is a call, as callgrind has it; from one place or several, around
 * other calls, in recursion, on the way to another function. */
#include <stdio.h>

void fill(volatile int *p, volatile int *end);
long several(const volatile int *p, volatile long *n);
unsigned divide(unsigned a, unsigned b);
static int numbers[80];

__attribute__((noinline)) static long skip(const char *s, long n)
{
    while (*s++ == ' ')
        n += *s;
    return n;
}

__attribute__((noinline)) unsigned divide(unsigned a, unsigned b)
{
    while (a != b)
        if (a > b)
            a -= b;
        else
            b -= a;
    return a;
}

__attribute__((noinline)) static long walk(const int *p, long n)
{
    do {
        n -= *p++;
        if (*p & 1)
            n += skip("   x", *p);
    } while (*p);
    return n;
}

__attribute__((noinline)) long several(const volatile int *p, volatile long *n)
{
    for (;;) {
        int k = *p++;
        if (k & 1) {
            *n ^= k;
            continue;
        }
        if (k == 0)
            return *n;
        if (k & 2) {
            *n += divide(k + 60, 36);
            continue;
        }
        *n -= 3;
    }
}

__attribute__((noinline)) static long deeper(long n, long s)
{
    do {
        s += n;
        if (n % 7 == 3)
            s += deeper(n / 2, 1);
        n--;
    } while (n > 0);
    return s;
}

__attribute__((noinline)) void fill(volatile int *p, volatile int *end)
{
    do
        *p++ = 3;
    while (p != end);
}

__attribute__((noinline)) static long word(const char *s, long n);
__attribute__((noinline)) static long blank(const char *s, long n)
{
    return !*s ? n : *s == ' ' ? blank(s + 1, n) : word(s + 1, n + 1);
}

static long word(const char *s, long n)
{
    return !*s ? n : *s == ' ' ? blank(s + 1, n) : word(s + 1, n);
}

int main(void)
{
    volatile long n = 5;
    long sum = 0;
    for (int i = 0; i < 63; i++)
        numbers[i] = i * 7 % 23 + 1;
    for (int i = 0; i < 20; i++)
        sum += skip(&"     hello"[i % 5], i) + divide(i + 12, i + 3) + deeper(i * 3 + 1, 0) + blank(&"   many   words and  blanks"[i], 0);
    sum += several(numbers, &n) + walk(numbers, 9);
    fill(numbers, numbers + 64);
    printf("%ld %d\n", sum, numbers[3]);
    return 0;
}
