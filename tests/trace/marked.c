/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are marked for a full-system simulator: no waiting, no clock, nothing random in the function that is compared. */
#include <peet/marker.h>
#include <pthread.h>
#include <stdio.h>

#ifndef PROGRAM
#define PROGRAM 1
#endif
enum { THREADS = 4, CELLS = 256, STEPS = 20 };

static double cells[THREADS][CELLS];

static double __attribute__((noinline)) step(double *c, int k)
{
    for (int i = 1; i < CELLS - 1; i++)
        c[i] = (c[i - 1] + c[i + 1]) * 0.5 + k;
    return c[CELLS / 2];
}

static void *work(void *arg)
{
    const long me = (long)arg;
    double s = 0;

    peet_marker((uint32_t)(PROGRAM * 256 + 1 + me));
    for (int k = 0; k < STEPS * (me + PROGRAM); k++)
        s += step(cells[me], k);
    cells[me][0] = s;
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    peet_marker(PROGRAM * 256);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (long i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%g\n", cells[0][0] + cells[3][0]);
    return 0;
}
