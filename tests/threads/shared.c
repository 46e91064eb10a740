/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that the program shares with children of fork(): what one process does, the other sees. */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { ROUNDS = 200, CHILDREN = 3 };

static struct {
    sem_t ours, theirs;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
    volatile int turn, count, inside, crowded;
} *shared;

static void make(int kind)
{
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    pthread_rwlockattr_t ra;
    pthread_barrierattr_t ba;
    if (!shared)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, 0, sizeof *shared);
    OK(sem_init(&shared->ours, 1, 0));
    OK(sem_init(&shared->theirs, 1, 0));
    OK(pthread_mutexattr_init(&ma));
    OK(pthread_mutexattr_settype(&ma, kind));
    OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(&shared->mutex, &ma));
    OK(pthread_condattr_init(&ca));
    OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
    OK(pthread_cond_init(&shared->cond, &ca));
    OK(pthread_rwlockattr_init(&ra));
    OK(pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(&shared->rwlock, &ra));
    OK(pthread_spin_init(&shared->spin, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrierattr_init(&ba));
    OK(pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrier_init(&shared->barrier, &ba, 2));
}

/* A child that runs the function and ends with what it returns. */
static pid_t child(int (*fn)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn());
    return pid;
}

static int status(pid_t pid)
{
    int how = -1;
    EQUAL(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
}

/* ----------------------------------------------------------------------------------------- semaphores */

static int answers(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (sem_wait(&shared->theirs) != 0 || shared->count != 2 * i + 1)
            return 1;
        shared->count++;
        sem_post(&shared->ours);
    }
    return 0;
}

static void plays(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        EQUAL(shared->count, 2 * i);
        shared->count++;
        OK(sem_post(&shared->theirs));
        OK(sem_wait(&shared->ours));
    }
}

CASE(semaphores_by_turns)
{
    make(PTHREAD_MUTEX_NORMAL);
    pid_t pid = child(answers);
    plays();
    OK(status(pid));
    EQUAL(sem_trywait(&shared->ours), -1);
}

static int posts_twice(void)
{
    return sem_post(&shared->ours) || sem_post(&shared->ours) || sem_wait(&shared->theirs);
}

CASE(semaphores_count)
{
    int value = -1;
    struct timespec t = in_ms(CLOCK_REALTIME, 1);
    make(PTHREAD_MUTEX_NORMAL);
    OK(sem_post(&shared->theirs));
    OK(sem_post(&shared->theirs));
    OK(status(child(posts_twice)));
    OK(sem_getvalue(&shared->ours, &value));
    EQUAL(value, 2);
    OK(sem_getvalue(&shared->theirs, &value));
    EQUAL(value, 1);
    OK(sem_wait(&shared->ours));
    OK(sem_trywait(&shared->ours));
    FAILS(sem_trywait(&shared->ours), EAGAIN);
    FAILS(sem_timedwait(&shared->ours, &t), ETIMEDOUT);
    OK(sem_destroy(&shared->ours));
}

static void *waits_for_it(void *arg)
{
    EQUAL(sem_wait(&shared->ours), 0);
    return arg;
}

static int posts_late(void)
{
    usleep(20000);
    return sem_post(&shared->ours);
}

CASE(semaphores_of_threads_and_a_child)
{
    make(PTHREAD_MUTEX_NORMAL);
    pthread_t first = start(waits_for_it, NULL), second = start(waits_for_it, NULL);
    pid_t pid = child(posts_late);
    OK(sem_post(&shared->ours));
    finish(first);
    finish(second);
    OK(status(pid));
}

/* ---------------------------------------------------------------------------------- named semaphores */

static char name[60];

static int opens_by_name(void)
{
    sem_t *sem = sem_open(name, 0);
    if (sem == SEM_FAILED)
        return 1;
    for (int i = 0; i < 3; i++)
        sem_post(sem);
    return sem_close(sem);
}

