/* SPDX-License-Identifier: Apache-2.0 */
/* Backtracking: eight queens, and a memoised recursion. */
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
static long memo[60][60];
static NOINLINE long safe(long row, long columns, long up, long down, long c) { return !(columns >> c & 1) && !(up >> (row + c) & 1) && !(down >> (row - c + 8) & 1); }
static NOINLINE long place(long row, long columns, long up, long down)
{
    long found = 0;
    if (row == 6)
        return 1;
    for (long c = 0; c < 6; c++)
        if (safe(row, columns, up, down, c))
            found += place(row + 1, columns | 1 << c, up | 1 << (row + c), down | 1 << (row - c + 8));
    return found;
}
static NOINLINE long paths(long x, long y)
{
    if (x == 0 || y == 0)
        return 1;
    if (!memo[x][y])
        memo[x][y] = (paths(x - 1, y) + paths(x, y - 1)) % 1000003;
    return memo[x][y];
}
int main(void)
{
    long sum = place(0, 0, 0, 0) + paths(25, 31);
    printf("%ld\n", sum);
    return 0;
}
