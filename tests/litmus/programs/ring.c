/* SPDX-License-Identifier: Apache-2.0 */
/* A ring with one producer and one consumer.  BROKEN: the index is published without release. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { SLOTS = 2, ITEMS = 2 };

#ifdef BROKEN
#define RELEASE memory_order_relaxed
#define ACQUIRE memory_order_relaxed
#else
#define RELEASE memory_order_release
#define ACQUIRE memory_order_acquire
#endif

static _Alignas(64) volatile atomic_int slots[SLOTS];
static _Alignas(64) volatile atomic_int head;
static _Alignas(64) volatile atomic_int tail;

static void *producer(void *unused)
{
    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        while (i - atomic_load_explicit(&tail, ACQUIRE) == SLOTS)
            ;
        atomic_store_explicit(&slots[i % SLOTS], i + 1, memory_order_relaxed);
        atomic_store_explicit(&head, i + 1, RELEASE);
    }
    return NULL;
}

static void *consumer(void *unused)
{
    intptr_t wrong = 0;

    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        while (atomic_load_explicit(&head, ACQUIRE) <= i)
            ;
        wrong |= atomic_load_explicit(&slots[i % SLOTS], memory_order_relaxed) != i + 1;
        atomic_store_explicit(&tail, i + 1, RELEASE);
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[2];
    void *wrong;

    pthread_create(&threads[0], NULL, producer, NULL);
    pthread_create(&threads[1], NULL, consumer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], &wrong);
    puts(wrong ? "an item was read before it was there" : "all items in order");
    return wrong != NULL;
}
