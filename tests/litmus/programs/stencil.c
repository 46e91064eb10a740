/* SPDX-License-Identifier: Apache-2.0 */
/* Relaxation of a grid by threads with a barrier after each sweep, and a sum under a mutex: the pattern of SPLASH's ocean.
 * stencil [N [SWEEPS [THREADS]]] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int n = 64, sweeps = 4, nthreads = 4;
static double *grid[2], total;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg, lo = 1 + me * (n - 2) / nthreads, hi = 1 + (me + 1) * (n - 2) / nthreads;
    double sum = 0;

    for (int s = 0; s < sweeps; s++) {
        const double *from = grid[s & 1];
        double *to = grid[!(s & 1)];

        for (int i = lo; i < hi; i++)
            for (int k = 1; k < n - 1; k++)
                to[i * n + k] = 0.25 * (from[(i - 1) * n + k] + from[(i + 1) * n + k] + from[i * n + k - 1] + from[i * n + k + 1]);
        pthread_barrier_wait(&barrier);
    }
    for (int i = lo; i < hi; i++)
        for (int k = 1; k < n - 1; k++)
            sum += grid[sweeps & 1][i * n + k];
    pthread_mutex_lock(&mutex);
    total += sum;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];

    n = argc > 1 ? atoi(argv[1]) : n;
    sweeps = argc > 2 ? atoi(argv[2]) : sweeps;
    nthreads = argc > 3 ? atoi(argv[3]) : nthreads;
    pthread_barrier_init(&barrier, NULL, (unsigned)nthreads);
    for (int g = 0; g < 2; g++) {
        grid[g] = calloc((size_t)n * (size_t)n, sizeof **grid);
        for (int i = 0; i < n; i++)
            grid[g][i] = grid[g][i * n] = 1 + i % 7;
    }
    for (int i = 0; i < nthreads; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    printf("%.3f\n", total);
    return 0;
}
