/* SPDX-License-Identifier: Apache-2.0 */
/* races: open
 *
 * What a request has got that does not wait follows from who holds the lock: a read-write lock with readers in it
 * refuses a writer, a recursive mutex stays locked until its owner has unlocked it as often as locked it. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t inside, tried, gone;
static long guarded, counted, open;

static void *reads(void *arg)
{
    pthread_rwlock_rdlock(&shared);
    sem_post(&inside);
    sem_wait(&tried);
    pthread_rwlock_unlock(&shared);
    return arg;
}
static void *tries(void *arg)
{
    const struct timespec past = {1, 0};
    sem_wait(&inside);
    if (pthread_rwlock_trywrlock(&shared) != EBUSY || pthread_rwlock_timedwrlock(&shared, &past) != ETIMEDOUT)
        abort();
    if (pthread_rwlock_tryrdlock(&shared) || pthread_rwlock_unlock(&shared))
        abort();
    sem_post(&tried);
    return arg;
}
static void *writes(void *arg)
{
    for (int i = 0; i < 20; i++) {
        while (pthread_rwlock_trywrlock(&shared))
            ;
        guarded++;
        pthread_rwlock_unlock(&shared);
        pthread_rwlock_wrlock(&shared);
        guarded++;
        pthread_rwlock_unlock(&shared);
    }
    return arg;
}

static void *nests(void *arg)
{
    const struct timespec past = {1, 0};
    pthread_mutex_lock(&twice);
    pthread_mutex_lock(&twice);
    pthread_mutex_unlock(&twice);
    sem_post(&inside);
    sem_wait(&tried);
    counted++;
    pthread_mutex_unlock(&twice);
    pthread_mutex_lock(&twice);
    pthread_cond_timedwait(&never, &twice, &past);
    counted++;
    pthread_mutex_unlock(&twice);
    return arg;
}
static void *refused(void *arg)
{
    sem_wait(&inside);
    if (pthread_mutex_trylock(&twice) != EBUSY)
        abort();
    open++; /* nothing has been got that would order it */
    sem_post(&tried);
    pthread_mutex_lock(&twice);
    counted++;
    pthread_mutex_unlock(&twice);
    return arg;
}
static void *apart(void *arg)
{
    open++;
    return arg;
}

static void both(void *(*one)(void *), void *(*other)(void *))
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, other, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void *posts(void *arg)
{
    guarded++;
    sem_post(&gone);
    return arg;
}
static void *takes(void *arg)
{
    while (sem_trywait(&gone))
        ;
    guarded++;
    return arg;
}

int main(void)
{
    pthread_t third;
    sem_init(&inside, 0, 0);
    sem_init(&tried, 0, 0);
    sem_init(&gone, 0, 0);
    both(reads, tries);
    both(writes, writes);
    pthread_create(&third, NULL, apart, NULL);
    both(nests, refused);
    pthread_join(third, NULL);
    both(posts, takes);
    return (guarded != 82) + (counted != 3) * 2;
}
