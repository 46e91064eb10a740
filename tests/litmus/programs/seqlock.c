/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence lock: one writer, one reader who tries again.  BROKEN: relaxed where release and acquire are needed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#ifdef BROKEN
#define RELEASE memory_order_relaxed
#define ACQUIRE memory_order_relaxed
#else
#define RELEASE memory_order_release
#define ACQUIRE memory_order_acquire
#endif

static _Alignas(64) volatile atomic_int sequence;
static _Alignas(64) volatile atomic_int a;
static _Alignas(64) volatile atomic_int b;

static void *writer(void *unused)
{
    (void)unused;
    atomic_store_explicit(&sequence, 1, memory_order_relaxed);
    atomic_store_explicit(&a, 1, RELEASE);
    atomic_store_explicit(&b, 1, RELEASE);
    atomic_store_explicit(&sequence, 2, RELEASE);
    return NULL;
}

static void *reader(void *unused)
{
    int before, x, y;

    (void)unused;
    do {
        while ((before = atomic_load_explicit(&sequence, ACQUIRE)) & 1)
            ;
        x = atomic_load_explicit(&a, ACQUIRE);
        y = atomic_load_explicit(&b, ACQUIRE);
    } while (atomic_load_explicit(&sequence, ACQUIRE) != before);
    return (void *)(intptr_t)(10 * x + y);
}

int main(void)
{
    pthread_t threads[2];
    void *seen;

    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], &seen);
    printf("%s\n", (intptr_t)seen / 10 == (intptr_t)seen % 10 ? "whole" : "torn");
    return (intptr_t)seen / 10 != (intptr_t)seen % 10;
}
