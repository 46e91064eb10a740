/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spinning THREADS HOW ROUNDS: threads that wait by looking at memory.
 *   none, pause, yield    all but the first look at a word until that one has swept over 4096 numbers ROUNDS times; what
 *                         they do between two looks
 *   ticket, mcs           all take a lock of this kind ROUNDS times, and write 64 words while they have it
 */
#include "../threads/threads.h"

#include <sched.h>
#include <stdatomic.h>

enum { NUMBERS = 4096, WORDS = 64 };

struct node {
    _Alignas(64) _Atomic(struct node *) next;
    atomic_int waits;
};

static long rounds;
static atomic_int done;
static double numbers[NUMBERS];
static uint32_t words[WORDS];
static atomic_uint drawn, served;
static _Atomic(struct node *) tail;
static struct node nodes[BENCH_THREADS_MAX];

static void sweep(void)
{
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < NUMBERS; i++)
            numbers[i] = numbers[i] * 0.999 + (double)r;
    atomic_store_explicit(&done, 1, memory_order_release);
}

static int is_done(void)
{
    return atomic_load_explicit(&done, memory_order_acquire);
}

static void none(long me)
{
    if (me == 0)
        sweep();
    while (!is_done()) {
    }
}

static void pause_(long me)
{
    if (me == 0)
        sweep();
    while (!is_done())
        __builtin_ia32_pause();
}

static void yield(long me)
{
    if (me == 0)
        sweep();
    while (!is_done())
        sched_yield();
}

static void section(long me)
{
    for (int i = 0; i < WORDS; i++)
        words[i] += (uint32_t)(me + i);
}

static void ticket(long me)
{
    for (long r = 0; r < rounds; r++) {
        const unsigned mine = atomic_fetch_add(&drawn, 1);
        while (atomic_load_explicit(&served, memory_order_acquire) != mine)
            __builtin_ia32_pause();
        section(me);
        atomic_store_explicit(&served, mine + 1, memory_order_release);
    }
}

static void mcs(long me)
{
    struct node *const own = &nodes[me], *before, *next;
    for (long r = 0; r < rounds; r++) {
        atomic_store_explicit(&own->next, NULL, memory_order_relaxed);
        atomic_store_explicit(&own->waits, 1, memory_order_relaxed);
        before = atomic_exchange(&tail, own);
        if (before) {
            atomic_store_explicit(&before->next, own, memory_order_release);
            while (atomic_load_explicit(&own->waits, memory_order_acquire))
                __builtin_ia32_pause();
        }
        section(me);
        next = own;
        if (!atomic_load(&own->next) && atomic_compare_exchange_strong(&tail, &next, NULL))
            continue;
        while (!(next = atomic_load_explicit(&own->next, memory_order_acquire))) {
        }
        atomic_store_explicit(&next->waits, 0, memory_order_release);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(long);
    } ways[] = {{"none", none}, {"pause", pause_}, {"yield", yield}, {"ticket", ticket}, {"mcs", mcs}};
    uint64_t sum = 0;
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    rounds = bench_arg(argc, argv, 3, 100, 1, 1000000000);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        if (argc > 2 && strcmp(argv[2], ways[w].name) == 0)
            bench_team(ways[w].body);
    for (int i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    printf("%016llx %.6g\n", (unsigned long long)sum, numbers[NUMBERS / 2]);
    return 0;
}