CASE(names)
{
    int value = -1;
    snprintf(name, sizeof name, "/peet-shared-%d", (int)getpid());
    CHECK(sem_open(name, 0) == SEM_FAILED);
    EQUAL(errno, ENOENT);
    sem_t *sem = sem_open(name, O_CREAT, 0600, 1), *same = sem_open(name, O_CREAT, 0600, 7);
    CHECK(sem != SEM_FAILED);
    CHECK(same == sem);
    CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED);
    EQUAL(errno, EEXIST);
    OK(status(child(opens_by_name)));
    OK(sem_getvalue(sem, &value));
    EQUAL(value, 4);
    OK(sem_close(same));
    for (int i = 0; i < 4; i++)
        OK(sem_wait(sem));
    EQUAL(sem_trywait(sem), -1);
    OK(sem_unlink(name));
    FAILS(sem_unlink(name), ENOENT);
    sem_t *other = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    CHECK(other != sem);
    OK(sem_trywait(other));
    EQUAL(sem_trywait(sem), -1);
    OK(sem_close(other));
    OK(sem_close(sem));
    OK(sem_unlink(name));
    CHECK(sem_open("/", O_CREAT, 0600, 1) == SEM_FAILED);
    EQUAL(errno, EINVAL);
}

/* ---------------------------------------------------------------------------------------------- locks */

static int (*lock)(void), (*unlock)(void);

static int lock_mutex(void)
{
    return pthread_mutex_lock(&shared->mutex);
}

static int unlock_mutex(void)
{
    return pthread_mutex_unlock(&shared->mutex);
}

static int lock_spin(void)
{
    return pthread_spin_lock(&shared->spin);
}

static int unlock_spin(void)
{
    return pthread_spin_unlock(&shared->spin);
}

static int lock_write(void)
{
    return pthread_rwlock_wrlock(&shared->rwlock);
}

static int unlock_rwlock(void)
{
    return pthread_rwlock_unlock(&shared->rwlock);
}

static int counts(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (lock() != 0)
            return 1;
        shared->crowded |= shared->inside++;
        int seen = shared->count;
        if (i % 16 == 0)
            sched_yield();
        shared->count = seen + 1;
        shared->inside--;
        if (unlock() != 0)
            return 2;
    }
    return 0;
}

static void *counts_too(void *arg)
{
    EQUAL(counts(), 0);
    return arg;
}

static void excludes(int (*take)(void), int (*give)(void))
{
    pid_t pids[CHILDREN];
    lock = take;
    unlock = give;
    shared->count = 0;
    for (int i = 0; i < CHILDREN; i++)
        pids[i] = child(counts);
    pthread_t thread = start(counts_too, NULL);
    EQUAL(counts(), 0);
    finish(thread);
    for (int i = 0; i < CHILDREN; i++)
        OK(status(pids[i]));
    EQUAL(shared->count, (CHILDREN + 2) * ROUNDS);
    OK(shared->crowded);
}

CASE(mutexes_exclude)
{
    const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (unsigned i = 0; i < 3; i++) {
        make(kinds[i]);
        excludes(lock_mutex, unlock_mutex);
        OK(pthread_mutex_destroy(&shared->mutex));
    }
}

CASE(spin_locks_exclude)
{
    make(PTHREAD_MUTEX_NORMAL);
    excludes(lock_spin, unlock_spin);
    OK(pthread_spin_destroy(&shared->spin));
}

CASE(write_locks_exclude)
{
    make(PTHREAD_MUTEX_NORMAL);
    excludes(lock_write, unlock_rwlock);
    OK(pthread_rwlock_destroy(&shared->rwlock));
}

/* What a child finds while the parent holds everything; readers are let in. */
static int finds_held(void)
{
    return pthread_mutex_trylock(&shared->mutex) != EBUSY || pthread_spin_trylock(&shared->spin) != EBUSY ||
        pthread_rwlock_trywrlock(&shared->rwlock) != EBUSY || pthread_rwlock_tryrdlock(&shared->rwlock) != 0 ||
        pthread_rwlock_unlock(&shared->rwlock) != 0;
}

