/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread function answers to misuse and at the edges of what is allowed, one line each: the plain run is
 * the independent answer.  Only what the C library defines by what it does, and what leaves it in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, int result)
{
    printf("%s: %s\n", what, result == -1 ? "-1" : result ? strerrorname_np(result) : "0");
}

/* Of functions that return -1 and set errno. */
static int failed(int result)
{
    return result ? errno : 0;
}

#define SAY(expression) say(#expression, expression)
#define SAY_ERRNO(expression) say(#expression, failed(expression))
#define SAY_OF(type, expression)                                                                                       \
    do {                                                                                                               \
        printf("%s ", type);                                                                                           \
        SAY(expression);                                                                                               \
    } while (0)

static const struct timespec bad_ns = {1, 1000000000}, negative_ns = {1, -1}, past = {1, 0}, ancient = {-5, 0};

/* In another thread. */
struct call {
    int (*fn)(void *);
    void *object;
};

static void *calls(void *arg)
{
    struct call *call = arg;
    return (void *)(long)call->fn(call->object);
}

static int elsewhere(int (*fn)(void *), void *object)
{
    struct call call = {fn, object};
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, calls, &call);
    pthread_join(t, &result);
    return (int)(long)result;
}
#define ELSEWHERE(fn, object) elsewhere((int (*)(void *))fn, object)

/* ------------------------------------------------------------------------------------------- mutexes */

static struct timespec soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 20000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static void fresh(pthread_mutex_t *m, int type, int robust, int protocol)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    pthread_mutexattr_setrobust(&attr, robust);
    pthread_mutexattr_setprotocol(&attr, protocol);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void mutexes_of(const char *name, int type, int robust, int protocol)
{
    pthread_mutex_t m;
    struct timespec until;
    int checked = type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK || robust;

    fresh(&m, type, robust, protocol);
    SAY_OF(name, pthread_mutex_timedlock(&m, &bad_ns));
    SAY_OF(name, ELSEWHERE(pthread_mutex_trylock, &m));
    fresh(&m, type, robust, protocol);
    SAY_OF(name, pthread_mutex_timedlock(&m, &past));
    SAY_OF(name, pthread_mutex_trylock(&m));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_trylock(&m));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    until = soon();
    SAY_OF(name, pthread_mutex_timedlock(&m, &until));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_timedlock(&m, &past));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_timedlock(&m, &ancient));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_timedlock(&m, &negative_ns));
    SAY_OF(name, pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past));
    SAY_OF(name, pthread_mutex_clocklock(&m, 77, &past));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_destroy(&m));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, ELSEWHERE(pthread_mutex_destroy, &m));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, ELSEWHERE(pthread_mutex_trylock, &m));
    if (checked) {
        SAY_OF(name, ELSEWHERE(pthread_mutex_unlock, &m));
        SAY_OF(name, pthread_mutex_unlock(&m));
        SAY_OF(name, pthread_mutex_unlock(&m));
    }
    fresh(&m, type, robust, protocol);
    SAY_OF(name, pthread_mutex_unlock(&m));
    fresh(&m, type, robust, protocol);
    pthread_mutex_lock(&m);
    SAY_OF(name, pthread_mutex_init(&m, NULL));
    SAY_OF(name, pthread_mutex_lock(&m));
    fresh(&m, type, robust, protocol);
    SAY_OF(name, pthread_mutex_consistent(&m));
    SAY_OF(name, pthread_mutex_destroy(&m));
    SAY_OF(name, pthread_mutex_destroy(&m));
    SAY_OF(name, pthread_mutex_lock(&m));
    SAY_OF(name, pthread_mutex_trylock(&m));
    SAY_OF(name, pthread_mutex_unlock(&m));
    SAY_OF(name, pthread_mutex_timedlock(&m, &past));
    SAY_OF(name, pthread_mutex_consistent(&m));
}

static int dies_with(void *m)
{
    return pthread_mutex_lock(m);
}

