/* SPDX-License-Identifier: Apache-2.0 */
/* spin THREADS: counters under spin locks: test-and-set (atomic_flag), test-and-test-and-set (__sync builtins and a volatile), a
 * ticket lock (C11 atomics), and pthread's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 40, MOST = 64 };

static atomic_flag flag = ATOMIC_FLAG_INIT;
static volatile int word;
static atomic_uint ticket, serving;
static pthread_spinlock_t spin;
static long counter[4];

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire))
            ;
        counter[0]++;
        atomic_flag_clear_explicit(&flag, memory_order_release);

        do
            while (word)
                ;
        while (!__sync_bool_compare_and_swap(&word, 0, 1));
        counter[1]++;
        __sync_lock_release(&word);

        unsigned mine = atomic_fetch_add(&ticket, 1);
        while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
            ;
        counter[2]++;
        atomic_store_explicit(&serving, mine + 1, memory_order_release);

        pthread_spin_lock(&spin);
        counter[3]++;
        pthread_spin_unlock(&spin);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MOST];

    if (n < 1 || n > MOST)
        return 2;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld %ld %ld\n", counter[0], counter[1], counter[2], counter[3]);
    return counter[0] != (long)n * TURNS;
}
