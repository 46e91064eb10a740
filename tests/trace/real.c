/* SPDX-License-Identifier: Apache-2.0 */
/* All that orders threads, with the order in which a lock was taken as the result: it is another one each time. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200, ITEMS = 300 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, box_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static sem_t sem;
static mtx_t c11;
static pthread_barrier_t start;
static int order[THREADS * ROUNDS], norder, box[8], nbox, made, taken, table[64], begun, tries;
static volatile sig_atomic_t signals;
static __thread int mine;

static void initialise(void)
{
    begun++;
}

static void on_signal(int number)
{
    signals += number == SIGUSR1;
}

static void *nested(void *arg)
{
    mine = (int)(long)arg;
    return (void *)(long)(mine + 1);
}

static void *work(void *arg)
{
    const int k = (int)(long)arg;
    void *result;
    pthread_t inner;

    pthread_once(&once, initialise);
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        order[norder++] = k;
        pthread_mutex_unlock(&lock);
        if (i % 16 == 0)
            sched_yield();
        if (pthread_mutex_trylock(&lock) == 0) {
            tries++;
            pthread_mutex_unlock(&lock);
        }
        if (i % 8 == k) {
            pthread_rwlock_wrlock(&table_lock);
            table[i % 64] += k;
            pthread_rwlock_unlock(&table_lock);
        } else {
            pthread_rwlock_rdlock(&table_lock);
            mine += table[i % 64];
            pthread_rwlock_unlock(&table_lock);
        }
        pthread_spin_lock(&spin);
        begun += 0;
        pthread_spin_unlock(&spin);
    }
    pthread_create(&inner, NULL, nested, (void *)(long)k);
    pthread_join(inner, &result);
    sem_post(&sem);
    return result;
}

static int make(void *arg)
{
    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&box_lock);
        while (nbox == 8)
            pthread_cond_wait(&emptied, &box_lock);
        box[nbox++] = ++made;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&box_lock);
    }
    return 7;
}

static int take(void *arg)
{
    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        mtx_lock((mtx_t *)&box_lock);
        while (nbox == 0)
            cnd_wait((cnd_t *)&filled, (mtx_t *)&box_lock);
        taken += box[--nbox];
        pthread_mutex_unlock(&box_lock);
        pthread_cond_broadcast(&emptied);
    }
    return 8;
}

static void *detached(void *arg)
{
    (void)arg;
    mtx_lock(&c11);
    mine++;
    mtx_unlock(&c11);
    sem_post(&sem);
    return NULL;
}

int main(void) /* ends with status 3 */
{
    pthread_t threads[THREADS], lonely;
    thrd_t maker, taker;
    int a, b, status = 0;
    long sum = 0;
    void *result;

    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&start, NULL, THREADS);
    sem_init(&sem, 0, 0);
    mtx_init(&c11, mtx_plain);
    signal(SIGUSR1, on_signal);
    for (long k = 0; k < THREADS; k++)
        pthread_create(&threads[k], NULL, work, (void *)k);
    thrd_create(&maker, make, NULL);
    thrd_create(&taker, take, NULL);
    pthread_create(&lonely, NULL, detached, NULL);
    pthread_detach(lonely);
    raise(SIGUSR1);
    for (int k = 0; k < THREADS + 1; k++)
        sem_wait(&sem);
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], &result);
        sum += (long)result;
    }
    thrd_join(maker, &a);
    thrd_join(taker, &b);
    if (fork() == 0)
        _exit(5);
    wait(&status);
    for (int i = 0; i < norder; i++)
        fprintf(stderr, "%d\n", order[i]);
    printf("%d %ld %d %d %d %d %d\n", taken, sum, a, b, begun, (int)signals, WEXITSTATUS(status));
    return 3;
}
