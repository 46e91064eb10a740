/* SPDX-License-Identifier: Apache-2.0 */
/* Ends by SIGSEGV. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int depth(int n)
{
    volatile int local = n;
    if (n == 0) {
        *(volatile int *)16 = 1;
    }
    return depth(n - 1) + local;
}

int main(int argc, char **argv)
{
    (void)argv;
    puts("before");
    fflush(stdout);
    int r = depth(argc + 3);
    printf("after %d\n", r);
    return 0;
}
