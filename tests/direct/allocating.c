/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that allocate while they try for a lock again and again, more of them than processors: allocations are told only to those who ask. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 50 };

static atomic_uintptr_t place; /* of a number; the least bit is a lock */

static int *take(void)
{
    uintptr_t now = atomic_load_explicit(&place, memory_order_relaxed);
    for (;;) {
        while (now & 1) {
            __builtin_ia32_pause();
            now = atomic_load_explicit(&place, memory_order_relaxed);
        }
        if (atomic_compare_exchange_strong(&place, &now, now | 1))
            return (int *)now;
        __builtin_ia32_pause();
    }
}

static void *run(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int done = 0; !done;) {
            int *const new = malloc(sizeof *new), seen = *take();
            atomic_fetch_sub(&place, 1);
            *new = seen + 1;
            int *const old = take();
            done = *old == seen;
            atomic_store(&place, (uintptr_t)(done ? new : old));
            free(done ? old : new);
        }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    int *const first = calloc(1, sizeof *first);
    atomic_store(&place, (uintptr_t)first);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", *(int *)atomic_load(&place));
    return 0;
}
