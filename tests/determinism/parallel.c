/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel loops of uneven iterations under every schedule; shared counters without locks. */
#include <peet/doall.h>
#include <stdio.h>
#include <stdlib.h>

static double cells[4096];
static long visits[64];

static void uneven(long i, void *arg)
{
    long n = i * 37 % 101 + 5;
    double sum = 0;
    int *scratch = malloc((size_t)n * sizeof *scratch);
    for (long k = 0; k < n; k++) {
        scratch[k] = (int)(k * i);
        sum += cells[(i * 11 + k * 7) & 4095];
    }
    for (long k = 0; k < n; k++)
        sum += scratch[k] & 3;
    cells[i & 4095] = sum;
    visits[i & 63]++;
    free(scratch);
    (void)arg;
}

int main(void)
{
    double total = 0;
    for (int i = 0; i < 4096; i++)
        cells[i] = i % 17;
    peet_doall(0, 500, PEET_DOALL_STATIC, 0, uneven, NULL);
    peet_doall(0, 500, PEET_DOALL_DYNAMIC, 3, uneven, NULL);
    peet_doall(0, 500, PEET_DOALL_GUIDED, 1, uneven, NULL);
    for (int i = 0; i < 64; i++)
        total += (double)visits[i];
    printf("%g\n", total);
    return 0;
}