static int finds_free(void)
{
    return pthread_mutex_trylock(&shared->mutex) || pthread_spin_trylock(&shared->spin) ||
        pthread_rwlock_trywrlock(&shared->rwlock);
}

CASE(children_see_who_holds)
{
    make(PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutex_lock(&shared->mutex));
    OK(pthread_mutex_lock(&shared->mutex));
    OK(pthread_spin_lock(&shared->spin));
    OK(pthread_rwlock_rdlock(&shared->rwlock));
    OK(status(child(finds_held)));
    OK(pthread_mutex_unlock(&shared->mutex));
    OK(status(child(finds_held)));
    OK(pthread_mutex_unlock(&shared->mutex));
    OK(pthread_spin_unlock(&shared->spin));
    OK(pthread_rwlock_unlock(&shared->rwlock));
    OK(status(child(finds_free)));
    /* and the child has gone without giving anything back */
    struct timespec t = in_ms(CLOCK_REALTIME, 1);
    EQUAL(pthread_mutex_trylock(&shared->mutex), EBUSY);
    EQUAL(pthread_mutex_timedlock(&shared->mutex, &t), ETIMEDOUT);
    EQUAL(pthread_spin_trylock(&shared->spin), EBUSY);
    EQUAL(pthread_rwlock_tryrdlock(&shared->rwlock), EBUSY);
    EQUAL(pthread_rwlock_trywrlock(&shared->rwlock), EBUSY);
    EQUAL(pthread_rwlock_timedrdlock(&shared->rwlock, &t), ETIMEDOUT);
}

/* ------------------------------------------------------------------------------ conditions, barriers */

/* Players 0 and 1 take turns, each waiting for the condition. */
static int player(int who)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (pthread_mutex_lock(&shared->mutex) != 0)
            return 1;
        while (shared->turn != who)
            if (pthread_cond_wait(&shared->cond, &shared->mutex) != 0)
                return 2;
        shared->turn = !who;
        shared->count++;
        if (pthread_cond_broadcast(&shared->cond) != 0 || pthread_mutex_unlock(&shared->mutex) != 0)
            return 3;
    }
    return 0;
}

static int second_player(void)
{
    return player(1);
}

CASE(conditions_by_turns)
{
    make(PTHREAD_MUTEX_ERRORCHECK);
    pid_t pid = child(second_player);
    EQUAL(player(0), 0);
    OK(status(pid));
    EQUAL(shared->count, 2 * ROUNDS);
    struct timespec t = in_ms(CLOCK_REALTIME, 1);
    OK(pthread_mutex_lock(&shared->mutex));
    int err = 0;
    while (err == 0)
        err = pthread_cond_timedwait(&shared->cond, &shared->mutex, &t);
    EQUAL(err, ETIMEDOUT);
    EQUAL(pthread_mutex_trylock(&shared->mutex), EBUSY);
    OK(pthread_mutex_unlock(&shared->mutex));
    OK(pthread_cond_destroy(&shared->cond));
}

static int meets(void)
{
    for (int i = 1; i <= ROUNDS; i++) {
        __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
        for (int k = 0; k < 2; k++) {
            int err = pthread_barrier_wait(&shared->barrier);
            if (err == PTHREAD_BARRIER_SERIAL_THREAD)
                __atomic_add_fetch(&shared->turn, 1, __ATOMIC_SEQ_CST);
            else if (err != 0)
                return 1;
            if (k == 0 && shared->count != 2 * i) /* after the second, the other may have gone on */
                return 2;
        }
    }
    return 0;
}

CASE(barriers_of_single_threads)
{
    make(PTHREAD_MUTEX_NORMAL);
    pid_t pid = child(meets);
    EQUAL(meets(), 0);
    OK(status(pid));
    EQUAL(shared->turn, 2 * ROUNDS);
}
