/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes of every type, spin locks, read-write locks. */
#include "harness.h"
#include <semaphore.h>

/* fn(arg) in a thread of its own */
static long elsewhere(void *(*fn)(void *), void *arg)
{
    return (long)finish(start(fn, arg));
}

static void *try_mutex(void *arg)
{
    int err = pthread_mutex_trylock(arg);
    if (err == 0)
        pthread_mutex_unlock(arg);
    return (void *)(long)err;
}

static void *unlock_mutex(void *arg)
{
    return (void *)(long)pthread_mutex_unlock(arg);
}

static void init_type(pthread_mutex_t *m, int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(m, &attr));
    OK(pthread_mutexattr_destroy(&attr));
}

CASE(mutex_static_initialiser)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    EQUAL(elsewhere(try_mutex, &m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    EQUAL(elsewhere(try_mutex, &m), 0);
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_in_zeroed_memory)
{
    pthread_mutex_t *m = calloc(1, sizeof *m);
    OK(pthread_mutex_lock(m));
    EQUAL(pthread_mutex_trylock(m), EBUSY);
    OK(pthread_mutex_unlock(m));
    free(m);
}

CASE(mutex_on_the_stack_again_and_again)
{
    for (int i = 0; i < 10; i++) {
        pthread_mutex_t m;
        memset(&m, 0x5a, sizeof m);
        OK(pthread_mutex_init(&m, NULL));
        OK(pthread_mutex_lock(&m));
        EQUAL(elsewhere(try_mutex, &m), EBUSY);
        OK(pthread_mutex_unlock(&m));
        OK(pthread_mutex_destroy(&m));
    }
}

CASE(mutex_normal_trylock_by_its_owner)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_mutex_trylock(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_destroy_when_locked)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_mutex_destroy(&m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_after_destroy)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    OK(pthread_mutex_destroy(&m));
    EQUAL(pthread_mutex_lock(&m), EINVAL);
    OK(pthread_mutex_init(&m, NULL));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
}

CASE(mutex_recursive)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_trylock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(elsewhere(try_mutex, &m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    EQUAL(elsewhere(try_mutex, &m), 0);
    EQUAL(pthread_mutex_unlock(&m), EPERM);
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_recursive_static_initialiser)
{
    static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    EQUAL(elsewhere(unlock_mutex, &m), EPERM);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_unlock(&m));
    EQUAL(pthread_mutex_unlock(&m), EPERM);
}

CASE(mutex_errorcheck)
{
    pthread_mutex_t m;
    init_type(&m, PTHREAD_MUTEX_ERRORCHECK);
    EQUAL(pthread_mutex_unlock(&m), EPERM);
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_mutex_lock(&m), EDEADLK);
    EQUAL(pthread_mutex_trylock(&m), EBUSY);
    EQUAL(elsewhere(unlock_mutex, &m), EPERM);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_errorcheck_static_initialiser)
{
    static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_mutex_lock(&m), EDEADLK);
    OK(pthread_mutex_unlock(&m));
}

CASE(mutex_errorcheck_timedlock_by_its_owner)
{
    static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    struct timespec until = in_ms(CLOCK_REALTIME, 1000);
    OK(pthread_mutex_lock(&m));
    EQUAL(pthread_mutex_timedlock(&m, &until), EDEADLK);
    OK(pthread_mutex_unlock(&m));
}

CASE(mutex_adaptive)
{
    static pthread_mutex_t m = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    OK(pthread_mutex_lock(&m));
    EQUAL(elsewhere(try_mutex, &m), EBUSY);
    OK(pthread_mutex_unlock(&m));
}

CASE(mutex_shared_and_inheriting)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t m;
    int value = -1;
    pthread_mutexattr_init(&attr);
    OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_getpshared(&attr, &value));
    EQUAL(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
    OK(pthread_mutex_init(&m, &attr));
    OK(pthread_mutex_lock(&m));
    EQUAL(elsewhere(try_mutex, &m), EBUSY);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));
}

