/* SPDX-License-Identifier: Apache-2.0 */
/* seqlock THREADS: one writer, many readers of a pair that must be seen whole; readers try again while the sequence is odd or
 * has changed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WRITES = 100, READS = 60, MOST = 64 };

static atomic_uint sequence;
static atomic_long first, second;
static atomic_int torn, readers_done;

static void *write_pairs(void *unused)
{
    (void)unused;
    for (long i = 1; i <= WRITES; i++) {
        unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);

        atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&first, i, memory_order_relaxed);
        atomic_store_explicit(&second, i * i, memory_order_relaxed);
        atomic_store_explicit(&sequence, s + 2, memory_order_release);
    }
    return NULL;
}

static void *read_pairs(void *unused)
{
    (void)unused;
    for (int i = 0; i < READS; i++) {
        unsigned before, after;
        long a, b;

        do {
            before = atomic_load_explicit(&sequence, memory_order_acquire);
            a = atomic_load_explicit(&first, memory_order_relaxed);
            b = atomic_load_explicit(&second, memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
            after = atomic_load_explicit(&sequence, memory_order_relaxed);
        } while (before != after || before & 1);
        if (b != a * a)
            atomic_fetch_add(&torn, 1);
    }
    atomic_fetch_add(&readers_done, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t writer, readers[MOST];

    if (n < 1 || n > MOST)
        return 2;
    for (int i = 0; i < n; i++)
        if (pthread_create(&readers[i], NULL, read_pairs, NULL))
            return 1;
    if (pthread_create(&writer, NULL, write_pairs, NULL))
        return 1;
    for (int i = 0; i < n; i++)
        pthread_join(readers[i], NULL);
    pthread_join(writer, NULL);
    printf("%d readers done, %d torn, last pair %ld %ld\n", atomic_load(&readers_done), atomic_load(&torn), atomic_load(&first),
        atomic_load(&second));
    return atomic_load(&torn) != 0;
}
