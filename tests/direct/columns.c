/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that transpose parts of one matrix, with strides in registers: what they write lies in lines of each other's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, N = 32 };
static double a[N * N], b[N * N];
static pthread_barrier_t barrier;
static long rounds;

__attribute__((noinline)) static void transpose(double *to, const double *from, long first, long last, long width)
{
    for (long i = first; i < last; i++)
        for (long k = 0; k < width; k++)
            to[i + k * width] = from[k + i * width] + 1;
}

static void *work(void *arg)
{
    const long n = N / THREADS, first = (long)arg * n;
    for (long r = 0; r < rounds; r++) {
        transpose(r & 1 ? a : b, r & 1 ? b : a, first, first + n, N - (r & 3));
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double sum = 0;
    rounds = argc > 1 ? 4 * atol(argv[1]) : 4;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (long i = 0; i < N * N; i++)
        sum += a[i] * (double)(i + 1);
    printf("%.0f\n", sum);
    return 0;
}
