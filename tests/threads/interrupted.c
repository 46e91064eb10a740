/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to threads that wait for locks, barriers and the like: the handler runs while they wait, and the wait
 * goes on.  So a collector of garbage stops the world: it holds the lock that others wait for, and wants an
 * answer from each.
 */
#include "harness.h"
#include <semaphore.h>
#include <signal.h>

static pthread_mutex_t m, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once;
static sem_t answers, entered, leave;
static int counter, ready;

static void answer(int signal)
{
    sem_post(&answers);
}

static void install(int flags)
{
    struct sigaction action = {.sa_handler = answer, .sa_flags = flags};
    OK(sigaction(SIGUSR1, &action, NULL));
    sem_init(&answers, 0, 0);
    counter = ready = 0;
}

/* The signal is answered while the wait lasts. */
static void ask(pthread_t *threads, int n)
{
    pause_ms(3);
    for (int i = 0; i < n; i++)
        OK(pthread_kill(threads[i], SIGUSR1));
    for (int i = 0; i < n; i++)
        OK(sem_wait(&answers));
}

static void *with_mutex(void *arg)
{
    OK(pthread_mutex_lock(&m));
    counter++;
    OK(pthread_mutex_unlock(&m));
    return arg;
}

static void mutex_of(int type)
{
    pthread_t t[5];
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    OK(pthread_mutex_init(&m, &attr));
    install(type == PTHREAD_MUTEX_NORMAL ? 0 : SA_RESTART);
    pthread_mutex_lock(&m);
    for (int i = 0; i < 5; i++)
        t[i] = start(with_mutex, NULL);
    ask(t, 5);
    ask(t, 5);
    EQUAL(counter, 0);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 5; i++)
        finish(t[i]);
    EQUAL(counter, 5);
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_normal)
{
    mutex_of(PTHREAD_MUTEX_NORMAL);
}

CASE(mutex_recursive)
{
    mutex_of(PTHREAD_MUTEX_RECURSIVE);
}

CASE(mutex_errorcheck)
{
    mutex_of(PTHREAD_MUTEX_ERRORCHECK);
}

static void *with_time(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 300);
    EQUAL(pthread_mutex_timedlock(&m, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_REALTIME, &until));
    return arg;
}

CASE(mutex_timed)
{
    pthread_mutex_init(&m, NULL);
    install(0);
    pthread_mutex_lock(&m);
    pthread_t t = start(with_time, NULL);
    ask(&t, 1);
    finish(t);
    pthread_mutex_unlock(&m);
}

static void *with_spin(void *arg)
{
    pthread_spin_lock(&spin);
    counter++;
    pthread_spin_unlock(&spin);
    return arg;
}

CASE(spin_lock)
{
    pthread_t t[2];
    pthread_spin_init(&spin, 0);
    install(0);
    pthread_spin_lock(&spin);
    for (int i = 0; i < 2; i++)
        t[i] = start(with_spin, NULL);
    ask(t, 2);
    pthread_spin_unlock(&spin);
    for (int i = 0; i < 2; i++)
        finish(t[i]);
    EQUAL(counter, 2);
}

static void *reads(void *arg)
{
    OK(pthread_rwlock_rdlock(&rw));
    OK(pthread_rwlock_unlock(&rw));
    return arg;
}

static void *writes(void *arg)
{
    OK(pthread_rwlock_wrlock(&rw));
    counter++;
    OK(pthread_rwlock_unlock(&rw));
    return arg;
}

CASE(rwlock)
{
    pthread_t t[6];
    install(0);
    pthread_rwlock_wrlock(&rw);
    for (int i = 0; i < 6; i++)
        t[i] = start(i & 1 ? reads : writes, NULL);
    ask(t, 6);
    pthread_rwlock_unlock(&rw);
    for (int i = 0; i < 6; i++)
        finish(t[i]);
    EQUAL(counter, 3);
}

static void *meets(void *arg)
{
    return (void *)(long)(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}

CASE(barrier_wait)
{
    pthread_t t[3];
    long serial;
    install(0);
    OK(pthread_barrier_init(&barrier, NULL, 4));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            t[i] = start(meets, NULL);
        ask(t, 3);
        serial = (long)meets(NULL);
        for (int i = 0; i < 3; i++)
            serial += (long)finish(t[i]);
        EQUAL(serial, 1);
    }
    OK(pthread_barrier_destroy(&barrier));
}

/* It runs until it is let go. */
static void stays(int signal)
{
    sem_post(&entered);
    while (sem_wait(&leave) != 0)
        ;
}

static void install_stays(void)
{
    struct sigaction action = {.sa_handler = stays};
    OK(sigaction(SIGUSR2, &action, NULL));
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
}