CASE(mutex_bad_type)
{
    pthread_mutexattr_t attr;
    int type = -1;
    pthread_mutexattr_init(&attr);
    EQUAL(pthread_mutexattr_settype(&attr, 99), EINVAL);
    OK(pthread_mutexattr_gettype(&attr, &type));
    EQUAL(type, PTHREAD_MUTEX_DEFAULT);
}

/* ------------------------------------------------------------------------------------- exclusion, waiting */

static pthread_mutex_t the_mutex;
static long counter, inside, worst;

static void *count_locked(void *arg)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&the_mutex);
        if (++inside > worst)
            worst = inside;
        long seen = counter;
        if (i % 16 == 0)
            sched_yield();
        counter = seen + 1;
        inside--;
        pthread_mutex_unlock(&the_mutex);
    }
    return NULL;
}

static void exclude(int type)
{
    pthread_t t[8];
    counter = inside = worst = 0;
    init_type(&the_mutex, type);
    for (int i = 0; i < 8; i++)
        t[i] = start(count_locked, NULL);
    for (int i = 0; i < 8; i++)
        finish(t[i]);
    EQUAL(counter, 800);
    EQUAL(worst, 1);
    OK(pthread_mutex_destroy(&the_mutex));
}

CASE(mutex_excludes_normal)
{
    exclude(PTHREAD_MUTEX_NORMAL);
}

CASE(mutex_excludes_recursive)
{
    exclude(PTHREAD_MUTEX_RECURSIVE);
}

CASE(mutex_excludes_errorcheck)
{
    exclude(PTHREAD_MUTEX_ERRORCHECK);
}

static void *count_trylock(void *arg)
{
    for (int i = 0; i < 30; i++) {
        while (pthread_mutex_trylock(&the_mutex) != 0)
            sched_yield();
        long seen = counter;
        sched_yield();
        counter = seen + 1;
        pthread_mutex_unlock(&the_mutex);
    }
    return NULL;
}

CASE(mutex_taken_by_trylock)
{
    pthread_t t[4];
    counter = 0;
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    for (int i = 0; i < 4; i++)
        t[i] = start(count_trylock, NULL);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    EQUAL(counter, 120);
}

static void *lock_until(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, (long)arg);
    int err = pthread_mutex_timedlock(&the_mutex, &until);
    if (err == 0)
        pthread_mutex_unlock(&the_mutex);
    else
        CHECK(reached(CLOCK_REALTIME, &until));
    return (void *)(long)err;
}

CASE(mutex_timedlock_times_out)
{
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_lock(&the_mutex);
    EQUAL(elsewhere(lock_until, (void *)20), ETIMEDOUT);
    EQUAL(elsewhere(lock_until, (void *)-20), ETIMEDOUT);
    pthread_mutex_unlock(&the_mutex);
}

CASE(mutex_timedlock_gets_it)
{
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    EQUAL(elsewhere(lock_until, (void *)5000), 0);
    EQUAL(elsewhere(lock_until, (void *)-5000), 0);
    pthread_mutex_lock(&the_mutex);
    pthread_t t = start(lock_until, (void *)5000);
    pause_ms(10);
    pthread_mutex_unlock(&the_mutex);
    OK(finish(t));
}

static void *lock_until_bad(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 1000);
    until.tv_nsec = (long)arg;
    return (void *)(long)pthread_mutex_timedlock(&the_mutex, &until);
}

CASE(mutex_timedlock_bad_time)
{
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_lock(&the_mutex);
    EQUAL(elsewhere(lock_until_bad, (void *)1000000000), EINVAL);
    EQUAL(elsewhere(lock_until_bad, (void *)-1), EINVAL);
    pthread_mutex_unlock(&the_mutex);
}

