/* SPDX-License-Identifier: Apache-2.0 */
/* C11 threads. */
#include "harness.h"
#include <threads.h>

static mtx_t m;
static cnd_t c;
static int counter, ready, waiting;

static int give_back(void *arg)
{
    return (int)(long)arg;
}

static thrd_t begin(thrd_start_t fn, void *arg)
{
    thrd_t t;
    EQUAL(thrd_create(&t, fn, arg), thrd_success);
    return t;
}

static int end(thrd_t t)
{
    int result = -12345;
    EQUAL(thrd_join(t, &result), thrd_success);
    return result;
}

CASE(thrd_result)
{
    EQUAL(end(begin(give_back, (void *)42)), 42);
    EQUAL(end(begin(give_back, (void *)-1)), -1);
}

static int leave(void *arg)
{
    thrd_exit((int)(long)arg);
}

CASE(thrd_result_of_exit)
{
    EQUAL(end(begin(leave, (void *)-7)), -7);
}

CASE(thrd_join_without_result)
{
    EQUAL(thrd_join(begin(give_back, NULL), NULL), thrd_success);
}

static thrd_t seen;
static int note_current(void *arg)
{
    seen = thrd_current();
    return 0;
}

CASE(thrd_identity)
{
    thrd_t t = begin(note_current, NULL);
    end(t);
    CHECK(thrd_equal(t, seen));
    CHECK(!thrd_equal(t, thrd_current()));
    CHECK(thrd_equal(thrd_current(), thrd_current()));
}

static int announce(void *arg)
{
    mtx_lock(&m);
    ready = 1;
    cnd_signal(&c);
    mtx_unlock(&m);
    return 0;
}

CASE(thrd_detached)
{
    ready = 0;
    EQUAL(mtx_init(&m, mtx_plain), thrd_success);
    EQUAL(cnd_init(&c), thrd_success);
    EQUAL(thrd_detach(begin(announce, NULL)), thrd_success);
    mtx_lock(&m);
    while (!ready)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
}

CASE(thrd_sleeps)
{
    struct timespec a, b, t = {0, 10000000};
    timespec_get(&a, TIME_UTC);
    EQUAL(thrd_sleep(&t, NULL), 0);
    timespec_get(&b, TIME_UTC);
    CHECK((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec >= 10000000);
    thrd_yield();
}

static int try_lock(void *arg)
{
    int result = mtx_trylock(arg);
    if (result == thrd_success)
        mtx_unlock(arg);
    return result;
}

CASE(mtx_plain_lock)
{
    EQUAL(mtx_init(&m, mtx_plain), thrd_success);
    EQUAL(mtx_lock(&m), thrd_success);
    EQUAL(end(begin(try_lock, &m)), thrd_busy);
    EQUAL(mtx_unlock(&m), thrd_success);
    EQUAL(end(begin(try_lock, &m)), thrd_success);
    mtx_destroy(&m);
}

CASE(mtx_recursive_lock)
{
    EQUAL(mtx_init(&m, mtx_plain | mtx_recursive), thrd_success);
    EQUAL(mtx_lock(&m), thrd_success);
    EQUAL(mtx_lock(&m), thrd_success);
    EQUAL(mtx_trylock(&m), thrd_success);
    mtx_unlock(&m);
    mtx_unlock(&m);
    EQUAL(end(begin(try_lock, &m)), thrd_busy);
    mtx_unlock(&m);
    EQUAL(end(begin(try_lock, &m)), thrd_success);
    mtx_destroy(&m);
}

static int timed_lock(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, (long)arg);
    int result = mtx_timedlock(&m, &until);
    if (result == thrd_success)
        mtx_unlock(&m);
    return result;
}

CASE(mtx_timedlock_times_out)
{
    EQUAL(mtx_init(&m, mtx_timed), thrd_success);
    mtx_lock(&m);
    EQUAL(end(begin(timed_lock, (void *)10)), thrd_timedout);
    mtx_unlock(&m);
    EQUAL(end(begin(timed_lock, (void *)10)), thrd_success);
    mtx_destroy(&m);
}