/* Who runs a handler has arrived: the others go on without it, and meet again. */
CASE(barrier_while_handlers_run)
{
    pthread_t t[2], partner;
    long serial = 0;
    install_stays();
    OK(pthread_barrier_init(&barrier, NULL, 3));
    for (int i = 0; i < 2; i++)
        t[i] = start(meets, NULL);
    pause_ms(300); /* until they wait, also with real threads on a busy machine */
    for (int i = 0; i < 2; i++) {
        OK(pthread_kill(t[i], SIGUSR2));
        OK(sem_wait(&entered));
    }
    serial = (long)meets(NULL);
    EQUAL(serial, 1);
    /* a round of others, begun while they are away: theirs is over, they do not belong to it */
    partner = start(meets, NULL);
    pause_ms(3);
    for (int i = 0; i < 2; i++)
        sem_post(&leave);
    for (int i = 0; i < 2; i++)
        EQUAL(finish(t[i]), 0);
    t[0] = start(meets, NULL);
    serial = (long)meets(NULL) + (long)finish(partner) + (long)finish(t[0]);
    EQUAL(serial, 1);
    OK(pthread_barrier_destroy(&barrier));
}

/* Back from its handler before the others have come, it waits on. */
CASE(barrier_after_handler)
{
    pthread_t t;
    install_stays();
    OK(pthread_barrier_init(&barrier, NULL, 2));
    t = start(meets, NULL);
    for (int i = 0; i < 3; i++) {
        pause_ms(3);
        OK(pthread_kill(t, SIGUSR2));
        OK(sem_wait(&entered));
        sem_post(&leave);
    }
    pause_ms(3);
    EQUAL(pthread_tryjoin_np(t, NULL), EBUSY);
    EQUAL(meets(NULL), 1);
    EQUAL(finish(t), 0);
    OK(pthread_barrier_destroy(&barrier));
}

static void initialise(void)
{
    sem_post(&entered);
    sem_wait(&leave);
    counter++;
}

static void *initialises(void *arg)
{
    OK(pthread_once(&once, initialise));
    EQUAL(counter, 1);
    return arg;
}

CASE(once_waits)
{
    pthread_t first, t[2];
    install(SA_RESTART);
    once = (pthread_once_t)PTHREAD_ONCE_INIT;
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    first = start(initialises, NULL);
    sem_wait(&entered);
    for (int i = 0; i < 2; i++)
        t[i] = start(initialises, NULL);
    ask(t, 2);
    EQUAL(counter, 0);
    sem_post(&leave);
    finish(first);
    for (int i = 0; i < 2; i++)
        finish(t[i]);
}

static void *waits_ready(void *arg)
{
    OK(pthread_mutex_lock(&m));
    sem_post(&entered);
    while (!ready)
        OK(pthread_cond_wait(&cond, &m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_unlock(&m), EPERM);
    return arg;
}

/* Woken, but the mutex is not free yet. */
CASE(condition_wants_its_mutex)
{
    pthread_t t[2];
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &attr);
    sem_init(&entered, 0, 0);
    install(SA_RESTART);
    for (int i = 0; i < 2; i++) {
        t[i] = start(waits_ready, NULL);
        sem_wait(&entered);
    }
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_broadcast(&cond);
    ask(t, 2);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 2; i++)
        finish(t[i]);
    OK(pthread_mutex_destroy(&m));
}

static void *locks_both(void *arg)
{
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&other);
        pthread_mutex_lock(&m);
        counter++;
        pthread_mutex_unlock(&m);
        pthread_mutex_unlock(&other);
    }
    return arg;
}

CASE(signals_by_the_hundred)
{
    pthread_t t[4];
    pthread_mutex_init(&m, NULL);
    install(SA_RESTART);
    for (int i = 0; i < 4; i++)
        t[i] = start(locks_both, NULL);
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 4; k++)
            pthread_kill(t[k], SIGUSR1);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    EQUAL(counter, 800);
}

/* Two that take turns, and a third that interrupts them all the time: whoever is signalled while it wants its mutex
 * back after an interrupt sees what has changed. */
enum { TURNS = 2000, INTERRUPTS = 3000 };
static int turn;

static void *with_turns(void *arg)
{
    const int me = arg != NULL;
    OK(pthread_mutex_lock(&m));
    for (int i = 0; i < TURNS; i++) {
        while (turn != me)
            OK(pthread_cond_wait(&cond, &m));
        for (volatile int k = 0; k < 100; k++)
            ;
        turn = !me;
        OK(pthread_cond_signal(&cond));
    }
    OK(pthread_mutex_unlock(&m));
    OK(sem_wait(&leave)); /* no signal finds it gone */
    return arg;
}

CASE(condition_in_turns)
{
    pthread_t t[2];
    OK(pthread_mutex_init(&m, NULL));
    install(SA_RESTART);
    sem_init(&leave, 0, 0);
    t[0] = start(with_turns, NULL);
    t[1] = start(with_turns, &turn);
    for (int i = 0; i < INTERRUPTS; i++) {
        OK(pthread_kill(t[i % 2], SIGUSR1));
        for (volatile int k = 0; k < i % 97; k++)
            ;
    }
    sem_post(&leave);
    sem_post(&leave);
    for (int i = 0; i < 2; i++)
        finish(t[i]);
    OK(pthread_mutex_destroy(&m));
}
