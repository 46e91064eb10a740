/* SPDX-License-Identifier: Apache-2.0 */
/* What Dekker's and Peterson's algorithms share: a critical section that notices company, and two threads.  BROKEN leaves the fences out. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#ifdef BROKEN
#define FENCE() ((void)0)
#else
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static volatile atomic_int want[2], turn, inside, together;

#define get(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define put(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)

static void enter(int me);
static void leave(int me);

static void *contender(void *arg)
{
    int me = (int)(intptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        enter(me);
        if (atomic_fetch_add(&inside, 1) != 0)
            atomic_store(&together, 1);
        atomic_fetch_sub(&inside, 1);
        leave(me);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, contender, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts(together ? "both inside" : "one at a time");
    return together;
}
