/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting by asking again and again.  With -DLIBRARY: the waits, in a library that peetcc has not compiled.  Without: a
 * program that has its threads wait there for the time, for a flag, for a lock, for a semaphore.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

long wait_ns(long ns);
void wait_flag(volatile int *flag);
void wait_lock(pthread_mutex_t *lock);
void wait_unlocked(pthread_mutex_t *lock, volatile int *flag);
void wait_semaphore(sem_t *semaphore);

#ifdef LIBRARY
static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

long wait_ns(long ns)
{
    long begin = now(), end;
    while ((end = now()) - begin < ns)
        ;
    return end - begin;
}

void wait_flag(volatile int *flag)
{
    while (!*flag)
        sched_yield();
}

void wait_lock(pthread_mutex_t *lock)
{
    while (pthread_mutex_trylock(lock) != 0)
        ;
}

void wait_unlocked(pthread_mutex_t *lock, volatile int *flag)
{
    for (int seen = 0; !seen;) {
        pthread_mutex_lock(lock);
        seen = *flag;
        pthread_mutex_unlock(lock);
    }
}

void wait_semaphore(sem_t *semaphore)
{
    while (sem_trywait(semaphore) != 0)
        ;
}
#else
static volatile int flag, guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t begun;

static void work(void)
{
    for (volatile int i = 0; i < 3000; i++)
        ;
}

static void *other(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&begun);
    work();
    flag = 1;
    work();
    pthread_mutex_unlock(&lock);
    work();
    sem_post(&semaphore);
    work();
    pthread_mutex_lock(&guard);
    guarded = 1;
    pthread_mutex_unlock(&guard);
    return arg;
}

int main(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&begun, NULL, 2);
    pthread_create(&thread, NULL, other, NULL);
    pthread_barrier_wait(&begun);
    wait_flag(&flag);
    wait_lock(&lock);
    wait_semaphore(&semaphore);
    wait_unlocked(&guard, &guarded);
    pthread_join(thread, NULL);
    printf("waited %ld ns, then\n", wait_ns(2000000));
    return 0;
}
#endif
