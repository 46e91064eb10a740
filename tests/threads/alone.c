/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on locks, semaphores and a barrier by a context that is alone most of the time: mutexes of three kinds, read-write and spin locks, taken and
 * given back in any order, tried, waited for with a deadline, destroyed and made again, handed over to threads that come and go.
 * Operations that would wait for ever are left out by the program's own account of who holds what.  Each answer is printed: those of a
 * run with real threads are the ones to expect.
 *
 *     alone SEED STEPS
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MUTEXES = 9, RWLOCKS = 4, SPINS = 3, SEMS = 20, NOBODY = -1 };
static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
static struct { pthread_mutex_t m; int kind, owner, count; } mutexes[MUTEXES];
static struct { pthread_rwlock_t lock; int writer, reader, readers; } rwlocks[RWLOCKS];
static struct { pthread_spinlock_t lock; int owner; } spins[SPINS];
static struct { sem_t sem; int value; } sems[SEMS];
static pthread_barrier_t barrier;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long state;

static unsigned choose(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void make(int i)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kinds[mutexes[i].kind]);
    printf("init %d\n", pthread_mutex_init(&mutexes[i].m, &attributes));
    pthread_mutexattr_destroy(&attributes);
}

static void mutex_step(int self)
{
    int i = (int)choose(MUTEXES), held = mutexes[i].owner != NOBODY, own = mutexes[i].owner == self, err;
    const int kind = kinds[mutexes[i].kind];
    switch (choose(6)) {
    case 0:
    case 1: /* to lock a normal one again would never end, nor would waiting for somebody who waits for us */
        if ((own && kind == PTHREAD_MUTEX_NORMAL) || (held && !own))
            return;
        err = pthread_mutex_lock(&mutexes[i].m);
        printf("lock %d: %d\n", i, err);
        break;
    case 2:
        err = pthread_mutex_trylock(&mutexes[i].m);
        printf("trylock %d: %d\n", i, err);
        break;
    case 3:
        if (held)
            return;
        err = pthread_mutex_timedlock(&mutexes[i].m, &(struct timespec){time(NULL) + 3600, 0});
        printf("timedlock %d: %d\n", i, err);
        break;
    case 4:
        if (!held && choose(4) == 0) {
            printf("destroy %d\n", pthread_mutex_destroy(&mutexes[i].m));
            make(i);
        }
        return;
    default: /* what is undefined is left out */
        if (kind == PTHREAD_MUTEX_NORMAL ? !own : (!held && kind != PTHREAD_MUTEX_ERRORCHECK && kind != PTHREAD_MUTEX_RECURSIVE))
            return;
        err = pthread_mutex_unlock(&mutexes[i].m);
        printf("unlock %d: %d\n", i, err);
        if (!err && --mutexes[i].count == 0)
            mutexes[i].owner = NOBODY;
        return;
    }
    if (!err) {
        mutexes[i].owner = self;
        mutexes[i].count++;
    }
}

static void rwlock_step(int self)
{
    int i = (int)choose(RWLOCKS), free = rwlocks[i].writer == NOBODY, err;
    const int others = rwlocks[i].readers && rwlocks[i].reader != self; /* a lock is read by one thread at a time, perhaps often */
    if (others)
        return;
    if (!rwlocks[i].readers)
        rwlocks[i].reader = self;
    switch (choose(5)) {
    case 0:
        if (!free)
            return;
        err = pthread_rwlock_rdlock(&rwlocks[i].lock);
        printf("rdlock %d: %d\n", i, err);
        rwlocks[i].readers += !err;
        return;
    case 1:
        if (!free || rwlocks[i].readers)
            return;
        err = pthread_rwlock_wrlock(&rwlocks[i].lock);
        printf("wrlock %d: %d\n", i, err);
        rwlocks[i].writer = self;
        return;
    case 2:
        err = pthread_rwlock_tryrdlock(&rwlocks[i].lock);
        printf("tryrdlock %d: %d\n", i, err);
        rwlocks[i].readers += !err;
        return;
    case 3:
        err = pthread_rwlock_trywrlock(&rwlocks[i].lock);
        printf("trywrlock %d: %d\n", i, err);
        if (!err)
            rwlocks[i].writer = self;
        return;
    default:
        if (rwlocks[i].writer != self && !(free && rwlocks[i].readers))
            return;
        printf("rwunlock %d: %d\n", i, pthread_rwlock_unlock(&rwlocks[i].lock));
        if (free)
            rwlocks[i].readers--;
        else
            rwlocks[i].writer = NOBODY;
        return;
    }
}

