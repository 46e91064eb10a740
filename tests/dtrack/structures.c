/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads execute the same blocks, each on a structure of its own, on one of the next thread and on one that all share:
 * the same reference is in another structure with each thread, some wait for lines, and others take lines away.
 *
 * Nobody relies on what others write meanwhile; atomic accesses would be events of their own.
 *
 *     structures ROUNDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, WORDS = 4096 };

static long shared[64];
static long first[WORDS], second[WORDS], third[WORDS], fourth[WORDS];
static long *const own[THREADS] = {first, second, third, fourth};

static __attribute__((noinline)) void add(long *to, long value)
{
    *(volatile long *)to += value;
}

static __attribute__((noinline)) long look(const long *at)
{
    return *(const volatile long *)at;
}

static long rounds;

static void *work(void *arg)
{
    const long me = (long)arg;
    unsigned long x = (unsigned long)me * 7919 + 1;
    long sum = 0;

    for (long i = 0; i < rounds; i++) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        for (long k = 0; k < (long)(x >> 60); k++)
            add(&own[me][(x >> 33) % WORDS], k);
        if (i % 128 == 0)
            sum += look(&own[(me + 1) % THREADS][(x >> 40) % WORDS]);
        if (i % 256 == 0) {
            add(&shared[me], 1);
            sum += look(&shared[me]);
        }
        sum += look(&own[me][i % WORDS]);
    }
    add(&own[me][WORDS - 1], 0 * sum);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%ld\n", shared[0] + shared[1] + shared[2] + shared[3]);
    return 0;
}