static void robust_mutexes(void)
{
    pthread_mutex_t m;
    int old;

    fresh(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    SAY(elsewhere(dies_with, &m));
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_consistent(&m));
    SAY(pthread_mutex_consistent(&m));
    SAY(pthread_mutex_unlock(&m));
    SAY(elsewhere(dies_with, &m));
    SAY(pthread_mutex_trylock(&m));
    SAY(pthread_mutex_unlock(&m));
    SAY(pthread_mutex_lock(&m));
    SAY(pthread_mutex_trylock(&m));
    SAY(pthread_mutex_destroy(&m));
    fresh(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    SAY(pthread_mutex_setprioceiling(&m, 1, &old));
    SAY(pthread_mutex_getprioceiling(&m, &old));
    fresh(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT);
    SAY(pthread_mutex_setprioceiling(&m, 1000, &old));
    SAY(pthread_mutex_setprioceiling(&m, -1, &old));
}

static pthread_cond_t shared_cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int waits, may_go;

static int waits_for_it(void *arg)
{
    pthread_mutex_lock(&shared_mutex);
    waits = 1;
    while (!may_go)
        pthread_cond_wait(&shared_cond, &shared_mutex);
    return pthread_mutex_unlock(&shared_mutex);
}

/* A mutex to which somebody will come back. */
static void mutex_of_a_condition(void)
{
    struct call call = {waits_for_it, NULL};
    pthread_t t;
    int seen;

    pthread_create(&t, NULL, calls, &call);
    do {
        usleep(1000);
        pthread_mutex_lock(&shared_mutex);
        seen = waits;
        pthread_mutex_unlock(&shared_mutex);
    } while (!seen);
    SAY(pthread_mutex_destroy(&shared_mutex));
    pthread_mutex_lock(&shared_mutex);
    may_go = 1;
    SAY(pthread_cond_signal(&shared_cond));
    pthread_mutex_unlock(&shared_mutex);
    pthread_join(t, NULL);
    SAY(pthread_mutex_destroy(&shared_mutex));
    SAY(pthread_cond_destroy(&shared_cond));
}

/* ---------------------------------------------------------------------------------- locks of other kinds */

static int holds_spin(void *spin)
{
    return pthread_spin_trylock(spin);
}

static void spin_locks(void)
{
    pthread_spinlock_t s;

    pthread_spin_init(&s, 0);
    pthread_spin_lock(&s);
    SAY(pthread_spin_trylock(&s));
    SAY(elsewhere(holds_spin, (void *)&s));
    SAY(pthread_spin_destroy(&s));
    pthread_spin_init(&s, 0);
    SAY(pthread_spin_trylock(&s));
    SAY(pthread_spin_unlock(&s));
    SAY(pthread_spin_unlock(&s));
    SAY(pthread_spin_trylock(&s));
    SAY(pthread_spin_init(&s, 0));
    SAY(pthread_spin_trylock(&s));
    SAY(pthread_spin_unlock(&s));
    SAY(pthread_spin_destroy(&s));
}

static void rwlocks_of(const char *name, int preference)
{
    pthread_rwlock_t l;
    pthread_rwlockattr_t attr;
    struct timespec until;

    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, preference);
    pthread_rwlock_init(&l, &attr);
    pthread_rwlock_rdlock(&l);
    SAY_OF(name, pthread_rwlock_trywrlock(&l));
    SAY_OF(name, pthread_rwlock_tryrdlock(&l));
    SAY_OF(name, pthread_rwlock_unlock(&l));
    until = soon();
    SAY_OF(name, pthread_rwlock_timedwrlock(&l, &until));
    SAY_OF(name, pthread_rwlock_timedwrlock(&l, &ancient));
    SAY_OF(name, pthread_rwlock_timedrdlock(&l, &past));
    SAY_OF(name, pthread_rwlock_timedrdlock(&l, &bad_ns));
    SAY_OF(name, pthread_rwlock_clockrdlock(&l, 77, &past));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_trywrlock, &l));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_tryrdlock, &l));
    SAY_OF(name, pthread_rwlock_destroy(&l));

    pthread_rwlock_init(&l, &attr);
    pthread_rwlock_wrlock(&l);
    SAY_OF(name, pthread_rwlock_wrlock(&l));
    SAY_OF(name, pthread_rwlock_rdlock(&l));
    SAY_OF(name, pthread_rwlock_tryrdlock(&l));
    SAY_OF(name, pthread_rwlock_trywrlock(&l));
    SAY_OF(name, pthread_rwlock_timedrdlock(&l, &past));
    SAY_OF(name, pthread_rwlock_timedwrlock(&l, &past));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_tryrdlock, &l));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_trywrlock, &l));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_destroy, &l));
    SAY_OF(name, pthread_rwlock_destroy(&l));
    SAY_OF(name, pthread_rwlock_init(&l, &attr));
    SAY_OF(name, pthread_rwlock_trywrlock(&l));
    SAY_OF(name, pthread_rwlock_init(&l, &attr));
    SAY_OF(name, pthread_rwlock_timedwrlock(&l, &bad_ns));
    SAY_OF(name, pthread_rwlock_tryrdlock(&l));
    SAY_OF(name, ELSEWHERE(pthread_rwlock_unlock, &l));
    SAY_OF(name, pthread_rwlock_trywrlock(&l));
    SAY_OF(name, pthread_rwlock_unlock(&l));
    SAY_OF(name, pthread_rwlock_destroy(&l));
    SAY_OF(name, pthread_rwlock_destroy(&l));
    pthread_rwlockattr_destroy(&attr);
}

