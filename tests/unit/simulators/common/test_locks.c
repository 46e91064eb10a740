/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a try has got, as common/locks.h works it out from requests, against the C library's own locks: threads do one
 * operation after another, chosen at random, each at a time.
 */
#include "common/locks.h"
#include "run_suite.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 4, OPERATIONS = 20000, DEPTH = 3 };

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static int (*operation)(void);
static int answer, over;
static sem_t begin[THREADS], done;

static int lock(void)
{
    return pthread_mutex_trylock(&mutex);
}
static int unlock(void)
{
    return pthread_mutex_unlock(&mutex);
}
static int read_lock(void)
{
    return pthread_rwlock_tryrdlock(&rwlock);
}
static int write_lock(void)
{
    return pthread_rwlock_trywrlock(&rwlock);
}
static int leave(void)
{
    return pthread_rwlock_unlock(&rwlock);
}

static void *work(void *arg)
{
    const long me = (long)arg;
    for (;;) {
        sem_wait(&begin[me]);
        if (over)
            return NULL;
        answer = operation();
        sem_post(&done);
    }
}

static int by(unsigned thread, int (*what)(void))
{
    operation = what;
    sem_post(&begin[thread]);
    sem_wait(&done);
    return answer;
}

static uint64_t seed = 88172645463325252u;
static unsigned below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

static struct peet_sim_lock_request requests[THREADS];

static int asked(struct peet_sim_lock *l, uint32_t context, uint32_t type, uint64_t kind)
{
    const uint64_t args[] = {(uint64_t)(uintptr_t)l, kind};
    const struct peet_abstract_event event = {type, context, 2, args};
    return peet_sim_lock_asked(l, &event, &requests[context]);
}

static int granted(struct peet_sim_lock *l, uint32_t context, uint32_t type, uint64_t result)
{
    const uint64_t args[] = {(uint64_t)(uintptr_t)l, type, 0, result};
    const struct peet_abstract_event event = {PEET_ABSTRACT_SYNC_GRANT, context, 4, args};
    return peet_sim_lock_granted(l, &event, type, &requests[context]);
}

static enum peet_sim_lock_left left(struct peet_sim_lock *l, uint32_t context, uint32_t type, uint64_t kind)
{
    const uint64_t lock = (uint64_t)(uintptr_t)l, unlocks[] = {lock, kind}, waits[] = {0, lock, kind, PEET_NEVER};
    const int is_wait = type == PEET_ABSTRACT_COND_WAIT;
    const struct peet_abstract_event event = {type, context, is_wait ? 4 : 2, is_wait ? waits : unlocks};
    CU_ASSERT_EQUAL(peet_sim_lock_of(&event), lock);
    return peet_sim_lock_left(l, &event, &requests[context]);
}

static void mutexes(int kind, int real)
{
    struct peet_sim_lock l = {0};
    pthread_mutexattr_t attributes;
    unsigned held = 0, owner = 0, got = 0, refused = 0;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, real);
    pthread_mutex_init(&mutex, &attributes);
    for (int i = 0; i < OPERATIONS; i++) {
        const unsigned me = below(THREADS);
        /* who unlocks a normal mutex that is not his own does what is not defined */
        if (below(2) && (kind != PEET_MUTEX_NORMAL || (held && owner == me))) {
            const int result = by(me, unlock);
            const enum peet_sim_lock_left gone = left(&l, me, PEET_ABSTRACT_MUTEX_UNLOCK, (uint64_t)kind);
            held -= result == 0;
            CU_ASSERT_EQUAL_FATAL(gone, result || held ? PEET_SIM_LOCK_KEPT : PEET_SIM_LOCK_OWNER);
        } else if (held < DEPTH) {
            const int result = by(me, lock);
            CU_ASSERT_EQUAL_FATAL(asked(&l, me, PEET_ABSTRACT_MUTEX_TRYLOCK, (uint64_t)kind), result == 0);
            held += result == 0;
            owner = result ? owner : me;
            got += result == 0;
            refused += result != 0;
        }
    }
    CU_ASSERT(got > OPERATIONS / 20 && refused > OPERATIONS / 20);
    while (held)
        held -= by(owner, unlock) == 0;
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&attributes);
}

static void test_mutexes(void)
{
    mutexes(PEET_MUTEX_NORMAL, PTHREAD_MUTEX_NORMAL);
    mutexes(PEET_MUTEX_RECURSIVE, PTHREAD_MUTEX_RECURSIVE);
    mutexes(PEET_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ERRORCHECK);
}

