/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are initialised while threads wait for what was there: the new object is free, and they wait on for ever.  Mutexes that
 * are locked and made new by plain stores are free, too. */
#include "harness.h"
#include <semaphore.h>

static sem_t begun;
static _Atomic int gone_on; /* of those that wait for ever */

/* A thread waits, and main goes on when it does. */
static void wait_for_ever(void *(*function)(void *), void *arg)
{
    pthread_detach(start(function, arg));
    sem_wait(&begun);
    pause_ms(20);
}

static void *lock(void *mutex)
{
    sem_post(&begun);
    pthread_mutex_lock(mutex);
    gone_on++;
    return mutex;
}

static void *use(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    return mutex;
}

CASE(mutex)
{
    static pthread_mutex_t m;
    OK(pthread_mutex_init(&m, NULL));
    OK(pthread_mutex_lock(&m));
    wait_for_ever(lock, &m);
    for (int i = 0; i < 3; i++) {
        OK(pthread_mutex_init(&m, NULL));
        OK(pthread_mutex_trylock(&m));
        EQUAL(pthread_mutex_trylock(&m), EBUSY);
        wait_for_ever(lock, &m);
    }
    OK(pthread_mutex_init(&m, NULL));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(gone_on, 0);
}

static void *wait_semaphore(void *semaphore)
{
    sem_post(&begun);
    sem_wait(semaphore);
    gone_on++;
    return semaphore;
}

CASE(semaphore)
{
    static sem_t s;
    OK(sem_init(&s, 0, 0));
    wait_for_ever(wait_semaphore, &s);
    OK(sem_init(&s, 0, 1));
    OK(sem_trywait(&s));
    EQUAL(sem_trywait(&s), -1);
    OK(sem_post(&s));
    OK(sem_trywait(&s));
    EQUAL(gone_on, 0);
}

static void *write_lock(void *rwlock)
{
    sem_post(&begun);
    pthread_rwlock_wrlock(rwlock);
    gone_on++;
    return rwlock;
}

CASE(rwlock)
{
    static pthread_rwlock_t rw;
    OK(pthread_rwlock_init(&rw, NULL));
    OK(pthread_rwlock_wrlock(&rw));
    wait_for_ever(write_lock, &rw);
    OK(pthread_rwlock_init(&rw, NULL));
    OK(pthread_rwlock_trywrlock(&rw));
    OK(pthread_rwlock_unlock(&rw));
    OK(pthread_rwlock_tryrdlock(&rw));
    EQUAL(gone_on, 0);
}

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;

static void *wait_condition(void *cond)
{
    pthread_mutex_lock(&outer);
    sem_post(&begun);
    pthread_cond_wait(cond, &outer);
    gone_on++;
    return cond;
}

CASE(condition)
{
    static pthread_cond_t c;
    const struct timespec past = {1, 0};
    OK(pthread_cond_init(&c, NULL));
    wait_for_ever(wait_condition, &c);
    OK(pthread_cond_init(&c, NULL));
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_lock(&outer));
    EQUAL(pthread_cond_timedwait(&c, &outer, &past), ETIMEDOUT);
    OK(pthread_mutex_unlock(&outer));
    pause_ms(20);
    EQUAL(gone_on, 0);
}

CASE(other_thread)
{
    static pthread_mutex_t m;
    OK(pthread_mutex_init(&m, NULL));
    OK(pthread_mutex_lock(&m));
    wait_for_ever(lock, &m);
    OK(pthread_mutex_init(&m, NULL));
    finish(start(use, &m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(gone_on, 0);
}

static void *leave_locked(void *mutex)
{
    OK(pthread_mutex_lock(mutex));
    return mutex;
}

/* It is free, and a lock, whoever made it new. */
static void is_new(pthread_mutex_t *m)
{
    OK(pthread_mutex_lock(m));
    OK(pthread_mutex_unlock(m));
    OK(pthread_mutex_trylock(m));
    OK(pthread_mutex_unlock(m));
    OK(pthread_mutex_lock(m));
    long busy = 0;
    pthread_t t = start((void *(*)(void *))pthread_mutex_trylock, m);
    busy = (long)(int)(long)finish(t);
    EQUAL(busy, EBUSY);
    OK(pthread_mutex_unlock(m));
}

CASE(stores_of_the_owner)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    is_new(&m);
    OK(pthread_mutex_lock(&m));
    memset(&m, 0, sizeof m);
    finish(start(use, &m));
    is_new(&m);
    OK(pthread_mutex_lock(&m));
    m = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_unlock(&m), EPERM);
}

CASE(stores_after_the_owner)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    finish(start(leave_locked, &m));
    EQUAL(pthread_mutex_trylock(&m), EBUSY);
    m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    is_new(&m);
    finish(start(leave_locked, &m));
    memset(&m, 0, sizeof m);
    finish(start(use, &m));
    is_new(&m);
}

CASE(stores_after_a_wait)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    const struct timespec past = {1, 0};
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT);
    EQUAL(pthread_mutex_trylock(&m), EBUSY);
    m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    is_new(&m);
}

/* On the stack, again at the same place. */
static __attribute__((noinline)) int try_here(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    return pthread_mutex_trylock(&m);
}

CASE(stacks_that_are_used_again)
{
    for (int i = 0; i < 5; i++)
        OK(try_here());
}