/* Who holds a lock that is destroyed may still unlock it; or its memory becomes another lock. */
static void destroyed_while_held(void)
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

    pthread_rwlock_wrlock(&l);
    SAY(pthread_rwlock_destroy(&l));
    SAY(pthread_rwlock_unlock(&l));
    SAY(pthread_rwlock_trywrlock(&l));
    SAY(pthread_rwlock_destroy(&l));
    memset(&l, 0, sizeof l);
    SAY(pthread_rwlock_tryrdlock(&l));
    SAY(pthread_rwlock_tryrdlock(&l));
    SAY(pthread_rwlock_destroy(&l));
    memset(&l, 0, sizeof l);
    SAY(pthread_rwlock_trywrlock(&l));
    SAY(pthread_rwlock_unlock(&l));
}

/* ---------------------------------------------------------------- conditions, barriers, semaphores, C11 */

static void conditions(void)
{
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_condattr_t attr;
    struct timespec until;

    SAY(pthread_cond_signal(&c));
    SAY(pthread_cond_broadcast(&c));
    SAY(pthread_cond_wait(&c, &m));
    SAY(pthread_cond_wait(&c, &r));
    SAY(pthread_cond_timedwait(&c, &m, &bad_ns));
    SAY(pthread_cond_timedwait(&c, &m, &past));
    SAY(pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &past));
    pthread_mutex_lock(&m);
    SAY(pthread_cond_timedwait(&c, &m, &bad_ns));
    SAY(pthread_cond_timedwait(&c, &m, &negative_ns));
    SAY(pthread_cond_timedwait(&c, &m, &past));
    SAY(pthread_cond_timedwait(&c, &m, &ancient));
    until = soon();
    SAY(pthread_cond_timedwait(&c, &m, &until));
    SAY(pthread_mutex_trylock(&m));
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&r);
    pthread_mutex_lock(&r);
    SAY(pthread_cond_timedwait(&c, &r, &past));
    SAY(pthread_mutex_unlock(&r));
    SAY(pthread_mutex_unlock(&r));
    SAY(pthread_mutex_unlock(&r));
    SAY(pthread_cond_destroy(&c));
    SAY(pthread_cond_destroy(&c));
    pthread_mutex_destroy(&m);
    SAY(pthread_cond_wait(&c, &m));
    pthread_condattr_init(&attr);
    SAY(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID));
    SAY(pthread_condattr_setclock(&attr, 77));
    SAY(pthread_condattr_setpshared(&attr, 77));
}

static void barriers(void)
{
    pthread_barrier_t b;
    pthread_barrierattr_t attr;

    SAY(pthread_barrier_init(&b, NULL, 0));
    SAY(pthread_barrier_init(&b, NULL, UINT_MAX));
    SAY(pthread_barrier_init(&b, NULL, 1));
    SAY(pthread_barrier_wait(&b));
    SAY(pthread_barrier_wait(&b));
    SAY(pthread_barrier_init(&b, NULL, 2));
    SAY(pthread_barrier_destroy(&b));
    pthread_barrierattr_init(&attr);
    SAY(pthread_barrierattr_setpshared(&attr, 77));
}

static sem_t shared_sem;

static int takes_it(void *arg)
{
    return failed(sem_wait(&shared_sem));
}

