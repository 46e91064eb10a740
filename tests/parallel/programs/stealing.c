/* SPDX-License-Identifier: Apache-2.0 */
/* stealing THREADS: tasks that make tasks, in one work-stealing deque for each thread (Chase and Lev, with C11 atomics).  A task
 * is a number: a node of a binary tree whose leaves are counted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 256, MOST = 64, DEPTH = 10 };

struct deque {
    _Alignas(64) atomic_long top;
    _Alignas(64) atomic_long bottom;
    atomic_long task[ROOM];
};

static struct deque deques[MOST];
static int nthreads;
static atomic_long pending, leaves, weight;

static void push(struct deque *d, long task)
{
    long b = atomic_load_explicit(&d->bottom, memory_order_relaxed);

    atomic_store_explicit(&d->task[b % ROOM], task, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&d->bottom, b + 1, memory_order_relaxed);
}

static long take(struct deque *d)
{
    long b = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1, t, task = 0;

    atomic_store_explicit(&d->bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    t = atomic_load_explicit(&d->top, memory_order_relaxed);
    if (t <= b) {
        task = atomic_load_explicit(&d->task[b % ROOM], memory_order_relaxed);
        if (t == b) {
            if (!atomic_compare_exchange_strong(&d->top, &t, t + 1))
                task = 0;
            atomic_store_explicit(&d->bottom, b + 1, memory_order_relaxed);
        }
    } else {
        atomic_store_explicit(&d->bottom, b + 1, memory_order_relaxed);
    }
    return task;
}

static long steal(struct deque *d)
{
    long t = atomic_load_explicit(&d->top, memory_order_acquire), task;

    atomic_thread_fence(memory_order_seq_cst);
    if (t >= atomic_load_explicit(&d->bottom, memory_order_acquire))
        return 0;
    task = atomic_load_explicit(&d->task[t % ROOM], memory_order_relaxed);
    return atomic_compare_exchange_strong(&d->top, &t, t + 1) ? task : 0;
}

static void run(struct deque *mine, long node)
{
    if (node >= 1 << (DEPTH - 1)) {
        atomic_fetch_add(&leaves, 1);
        atomic_fetch_add(&weight, node * node % 97);
    } else {
        atomic_fetch_add(&pending, 2);
        push(mine, 2 * node);
        push(mine, 2 * node + 1);
    }
    atomic_fetch_sub(&pending, 1);
}

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg;
    unsigned random = 12345u + (unsigned)me;

    while (atomic_load(&pending) > 0) {
        long task = take(&deques[me]);

        if (!task) {
            random = random * 1103515245u + 12345u;
            task = steal(&deques[(random >> 16) % (unsigned)nthreads]);
        }
        if (task)
            run(&deques[me], task);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];

    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    if (nthreads < 1 || nthreads > MOST)
        return 2;
    atomic_store(&pending, 1);
    push(&deques[0], 1);
    for (int i = 0; i < nthreads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    printf("%ld leaves, weight %ld\n", atomic_load(&leaves), atomic_load(&weight));
    return 0;
}
