/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until a time that is past, and signals, again and again: they poll, and whom they wait for must get a processor and the lock. */
#include "harness.h"
#include <semaphore.h>

static const struct timespec past = {1, 0};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t held, posted;
static int ready;

static void *make_ready(void *arg)
{
    pause_ms(1);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    return arg;
}

CASE(condition)
{
    pthread_t t = start(make_ready, NULL);
    pthread_mutex_lock(&m);
    while (!ready)
        EQUAL(pthread_cond_timedwait(&cond, &m, &past), ETIMEDOUT);
    pthread_mutex_unlock(&m);
    finish(t);
}

static void *post(void *arg)
{
    pause_ms(1);
    sem_post(&posted);
    return arg;
}

CASE(semaphore)
{
    OK(sem_init(&posted, 0, 0));
    pthread_t t = start(post, NULL);
    while (sem_timedwait(&posted, &past))
        EQUAL(errno, ETIMEDOUT);
    finish(t);
}

/* Signals and posts, again and again, until those who are woken have done something: they must get a processor for it. */
static sem_t steps;
static int taken;

static void *wait_thrice(void *arg)
{
    pthread_mutex_lock(&m);
    for (int i = 0; i < 3; i++)
        pthread_cond_wait(&cond, &m);
    ready = 2;
    pthread_mutex_unlock(&m);
    return arg;
}

CASE(broadcasts)
{
    pthread_t t = start(wait_thrice, NULL);
    while (ready != 2) /* not volatile: a look does not count as waiting */
        pthread_cond_broadcast(&cond);
    finish(t);
}

static void *take_thrice(void *arg)
{
    for (int i = 0; i < 3; i++)
        sem_wait(&steps);
    taken = 1;
    return arg;
}

CASE(posts)
{
    OK(sem_init(&steps, 0, 0));
    pthread_t t = start(take_thrice, NULL);
    while (!taken)
        sem_post(&steps);
    finish(t);
}

static void *hold_both(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&rw);
    sem_post(&held);
    pause_ms(1);
    pthread_mutex_unlock(&m);
    pause_ms(1);
    pthread_rwlock_unlock(&rw);
    return arg;
}

CASE(locks)
{
    int err;
    OK(sem_init(&held, 0, 0));
    pthread_t t = start(hold_both, NULL);
    sem_wait(&held);
    while ((err = pthread_mutex_timedlock(&m, &past)) != 0)
        EQUAL(err, ETIMEDOUT);
    OK(pthread_mutex_unlock(&m));
    while ((err = pthread_rwlock_timedrdlock(&rw, &past)) != 0)
        EQUAL(err, ETIMEDOUT);
    OK(pthread_rwlock_unlock(&rw));
    finish(t);
}