static int count(void *arg)
{
    for (int i = 0; i < 100; i++) {
        mtx_lock(&m);
        int n = counter;
        if (i % 16 == 0)
            thrd_yield();
        counter = n + 1;
        mtx_unlock(&m);
    }
    return 0;
}

CASE(mtx_excludes)
{
    thrd_t t[6];
    counter = 0;
    EQUAL(mtx_init(&m, mtx_plain), thrd_success);
    for (int i = 0; i < 6; i++)
        t[i] = begin(count, NULL);
    for (int i = 0; i < 6; i++)
        end(t[i]);
    EQUAL(counter, 600);
    mtx_destroy(&m);
}

static int wait_ready(void *arg)
{
    mtx_lock(&m);
    waiting++;
    while (!ready)
        cnd_wait(&c, &m);
    counter++;
    mtx_unlock(&m);
    return 0;
}

CASE(cnd_broadcasts)
{
    thrd_t t[6];
    ready = waiting = counter = 0;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    for (int i = 0; i < 6; i++)
        t[i] = begin(wait_ready, NULL);
    for (int all = 0; !all; thrd_yield()) {
        mtx_lock(&m);
        all = waiting == 6;
        mtx_unlock(&m);
    }
    mtx_lock(&m);
    ready = 1;
    EQUAL(cnd_broadcast(&c), thrd_success);
    mtx_unlock(&m);
    for (int i = 0; i < 6; i++)
        end(t[i]);
    EQUAL(counter, 6);
    cnd_destroy(&c);
    mtx_destroy(&m);
}

CASE(cnd_timedwait_times_out)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 10);
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    mtx_lock(&m);
    EQUAL(cnd_timedwait(&c, &m, &until), thrd_timedout);
    CHECK(reached(CLOCK_REALTIME, &until));
    mtx_unlock(&m);
}

static once_flag flag = ONCE_FLAG_INIT;
static void initialise(void)
{
    pause_ms(2);
    counter++;
}

static int use_once(void *arg)
{
    call_once(&flag, initialise);
    return counter;
}

CASE(call_once_by_many)
{
    thrd_t t[6];
    counter = 0;
    for (int i = 0; i < 6; i++)
        t[i] = begin(use_once, NULL);
    for (int i = 0; i < 6; i++)
        EQUAL(end(t[i]), 1);
}

static tss_t key;
static int destroyed;
static void destroy(void *value)
{
    destroyed += (int)(long)value;
}

static int use_tss(void *arg)
{
    int bad = tss_get(key) != NULL;
    bad += tss_set(key, arg) != thrd_success;
    thrd_yield();
    return bad + (tss_get(key) != arg);
}

CASE(tss_values_and_destructors)
{
    thrd_t t[5];
    destroyed = 0;
    EQUAL(tss_create(&key, destroy), thrd_success);
    for (long i = 0; i < 5; i++)
        t[i] = begin(use_tss, (void *)(i + 1));
    for (int i = 0; i < 5; i++)
        EQUAL(end(t[i]), 0);
    EQUAL(destroyed, 15);
    tss_delete(key);
}

static _Thread_local int own = 3;
static int change_own(void *arg)
{
    own += (int)(long)arg;
    thrd_yield();
    return own;
}

CASE(thread_local_storage_class)
{
    thrd_t a = begin(change_own, (void *)10), b = begin(change_own, (void *)20);
    EQUAL(end(a), 13);
    EQUAL(end(b), 23);
    EQUAL(own, 3);
}

static _Atomic int atomic_counter;
static int add_atomically(void *arg)
{
    for (int i = 0; i < 200; i++)
        atomic_counter++;
    return 0;
}

CASE(atomics)
{
    thrd_t t[5];
    for (int i = 0; i < 5; i++)
        t[i] = begin(add_atomically, NULL);
    for (int i = 0; i < 5; i++)
        end(t[i]);
    EQUAL(atomic_counter, 1000);
}
