/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threaded bench programs share: a team of threads, a barrier for all of them, and a thread's part of a
 * range.  Each program's first argument is the number of threads.  Its output does not depend on that number, nor on
 * who comes first, so that runs on real and on simulated processors can be compared.
 */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <pthread.h>
#include "../programs/common.h"

enum { BENCH_THREADS_MAX = 64 };

static long bench_threads; /* in the team */
static pthread_barrier_t bench_barrier;

/** Thread number thread has the elements [begin, end) of n. */
struct bench_part {
    long begin, end;
};

static inline struct bench_part bench_part(long n, long thread)
{
    return (struct bench_part){n * thread / bench_threads, n * (thread + 1) / bench_threads};
}

static inline void bench_wait(void)
{
    pthread_barrier_wait(&bench_barrier);
}

/**
 * A sum that does not depend on the order of its terms: each term is rounded to a multiple of 2^-20, so that additions
 * below 2^32 are exact.
 */
static inline double bench_round(double term)
{
    const double big = 0x1.8p32;
    return term + big - big;
}

struct bench_start {
    void (*body)(long thread);
    long thread;
};

static inline void *bench__thread(void *arg)
{
    struct bench_start *start = arg;
    start->body(start->thread);
    return NULL;
}

/** Run body(0 .. bench_threads - 1), each on a thread of its own; the caller is thread 0. */
static inline void bench_team(void (*body)(long thread))
{
    pthread_t threads[BENCH_THREADS_MAX];
    struct bench_start starts[BENCH_THREADS_MAX];
    pthread_barrier_init(&bench_barrier, NULL, (unsigned)bench_threads);
    for (long i = 1; i < bench_threads; i++) {
        starts[i] = (struct bench_start){body, i};
        if (pthread_create(&threads[i], NULL, bench__thread, &starts[i])) {
            fprintf(stderr, "cannot create thread %ld\n", i);
            exit(1);
        }
    }
    body(0);
    for (long i = 1; i < bench_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&bench_barrier);
}

#endif