static void semaphores(void)
{
    struct call call = {takes_it, NULL};
    struct timespec until = soon();
    char long_name[NAME_MAX + 20];
    pthread_t t;
    sem_t s, *named;
    int value;

    SAY_ERRNO(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1));
    SAY_ERRNO(sem_init(&s, 0, SEM_VALUE_MAX));
    SAY_ERRNO(sem_post(&s));
    SAY_ERRNO(sem_getvalue(&s, &value));
    printf("%d\n", value == SEM_VALUE_MAX);
    SAY_ERRNO(sem_init(&s, 0, 1));
    SAY_ERRNO(sem_timedwait(&s, &bad_ns));
    SAY_ERRNO(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &past));
    SAY_ERRNO(sem_timedwait(&s, &past));
    SAY_ERRNO(sem_trywait(&s));
    SAY_ERRNO(sem_timedwait(&s, &past));
    SAY_ERRNO(sem_timedwait(&s, &ancient));
    SAY_ERRNO(sem_timedwait(&s, &until));
    SAY_ERRNO(sem_timedwait(&s, &negative_ns));
    SAY_ERRNO(sem_destroy(&s));
    SAY_ERRNO(sem_destroy(&s));

    sem_init(&shared_sem, 0, 0);
    pthread_create(&t, NULL, calls, &call);
    usleep(50000);
    SAY_ERRNO(sem_destroy(&shared_sem));
    SAY_ERRNO(sem_post(&shared_sem));
    pthread_join(t, NULL);

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    SAY_ERRNO(sem_open(long_name, O_CREAT, 0600, 1) == SEM_FAILED);
    SAY_ERRNO(sem_unlink(long_name));
    long_name[NAME_MAX - 1] = 0;
    SAY_ERRNO(sem_open("/peet-misuse-not-there", 0) == SEM_FAILED);
    SAY_ERRNO(sem_open("", O_CREAT, 0600, 1) == SEM_FAILED);
    SAY_ERRNO(sem_open("/", O_CREAT, 0600, 1) == SEM_FAILED);
    SAY_ERRNO(sem_open("/a/b", O_CREAT, 0600, 1) == SEM_FAILED);
    SAY_ERRNO(sem_open(long_name, O_CREAT, 0600, 1) == SEM_FAILED);
    SAY_ERRNO(sem_open("/peet-misuse", O_CREAT, 0600, (unsigned)SEM_VALUE_MAX + 1) == SEM_FAILED);
    sem_unlink("/peet-misuse");
    named = sem_open("/peet-misuse", O_CREAT | O_EXCL, 0600, 2);
    SAY_ERRNO(sem_open("/peet-misuse", O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED);
    SAY_ERRNO(sem_open("/peet-misuse", O_CREAT, 0600, 9) != named);
    SAY_ERRNO(sem_getvalue(named, &value));
    printf("%d\n", value);
    SAY_ERRNO(sem_unlink("/peet-misuse"));
    SAY_ERRNO(sem_unlink("/peet-misuse"));
    SAY_ERRNO(sem_unlink(""));
    SAY_ERRNO(sem_unlink("/a/b"));
    SAY_ERRNO(sem_trywait(named));
    SAY_ERRNO(sem_close(named));
    SAY_ERRNO(sem_close(named));
    SAY_ERRNO(sem_close(&s));
}

static void c11(void)
{
    mtx_t m;
    cnd_t c;
    tss_t key;

    printf("%d", mtx_init(&m, 77));
    printf(" %d", mtx_init(&m, mtx_plain));
    printf(" %d", mtx_lock(&m));
    printf(" %d", mtx_trylock(&m));
    printf(" %d", mtx_timedlock(&m, &past));
    printf(" %d", mtx_timedlock(&m, &bad_ns));
    printf(" %d", mtx_unlock(&m));
    printf(" %d", mtx_init(&m, mtx_timed | mtx_recursive));
    printf(" %d", mtx_timedlock(&m, &past));
    printf(" %d", mtx_lock(&m));
    printf(" %d", mtx_unlock(&m));
    printf(" %d", mtx_unlock(&m));
    printf(" %d", mtx_unlock(&m));
    printf(" %d", cnd_init(&c));
    printf(" %d", cnd_signal(&c));
    printf(" %d", cnd_timedwait(&c, &m, &past));
    printf(" %d", thrd_sleep(&(struct timespec){0, -1}, NULL));
    printf(" %d", thrd_join(thrd_current(), NULL));
    printf(" %d", tss_create(&key, NULL));
    printf(" %d", tss_set(key + 1000, &m));
    printf(" %d\n", tss_get(key + 1000) == NULL);
}

/* ------------------------------------------------------------------------------------------- threads */

static int returns(void *arg)
{
    return 0;
}

static int sleeps(void *arg)
{
    sem_wait(&shared_sem);
    return 0;
}

