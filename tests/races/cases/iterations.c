/* SPDX-License-Identifier: Apache-2.0 */
/* races: total
 * Iterations of doall loops: each has cells of its own, and all add to a total. */
#include <peet/doall.h>
#include <stdio.h>

enum { N = 40 };
static long cells[N], total, sum;

static void iteration(long i, void *arg)
{
    long local[8];
    for (int k = 0; k < 8; k++)
        local[k] = i * k;
    cells[i] = local[i % 8] + *(long *)arg;
    total += cells[i];
}

int main(void)
{
    long more = 3;
    peet_doall(0, N, PEET_DOALL_DEFAULT, 0, iteration, &more);
    for (int i = 0; i < N; i++)
        sum += cells[i];
    printf("%ld\n", sum);
    return 0;
}
