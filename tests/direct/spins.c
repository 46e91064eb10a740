/* SPDX-License-Identifier: Apache-2.0 */
/* spins.c SEED THREADS ROUNDS: threads that wait for each other by looking at memory: locks and barriers of several kinds, with and without pauses and yields, work of
 * different lengths between them, mutexes and a timer that disturb those that look. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { THREADS = 16, WORDS = 512, KINDS = 15 };

struct node {
    _Atomic(struct node *) next;
    atomic_int locked;
    long filler[5]; /* two nodes may share a line */
};

static atomic_int tas, ttas, barrier_left, barrier_sense, alarms;
static atomic_uint ticket, serving;
static _Atomic(struct node *) mcs_tail;
static struct node nodes[THREADS];
static volatile int flags[THREADS]; /* each follows its neighbour's */
static atomic_uint sequence;
static long pair[2];
static uint32_t words[WORDS];
static unsigned rounds, seed, threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

enum rest { NONE, PAUSE, YIELD };

static inline void rest(enum rest how)
{
    if (how == PAUSE)
        __builtin_ia32_pause();
    else if (how == YIELD)
        sched_yield();
}

static uint32_t next(uint32_t *x)
{
    return *x = *x * 1664525u + 1013904223u;
}

__attribute__((noinline)) static void work(uint32_t n, uint32_t x)
{
    for (uint32_t i = 0; i < n; i++)
        words[(x + i * 5) % WORDS] += i ^ x;
}

static void by_tas(uint32_t n, uint32_t x)
{
    while (atomic_exchange(&tas, 1))
        rest(PAUSE);
    work(n, x);
    atomic_store(&tas, 0);
}

static void by_ttas(uint32_t n, uint32_t x)
{
    for (;;) {
        while (atomic_load_explicit(&ttas, memory_order_relaxed))
            ;
        if (!atomic_exchange_explicit(&ttas, 1, memory_order_acquire))
            break;
    }
    work(n, x);
    atomic_store_explicit(&ttas, 0, memory_order_release);
}

static void by_ticket(uint32_t n, uint32_t x, enum rest how)
{
    const unsigned mine = atomic_fetch_add(&ticket, 1);
    while (atomic_load(&serving) != mine)
        rest(how);
    work(n, x);
    atomic_store(&serving, mine + 1);
}

static void by_mcs(uint32_t n, uint32_t x, struct node *me)
{
    struct node *before, *behind;
    atomic_store(&me->next, NULL);
    atomic_store(&me->locked, 1);
    before = atomic_exchange(&mcs_tail, me);
    if (before) {
        atomic_store(&before->next, me);
        while (atomic_load(&me->locked))
            rest(PAUSE);
    }
    work(n, x);
    behind = me;
    if (!atomic_load(&me->next) && atomic_compare_exchange_strong(&mcs_tail, &behind, NULL))
        return;
    while (!(behind = atomic_load(&me->next)))
        ;
    atomic_store(&behind->locked, 0);
}

static void meet(int *sense, enum rest how)
{
    *sense = !*sense;
    if (atomic_fetch_sub(&barrier_left, 1) == 1) {
        atomic_store(&barrier_left, (int)threads);
        atomic_store(&barrier_sense, *sense);
        return;
    }
    while (atomic_load(&barrier_sense) != *sense)
        rest(how);
}

/** Round a ring: two words are read in each turn, one of them plainly volatile. */
static void follow(unsigned me, int to)
{
    if (me == 0)
        flags[0] = to;
    else
        while (flags[me - 1] < to || atomic_load(&alarms) < 0)
            ;
    flags[me] = to;
}

/** Looks at several words in each round: the first that comes gives the sign, as a pool of idle threads waits. */
static void meet_and_look_round(int *sense)
{
    static _Atomic uint64_t queue; /* half of which is looked at, too */
    *sense = !*sense;
    if (atomic_fetch_sub(&barrier_left, 1) == 1) {
        atomic_store(&barrier_left, (int)threads);
        if (*sense)
            atomic_fetch_xor(&queue, 0x100000001u);
        atomic_store(&barrier_sense, *sense);
        return;
    }
    const uint64_t queued = atomic_load(&queue);
    while (atomic_load(&barrier_sense) != *sense) {
        if (atomic_load(&serving) > atomic_load(&ticket))
            break;
        rest(PAUSE);
        if (*(volatile uint32_t *)&queue != (uint32_t)queued && atomic_load(&queue) != queued &&
            atomic_load_explicit(&alarms, memory_order_relaxed) >= 0)
            rest(NONE);
        else
            rest(YIELD);
    }
}

