/* SPDX-License-Identifier: Apache-2.0 */
/* Large frames, alloca, variable-length arrays, big structures by value, over-aligned locals. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

struct big { long words[40]; };
struct small { int a; char b; double c; };
struct pair { long a, b; };
struct mixed { float f; int i; };

__attribute__((noinline)) static long huge_frame(int seed)
{
    volatile long frame[3000];
    long sum = 0;
    for (int i = 0; i < 3000; i += 50)
        frame[i] = seed + i;
    for (int i = 0; i < 3000; i += 50)
        sum += frame[i];
    return sum;
}

__attribute__((noinline)) static long with_alloca(int n)
{
    char *p = alloca((size_t)n);
    long sum = 0;
    memset(p, n & 127, (size_t)n);
    for (int i = 0; i < n; i += 3)
        sum += p[i];
    return sum;
}

__attribute__((noinline)) static long with_vla(int n)
{
    int grid[n][n + 1];
    long sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= n; j++)
            grid[i][j] = i * j + n;
    for (int i = 0; i < n; i++)
        sum += grid[i][n - i];
    return sum;
}

__attribute__((noinline)) static struct big make_big(long x)
{
    struct big b;
    for (int i = 0; i < 40; i++)
        b.words[i] = x * i;
    return b;
}

__attribute__((noinline)) static long sum_big(struct big b, struct big c, int scale)
{
    long sum = 0;
    for (int i = 0; i < 40; i++)
        sum += b.words[i] * scale - c.words[39 - i];
    b.words[3] = sum;
    return b.words[3] + c.words[2];
}

__attribute__((noinline)) static struct small change(struct small s, struct pair p, struct mixed m)
{
    return (struct small){s.a + (int)p.a, (char)(s.b + 1), s.c + (double)m.f + (double)p.b + m.i};
}

__attribute__((noinline)) static long aligned_locals(int n)
{
    _Alignas(64) int line[32];
    long sum = 0;
    for (int i = 0; i < 32; i++)
        line[i] = i ^ n;
    for (int i = 0; i < n % 32; i++)
        sum += line[i];
    return sum;
}

__attribute__((noinline)) static long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h, double x, long i, char j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)x + 9 * i + j;
}

int main(void)
{
    long sum = 0;
    struct small s = {1, 2, 3};
    for (int i = 0; i < 100 / SHARE; i++) {
        sum += huge_frame(i);
        sum += with_alloca(10 + i * 3);
        sum += with_vla(1 + i % 30);
        sum += sum_big(make_big(i), make_big(3 - i), i);
        s = change(s, (struct pair){i, i + 1}, (struct mixed){0.5f, i});
        sum += aligned_locals(i);
        sum += many_arguments(i, 1, i, 2, i, 3, i, 4, 0.5 * i, i, 'x');
    }
    printf("%ld %d %d %g\n", sum, s.a, s.b, s.c);
    return 0;
}
