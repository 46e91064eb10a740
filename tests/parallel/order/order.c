/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order mutex|condition|semaphore: four threads, A to D, in the order in which they got what they wanted.  All times are in units
 * of many steps, beside which what it takes to make a thread or a call is nothing.  See order.sh for who comes when.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { UNIT = 3000, THREADS = 4, HOLD = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int tickets;
static char order[2 * THREADS + 1];
static unsigned outcome = 1;

static __attribute__((noinline)) void units(int n)
{
    for (int i = 0; i < n * UNIT; i++)
        __asm__ volatile("" : "+r"(i));
}

/* Under the lock.  The outcome depends on the order. */
static void served(int me)
{
    order[strlen(order)] = (char)('A' + me);
    outcome = outcome * 31 + (unsigned)me;
}

static void *want_mutex(void *arg)
{
    static const int pause[THREADS] = {5, 3, 25, 1};
    int me = (int)(intptr_t)arg;

    units(me);
    for (int turn = 0; turn < 2; turn++) {
        pthread_mutex_lock(&lock);
        served(me);
        units(HOLD);
        pthread_mutex_unlock(&lock);
        if (turn == 0)
            units(pause[me]);
    }
    return NULL;
}

static void *want_condition(void *arg)
{
    int me = (int)(intptr_t)arg;

    units(me);
    pthread_mutex_lock(&lock);
    while (tickets == 0)
        pthread_cond_wait(&condition, &lock);
    tickets--;
    served(me);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *want_semaphore(void *arg)
{
    int me = (int)(intptr_t)arg;

    units(me);
    while (sem_wait(&semaphore))
        ;
    pthread_mutex_lock(&lock);
    served(me);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "mutex";
    void *(*want)(void *) = what[0] == 'm' ? want_mutex : what[0] == 'c' ? want_condition : want_semaphore;
    pthread_t threads[THREADS];

    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, want, (void *)(intptr_t)i))
            return 1;
    if (want != want_mutex)
        for (int i = 0; i < THREADS; i++) {
            units(HOLD);
            if (want == want_semaphore) {
                sem_post(&semaphore);
            } else {
                pthread_mutex_lock(&lock);
                tickets++;
                pthread_cond_signal(&condition);
                pthread_mutex_unlock(&lock);
            }
        }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%s %u\n", order, outcome);
    return 0;
}
