/* SPDX-License-Identifier: Apache-2.0 */
/* Deep recursion within the usual stack limit, big frames at depth. */
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static long deep(int n)
{
    char room[1500];
    memset(room, n, sizeof room);
    return n == 0 ? room[3] : deep(n - 1) + room[n % 1500];
}
__attribute__((noinline)) static long narrow(long n)
{
    return n == 0 ? 0 : narrow(n - 1) + (n & 3);
}
int main(void)
{
    printf("%ld %ld\n", deep(4000), narrow(100000));
    return 0;
}
