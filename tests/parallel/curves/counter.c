/* SPDX-License-Identifier: Apache-2.0 */
/* counter THREADS INSIDE OUTSIDE: each thread, the first one being main's, counts K times under one mutex, with work of so many steps inside and outside of it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { K = 6, MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;
static long counter;
static int inside, outside;

/* Without atomic or volatile accesses, so that nothing in it is an event. */
static __attribute__((noinline)) void steps(int n)
{
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : "+r"(i));
}

static void *work(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&start);
    for (int i = 0; i < K; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        steps(inside);
        pthread_mutex_unlock(&lock);
        steps(outside);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[MOST];

    inside = argc > 2 ? atoi(argv[2]) : 100;
    outside = argc > 3 ? atoi(argv[3]) : 400;
    if (n < 1 || n > MOST)
        return 2;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 1; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    work(NULL);
    for (int i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", counter);
    return counter != (long)n * K;
}
