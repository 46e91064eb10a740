/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads on two processors: they share a line, two words of a line, a lock, a queue, or nothing.
 *
 *   pairs line|false|lock|queue|streams [TIMES]
 *
 * BENCH_PIN in the environment: each thread stays on a processor of its own.
 */
#define _GNU_SOURCE
#include "../programs/common.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { RING = 64, WORDS = 4096 };

static struct {
    _Alignas(128) atomic_long shared;
    _Alignas(128) atomic_long side[2];
    _Alignas(128) atomic_int lock;
    long protected[8];
    _Alignas(128) atomic_long head;
    _Alignas(128) atomic_long tail;
    _Alignas(128) long ring[RING];
} all;
static uint32_t words[2][WORDS];
static long times;
static uint64_t sums[2];

static void line(int me)
{
    (void)me;
    for (long i = 0; i < times; i++)
        atomic_fetch_add(&all.shared, 1);
}

static void both_halves(int me)
{
    for (long i = 0; i < times; i++)
        atomic_store_explicit(&all.side[me], atomic_load_explicit(&all.side[me], memory_order_relaxed) + 1,
            memory_order_relaxed);
}

static void lock(int me)
{
    (void)me;
    for (long i = 0; i < times; i++) {
        while (atomic_exchange_explicit(&all.lock, 1, memory_order_acquire))
            while (atomic_load_explicit(&all.lock, memory_order_relaxed))
                __builtin_ia32_pause();
        for (int k = 0; k < 8; k++)
            all.protected[k] += k;
        atomic_store_explicit(&all.lock, 0, memory_order_release);
        for (int k = 0; k < 50; k++)
            __asm__ volatile("" ::: "memory");
    }
}

static void queue(int me)
{
    for (long i = 0; i < times; i++) {
        if (me) {
            while (i - atomic_load_explicit(&all.head, memory_order_acquire) >= RING)
                __builtin_ia32_pause();
            all.ring[i % RING] = i * 3;
            atomic_store_explicit(&all.tail, i + 1, memory_order_release);
        } else {
            while (atomic_load_explicit(&all.tail, memory_order_acquire) == i)
                __builtin_ia32_pause();
            sums[0] += (uint64_t)all.ring[i % RING];
            atomic_store_explicit(&all.head, i + 1, memory_order_release);
        }
    }
}

static void streams(int me)
{
    uint64_t sum = 0;
    for (long i = 0; i < times; i++)
        for (int k = 0; k < WORDS; k++)
            sum += words[me][k] = words[me][k] * 5 + 1;
    sums[me] = sum;
}

static void (*work)(int);

static void *thread(void *number)
{
    const int me = (int)(intptr_t)number;
    if (getenv("BENCH_PIN")) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(me, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    work(me);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(int);
    } kinds[] = {{"line", line}, {"false", both_halves}, {"lock", lock}, {"queue", queue}, {"streams", streams}};
    pthread_t other;

    times = bench_arg(argc, argv, 2, 1000, 1, 1000000000);
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name))
            work = kinds[i].work;
    if (!work) {
        fprintf(stderr, "usage: %s line|false|lock|queue|streams [TIMES]\n", argv[0]);
        return 2;
    }
    if (pthread_create(&other, NULL, thread, (void *)1)) {
        fprintf(stderr, "no thread\n");
        return 1;
    }
    thread(NULL);
    pthread_join(other, NULL);
    bench_print(argv[1], (uint64_t)(all.shared + all.side[0] + all.side[1] + all.protected[7]) + sums[0] + sums[1]);
    return 0;
}