CASE(mutex_clocklock)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    OK(pthread_mutex_clocklock(&the_mutex, CLOCK_MONOTONIC, &until));
    EQUAL(pthread_mutex_clocklock(&the_mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    EQUAL(pthread_mutex_clocklock(&the_mutex, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
    pthread_mutex_unlock(&the_mutex);
}

static int order[10], norder;
static void *note_order(void *arg)
{
    pthread_mutex_lock(&the_mutex);
    order[norder++] = (int)(long)arg;
    pthread_mutex_unlock(&the_mutex);
    return NULL;
}

CASE(mutex_waiters_all_get_it)
{
    pthread_t t[10];
    long sum = 0;
    norder = 0;
    init_type(&the_mutex, PTHREAD_MUTEX_NORMAL);
    pthread_mutex_lock(&the_mutex);
    for (long i = 0; i < 10; i++)
        t[i] = start(note_order, (void *)i);
    pause_ms(20);
    EQUAL(norder, 0);
    pthread_mutex_unlock(&the_mutex);
    for (int i = 0; i < 10; i++)
        finish(t[i]);
    for (int i = 0; i < norder; i++)
        sum += order[i];
    EQUAL(norder, 10);
    EQUAL(sum, 45);
}

static void *take_and_unlock(void *arg)
{
    pthread_mutex_t *m = arg;
    OK(pthread_mutex_lock(m));
    OK(pthread_mutex_unlock(m));
    return NULL;
}

CASE(mutexes_in_many_objects)
{
    enum { N = 500 };
    pthread_mutex_t *m = malloc(N * sizeof *m);
    for (int i = 0; i < N; i++) {
        pthread_mutex_init(&m[i], NULL);
        OK(pthread_mutex_lock(&m[i]));
    }
    for (int i = 0; i < N; i++)
        OK(pthread_mutex_unlock(&m[i]));
    pthread_t a = start(take_and_unlock, &m[0]), b = start(take_and_unlock, &m[N - 1]);
    finish(a);
    finish(b);
    for (int i = 0; i < N; i++)
        OK(pthread_mutex_destroy(&m[i]));
    free(m);
}

/* ------------------------------------------------------------------------------------------- philosophers */

enum { PHILOSOPHERS = 5 };
static pthread_mutex_t forks[PHILOSOPHERS];
static int meals[PHILOSOPHERS];

static void *dine(void *arg)
{
    long i = (long)arg, left = i, right = (i + 1) % PHILOSOPHERS;
    for (int round = 0; round < 20; round++) {
        pthread_mutex_lock(&forks[left < right ? left : right]);
        sched_yield();
        pthread_mutex_lock(&forks[left < right ? right : left]);
        meals[i]++;
        pthread_mutex_unlock(&forks[left]);
        pthread_mutex_unlock(&forks[right]);
    }
    return NULL;
}

CASE(mutex_philosophers)
{
    pthread_t t[PHILOSOPHERS];
    for (int i = 0; i < PHILOSOPHERS; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < PHILOSOPHERS; i++)
        t[i] = start(dine, (void *)i);
    for (int i = 0; i < PHILOSOPHERS; i++) {
        finish(t[i]);
        EQUAL(meals[i], 20);
    }
}

/* --------------------------------------------------------------------------------------------- spin locks */

static pthread_spinlock_t spin;

static void *try_spin(void *arg)
{
    int err = pthread_spin_trylock(&spin);
    if (err == 0)
        pthread_spin_unlock(&spin);
    return (void *)(long)err;
}

CASE(spin_basics)
{
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_spin_lock(&spin));
    EQUAL(pthread_spin_trylock(&spin), EBUSY);
    EQUAL(elsewhere(try_spin, NULL), EBUSY);
    OK(pthread_spin_unlock(&spin));
    EQUAL(elsewhere(try_spin, NULL), 0);
    OK(pthread_spin_destroy(&spin));
}

static void *count_spinning(void *arg)
{
    for (int i = 0; i < 50; i++) {
        pthread_spin_lock(&spin);
        long seen = counter;
        if (i % 16 == 0)
            sched_yield();
        counter = seen + 1;
        pthread_spin_unlock(&spin);
    }
    return NULL;
}

CASE(spin_excludes)
{
    pthread_t t[6];
    counter = 0;
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED));
    for (int i = 0; i < 6; i++)
        t[i] = start(count_spinning, NULL);
    for (int i = 0; i < 6; i++)
        finish(t[i]);
    EQUAL(counter, 300);
    OK(pthread_spin_destroy(&spin));
}

