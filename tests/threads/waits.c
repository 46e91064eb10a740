/* SPDX-License-Identifier: Apache-2.0 */
/* Condition variables, semaphores, barriers, once. */
#include "harness.h"
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/stat.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, waiting, woken;

static long elsewhere(void *(*fn)(void *), void *arg)
{
    return (long)finish(start(fn, arg));
}

static void reset(void)
{
    ready = waiting = woken = 0;
}

static void *wait_ready(void *arg)
{
    pthread_mutex_lock(&m);
    waiting++;
    while (!ready)
        OK(pthread_cond_wait(&c, &m));
    woken++;
    pthread_mutex_unlock(&m);
    return arg;
}

/* Until so many wait on the condition; they hold the mutex up to the wait. */
static void until_waiting(int n)
{
    for (;;) {
        pthread_mutex_lock(&m);
        int enough = waiting >= n;
        pthread_mutex_unlock(&m);
        if (enough)
            return;
        sched_yield();
    }
}

CASE(cond_signal)
{
    reset();
    pthread_t t = start(wait_ready, (void *)3);
    until_waiting(1);
    pthread_mutex_lock(&m);
    ready = 1;
    OK(pthread_cond_signal(&c));
    pthread_mutex_unlock(&m);
    EQUAL(finish(t), 3);
}

CASE(cond_signal_without_the_mutex)
{
    reset();
    pthread_t t = start(wait_ready, (void *)3);
    until_waiting(1);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    OK(pthread_cond_signal(&c));
    EQUAL(finish(t), 3);
}

CASE(cond_signal_nobody)
{
    reset();
    OK(pthread_cond_signal(&c));
    OK(pthread_cond_broadcast(&c));
    /* which is not kept for later */
    struct timespec until = in_ms(CLOCK_REALTIME, 10);
    pthread_mutex_lock(&m);
    EQUAL(pthread_cond_timedwait(&c, &m, &until), ETIMEDOUT);
    pthread_mutex_unlock(&m);
}

CASE(cond_broadcast)
{
    pthread_t t[10];
    reset();
    for (int i = 0; i < 10; i++)
        t[i] = start(wait_ready, NULL);
    until_waiting(10);
    pthread_mutex_lock(&m);
    ready = 1;
    OK(pthread_cond_broadcast(&c));
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 10; i++)
        finish(t[i]);
    EQUAL(woken, 10);
}

static void *wait_token(void *arg)
{
    pthread_mutex_lock(&m);
    waiting++;
    while (ready == 0)
        pthread_cond_wait(&c, &m);
    ready--;
    woken++;
    pthread_mutex_unlock(&m);
    return NULL;
}

CASE(cond_a_signal_each)
{
    pthread_t t[6];
    reset();
    for (int i = 0; i < 6; i++)
        t[i] = start(wait_token, NULL);
    until_waiting(6);
    for (int i = 1; i <= 6; i++) {
        pthread_mutex_lock(&m);
        ready++;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < 6; i++)
        finish(t[i]);
    EQUAL(woken, 6);
    EQUAL(ready, 0);
}

static void *try_m(void *arg)
{
    int err = pthread_mutex_trylock(&m);
    if (err == 0)
        pthread_mutex_unlock(&m);
    return (void *)(long)err;
}

CASE(cond_wait_releases_and_takes_again)
{
    reset();
    pthread_t t = start(wait_ready, NULL);
    until_waiting(1);
    EQUAL(elsewhere(try_m, NULL), 0);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pause_ms(5);
    EQUAL(woken, 0); /* it needs the mutex */
    pthread_mutex_unlock(&m);
    finish(t);
    EQUAL(woken, 1);
}

CASE(cond_timedwait_times_out)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    pthread_mutex_lock(&m);
    EQUAL(pthread_cond_timedwait(&c, &m, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_REALTIME, &until));
    EQUAL(elsewhere(try_m, NULL), EBUSY); /* ours again */
    pthread_mutex_unlock(&m);
}

CASE(cond_timedwait_in_the_past)
{
    struct timespec until = in_ms(CLOCK_REALTIME, -20);
    pthread_mutex_lock(&m);
    EQUAL(pthread_cond_timedwait(&c, &m, &until), ETIMEDOUT);
    EQUAL(elsewhere(try_m, NULL), EBUSY);
    pthread_mutex_unlock(&m);
}

CASE(cond_timedwait_bad_time)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    pthread_mutex_lock(&m);
    until.tv_nsec = 1000000000;
    EQUAL(pthread_cond_timedwait(&c, &m, &until), EINVAL);
    until.tv_nsec = -1;
    EQUAL(pthread_cond_timedwait(&c, &m, &until), EINVAL);
    pthread_mutex_unlock(&m);
}