/* Spin locks, and signals that nobody waits for. */
static void spin_step(int self)
{
    const int i = (int)choose(SPINS), held = spins[i].owner != NOBODY, own = spins[i].owner == self;
    int err;
    switch (choose(4)) {
    case 0:
        printf("signal: %d %d\n", pthread_cond_signal(&cond), pthread_cond_broadcast(&cond));
        return;
    case 1:
        if (!own)
            return;
        printf("spin unlock %d: %d\n", i, pthread_spin_unlock(&spins[i].lock));
        spins[i].owner = NOBODY;
        return;
    case 2:
        if (held)
            return;
        err = pthread_spin_lock(&spins[i].lock);
        printf("spin lock %d: %d\n", i, err);
        break;
    default:
        err = pthread_spin_trylock(&spins[i].lock);
        printf("spin trylock %d: %d\n", i, err);
        break;
    }
    if (!err)
        spins[i].owner = self;
}

/* Semaphores, up to the greatest value, and a barrier for one. */
static void sem_step(void)
{
    const int i = (int)choose(SEMS);
    int value, err;
    switch (choose(8)) {
    case 0:
        printf("barrier %d\n", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
        return;
    case 1:
        if (choose(4))
            return;
        printf("sem destroy %d\n", sem_destroy(&sems[i].sem));
        sems[i].value = choose(3) ? (int)choose(3) : SEM_VALUE_MAX - (int)choose(3);
        printf("sem init %d\n", sem_init(&sems[i].sem, 0, (unsigned)sems[i].value));
        return;
    case 2:
        if (!sems[i].value)
            return;
        err = sem_wait(&sems[i].sem);
        printf("sem wait %d: %d\n", i, err);
        sems[i].value--;
        return;
    case 3:
        err = sem_timedwait(&sems[i].sem, &(struct timespec){1, 0});
        printf("sem timedwait %d: %d %d\n", i, err, err ? errno : 0);
        sems[i].value -= !err;
        return;
    case 4:
        err = sem_trywait(&sems[i].sem);
        printf("sem trywait %d: %d %d\n", i, err, err ? errno : 0);
        sems[i].value -= !err;
        return;
    case 5:
        err = sem_getvalue(&sems[i].sem, &value);
        printf("sem value %d: %d %d\n", i, err, value);
        return;
    default:
        err = sem_post(&sems[i].sem);
        printf("sem post %d: %d %d\n", i, err, err ? errno : 0);
        sems[i].value += !err;
    }
}

static void steps(int self, int n)
{
    while (n--)
        switch (choose(5)) {
        case 0:
            rwlock_step(self);
            break;
        case 4:
            sem_step();
            break;
        case 1:
            spin_step(self);
            break;
        default:
            mutex_step(self);
            break;
        }
}

/* A thread while its maker waits for it: more than one context is alive, but the order is the program's. */
static void *other(void *arg)
{
    steps((int)(long)arg, 20);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 1000, threads = 0;
    state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (int i = 0; i < MUTEXES; i++) {
        mutexes[i].kind = i % 3;
        mutexes[i].owner = NOBODY;
        make(i);
    }
    for (int i = 0; i < RWLOCKS; i++) {
        rwlocks[i].writer = NOBODY;
        pthread_rwlock_init(&rwlocks[i].lock, NULL);
    }
    for (int i = 0; i < SPINS; i++) {
        spins[i].owner = NOBODY;
        pthread_spin_init(&spins[i].lock, 0);
    }
    for (int i = 0; i < SEMS; i++)
        sem_init(&sems[i].sem, 0, (unsigned)(sems[i].value = i % 3));
    pthread_barrier_init(&barrier, NULL, 1);
    while (n > 0) {
        steps(0, 200);
        n -= 200;
        pthread_t thread;
        pthread_create(&thread, NULL, other, (void *)(long)++threads);
        pthread_join(thread, NULL);
    }
    return 0;
}
