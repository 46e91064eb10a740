/* SPDX-License-Identifier: Apache-2.0 */
/* buffer THREADS: producers and consumers of a bounded buffer with two condition variables; every item once, and in order for
 * each pair of producer and consumer. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 5, ITEMS = 60, MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static long slot[SLOTS];
static unsigned head, tail;
static int producers, consumers, still_producing, disorder;
static long sum, taken;

static void *produce(void *arg)
{
    long me = (long)(intptr_t)arg;

    for (long i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (tail - head == SLOTS)
            pthread_cond_wait(&not_full, &lock);
        slot[tail++ % SLOTS] = me * 1000 + i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    if (--still_producing == 0)
        pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *consume(void *unused)
{
    long last[MOST] = {0}, mine = 0, n = 0;

    (void)unused;
    for (;;) {
        long item;

        pthread_mutex_lock(&lock);
        while (tail == head && still_producing)
            pthread_cond_wait(&not_empty, &lock);
        if (tail == head)
            break;
        item = slot[head++ % SLOTS];
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        mine += item % 1000 * (item / 1000 + 1);
        n++;
        if (item % 1000 <= last[item / 1000])
            disorder = 1;
        last[item / 1000] = item % 1000;
    }
    sum += mine;
    taken += n;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[2 * MOST];

    if (n < 1 || n > MOST)
        return 2;
    producers = consumers = still_producing = n;
    for (int i = 0; i < consumers; i++)
        if (pthread_create(&threads[producers + i], NULL, consume, NULL))
            return 1;
    for (int i = 0; i < producers; i++)
        if (pthread_create(&threads[i], NULL, produce, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < producers + consumers; i++)
        pthread_join(threads[i], NULL);
    printf("%ld items, sum %ld%s\n", taken, sum, disorder ? ", out of order" : "");
    return 0;
}