static void *wait_ready_until(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, (long)arg);
    int err = 0;
    pthread_mutex_lock(&m);
    waiting++;
    while (!ready && err == 0)
        err = pthread_cond_timedwait(&c, &m, &until);
    pthread_mutex_unlock(&m);
    return (void *)(long)err;
}

CASE(cond_timedwait_is_signalled)
{
    reset();
    pthread_t t = start(wait_ready_until, (void *)5000);
    until_waiting(1);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    OK(finish(t));
}

CASE(cond_some_time_out_some_do_not)
{
    reset();
    pthread_t a = start(wait_ready_until, (void *)10), b = start(wait_ready_until, (void *)5000);
    EQUAL(finish(a), ETIMEDOUT);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&m);
    OK(finish(b));
}

CASE(cond_monotonic_attribute)
{
    pthread_condattr_t attr;
    pthread_cond_t cond;
    clockid_t clock;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    OK(pthread_condattr_getclock(&attr, &clock));
    EQUAL(clock, CLOCK_MONOTONIC);
    OK(pthread_cond_init(&cond, &attr));
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    pthread_mutex_lock(&m);
    EQUAL(pthread_cond_timedwait(&cond, &m, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    pthread_mutex_unlock(&m);
    OK(pthread_cond_destroy(&cond));
    EQUAL(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
    OK(pthread_condattr_destroy(&attr));
}

CASE(cond_clockwait)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    pthread_mutex_lock(&m);
    EQUAL(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    EQUAL(pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
    pthread_mutex_unlock(&m);
}

CASE(cond_with_a_recursive_mutex)
{
    static pthread_mutex_t rec = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    struct timespec until = in_ms(CLOCK_REALTIME, 10);
    pthread_mutex_lock(&rec);
    EQUAL(pthread_cond_timedwait(&c, &rec, &until), ETIMEDOUT);
    OK(pthread_mutex_unlock(&rec));
    EQUAL(pthread_mutex_unlock(&rec), EPERM);
}

CASE(cond_init_and_destroy)
{
    pthread_cond_t cond;
    pthread_condattr_t attr;
    int shared = -1;
    memset(&cond, 0x5a, sizeof cond);
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_getpshared(&attr, &shared));
    EQUAL(shared, PTHREAD_PROCESS_SHARED);
    OK(pthread_cond_init(&cond, &attr));
    OK(pthread_cond_broadcast(&cond));
    OK(pthread_cond_destroy(&cond));
}

/* As POSIX recommends for an element of a list: wake all, then destroy at once. */
CASE(cond_destroy_after_broadcast)
{
    static struct element {
        pthread_cond_t cond;
        int done;
    } *e;
    reset();
    pthread_t t = start(wait_ready, NULL);
    until_waiting(1);
    e = malloc(sizeof *e);
    pthread_cond_init(&e->cond, NULL);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_broadcast(&c);
    pthread_cond_broadcast(&e->cond);
    pthread_mutex_unlock(&m);
    OK(pthread_cond_destroy(&e->cond));
    free(e);
    finish(t);
    OK(pthread_cond_destroy(&c));
    OK(pthread_cond_init(&c, NULL));
}

/* ------------------------------------------------------------------------------------------ a bounded buffer */

enum { SLOTS = 4, ITEMS = 120 };
static int buffer[SLOTS], used, in, out;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static void *produce(void *arg)
{
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (used == SLOTS)
            pthread_cond_wait(&not_full, &m);
        buffer[in++ % SLOTS] = i;
        used++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *consume(void *arg)
{
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (used == 0)
            pthread_cond_wait(&not_empty, &m);
        sum += buffer[out++ % SLOTS];
        used--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&m);
    }
    return (void *)sum;
}

CASE(cond_bounded_buffer)
{
    pthread_t p[3], q[3];
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        p[i] = start(produce, NULL);
        q[i] = start(consume, NULL);
    }
    for (int i = 0; i < 3; i++) {
        finish(p[i]);
        sum += (long)finish(q[i]);
    }
    EQUAL(sum, 3 * ITEMS * (ITEMS + 1) / 2);
    EQUAL(used, 0);
}

static int turn;
static void *ping_pong(void *arg)
{
    int me = (int)(long)arg;
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&m);
        while (turn % 2 != me)
            pthread_cond_wait(&c, &m);
        turn++;
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

CASE(cond_ping_pong)
{
    turn = 0;
    pthread_t a = start(ping_pong, (void *)0), b = start(ping_pong, (void *)1);
    finish(a);
    finish(b);
    EQUAL(turn, 200);
}

/* --------------------------------------------------------------------------------------------- semaphores */

static sem_t sem;

static int value_of(sem_t *s)
{
    int value = -1;
    OK(sem_getvalue(s, &value));
    return value;
}

CASE(sem_counts)
{
    OK(sem_init(&sem, 0, 2));
    EQUAL(value_of(&sem), 2);
    OK(sem_wait(&sem));
    OK(sem_trywait(&sem));
    EQUAL(value_of(&sem), 0);
    FAILS(sem_trywait(&sem), EAGAIN);
    OK(sem_post(&sem));
    EQUAL(value_of(&sem), 1);
    OK(sem_wait(&sem));
    OK(sem_destroy(&sem));
}

CASE(sem_too_large)
{
    FAILS(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1u), EINVAL);
}

