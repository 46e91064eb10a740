/* SPDX-License-Identifier: Apache-2.0 */
/* matmul THREADS: a matrix product by bands of rows; the sum of the result's elements by a second parallel step. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 40, MOST = 64 };

static double a[N][N], b[N][N], c[N][N];
static double partial[MOST];
static int nthreads;
static pthread_barrier_t barrier;

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg, lo = N * me / nthreads, hi = N * (me + 1) / nthreads;

    for (int i = lo; i < hi; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (i * 7 + j) % 11;
            b[i][j] = (i + j * 5) % 13;
        }
    pthread_barrier_wait(&barrier);
    for (int i = lo; i < hi; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
    pthread_barrier_wait(&barrier);
    for (int i = me; i < N; i += nthreads) /* other rows than it computed */
        for (int j = 0; j < N; j++)
            partial[me] += c[i][j] * (i - j);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    double sum = 0;

    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    if (nthreads < 1 || nthreads > MOST)
        return 2;
    pthread_barrier_init(&barrier, NULL, (unsigned)nthreads);
    for (int i = 0; i < nthreads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < nthreads; i++) {
        pthread_join(threads[i], NULL);
        sum += partial[i];
    }
    pthread_barrier_destroy(&barrier);
    printf("%.17g\n", sum);
    return 0;
}
