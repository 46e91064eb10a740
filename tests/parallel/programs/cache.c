/* SPDX-License-Identifier: Apache-2.0 */
/* cache THREADS: a table of results behind a reader-writer lock; a thread that does not find a number computes it and enters it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 64, LOOKUPS = 200, MOST = 64 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct { int full; unsigned steps; } table[SLOTS];
static int entered;

static unsigned collatz(unsigned long n)
{
    unsigned steps = 0;

    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static unsigned look_up(unsigned slot)
{
    unsigned steps = 0;
    int full;

    pthread_rwlock_rdlock(&lock);
    full = table[slot].full;
    steps = table[slot].steps;
    pthread_rwlock_unlock(&lock);
    if (full)
        return steps;
    steps = collatz(1000 + slot);
    pthread_rwlock_wrlock(&lock);
    if (!table[slot].full) {
        table[slot].full = 1;
        table[slot].steps = steps;
        entered++;
    }
    pthread_rwlock_unlock(&lock);
    return steps;
}

static void *work(void *arg)
{
    unsigned random = 1u + (unsigned)(uintptr_t)arg;
    uintptr_t sum = 0;

    for (int i = 0; i < LOOKUPS; i++) {
        random = random * 1664525u + 1013904223u;
        sum += look_up(random >> 8 & (SLOTS - 1));
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MOST];
    unsigned long sum = 0;

    if (n < 1 || n > MOST)
        return 2;
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
            return 1;
    for (int i = 0; i < n; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (unsigned long)(uintptr_t)result;
    }
    printf("%lu steps, %d entries\n", sum, entered);
    return 0;
}