/* ----------------------------------------------------------------------------------------- read-write locks */

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static void *try_read(void *arg)
{
    int err = pthread_rwlock_tryrdlock(arg);
    if (err == 0)
        pthread_rwlock_unlock(arg);
    return (void *)(long)err;
}

static void *try_write(void *arg)
{
    int err = pthread_rwlock_trywrlock(arg);
    if (err == 0)
        pthread_rwlock_unlock(arg);
    return (void *)(long)err;
}

CASE(rwlock_readers_share)
{
    OK(pthread_rwlock_rdlock(&rw));
    EQUAL(elsewhere(try_read, &rw), 0);
    EQUAL(elsewhere(try_write, &rw), EBUSY);
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(elsewhere(try_write, &rw), 0);
}

CASE(rwlock_writer_is_alone)
{
    OK(pthread_rwlock_wrlock(&rw));
    EQUAL(elsewhere(try_read, &rw), EBUSY);
    EQUAL(elsewhere(try_write, &rw), EBUSY);
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(elsewhere(try_read, &rw), 0);
}

CASE(rwlock_reads_nest)
{
    OK(pthread_rwlock_rdlock(&rw));
    OK(pthread_rwlock_rdlock(&rw));
    OK(pthread_rwlock_tryrdlock(&rw));
    OK(pthread_rwlock_unlock(&rw));
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(elsewhere(try_write, &rw), EBUSY);
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(elsewhere(try_write, &rw), 0);
}

CASE(rwlock_writer_asks_again)
{
    OK(pthread_rwlock_wrlock(&rw));
    EQUAL(pthread_rwlock_wrlock(&rw), EDEADLK);
    EQUAL(pthread_rwlock_rdlock(&rw), EDEADLK);
    EQUAL(pthread_rwlock_trywrlock(&rw), EBUSY);
    EQUAL(pthread_rwlock_tryrdlock(&rw), EBUSY);
    OK(pthread_rwlock_unlock(&rw));
}

CASE(rwlock_init_and_destroy)
{
    pthread_rwlock_t lock;
    pthread_rwlockattr_t attr;
    int shared = -1;
    memset(&lock, 0x5a, sizeof lock);
    OK(pthread_rwlockattr_init(&attr));
    OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlockattr_getpshared(&attr, &shared));
    EQUAL(shared, PTHREAD_PROCESS_SHARED);
    OK(pthread_rwlock_init(&lock, &attr));
    OK(pthread_rwlock_wrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
    OK(pthread_rwlockattr_destroy(&attr));
}

static void *read_until(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    int err = pthread_rwlock_timedrdlock(&rw, &until);
    if (err == 0)
        pthread_rwlock_unlock(&rw);
    else
        CHECK(reached(CLOCK_REALTIME, &until));
    return (void *)(long)err;
}

static void *write_until(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    int err = pthread_rwlock_timedwrlock(&rw, &until);
    if (err == 0)
        pthread_rwlock_unlock(&rw);
    else
        CHECK(reached(CLOCK_REALTIME, &until));
    return (void *)(long)err;
}

CASE(rwlock_timed)
{
    OK(pthread_rwlock_wrlock(&rw));
    EQUAL(elsewhere(read_until, NULL), ETIMEDOUT);
    EQUAL(elsewhere(write_until, NULL), ETIMEDOUT);
    OK(pthread_rwlock_unlock(&rw));
    OK(pthread_rwlock_rdlock(&rw));
    EQUAL(elsewhere(read_until, NULL), 0);
    EQUAL(elsewhere(write_until, NULL), ETIMEDOUT);
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(elsewhere(write_until, NULL), 0);
}

