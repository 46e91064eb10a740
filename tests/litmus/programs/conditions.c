/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is woken, and when.  -DCASE_TAKEN: what a waiter is woken for has been taken back by who woke it, before it has its mutex again;
 * -DCASE_WHICH: of two that wait in a known order either may be woken first.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int item, n, found = -1;
static sem_t sem;

static void *thread(void *arg)
{
    int number;

    pthread_mutex_lock(&mutex);
    number = n++;
    sem_post(&sem);
    pthread_cond_wait(&condition, &mutex);
#if CASE_TAKEN
    found = number + item;
#else
    if (found < 0)
        found = number;
#endif
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
#if CASE_TAKEN
    enum { THREADS = 1 };
#else
    enum { THREADS = 2 };
#endif
    pthread_t threads[THREADS];

    sem_init(&sem, 0, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < THREADS; i++)
        sem_wait(&sem);
    pthread_mutex_lock(&mutex);
    item = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    if (THREADS == 1) {
        pthread_mutex_lock(&mutex);
        item = 0;
        pthread_mutex_unlock(&mutex);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", found);
}
