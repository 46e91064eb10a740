/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline ITEMS: every item goes through STAGES stages, each of which sees the items in order; the first stage is the slowest. */
#include <stdio.h>
#include <stdlib.h>
#include <peet/doall.h>

enum { STAGES = 6, MOST = 256 };

static long value[MOST + 1][STAGES];

static __attribute__((noinline)) long stage(long before, long i, int s)
{
    long x = before;

    for (int k = 0; k < (s ? 300 : 400); k++)
        x = (x * 31 + i + s) & 0xffff;
    return x;
}

static void item(long i, void *unused)
{
    (void)unused;
    for (int s = 0; s < STAGES; s++) {
        PEET_WAIT((i - 1) * STAGES + s);
        value[i + 1][s] = stage(value[i][s] + (s ? value[i + 1][s - 1] : 0), i, s);
        PEET_POST(i * STAGES + s);
    }
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 40;

    if (n < 1 || n > MOST)
        return 2;
    peet_doacross_loop(0, n, PEET_DOALL_DYNAMIC, 1, item, NULL);
    printf("%ld\n", value[n][STAGES - 1]);
    return 0;
}
