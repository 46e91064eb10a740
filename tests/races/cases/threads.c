/* SPDX-License-Identifier: Apache-2.0 */
/* races: none.
 * All that orders POSIX threads: locks of all kinds, barriers, conditions, semaphores, once, keys, atomic flags, a
 * pipe; stacks, thread-local data and heap memory that are used again. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 8 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore, done;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int counted, ready, shared, spun, made, given, cells[THREADS], published, ends[2];
static char *message;
static atomic_int flag;
static _Thread_local int own[100];

static void make(void)
{
    made = 9;
    pthread_key_create(&key, free);
}

static long work(long me)
{
    long sum = 0;
    char *text = malloc(64);
    errno = 0;
    pthread_once(&once, make);
    sum += made;
    pthread_setspecific(key, text);
    snprintf(text, 64, "thread %ld", me);
    for (int i = 0; i < 100; i++)
        own[i] += i;
    sum += own[5];
    pthread_mutex_lock(&mutex);
    counted++;
    pthread_mutex_unlock(&mutex);
    if (pthread_mutex_trylock(&mutex) == 0) {
        counted++;
        pthread_mutex_unlock(&mutex);
    }
    pthread_rwlock_rdlock(&rwlock);
    sum += shared;
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    shared++;
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
    for (int i = 0; i < 50; i++) {
        char *p = malloc(100 + (size_t)i);
        memset(p, i, 100 + (size_t)i);
        sum += p[i];
        free(p);
    }
    return sum;
}

static void *run(void *arg)
{
    long me = (long)arg, sum = work(me);
    cells[me] = (int)sum;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        sum += cells[i];
    pthread_barrier_wait(&barrier);
    cells[me] = (int)sum;
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    sem_wait(&semaphore);
    sum += given;
    sem_post(&semaphore);
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        sched_yield();
    return (void *)(sum + published);
}

static void *alone(void *arg)
{
    work((long)arg);
    sem_post(&done);
    return NULL;
}

static void *reads(void *arg)
{
    char one;
    if (read(ends[0], &one, 1) != 1)
        return NULL;
    counted += (int)strlen(message);
    free(message);
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS], reader;
    pthread_attr_t detached;
    if (pipe(ends) || sem_init(&semaphore, 0, 0) || sem_init(&done, 0, 0) || pthread_spin_init(&spin, 0) ||
        pthread_barrier_init(&barrier, NULL, THREADS))
        return 1;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    given = 3;
    sem_post(&semaphore);
    published = 7;
    atomic_store_explicit(&flag, 1, memory_order_release);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&reader, NULL, reads, NULL);
    message = strdup("a message");
    if (write(ends[1], "x", 1) != 1)
        return 1;
    pthread_join(reader, NULL);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < ROUNDS; i++) {
        pthread_t one;
        pthread_create(&one, &detached, alone, (void *)i);
        if (i % 4 == 3)
            for (int k = 0; k < 4; k++)
                sem_wait(&done);
    }
    return counted == 0 || shared == 0 || spun == 0;
}
