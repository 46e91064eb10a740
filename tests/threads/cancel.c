/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-specific data, cleanup handlers, cancellation. */
#include "harness.h"
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>

static long elsewhere(void *(*fn)(void *), void *arg)
{
    return (long)finish(start(fn, arg));
}

/* ------------------------------------------------------------------------------------ thread-specific data */

static pthread_key_t key, other_key;
static int destroyed, rounds;
static void *destroyed_value;

static void count_destroyed(void *value)
{
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
    destroyed_value = value;
}

static void *set_and_get(void *arg)
{
    long bad = pthread_getspecific(key) != NULL;
    bad += pthread_setspecific(key, arg) != 0;
    for (int i = 0; i < 3; i++) {
        sched_yield();
        bad += pthread_getspecific(key) != arg;
    }
    return (void *)bad;
}

CASE(key_values_are_the_threads_own)
{
    pthread_t t[6];
    destroyed = 0;
    OK(pthread_key_create(&key, count_destroyed));
    OK(pthread_setspecific(key, &destroyed));
    for (long i = 0; i < 6; i++)
        t[i] = start(set_and_get, (void *)(i + 1));
    for (int i = 0; i < 6; i++)
        OK(finish(t[i]));
    CHECK(pthread_getspecific(key) == &destroyed);
    EQUAL(destroyed, 6);
    OK(pthread_key_delete(key));
}

CASE(key_destructor_gets_the_value)
{
    destroyed = 0;
    OK(pthread_key_create(&key, count_destroyed));
    elsewhere(set_and_get, (void *)1234);
    EQUAL(destroyed, 1);
    EQUAL(destroyed_value, 1234);
    OK(pthread_key_delete(key));
}

static void *set_null(void *arg)
{
    pthread_setspecific(key, (void *)5);
    pthread_setspecific(key, NULL);
    return NULL;
}

CASE(key_no_destructor_for_null)
{
    destroyed = 0;
    OK(pthread_key_create(&key, count_destroyed));
    elsewhere(set_null, NULL);
    EQUAL(destroyed, 0);
    OK(pthread_key_delete(key));
}

CASE(key_without_destructor)
{
    OK(pthread_key_create(&key, NULL));
    EQUAL(elsewhere(set_and_get, (void *)9), 0);
    OK(pthread_key_delete(key));
}

static void set_again(void *value)
{
    rounds++;
    pthread_setspecific(key, value);
}

