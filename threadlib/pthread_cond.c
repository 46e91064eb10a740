/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition variables.  A wait is one event: the mapper releases the mutex, waits, and takes the mutex
 * again before it lets the thread go on, also at the deadline and when the wait is interrupted.  The
 * clock of timed waits stands in the object, where glibc's init puts it.  While other processes may signal, a wait for
 * a condition that they share ends after a while as if by a spurious wake-up.
 */
#include "real.h"
#include "shared.h"

#include <errno.h>
#include <peet/module.h>
#include "world/world.h"

#define CLOCK_BIT 2 /* of __data.__wrefs, glibc's place for the clock attribute */

static clockid_t clock_of(const pthread_cond_t *cond)
{
    return cond->__data.__wrefs & CLOCK_BIT ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

PUBLIC int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    int err = PEET__REAL(pthread_cond_init)(cond, attr);
    if (err == 0 && peet__simulating())
        peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)cond, PEET_SYNC_COND, 0);
    else if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(cond, PEET_SYNC_COND, 0);
    return err;
}

PUBLIC int pthread_cond_destroy(pthread_cond_t *cond)
{
    if (!peet__simulating())
        return PEET__REAL_GONE(PEET__REAL(pthread_cond_destroy)(cond), cond, PEET_SYNC_COND);
    int err = (int)peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)cond, PEET_SYNC_COND);
    if (err == 0 && peet__others() && peet__cond_shared(cond)) /* when the waiters that were woken have left */
        PEET__REAL(pthread_cond_destroy)(cond);
    return err;
}

PUBLIC int pthread_cond_signal(pthread_cond_t *cond)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TELLS(peet_rt_real_lets, PEET__REAL(pthread_cond_signal)(cond),
                                        PEET_ABSTRACT_COND_SIGNAL, (uint64_t)cond)
                                  : PEET__REAL(pthread_cond_signal)(cond);
    if (__builtin_expect(peet__cond_shared(cond), 0))
        PEET__REAL(pthread_cond_signal)(cond);
    return peet__signal_request(PEET_ABSTRACT_COND_SIGNAL, (uint64_t)cond);
}

PUBLIC int pthread_cond_broadcast(pthread_cond_t *cond)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TELLS(peet_rt_real_lets, PEET__REAL(pthread_cond_broadcast)(cond),
                                        PEET_ABSTRACT_COND_BROADCAST, (uint64_t)cond)
                                  : PEET__REAL(pthread_cond_broadcast)(cond);
    if (__builtin_expect(peet__cond_shared(cond), 0))
        PEET__REAL(pthread_cond_broadcast)(cond);
    return peet__signal_request(PEET_ABSTRACT_COND_BROADCAST, (uint64_t)cond);
}

/* Recorded on the computer's own processors, a wait is an unlock and a lock: in which order threads went on is known,
 * so that nobody needs to be woken. */
#define PEET__REAL_WAITS(call, cond, mutex) \
    __extension__({ \
        const uint64_t lock_[] = {(uint64_t)(mutex), (uint64_t)peet__mutex_kind(mutex), PEET_NEVER}; \
        peet_rt_real_unlocks(PEET_ABSTRACT_MUTEX_UNLOCK, 2, lock_); \
        peet_rt_real_asks(); \
        const int err_ = (call); \
        if (err_ == 0) \
            peet_rt_real_passes((uint64_t)(cond), PEET_ABSTRACT_COND_WAIT); \
        peet_rt_real_granted(PEET_ABSTRACT_MUTEX_LOCK, 3, lock_); \
        err_; \
    })

/* Other processes cannot wake a thread of ours: it looks again and again. */
static uint64_t wait_for_others(pthread_mutex_t *mutex, uint64_t deadline)
{
    enum { WHILE_NS = 100000 };
    int err = pthread_mutex_unlock(mutex);
    if (err)
        return (uint64_t)err;
    if (peet__shared_pause(WHILE_NS, deadline) == EINTR)
        err = EINTR;
    else if (peet_rt_now() >= deadline)
        err = ETIMEDOUT;
    pthread_mutex_lock(mutex);
    return (uint64_t)err;
}

static uint64_t wait_here(pthread_cond_t *cond, pthread_mutex_t *mutex, int kind, uint64_t deadline)
{
    const int shared = peet__mutex_shared(mutex);
    if (peet__others() && peet__cond_shared(cond) && shared)
        return wait_for_others(mutex, deadline);
    if (shared)
        peet__mutex_shared_unlock(mutex);
    peet__mutex_unmarks(mutex);
    uint64_t err = peet__event4(PEET_ABSTRACT_COND_WAIT, (uint64_t)cond, (uint64_t)mutex, (uint64_t)kind, deadline);
    if (err == 0 || err == ETIMEDOUT || err == EINTR) /* the mutex is had again */
        peet__mutex_marks(mutex);
    if (shared)
        peet__mutex_shared_lock(mutex);
    return err;
}

/* Interrupted: a signal handler has run, which POSIX lets end the wait as a spurious wake-up, or the thread
 * is cancelled, which ends it here with the mutex held. */
static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline)
{
    int kind = peet__mutex_kind(mutex);
    if (kind < 0)
        return EINVAL;
    peet__cancellation_point();
    unsigned depth = 0;
    if (__builtin_expect(peet__robust(mutex), 0) && peet__robust_waits(mutex, &depth) != 0)
        return EPERM;
    int counted = !peet__robust(mutex);
    mutex->__data.__nusers += (unsigned)counted; /* until it is locked again it must not be destroyed */
    peet__domain_changed(&mutex->__data.__nusers, sizeof mutex->__data.__nusers);
    uint64_t err = wait_here(cond, mutex, kind, deadline);
    mutex->__data.__nusers -= (unsigned)counted;
    peet__domain_changed(&mutex->__data.__nusers, sizeof mutex->__data.__nusers);
    if (depth)
        err = (uint64_t)peet__robust_waited(mutex, depth, (int)err);
    if (err != EINTR)
        return (int)err;
    peet__cancellation_point();
    return 0;
}

PUBLIC int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    peet__early_waits();
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_WAITS(PEET__REAL(pthread_cond_wait)(cond, mutex), cond, mutex)
                                  : PEET__REAL(pthread_cond_wait)(cond, mutex);
    return wait_until(cond, mutex, PEET_NEVER);
}

PUBLIC int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    peet__early_waits();
    if (!peet__simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_WAITS(PEET__REAL(pthread_cond_timedwait)(cond, mutex, until), cond, mutex)
            : PEET__REAL(pthread_cond_timedwait)(cond, mutex, until);
    if (!peet__deadline_valid(until))
        return EINVAL;
    return wait_until(cond, mutex, peet_rt_cycles_until(clock_of(cond), until));
}

PUBLIC int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
    const struct timespec *until)
{
    peet__early_waits();
    if (!peet__simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_WAITS(PEET__REAL(pthread_cond_clockwait)(cond, mutex, clock, until), cond, mutex)
            : PEET__REAL(pthread_cond_clockwait)(cond, mutex, clock, until);
    if (!peet__deadline_valid(until) || !peet__deadline_clock(clock))
        return EINVAL;
    return wait_until(cond, mutex, peet_rt_cycles_until(clock, until));
}