static void test_read_write(void)
{
    struct peet_sim_lock l = {0};
    unsigned reads[THREADS] = {0}, writes[THREADS] = {0}, got[2] = {0}, refused[2] = {0};

    pthread_rwlock_init(&rwlock, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
        const unsigned me = below(THREADS), writing = below(3) != 0;
        if (reads[me] || writes[me]) {
            CU_ASSERT_EQUAL_FATAL(by(me, leave), 0);
            CU_ASSERT_EQUAL_FATAL(left(&l, me, PEET_ABSTRACT_RWLOCK_UNLOCK, 0),
                writes[me] ? PEET_SIM_LOCK_OWNER : PEET_SIM_LOCK_READER);
            reads[me] -= !writes[me];
            writes[me] = 0;
        } else {
            const int result = by(me, writing ? write_lock : read_lock);
            CU_ASSERT_EQUAL_FATAL(asked(&l, me, writing ? PEET_ABSTRACT_RWLOCK_TRYWRITE : PEET_ABSTRACT_RWLOCK_TRYREAD,
                                      0),
                result == 0);
            (writing ? writes : reads)[me] += result == 0;
            got[writing] += result == 0;
            refused[writing] += result != 0;
        }
    }
    for (unsigned k = 0; k < 2; k++)
        CU_ASSERT(got[k] > OPERATIONS / 100 && refused[k] > OPERATIONS / 100);
    pthread_rwlock_destroy(&rwlock);
}

/* Waits: what seemed to be had and was not, and a condition's mutex. */
static void test_grants(void)
{
    struct peet_sim_lock l = {0};

    memset(requests, 0, sizeof requests);
    CU_ASSERT(asked(&l, 0, PEET_ABSTRACT_RWLOCK_READ, 0));
    CU_ASSERT(asked(&l, 1, PEET_ABSTRACT_RWLOCK_READ, 0)); /* a writer waits, and was not seen */
    CU_ASSERT(!granted(&l, 1, PEET_ABSTRACT_RWLOCK_READ, ETIMEDOUT));
    left(&l, 0, PEET_ABSTRACT_RWLOCK_UNLOCK, 0);
    CU_ASSERT(asked(&l, 2, PEET_ABSTRACT_RWLOCK_WRITE, 0));
    CU_ASSERT(granted(&l, 3, PEET_ABSTRACT_RWLOCK_WRITE, 0)); /* it was the other one's */
    CU_ASSERT(!asked(&l, 2, PEET_ABSTRACT_RWLOCK_TRYREAD, 0));

    l = (struct peet_sim_lock){0};
    CU_ASSERT(asked(&l, 0, PEET_ABSTRACT_MUTEX_LOCK, PEET_MUTEX_RECURSIVE));
    CU_ASSERT(asked(&l, 0, PEET_ABSTRACT_MUTEX_LOCK, PEET_MUTEX_RECURSIVE));
    CU_ASSERT_EQUAL(left(&l, 0, PEET_ABSTRACT_COND_WAIT, PEET_MUTEX_RECURSIVE), PEET_SIM_LOCK_OWNER);
    CU_ASSERT_EQUAL(requests[0].times, 2);
    CU_ASSERT(asked(&l, 1, PEET_ABSTRACT_MUTEX_TRYLOCK, PEET_MUTEX_RECURSIVE));
    left(&l, 1, PEET_ABSTRACT_MUTEX_UNLOCK, PEET_MUTEX_RECURSIVE);
    CU_ASSERT(granted(&l, 0, PEET_ABSTRACT_COND_WAIT, ETIMEDOUT));
    CU_ASSERT_EQUAL(left(&l, 0, PEET_ABSTRACT_MUTEX_UNLOCK, PEET_MUTEX_RECURSIVE), PEET_SIM_LOCK_KEPT);
    CU_ASSERT(!asked(&l, 1, PEET_ABSTRACT_MUTEX_TRYLOCK, PEET_MUTEX_RECURSIVE));
    CU_ASSERT_EQUAL(left(&l, 0, PEET_ABSTRACT_MUTEX_UNLOCK, PEET_MUTEX_RECURSIVE), PEET_SIM_LOCK_OWNER);
    left(&l, 0, PEET_ABSTRACT_COND_WAIT, PEET_MUTEX_NORMAL);
    CU_ASSERT(!granted(&l, 0, PEET_ABSTRACT_COND_WAIT, PEET_COND_UNLOCKED(0, 1)));
    CU_ASSERT(asked(&l, 1, PEET_ABSTRACT_MUTEX_TRYLOCK, PEET_MUTEX_NORMAL));
}

int main(void)
{
    CU_TestInfo tests[] = {{"mutexes", test_mutexes}, {"read-write locks", test_read_write},
        {"what was waited for", test_grants}, CU_TEST_INFO_NULL};
    pthread_t threads[THREADS];
    int status;

    sem_init(&done, 0, 0);
    for (long i = 0; i < THREADS; i++) {
        sem_init(&begin[i], 0, 0);
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    status = run_suite("toolkit: locks", tests);
    over = 1;
    for (int i = 0; i < THREADS; i++) {
        sem_post(&begin[i]);
        pthread_join(threads[i], NULL);
    }
    return status;
}