CASE(rwlock_clock)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 1000);
    OK(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &until));
    OK(pthread_rwlock_unlock(&rw));
    OK(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &until));
    OK(pthread_rwlock_unlock(&rw));
    EQUAL(pthread_rwlock_clockwrlock(&rw, CLOCK_THREAD_CPUTIME_ID, &until), EINVAL);
    until.tv_nsec = 1000000000;
    EQUAL(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &until), EINVAL);
    EQUAL(pthread_rwlock_timedwrlock(&rw, &until), EINVAL);
}

static long value_a, value_b, bad_reads;

static void *rw_writer(void *arg)
{
    for (int i = 0; i < 30; i++) {
        pthread_rwlock_wrlock(&rw);
        value_a++;
        sched_yield();
        value_b++;
        pthread_rwlock_unlock(&rw);
    }
    return NULL;
}

static void *rw_reader(void *arg)
{
    for (int i = 0; i < 30; i++) {
        pthread_rwlock_rdlock(&rw);
        long a = value_a;
        if (i % 4 == 0)
            sched_yield();
        if (a != value_b)
            __atomic_add_fetch(&bad_reads, 1, __ATOMIC_RELAXED);
        pthread_rwlock_unlock(&rw);
    }
    return NULL;
}

static void readers_and_writers(int kind)
{
    pthread_rwlockattr_t attr;
    pthread_t t[8];
    value_a = value_b = bad_reads = 0;
    pthread_rwlockattr_init(&attr);
    OK(pthread_rwlockattr_setkind_np(&attr, kind));
    OK(pthread_rwlock_init(&rw, &attr));
    for (int i = 0; i < 8; i++)
        t[i] = start(i % 4 == 0 ? rw_writer : rw_reader, NULL);
    for (int i = 0; i < 8; i++)
        finish(t[i]);
    EQUAL(value_a, 60);
    EQUAL(value_b, 60);
    EQUAL(bad_reads, 0);
    OK(pthread_rwlock_destroy(&rw));
    OK(pthread_rwlock_init(&rw, NULL));
}

CASE(rwlock_prefer_readers)
{
    readers_and_writers(PTHREAD_RWLOCK_PREFER_READER_NP);
}

CASE(rwlock_prefer_writers)
{
    readers_and_writers(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

static void *hold_write(void *arg)
{
    OK(pthread_rwlock_wrlock(&rw));
    pause_ms(10);
    value_a++;
    OK(pthread_rwlock_unlock(&rw));
    return NULL;
}

static void *hold_read(void *arg)
{
    OK(pthread_rwlock_rdlock(&rw));
    pause_ms(10);
    OK(pthread_rwlock_unlock(&rw));
    return NULL;
}

CASE(rwlock_waiting_writer_gets_in)
{
    pthread_t r[3], w;
    value_a = 0;
    for (int i = 0; i < 3; i++)
        r[i] = start(hold_read, NULL);
    pause_ms(2);
    w = start(hold_write, NULL);
    finish(w);
    EQUAL(value_a, 1);
    for (int i = 0; i < 3; i++)
        finish(r[i]);
}

/* A waiting writer holds off new readers only if the lock prefers writers. */
CASE(rwlock_new_reader_while_a_writer_waits)
{
    pthread_t w;
    OK(pthread_rwlock_rdlock(&rw));
    w = start(hold_write, NULL);
    pause_ms(10);
    EQUAL(elsewhere(try_read, &rw), 0);
    OK(pthread_rwlock_unlock(&rw));
    finish(w);
}

CASE(rwlock_new_reader_while_a_preferred_writer_waits)
{
    pthread_rwlockattr_t attr;
    pthread_t w;
    pthread_rwlockattr_init(&attr);
    OK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlock_init(&rw, &attr));
    OK(pthread_rwlock_rdlock(&rw));
    w = start(hold_write, NULL);
    long got = 0;
    for (int tries = 0; tries < 100 && got == 0; tries++) { /* until it waits, which may last on a busy computer */
        pause_ms(10);
        got = (long)elsewhere(try_read, &rw);
    }
    EQUAL(got, EBUSY);
    OK(pthread_rwlock_unlock(&rw));
    finish(w);
    OK(pthread_rwlock_destroy(&rw));
    OK(pthread_rwlock_init(&rw, NULL));
}