CASE(sem_overflow)
{
    OK(sem_init(&sem, 0, SEM_VALUE_MAX));
    FAILS(sem_post(&sem), EOVERFLOW);
    EQUAL(value_of(&sem), SEM_VALUE_MAX);
    OK(sem_destroy(&sem));
}

static void *sem_waiter(void *arg)
{
    return (void *)(long)sem_wait(&sem);
}

CASE(sem_wait_blocks)
{
    pthread_t t[5];
    OK(sem_init(&sem, 0, 0));
    for (int i = 0; i < 5; i++)
        t[i] = start(sem_waiter, NULL);
    pause_ms(5);
    EQUAL(value_of(&sem), 0);
    for (int i = 0; i < 5; i++)
        OK(sem_post(&sem));
    for (int i = 0; i < 5; i++)
        OK(finish(t[i]));
    EQUAL(value_of(&sem), 0);
}

CASE(sem_timedwait_times_out)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    OK(sem_init(&sem, 0, 0));
    FAILS(sem_timedwait(&sem, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_REALTIME, &until));
    FAILS(sem_timedwait(&sem, &until), ETIMEDOUT); /* past by now */
    OK(sem_post(&sem));
    OK(sem_timedwait(&sem, &until));
    until.tv_nsec = 1000000000;
    FAILS(sem_timedwait(&sem, &until), EINVAL);
}

CASE(sem_clockwait_monotonic)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    OK(sem_init(&sem, 0, 0));
    FAILS(sem_clockwait(&sem, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    FAILS(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
}

static void *post_later(void *arg)
{
    pause_ms(10);
    return (void *)(long)sem_post(&sem);
}

CASE(sem_timedwait_is_posted)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 5000);
    OK(sem_init(&sem, 0, 0));
    pthread_t t = start(post_later, NULL);
    OK(sem_timedwait(&sem, &until));
    OK(finish(t));
}

static long counter;
static void *count_with_sem(void *arg)
{
    for (int i = 0; i < 50; i++) {
        while (sem_wait(&sem) != 0) {
        }
        long seen = counter;
        if (i % 8 == 0)
            sched_yield();
        counter = seen + 1;
        sem_post(&sem);
    }
    return NULL;
}

CASE(sem_as_a_lock)
{
    pthread_t t[6];
    counter = 0;
    OK(sem_init(&sem, 1, 1));
    for (int i = 0; i < 6; i++)
        t[i] = start(count_with_sem, NULL);
    for (int i = 0; i < 6; i++)
        finish(t[i]);
    EQUAL(counter, 300);
    EQUAL(value_of(&sem), 1);
}

CASE(sem_in_reused_memory)
{
    for (unsigned i = 0; i < 5; i++) {
        sem_t local;
        OK(sem_init(&local, 0, i));
        EQUAL(value_of(&local), i);
        OK(sem_post(&local));
        EQUAL(value_of(&local), i + 1);
        OK(sem_destroy(&local));
    }
}

static void *named_post(void *arg)
{
    sem_t *s = sem_open(arg, 0);
    CHECK(s != SEM_FAILED);
    OK(sem_post(s));
    OK(sem_close(s));
    return NULL;
}

CASE(sem_named)
{
    /* Another name than that of tests beside this one, but the same in each run: the number of a process is not. */
    char name[64];
    struct stat here;
    OK(stat(".", &here));
    snprintf(name, sizeof name, "/of-the-test-%ld", (long)here.st_ino);
    sem_unlink(name);
    CHECK(sem_open(name, 0) == SEM_FAILED);
    EQUAL(errno, ENOENT);
    sem_t *s = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    CHECK(s != SEM_FAILED);
    EQUAL(value_of(s), 1);
    CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED);
    EQUAL(errno, EEXIST);
    sem_t *same = sem_open(name, O_CREAT, 0600, 5);
    CHECK(same == s);
    OK(sem_wait(s));
    pthread_t t = start(named_post, name);
    OK(sem_wait(s));
    finish(t);
    OK(sem_close(same));
    OK(sem_unlink(name));
    FAILS(sem_unlink(name), ENOENT);
    OK(sem_post(s));
    EQUAL(value_of(s), 1);
    OK(sem_close(s));
}

