/* SPDX-License-Identifier: Apache-2.0 */
/* stencil THREADS ROWS: sweeps over a plate, rows in contiguous parts, a barrier behind each sweep.  Main
 * is the first thread. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 30, SWEEPS = 5, MOST = 64, ROWS = 256 };

static double plate[2][ROWS + 2][COLUMNS + 2];
static int nthreads, rows;
static pthread_barrier_t barrier;

static __attribute__((noinline)) void sweep_row(const double (*from)[COLUMNS + 2], double *to, int i)
{
    for (int j = 1; j <= COLUMNS; j++)
        to[j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
}

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg, lo = rows * me / nthreads + 1, hi = rows * (me + 1) / nthreads + 1;

    pthread_barrier_wait(&barrier);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = lo; i < hi; i++)
            sweep_row(plate[sweep & 1], plate[~sweep & 1][i], i);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    double sum = 0;

    nthreads = argc > 1 ? atoi(argv[1]) : 1;
    rows = argc > 2 ? atoi(argv[2]) : 48;
    if (nthreads < 1 || nthreads > MOST || rows < nthreads || rows > ROWS)
        return 2;
    for (int j = 0; j < COLUMNS + 2; j++)
        plate[0][0][j] = plate[1][0][j] = 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)nthreads);
    for (int i = 1; i < nthreads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            return 1;
    work(NULL);
    for (int i = 1; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j <= COLUMNS; j++)
            sum += plate[SWEEPS & 1][i][j];
    printf("%.17g\n", sum);
    return 0;
}
