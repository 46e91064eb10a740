/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread counts in a counter of its own; with an argument beyond the first, the counters are a line apart. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LINE = 64 };
struct counter { long hits; };
struct apart { long hits; char filler[LINE - sizeof(long)]; };
static struct counter counters[THREADS] __attribute__((aligned(LINE)));
static struct apart apart[THREADS] __attribute__((aligned(LINE)));
static long rounds;
static int is_apart;

static void *work(void *arg)
{
    volatile long *mine = is_apart ? &apart[(long)arg].hits : &counters[(long)arg].hits;
    for (long i = 0; i < rounds; i++)
        *mine = *mine + 1;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long sum = 0;
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    is_apart = argc > 2;
    for (long t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, work, (void *)t))
            return 2;
    for (long t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (long t = 0; t < THREADS; t++)
        sum += is_apart ? apart[t].hits : counters[t].hits;
    printf("%ld\n", sum);
    return sum != THREADS * rounds;
}