/** Keeps in one place of its stack, in each round, where it is.  Returns: how often it was somewhere else */
static uint32_t meet_and_know_where(int *sense)
{
    volatile int where = 0;
    uint32_t lost = 0;
    *sense = !*sense;
    if (atomic_fetch_sub(&barrier_left, 1) == 1) {
        atomic_store(&barrier_left, (int)threads);
        atomic_store(&barrier_sense, *sense);
        return 0;
    }
    while (atomic_load(&barrier_sense) != *sense) {
        if (atomic_load(&alarms) < 0)
            break;
        where = 1;
        rest(PAUSE);
        lost += where != 1;
        where = 2;
    }
    return lost;
}

/** Looks so often at most; the count is in a register, or on the stack. */
static void look_for_a_while(uint32_t n, int to)
{
    for (uint32_t i = 0; i < 20 * n && atomic_load(&barrier_sense) != to; i++)
        ;
}

static uint32_t by_sequence(uint32_t x, unsigned me)
{
    unsigned before;
    long a, b;
    if (me == 0) {
        atomic_fetch_add(&sequence, 1);
        *(volatile long *)&pair[0] = x;
        work(20, x);
        *(volatile long *)&pair[1] = x;
        atomic_fetch_add(&sequence, 1);
        return 0;
    }
    do {
        while ((before = atomic_load(&sequence)) & 1)
            rest(PAUSE);
        a = *(volatile long *)&pair[0];
        b = *(volatile long *)&pair[1];
    } while (atomic_load(&sequence) != before);
    return a != b;
}

static void rings(int signal)
{
    (void)signal;
    atomic_fetch_add(&alarms, 1);
}

static void *run(void *number)
{
    const unsigned me = (unsigned)(uintptr_t)number;
    uint32_t x = me * 77 + seed, plan = seed * 2654435761u + 1;
    uintptr_t torn = 0;
    int sense = 0;

    for (unsigned r = 0; r < rounds; r++) {
        const uint32_t kind = (next(&plan) >> 16) % KINDS, length = (next(&plan) >> 16) % 3;
        const uint32_t n = (next(&x) >> 16) % (length == 0 ? 8 : length == 1 ? 100 : 900);
        switch (kind) {
        case 0: by_tas(n, x); break;
        case 1: by_ttas(n, x); break;
        case 2: by_ticket(n, x, NONE); break;
        case 3: by_ticket(n, x, PAUSE); break;
        case 4: by_mcs(n, x, &nodes[me]); break;
        case 5: work(n, x), meet(&sense, PAUSE); break;
        case 6: work(n, x), meet(&sense, NONE); break;
        case 7: follow(me, (int)r + 1); break;
        case 8: torn += by_sequence(x, me); break;
        case 9: by_ticket(n, x, YIELD); break;
        case 10: work(n, x), meet(&sense, YIELD); break;
        case 13: work(n, x), torn += meet_and_know_where(&sense); break;
        case 12: work(n, x), meet_and_look_round(&sense); break;
        case 11: look_for_a_while(n, !sense), work(n / 4, x); break;
        default:
            pthread_mutex_lock(&mutex);
            work(n, x);
            pthread_mutex_unlock(&mutex);
            if (x >> 28 == 0)
                usleep(20);
        }
    }
    return (void *)torn;
}

int main(int argc, char **argv)
{
    pthread_t all[THREADS];
    sigset_t mask;
    uint32_t sum = 0;
    uintptr_t torn = 0;

    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 60;
    if (threads > THREADS)
        return 2;
    atomic_store(&barrier_left, (int)threads);
    signal(SIGALRM, rings);
    if (seed % 3 == 0)
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 20}, {0, 7}}, NULL);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, run, (void *)(uintptr_t)i);
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &mask, NULL); /* the threads take it */
    for (unsigned i = 0; i < threads; i++) {
        void *result;
        pthread_join(all[i], &result);
        torn += (uintptr_t)result;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    for (unsigned i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    printf("%u %lu %d\n", sum, (unsigned long)torn, atomic_load(&alarms));
    return 0;
}
