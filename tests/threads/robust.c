/* SPDX-License-Identifier: Apache-2.0 */
/* Robust mutexes: whoever ends with one leaves it to the next, who is told. */
#include "harness.h"

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int order[8], norder, ready;

static void make(int type)
{
    pthread_mutexattr_t attr;
    int robust;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_getrobust(&attr, &robust));
    EQUAL(robust, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutex_init(&m, &attr));
    norder = ready = 0;
}

static void *ends_with_it(void *arg)
{
    OK(pthread_mutex_lock(&m));
    if (arg)
        pause_ms((long)arg);
    return NULL;
}

static void *locks(void *arg)
{
    return (void *)(long)pthread_mutex_lock(&m);
}

CASE(ordinary_use)
{
    make(PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_trylock(&m));
    EQUAL(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_unlock(&m), EPERM);
    OK(pthread_mutex_destroy(&m));
}

static void recover(int type)
{
    make(type);
    finish(start(ends_with_it, NULL));
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    EQUAL(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(made_consistent)
{
    recover(PTHREAD_MUTEX_NORMAL);
    recover(PTHREAD_MUTEX_ERRORCHECK);
    recover(PTHREAD_MUTEX_RECURSIVE);
}

CASE(by_a_try_and_in_time)
{
    struct timespec until;
    make(PTHREAD_MUTEX_NORMAL);
    finish(start(ends_with_it, NULL));
    EQUAL(pthread_mutex_trylock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    finish(start(ends_with_it, NULL));
    until = in_ms(CLOCK_REALTIME, 1000);
    EQUAL(pthread_mutex_timedlock(&m, &until), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    until = in_ms(CLOCK_REALTIME, -1);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_timedlock(&m, &until));
    OK(pthread_mutex_unlock(&m));
}

CASE(dies_again)
{
    make(PTHREAD_MUTEX_NORMAL);
    finish(start(ends_with_it, NULL));
    EQUAL(finish(start(locks, NULL)), EOWNERDEAD);
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
}

CASE(not_recovered)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 1000);
    make(PTHREAD_MUTEX_NORMAL);
    finish(start(ends_with_it, NULL));
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_lock(&m), ENOTRECOVERABLE);
    EQUAL(pthread_mutex_timedlock(&m, &until), ENOTRECOVERABLE);
    EQUAL(finish(start(locks, NULL)), ENOTRECOVERABLE);
    EQUAL(pthread_mutex_trylock(&m), ENOTRECOVERABLE);
}

static void *waits(void *arg)
{
    int err = pthread_mutex_lock(&m);
    if (err == EOWNERDEAD)
        OK(pthread_mutex_consistent(&m));
    order[norder++] = err;
    OK(pthread_mutex_unlock(&m));
    return NULL;
}

CASE(one_of_those_that_wait_is_told)
{
    pthread_t t[4], holder;
    make(PTHREAD_MUTEX_NORMAL);
    holder = start(ends_with_it, (void *)30);
    pause_ms(10);
    for (int i = 0; i < 4; i++)
        t[i] = start(waits, NULL);
    finish(holder);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    EQUAL(norder, 4);
    EQUAL(order[0], EOWNERDEAD);
    for (int i = 1; i < 4; i++)
        EQUAL(order[i], 0);
}

static void *waits_in_vain(void *arg)
{
    return (void *)(long)pthread_mutex_lock(&m);
}

/* (One alone: of several, glibc leaves some waiting.) */
CASE(who_waits_hears_that_it_is_lost)
{
    pthread_t t;
    make(PTHREAD_MUTEX_NORMAL);
    finish(start(ends_with_it, NULL));
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    t = start(waits_in_vain, NULL);
    pause_ms(10);
    OK(pthread_mutex_unlock(&m));
    EQUAL(finish(t), ENOTRECOVERABLE);
}

static void *ends_three_deep(void *arg)
{
    for (int i = 0; i < 3; i++)
        OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    pthread_exit(NULL);
}

CASE(recursive_and_exit)
{
    make(PTHREAD_MUTEX_RECURSIVE);
    finish(start(ends_three_deep, NULL));
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_unlock(&m), EPERM);
}

static void *cancelled(void *arg)
{
    OK(pthread_mutex_lock(&m));
    ready = 1;
    pause_ms(100000);
    return NULL;
}

CASE(owner_is_cancelled)
{
    make(PTHREAD_MUTEX_NORMAL);
    pthread_t t = start(cancelled, NULL);
    pause_ms(10);
    OK(pthread_cancel(t));
    EQUAL(finish(t), (long)PTHREAD_CANCELED);
    EQUAL(pthread_mutex_lock(&m), EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
}

static void *wakes_and_ends(void *arg)
{
    OK(pthread_mutex_lock(&m));
    ready = 1;
    OK(pthread_cond_signal(&c));
    return NULL;
}

CASE(condition)
{
    int err;
    make(PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_lock(&m));
    pthread_t t = start(wakes_and_ends, NULL);
    do
        err = pthread_cond_wait(&c, &m);
    while (!err && !ready);
    EQUAL(err, EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
    OK(pthread_mutex_unlock(&m));
    finish(t);
    OK(pthread_mutex_lock(&m));
    struct timespec until = in_ms(CLOCK_REALTIME, 2);
    EQUAL(pthread_cond_timedwait(&c, &m, &until), ETIMEDOUT);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

static pthread_mutex_t several[5];

static void *ends_with_several(void *arg)
{
    for (int i = 0; i < 5; i++)
        OK(pthread_mutex_lock(&several[i]));
    OK(pthread_mutex_unlock(&several[0]));
    OK(pthread_mutex_unlock(&several[2]));
    OK(pthread_mutex_unlock(&several[4]));
    return NULL;
}

CASE(several_at_once)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < 5; i++)
        OK(pthread_mutex_init(&several[i], &attr));
    finish(start(ends_with_several, NULL));
    for (int i = 0; i < 5; i++)
        EQUAL(pthread_mutex_lock(&several[i]), i & 1 ? EOWNERDEAD : 0);
}