static void threads_themselves(void)
{
    struct call quick = {returns, NULL}, slow = {sleeps, NULL};
    pthread_t t;
    pthread_attr_t attr;
    pthread_key_t key;
    struct sched_param param = {.sched_priority = 1};
    char name[20];
    sigset_t set;
    cpu_set_t none;
    int old;

    sem_init(&shared_sem, 0, 0);
    SAY(pthread_join(pthread_self(), NULL));
    pthread_create(&t, NULL, calls, &slow);
    SAY(pthread_tryjoin_np(t, NULL));
    SAY(pthread_timedjoin_np(t, NULL, &past));
    SAY(pthread_clockjoin_np(t, NULL, CLOCK_PROCESS_CPUTIME_ID, &past));
    SAY(pthread_setname_np(t, "sixteen letters!"));
    SAY(pthread_setname_np(t, "fifteen letters"));
    SAY(pthread_getname_np(t, name, 4));
    SAY(pthread_getname_np(t, name, 16));
    printf("%s\n", name);
    SAY(pthread_kill(t, 0));
    SAY(pthread_kill(t, 77));
    SAY(pthread_kill(t, -1));
    SAY(pthread_kill(t, 32));
    SAY(pthread_setschedparam(t, 77, &param));
    SAY(pthread_setschedparam(t, SCHED_OTHER, &param));
    CPU_ZERO(&none);
    SAY(pthread_setaffinity_np(t, sizeof none, &none));
    sem_post(&shared_sem);
    usleep(50000);
    SAY(pthread_kill(t, 0));
    SAY(pthread_kill(t, SIGUSR1));
    SAY(pthread_cancel(t));
    SAY(pthread_tryjoin_np(t, NULL));

    pthread_create(&t, NULL, calls, &slow);
    SAY(pthread_detach(t));
    SAY(pthread_detach(t));
    SAY(pthread_join(t, NULL));
    SAY(pthread_tryjoin_np(t, NULL));
    sem_post(&shared_sem);

    pthread_attr_init(&attr);
    SAY(pthread_attr_setstacksize(&attr, 100));
    SAY(pthread_attr_setdetachstate(&attr, 77));
    SAY(pthread_attr_setinheritsched(&attr, 77));
    SAY(pthread_attr_setschedpolicy(&attr, 77));
    SAY(pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS));
    param.sched_priority = 1000;
    SAY(pthread_attr_setschedparam(&attr, &param));
    SAY(pthread_attr_setstacksize(&attr, SIZE_MAX / 2));
    SAY(pthread_create(&t, &attr, calls, &quick));
    pthread_attr_destroy(&attr);

    SAY(pthread_setcancelstate(77, &old));
    SAY(pthread_setcanceltype(77, &old));
    SAY(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    SAY(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    SAY(pthread_key_create(&key, NULL));
    SAY(pthread_key_delete(key));
    SAY(pthread_key_delete(key));
    SAY(pthread_setspecific(key, &t));
    SAY(pthread_getspecific(key) != NULL);
    SAY(pthread_key_delete(PTHREAD_KEYS_MAX));
    SAY(pthread_setspecific(PTHREAD_KEYS_MAX + 3, NULL));
    for (old = 0; old <= PTHREAD_KEYS_MAX && pthread_key_create(&key, NULL) == 0; old++)
        ;
    SAY(pthread_key_create(&key, NULL));
    SAY(pthread_setconcurrency(-1));
    SAY(pthread_setconcurrency(3));
    printf("%d\n", pthread_getconcurrency());
    sigemptyset(&set);
    SAY(pthread_sigmask(77, &set, NULL));
    SAY_ERRNO(sigprocmask(77, &set, NULL));
    SAY_ERRNO(sched_setparam(0, &param));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    mutexes_of("normal", PTHREAD_MUTEX_NORMAL, 0, 0);
    mutexes_of("recursive", PTHREAD_MUTEX_RECURSIVE, 0, 0);
    mutexes_of("checking", PTHREAD_MUTEX_ERRORCHECK, 0, 0);
    mutexes_of("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0);
    mutexes_of("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0);
    mutexes_of("robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, 0);
    mutexes_of("robust checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, 0);
    mutexes_of("inheriting", PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_INHERIT);
    robust_mutexes();
    mutex_of_a_condition();
    spin_locks();
    rwlocks_of("readers first", PTHREAD_RWLOCK_PREFER_READER_NP);
    rwlocks_of("writers first", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    destroyed_while_held();
    conditions();
    barriers();
    semaphores();
    c11();
    threads_themselves();
    return 0;
}
