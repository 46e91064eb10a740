/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of synchronisation that peet's library itself stores to, in pages that threads store to as well: initialisers that run
 * once, a robust mutex whose owner has died, deadlines that were written a moment before.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 20 };
static once_flag flag = ONCE_FLAG_INIT;
static pthread_once_t control = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER, robust;
static int by_flag, by_control;
static long total, own[THREADS + 1];
static struct timespec deadline;
static sem_t none;

static void initialise_by_flag(void)
{
    pthread_mutex_lock(&mutex);
    by_flag++;
    pthread_mutex_unlock(&mutex);
}

static void initialise_by_control(void)
{
    pthread_mutex_lock(&mutex);
    by_control++;
    pthread_mutex_unlock(&mutex);
}

static void *dies(void *arg)
{
    own[0]++;
    pthread_mutex_lock(&robust);
    total++;
    return arg;
}

static void *works(void *arg)
{
    own[(long)arg]++;
    call_once(&flag, initialise_by_flag);
    pthread_once(&control, initialise_by_control);
    for (int i = 0; i < ROUNDS; i++) {
        if (pthread_mutex_lock(&robust) == EOWNERDEAD) {
            pthread_mutex_consistent(&robust);
            total += 100;
        }
        total++;
        pthread_mutex_unlock(&robust);
    }
    return NULL;
}

/* Seconds, rounded, until a wait in vain is over. */
static void *waits(void *arg)
{
    struct timespec before, after;

    for (int i = 0; i < 2; i++) {
        own[1]++;
        clock_gettime(CLOCK_REALTIME, &before);
        deadline = before;
        deadline.tv_sec++;
        const int err = i ? pthread_mutex_timedlock(&held, &deadline) : sem_timedwait(&none, &deadline) ? errno : 0;
        clock_gettime(CLOCK_REALTIME, &after);
        printf("%s after %.0f s\n", err == ETIMEDOUT ? "in vain" : "got",
            (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    sem_init(&none, 0, 0);
    pthread_mutex_lock(&held);
    pthread_create(&threads[0], NULL, dies, NULL);
    pthread_join(threads[0], NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, works, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_join(threads[0], NULL);
    printf("%d %d %ld\n", by_flag, by_control, total);
    return 0;
}