/* ----------------------------------------------------------------------------------------------- barriers */

static pthread_barrier_t barrier;
static int phase[8], serial;

static void *phases(void *arg)
{
    long me = (long)arg, n = 8, bad = 0;
    for (int round = 1; round <= 10; round++) {
        phase[me] = round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < n; i++)
            bad += phase[i] != round;
        pthread_barrier_wait(&barrier);
    }
    return (void *)bad;
}

CASE(barrier_phases)
{
    pthread_t t[8];
    serial = 0;
    OK(pthread_barrier_init(&barrier, NULL, 8));
    for (long i = 0; i < 8; i++)
        t[i] = start(phases, (void *)i);
    for (int i = 0; i < 8; i++)
        OK(finish(t[i]));
    EQUAL(serial, 10);
    OK(pthread_barrier_destroy(&barrier));
}

CASE(barrier_of_one)
{
    OK(pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 5; i++)
        EQUAL(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_barrier_destroy(&barrier));
}

CASE(barrier_of_none)
{
    EQUAL(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
}

CASE(barrier_attributes)
{
    pthread_barrierattr_t attr;
    int shared = -1;
    OK(pthread_barrierattr_init(&attr));
    OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrierattr_getpshared(&attr, &shared));
    EQUAL(shared, PTHREAD_PROCESS_SHARED);
    OK(pthread_barrier_init(&barrier, &attr, 1));
    EQUAL(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_barrier_destroy(&barrier));
}

static void *wait_barrier(void *arg)
{
    return (void *)(long)pthread_barrier_wait(&barrier);
}

CASE(barrier_of_another_size)
{
    for (unsigned n = 2; n <= 6; n++) {
        pthread_t t[6];
        long sum = 0;
        OK(pthread_barrier_init(&barrier, NULL, n));
        for (unsigned i = 1; i < n; i++)
            t[i] = start(wait_barrier, NULL);
        sum = pthread_barrier_wait(&barrier);
        for (unsigned i = 1; i < n; i++)
            sum += (long)finish(t[i]);
        EQUAL(sum, PTHREAD_BARRIER_SERIAL_THREAD);
        OK(pthread_barrier_destroy(&barrier));
    }
}

/* --------------------------------------------------------------------------------------------------- once */

static int initialised;
static void initialise(void)
{
    pause_ms(5);
    initialised++;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *use_once(void *arg)
{
    pthread_once(&once, initialise);
    return (void *)(long)initialised;
}

CASE(once_by_many)
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        t[i] = start(use_once, NULL);
    for (int i = 0; i < 8; i++)
        EQUAL(finish(t[i]), 1);
    OK(pthread_once(&once, initialise));
    EQUAL(initialised, 1);
}

static int plain_count;
static void count_plainly(void)
{
    plain_count++;
}

CASE(once_in_reused_memory)
{
    plain_count = 0;
    for (int i = 0; i < 5; i++) {
        pthread_once_t local = PTHREAD_ONCE_INIT;
        OK(pthread_once(&local, count_plainly));
        OK(pthread_once(&local, count_plainly));
    }
    EQUAL(plain_count, 5);
}

static pthread_once_t outer_once = PTHREAD_ONCE_INIT, inner_once = PTHREAD_ONCE_INIT;
static void initialise_outer(void)
{
    pthread_once(&inner_once, count_plainly);
    plain_count += 10;
}

CASE(once_within_once)
{
    plain_count = 0;
    OK(pthread_once(&outer_once, initialise_outer));
    OK(pthread_once(&inner_once, count_plainly));
    EQUAL(plain_count, 11);
}

static pthread_once_t left_once = PTHREAD_ONCE_INIT;
static int left_tries;
static void leave_first_time(void)
{
    if (++left_tries == 1)
        pthread_exit(NULL);
}

static void *try_left_once(void *arg)
{
    pthread_once(&left_once, leave_first_time);
    return (void *)1;
}

CASE(once_left_by_pthread_exit)
{
    EQUAL(elsewhere(try_left_once, NULL), 0);
    EQUAL(elsewhere(try_left_once, NULL), 1);
    EQUAL(left_tries, 2);
    EQUAL(elsewhere(try_left_once, NULL), 1);
    EQUAL(left_tries, 2);
}