CASE(key_destructor_sets_it_again)
{
    rounds = 0;
    OK(pthread_key_create(&key, set_again));
    elsewhere(set_and_get, (void *)9);
    EQUAL(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
    OK(pthread_key_delete(key));
}

static void set_other(void *value)
{
    rounds++;
    pthread_setspecific(other_key, value);
}

CASE(key_destructor_sets_another)
{
    rounds = destroyed = 0;
    OK(pthread_key_create(&other_key, count_destroyed));
    OK(pthread_key_create(&key, set_other));
    elsewhere(set_and_get, (void *)77);
    EQUAL(rounds, 1);
    EQUAL(destroyed, 1);
    EQUAL(destroyed_value, 77);
    OK(pthread_key_delete(key));
    OK(pthread_key_delete(other_key));
}

CASE(key_deleted)
{
    OK(pthread_key_create(&key, NULL));
    OK(pthread_setspecific(key, (void *)3));
    OK(pthread_key_delete(key));
    EQUAL(pthread_key_delete(key), EINVAL);
    EQUAL(pthread_setspecific(key, (void *)4), EINVAL);
    /* the next one may have its number, but not its value */
    OK(pthread_key_create(&key, NULL));
    EQUAL(pthread_getspecific(key), 0);
    OK(pthread_key_delete(key));
}

static void *leave_with_value(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_exit(NULL);
}

CASE(key_destructor_after_pthread_exit)
{
    destroyed = 0;
    OK(pthread_key_create(&key, count_destroyed));
    elsewhere(leave_with_value, (void *)8);
    EQUAL(destroyed, 1);
    EQUAL(destroyed_value, 8);
    OK(pthread_key_delete(key));
}

static pthread_key_t many[600];
static void *use_many(void *arg)
{
    long bad = 0;
    for (long i = 0; i < 600; i++)
        bad += pthread_setspecific(many[i], (void *)(i + 1)) != 0;
    sched_yield();
    for (long i = 0; i < 600; i++)
        bad += pthread_getspecific(many[i]) != (void *)(i + 1);
    return (void *)bad;
}

CASE(keys_many)
{
    int made = 0;
    destroyed = 0;
    while (made < 600 && pthread_key_create(&many[made], count_destroyed) == 0)
        made++;
    EQUAL(made, 600);
    pthread_t a = start(use_many, NULL), b = start(use_many, NULL);
    OK(finish(a));
    OK(finish(b));
    EQUAL(destroyed, 1200);
    for (int i = 0; i < made; i++)
        OK(pthread_key_delete(many[i]));
}

CASE(keys_run_out)
{
    static pthread_key_t all[PTHREAD_KEYS_MAX + 1];
    int made = 0, err = 0;
    while (made <= PTHREAD_KEYS_MAX && (err = pthread_key_create(&all[made], NULL)) == 0)
        made++;
    EQUAL(err, EAGAIN);
    CHECK(made > 900);
    while (made > 0)
        OK(pthread_key_delete(all[--made]));
}

CASE(key_of_no_thread)
{
    EQUAL(pthread_getspecific(PTHREAD_KEYS_MAX + 5), 0);
    EQUAL(pthread_setspecific(PTHREAD_KEYS_MAX + 5, &key), EINVAL);
}

/* ------------------------------------------------------------------------------------------ cleanup handlers */

static char trail[64];
static pthread_mutex_t marking = PTHREAD_MUTEX_INITIALIZER;
static void mark(void *what)
{
    pthread_mutex_lock(&marking); /* threads that are cancelled together mark together */
    strncat(trail, what, sizeof trail - strlen(trail) - 1);
    pthread_mutex_unlock(&marking);
}

static void *push_and_leave(void *arg)
{
    pthread_cleanup_push(mark, "a");
    pthread_cleanup_push(mark, "b");
    pthread_cleanup_push(mark, "c");
    if (arg)
        pthread_exit((void *)5);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    return (void *)6;
}

CASE(cleanup_popped)
{
    trail[0] = 0;
    EQUAL(elsewhere(push_and_leave, NULL), 6);
    OK(strcmp(trail, "b"));
}

CASE(cleanup_by_pthread_exit)
{
    trail[0] = 0;
    EQUAL(elsewhere(push_and_leave, (void *)1), 5);
    OK(strcmp(trail, "cba"));
}

static void level(int n)
{
    char name[2] = {(char)('0' + n), 0};
    pthread_cleanup_push(mark, name);
    if (n == 0)
        pthread_exit((void *)3);
    level(n - 1);
    pthread_cleanup_pop(0);
}

static void *levels(void *arg)
{
    level(4);
    return NULL;
}

CASE(cleanup_in_many_frames)
{
    trail[0] = 0;
    EQUAL(elsewhere(levels, NULL), 3);
    OK(strcmp(trail, "01234"));
}

static void *handlers_then_destructors(void *arg)
{
    pthread_setspecific(key, "d");
    pthread_cleanup_push(mark, "h");
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cleanup_comes_before_destructors)
{
    trail[0] = 0;
    OK(pthread_key_create(&key, mark));
    elsewhere(handlers_then_destructors, NULL);
    OK(strcmp(trail, "hd"));
    OK(pthread_key_delete(key));
}

/* --------------------------------------------------------------------------------------------- cancellation */

static sem_t begun, never;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void prepare(void)
{
    trail[0] = 0;
    sem_init(&begun, 0, 0);
    sem_init(&never, 0, 0);
}

static void wait_begun(void)
{
    while (sem_wait(&begun) != 0) {
    }
}

/* Start it, cancel it once it has said that it runs, and see that it was. */
static void cancels(void *(*fn)(void *), const char *wanted)
{
    prepare();
    pthread_t t = start(fn, NULL);
    wait_begun();
    OK(pthread_cancel(t));
    CHECK(finish(t) == PTHREAD_CANCELED);
    OK(strcmp(trail, wanted));
}

static void *in_sem_wait(void *arg)
{
    pthread_cleanup_push(mark, "s");
    sem_post(&begun);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_sem_wait)
{
    cancels(in_sem_wait, "s");
}

static void *in_sem_timedwait(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 100000);
    pthread_cleanup_push(mark, "t");
    sem_post(&begun);
    sem_timedwait(&never, &until);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_sem_timedwait)
{
    cancels(in_sem_timedwait, "t");
}

static void unlock_m(void *arg)
{
    mark(pthread_mutex_trylock(&m) == EBUSY ? "held" : "free");
    pthread_mutex_unlock(&m);
}

static void *in_cond_wait(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock_m, NULL);
    sem_post(&begun);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_cond_wait_holds_the_mutex)
{
    cancels(in_cond_wait, "held");
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
}

static void *in_cond_timedwait(void *arg)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 100000);
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock_m, NULL);
    sem_post(&begun);
    for (;;)
        pthread_cond_timedwait(&c, &m, &until);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_cond_timedwait)
{
    cancels(in_cond_timedwait, "held");
}

