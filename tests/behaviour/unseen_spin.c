// SPDX-License-Identifier: Apache-2.0
// Waits for other threads in a library that peetcc has not compiled, and asks for nothing meanwhile: one for one, or,
// with an argument, four at a lock and a barrier.
#ifdef LIBRARY
#include <stdatomic.h>

void spin_until(volatile int *flag)
{
    while (!*flag)
        ;
}

static atomic_int lock, arrived, round_number;

void add(long *sum, long value)
{
    while (atomic_exchange(&lock, 1))
        __builtin_ia32_pause();
    *sum += value;
    atomic_store(&lock, 0);
}

void meet(int n)
{
    const int mine = atomic_load(&round_number);
    if (atomic_fetch_add(&arrived, 1) == n - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add(&round_number, 1);
    }
    while (atomic_load(&round_number) == mine)
        __builtin_ia32_pause();
}
#else
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 20 };

void spin_until(volatile int *flag);
void add(long *sum, long value);
void meet(int n);

static volatile int ready;
static long sum;

static void *sets(void *arg)
{
    for (volatile int i = 0; i < 1000; i++)
        ;
    ready = 1;
    return arg;
}

static void *adds(void *value)
{
    for (int i = 0; i < ROUNDS; i++) {
        add(&sum, (long)value);
        meet(THREADS);
    }
    return value;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    const int n = argc > 1 ? THREADS : 1;
    (void)argv;
    for (long i = 0; i < n; i++)
        pthread_create(&t[i], NULL, n > 1 ? adds : sets, (void *)(i + 1));
    if (n == 1)
        spin_until(&ready);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    printf("seen %ld\n", sum);
    return 0;
}
#endif
