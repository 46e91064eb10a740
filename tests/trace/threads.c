/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with a mutex, a barrier, an atomic counter, thread-local storage and memory of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, N = 3000, ROUNDS = 4 };
static double table[THREADS][N], sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static atomic_int turns;
static __thread long mine;

static void *work(void *arg)
{
    const long k = (long)arg;
    double *copy = malloc(N * sizeof *copy);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            table[k][i] += i * round;
            copy[i] = table[(k + 1) % THREADS][i];
            mine += i & 1;
        }
        pthread_barrier_wait(&barrier);
        pthread_mutex_lock(&lock);
        sum += copy[round];
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&turns, 1);
    }
    free(copy);
    return (void *)mine;
}

int main(void)
{
    pthread_t threads[THREADS];
    void *result;
    long all = 0;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long again = 0; again < 2; again++) {
        for (long k = 0; k < THREADS; k++)
            pthread_create(&threads[k], NULL, work, (void *)k);
        for (int k = 0; k < THREADS; k++) {
            pthread_join(threads[k], &result);
            all += (long)result;
        }
    }
    printf("%g %ld %d\n", sum, all, turns);
    return 0;
}
