/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion: Fibonacci, Ackermann, queens, towers; mutual and self tail calls. */
#include <stdio.h>

__attribute__((noinline)) static unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static int column[12];

static int safe(int row)
{
    for (int r = 0; r < row; r++)
        if (column[r] == column[row] || column[row] - column[r] == row - r || column[r] - column[row] == row - r)
            return 0;
    return 1;
}

static int queens(int row, int n)
{
    int found = 0;
    if (row == n)
        return 1;
    for (column[row] = 0; column[row] < n; column[row]++)
        if (safe(row))
            found += queens(row + 1, n);
    return found;
}

static unsigned moves;
static void towers(int n, int from, int to, int via)
{
    if (n == 0)
        return;
    towers(n - 1, from, via, to);
    moves += (unsigned)(from * 3 + to);
    towers(n - 1, via, to, from);
}

static int is_odd(unsigned n);
__attribute__((noinline)) static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}
__attribute__((noinline)) static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

__attribute__((noinline)) static unsigned long gcd(unsigned long a, unsigned long b)
{
    return b == 0 ? a : gcd(b, a % b);
}

__attribute__((noinline)) static unsigned long accumulate(unsigned n, unsigned long sum)
{
    return n == 0 ? sum : accumulate(n - 1, sum + n * 7);
}

int main(void)
{
    unsigned long g = 0;
    for (unsigned i = 1; i < 300; i++)
        g += gcd(i * 1000003ul, 999983ul * (i % 17 + 1));
    towers(12, 1, 2, 3);
    printf("%u %u %d %u %d %lu %lu\n", fib(21), ackermann(2, 60), queens(0, 7), moves, is_even(5001), g, accumulate(3000, 1));
    return 0;
}