static void *in_sleep(void *arg)
{
    pthread_cleanup_push(mark, "z");
    sem_post(&begun);
    pause_ms(1000000);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_nanosleep)
{
    cancels(in_sleep, "z");
}

static sem_t joins;
static void *in_join(void *arg)
{
    pthread_t t = start(in_sem_wait, NULL);
    *(pthread_t *)arg = t;
    wait_begun();
    pthread_cleanup_push(mark, "j");
    sem_post(&joins);
    pthread_join(t, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_join)
{
    pthread_t inner = 0;
    prepare();
    OK(sem_init(&joins, 0, 0));
    pthread_t t = start(in_join, &inner);
    /* not by time alone: real threads on a busy machine may be later than any pause */
    OK(sem_wait(&joins));
    pause_ms(5);
    OK(pthread_cancel(t));
    CHECK(finish(t) == PTHREAD_CANCELED);
    OK(strcmp(trail, "j"));
    /* the one that it waited for can still be joined */
    sem_post(&never);
    EQUAL(finish(inner), 0);
}

static pthread_t over;
static void *ends(void *unused)
{
    return NULL;
}
static void *joins_what_is_over(void *how)
{
    const struct timespec past = {1, 0};
    void *result = &over;
    pause_ms(50); /* it has ended */
    OK(pthread_cancel(pthread_self()));
    if (how == (void *)0)
        OK(pthread_join(over, &result));
    else if (how == (void *)1)
        OK(pthread_timedjoin_np(over, &result, &past));
    else if (how == (void *)2)
        OK(pthread_tryjoin_np(over, &result));
    else /* of itself: no deadlock, since it is cancelled */
        pthread_join(pthread_self(), &result);
    EQUAL(result, NULL);
    trail[0] = 'o';
    pthread_testcancel();
    return NULL;
}

/* As in glibc: only a join that waits is a cancellation point. */
CASE(cancelled_joins_what_is_over)
{
    for (long how = 0; how < 4; how++) {
        memset(trail, 0, sizeof(trail));
        over = start(ends, NULL);
        EQUAL(elsewhere(joins_what_is_over, (void *)how), (long)PTHREAD_CANCELED);
        OK(strcmp(trail, how < 3 ? "o" : ""));
    }
    EQUAL(finish(over), NULL);
}

static int fds[2];
static void *in_read(void *arg)
{
    char byte;
    pthread_cleanup_push(mark, "r");
    sem_post(&begun);
    if (read(fds[0], &byte, 1) == 1)
        mark("?");
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_in_read)
{
    OK(pipe(fds));
    cancels(in_read, "r");
    close(fds[0]);
    close(fds[1]);
}

static void *testing(void *arg)
{
    pthread_cleanup_push(mark, "q");
    sem_post(&begun);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_at_testcancel)
{
    cancels(testing, "q");
}

static void *cancel_itself(void *arg)
{
    pthread_cleanup_push(mark, "i");
    OK(pthread_cancel(pthread_self()));
    mark("1");
    pthread_testcancel();
    mark("2");
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_itself_deferred)
{
    trail[0] = 0;
    CHECK(elsewhere(cancel_itself, NULL) == (long)PTHREAD_CANCELED);
    OK(strcmp(trail, "1i"));
}

static void *disabled(void *arg)
{
    int old = -1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    EQUAL(old, PTHREAD_CANCEL_ENABLE);
    sem_post(&begun);
    while (sem_wait(&never) != 0) {
    }
    pthread_testcancel();
    mark("1");
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    EQUAL(old, PTHREAD_CANCEL_DISABLE);
    mark("2");
    pthread_testcancel();
    mark("3");
    return NULL;
}

CASE(cancel_waits_while_disabled)
{
    prepare();
    pthread_t t = start(disabled, NULL);
    wait_begun();
    OK(pthread_cancel(t));
    pause_ms(2);
    sem_post(&never);
    CHECK(finish(t) == PTHREAD_CANCELED);
    OK(strcmp(trail, "12"));
}

static void *disabled_in_cond(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&m);
    sem_post(&begun);
    while (!trail[0])
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return (void *)4;
}

CASE(cancel_does_not_wake_when_disabled)
{
    prepare();
    pthread_t t = start(disabled_in_cond, NULL);
    wait_begun();
    OK(pthread_cancel(t));
    pause_ms(2);
    pthread_mutex_lock(&m);
    mark("x");
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    EQUAL(finish(t), 4);
}

CASE(cancel_states_and_types)
{
    int old = -1;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    EQUAL(old, PTHREAD_CANCEL_DEFERRED);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    EQUAL(old, PTHREAD_CANCEL_ASYNCHRONOUS);
    EQUAL(pthread_setcanceltype(99, &old), EINVAL);
    EQUAL(pthread_setcancelstate(99, &old), EINVAL);
}

static volatile int spinning;
static void *asynchronous(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&begun);
    for (;;)
        spinning++;
    return NULL;
}

CASE(cancel_asynchronously_in_a_loop)
{
    cancels(asynchronous, "");
}

static void *asynchronous_in_itself(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(mark, "a");
    pthread_cancel(pthread_self());
    mark("?");
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_itself_asynchronously)
{
    trail[0] = 0;
    CHECK(elsewhere(asynchronous_in_itself, NULL) == (long)PTHREAD_CANCELED);
    OK(strcmp(trail, "a"));
}

static void *ended(void *arg)
{
    sem_post(&begun);
    return (void *)5;
}

CASE(cancel_after_the_end)
{
    prepare();
    pthread_t t = start(ended, NULL);
    wait_begun();
    pause_ms(2);
    OK(pthread_cancel(t));
    EQUAL(finish(t), 5);
}

static void *defers(void *arg)
{
    sem_post(&begun);
    while (sem_trywait(&never) != 0) /* no cancellation point */
        sched_yield();
    mark("1");
    pthread_testcancel();
    mark("2");
    return NULL;
}

CASE(cancel_deferred_to_the_next_point)
{
    prepare();
    pthread_t t = start(defers, NULL);
    wait_begun();
    OK(pthread_cancel(t));
    pause_ms(2);
    OK(trail[0]);
    sem_post(&never);
    CHECK(finish(t) == PTHREAD_CANCELED);
    OK(strcmp(trail, "1"));
}

static void *mutex_is_no_point(void *arg)
{
    sem_post(&begun);
    pthread_mutex_lock(&m);
    mark("1");
    pthread_mutex_unlock(&m);
    pthread_testcancel();
    mark("2");
    return NULL;
}

CASE(cancel_does_not_interrupt_mutex_lock)
{
    prepare();
    pthread_mutex_lock(&m);
    pthread_t t = start(mutex_is_no_point, NULL);
    wait_begun();
    OK(pthread_cancel(t));
    pause_ms(2);
    OK(trail[0]);
    pthread_mutex_unlock(&m);
    CHECK(finish(t) == PTHREAD_CANCELED);
    OK(strcmp(trail, "1"));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_tries;
static void cancelled_once(void)
{
    if (++once_tries == 1) {
        sem_post(&begun);
        sem_wait(&never);
    }
}

static void *in_once(void *arg)
{
    pthread_once(&once, cancelled_once);
    return (void *)1;
}

CASE(cancel_in_once_lets_another_do_it)
{
    prepare();
    pthread_t t = start(in_once, NULL);
    wait_begun();
    pthread_t u = start(in_once, NULL);
    pause_ms(2);
    OK(pthread_cancel(t));
    CHECK(finish(t) == PTHREAD_CANCELED);
    EQUAL(finish(u), 1);
    EQUAL(once_tries, 2);
}

static void *with_destructor(void *arg)
{
    pthread_setspecific(key, "d");
    pthread_cleanup_push(mark, "h");
    sem_post(&begun);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    return NULL;
}

CASE(cancel_runs_handlers_and_destructors)
{
    OK(pthread_key_create(&key, mark));
    cancels(with_destructor, "hd");
    OK(pthread_key_delete(key));
}

CASE(cancel_many)
{
    pthread_t t[20];
    prepare();
    for (int i = 0; i < 20; i++)
        t[i] = start(in_sem_wait, NULL);
    for (int i = 0; i < 20; i++)
        wait_begun();
    for (int i = 0; i < 20; i++)
        OK(pthread_cancel(t[i]));
    for (int i = 0; i < 20; i++)
        CHECK(finish(t[i]) == PTHREAD_CANCELED);
    EQUAL(strlen(trail), 20);
    int value = -1;
    sem_getvalue(&never, &value);
    EQUAL(value, 0);
}

static void *deferring(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    int type = -1;
    pthread_cleanup_push_defer_np(mark, "n");
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    EQUAL(type, PTHREAD_CANCEL_DEFERRED);
    pthread_cleanup_pop_restore_np(1);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    EQUAL(type, PTHREAD_CANCEL_ASYNCHRONOUS);
    return NULL;
}

CASE(cleanup_that_defers)
{
    trail[0] = 0;
    elsewhere(deferring, NULL);
    OK(strcmp(trail, "n"));
}
