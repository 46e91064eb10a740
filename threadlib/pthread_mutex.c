/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes and spin locks.  The C library's own init and attribute functions write the kind into the
 * object, so that objects with static initialisers look the same; owners, counts and waiters are the
 * mapper's, but for robust mutexes (robust.c).  No priority has any effect here, so inheriting one changes nothing, and
 * of priority ceilings only the check is left.  Those that processes share are held in the C library's way, too.
 */
#include "real.h"
#include "shared.h"

#include <errno.h>
#include <sched.h>
#include <peet/module.h>

#define KIND_PROTECT 0x40    /* glibc's bits of __data.__kind */
#define KIND_TRY_CHECKS 0x70 /* robust, inheriting, protecting */
#define CEILING_SHIFT 19     /* of __data.__lock, as glibc keeps it */
#define KIND_TYPE 3

int peet__mutex_kind(const pthread_mutex_t *m)
{
    int kind = m->__data.__kind;
    if (kind < 0)
        return -1;
    switch (kind & KIND_TYPE) {
    case PTHREAD_MUTEX_RECURSIVE_NP:
        return PEET_MUTEX_RECURSIVE;
    case PTHREAD_MUTEX_ERRORCHECK_NP:
        return PEET_MUTEX_ERRORCHECK;
    default:
        return PEET_MUTEX_NORMAL; /* adaptive ones spin a while first: a matter of time only */
    }
}

/* A thread whose priority is above the ceiling may not have the mutex. */
static int too_high(const pthread_mutex_t *m)
{
    return (m->__data.__kind & KIND_PROTECT) &&
        peet__thread_self()->priority > (int)((unsigned)m->__data.__lock >> CEILING_SHIFT);
}

PUBLIC int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    int err = PEET__REAL(pthread_mutex_init)(m, attr);
    if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(m, PEET_SYNC_MUTEX, (uint64_t)peet__mutex_kind(m));
    if (!peet__simulating())
        return err;
    peet__mutex_unmarks(m);
    peet__lock_forget((uint64_t)m);
    if (err == 0)
        peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)m, PEET_SYNC_MUTEX, (uint64_t)peet__mutex_kind(m));
    if (err == 0 && peet__robust(m))
        peet__robust_init(m);
    return err;
}

PUBLIC int pthread_mutex_destroy(pthread_mutex_t *m)
{
    if (!peet__simulating())
        return PEET__REAL_GONE(PEET__REAL(pthread_mutex_destroy)(m), m, PEET_SYNC_MUTEX);
    if (peet__mutex_kind(m) < 0)
        return 0; /* so glibc answers */
    if (peet__robust(m))
        peet__robust_destroy(m);
    else if (m->__data.__nusers) /* somebody waits for a condition, and will want it back */
        return EBUSY;
    uint64_t err = peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)m, PEET_SYNC_MUTEX);
    if (err && !peet__robust(m))
        return (int)err;
    m->__data.__kind = -1; /* as glibc marks it */
    return 0;
}

static int attempt(void *m)
{
    return PEET__REAL(pthread_mutex_trylock)(m);
}

static int attempt_spin(void *lock)
{
    return PEET__REAL(pthread_spin_trylock)(lock);
}

/* A request to lock, of any kind; a robust mutex may say more.  Inlined: a thread waits in the caller's frame. */
static inline __attribute__((always_inline)) int acquire(unsigned type, pthread_mutex_t *m, int kind, uint64_t deadline)
{
    uint64_t args[] = {(uint64_t)m, (uint64_t)kind, deadline};
    const unsigned nargs = type == PEET_ABSTRACT_MUTEX_LOCK ? 3 : 2;
    if (__builtin_expect(peet__robust(m), 0))
        return peet__robust_locked(m, (int)peet_rt_event(type, nargs, args));
    peet__mutex_overwritten(m, kind);
    int err = peet__lock_request(type, nargs, args);
    if (err == 0 && __builtin_expect(peet__mutex_shared(m), 0))
        err =
            peet__shared_lock(attempt, m, type != PEET_ABSTRACT_MUTEX_LOCK, deadline, PEET_ABSTRACT_MUTEX_UNLOCK, args);
    if (err == 0)
        peet__mutex_marks(m);
    return err;
}

void peet__mutex_shared_unlock(pthread_mutex_t *m)
{
    PEET__REAL(pthread_mutex_unlock)(m);
}

void peet__mutex_shared_lock(pthread_mutex_t *m)
{
    peet__shared_take(attempt, m, PEET_NEVER);
}

PUBLIC int pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_mutex_lock)(m), PEET_ABSTRACT_MUTEX_LOCK,
                                        (uint64_t)m, (uint64_t)peet__mutex_kind(m), PEET_NEVER)
                                  : PEET__REAL(pthread_mutex_lock)(m);
    int kind = peet__mutex_kind(m);
    if (kind < 0 || too_high(m))
        return EINVAL;
    return acquire(PEET_ABSTRACT_MUTEX_LOCK, m, kind, PEET_NEVER);
}

PUBLIC int pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_mutex_trylock)(m), PEET_ABSTRACT_MUTEX_LOCK,
                                        (uint64_t)m, (uint64_t)peet__mutex_kind(m), PEET_NEVER)
                                  : PEET__REAL(pthread_mutex_trylock)(m);
    int kind = peet__mutex_kind(m);
    if (kind < 0 || too_high(m))
        return EINVAL;
    if (kind == PEET_MUTEX_ERRORCHECK && (m->__data.__kind & KIND_TRY_CHECKS)) { /* these tell their owner so */
        int err = acquire(PEET_ABSTRACT_MUTEX_LOCK, m, kind, 0);
        return err == ETIMEDOUT ? EBUSY : err;
    }
    return acquire(PEET_ABSTRACT_MUTEX_TRYLOCK, m, kind, 0);
}

PUBLIC int pthread_mutex_unlock(pthread_mutex_t *m)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TELLS(peet_rt_real_unlocks, PEET__REAL(pthread_mutex_unlock)(m),
                                        PEET_ABSTRACT_MUTEX_UNLOCK, (uint64_t)m, (uint64_t)peet__mutex_kind(m))
                                  : PEET__REAL(pthread_mutex_unlock)(m);
    int kind = peet__mutex_kind(m);
    if (kind < 0)
        return EINVAL;
    const uint64_t args[] = {(uint64_t)m, (uint64_t)kind};
    if (__builtin_expect(peet__robust(m), 0))
        return peet__robust_unlocks(m) != 0 ? EPERM : (int)peet_rt_event(PEET_ABSTRACT_MUTEX_UNLOCK, 2, args);
    if (__builtin_expect(peet__mutex_shared(m), 0))
        peet__mutex_shared_unlock(m);
    peet__mutex_unmarks(m);
    return peet__unlock_request(PEET_ABSTRACT_MUTEX_UNLOCK, args);
}

static int lock_until(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    int kind = peet__mutex_kind(m);
    if (kind < 0 || too_high(m))
        return EINVAL;
    if (!peet__deadline_valid(until)) { /* matters only if it would have to wait */
        int err = acquire(PEET_ABSTRACT_MUTEX_LOCK, m, kind, 0);
        return err == ETIMEDOUT ? EINVAL : err;
    }
    return acquire(PEET_ABSTRACT_MUTEX_LOCK, m, kind, peet_rt_cycles_until(clock, until));
}

PUBLIC int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_TAKES(PEET__REAL(pthread_mutex_timedlock)(m, until), PEET_ABSTRACT_MUTEX_LOCK, (uint64_t)m,
                  (uint64_t)peet__mutex_kind(m), PEET_NEVER)
            : PEET__REAL(pthread_mutex_timedlock)(m, until);
    return lock_until(m, CLOCK_REALTIME, until);
}

PUBLIC int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED
            ? PEET__REAL_TAKES(PEET__REAL(pthread_mutex_clocklock)(m, clock, until), PEET_ABSTRACT_MUTEX_LOCK,
                  (uint64_t)m, (uint64_t)peet__mutex_kind(m), PEET_NEVER)
            : PEET__REAL(pthread_mutex_clocklock)(m, clock, until);
    if (!peet__deadline_clock(clock))
        return EINVAL;
    return lock_until(m, clock, until);
}

PUBLIC int pthread_mutex_setprioceiling(pthread_mutex_t *m, int ceiling, int *out_old)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_mutex_setprioceiling)(m, ceiling, out_old);
    int kind = peet__mutex_kind(m);
    if (kind < 0 || !(m->__data.__kind & KIND_PROTECT) || ceiling < sched_get_priority_min(SCHED_FIFO) ||
        ceiling > sched_get_priority_max(SCHED_FIFO))
        return EINVAL;
    int err = (int)peet__event3(PEET_ABSTRACT_MUTEX_LOCK, (uint64_t)m, (uint64_t)kind, PEET_NEVER);
    if (err)
        return err;
    *out_old = (int)((unsigned)m->__data.__lock >> CEILING_SHIFT);
    m->__data.__lock = (int)((unsigned)m->__data.__lock % (1u << CEILING_SHIFT) | (unsigned)ceiling << CEILING_SHIFT);
    return (int)peet__event2(PEET_ABSTRACT_MUTEX_UNLOCK, (uint64_t)m, (uint64_t)kind);
}

PUBLIC int pthread_mutex_consistent(pthread_mutex_t *m)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_mutex_consistent)(m);
    return peet__robust(m) ? peet__robust_consistent(m) : EINVAL;
}

PUBLIC int __pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *)
    __attribute__((alias("pthread_mutex_init")));
PUBLIC int __pthread_mutex_destroy(pthread_mutex_t *) __attribute__((alias("pthread_mutex_destroy")));
PUBLIC int __pthread_mutex_lock(pthread_mutex_t *) __attribute__((alias("pthread_mutex_lock")));
PUBLIC int __pthread_mutex_trylock(pthread_mutex_t *) __attribute__((alias("pthread_mutex_trylock")));
PUBLIC int __pthread_mutex_unlock(pthread_mutex_t *) __attribute__((alias("pthread_mutex_unlock")));

/* -------------------------------------------------------------------------------------------- spin locks */

PUBLIC int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    int err = PEET__REAL(pthread_spin_init)(lock, shared);
    peet__lock_forget((uint64_t)lock);
    peet__spin_made(lock, err == 0 && shared == PTHREAD_PROCESS_SHARED);
    if (err == 0 && peet__simulating())
        peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)lock, PEET_SYNC_MUTEX, PEET_MUTEX_SPIN);
    else if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(lock, PEET_SYNC_MUTEX, PEET_MUTEX_SPIN);
    return err;
}

PUBLIC int pthread_spin_destroy(pthread_spinlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_GONE(PEET__REAL(pthread_spin_destroy)(lock), lock, PEET_SYNC_MUTEX);
    peet__spin_made(lock, 0);
    return (int)peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)lock, PEET_SYNC_MUTEX);
}

static int take_spin(pthread_spinlock_t *lock, unsigned type, uint64_t deadline)
{
    const uint64_t args[] = {(uint64_t)lock, PEET_MUTEX_SPIN, deadline};
    int err = peet__lock_request(type, type == PEET_ABSTRACT_MUTEX_LOCK ? 3 : 2, args);
    if (err == 0 && __builtin_expect(peet__spin_shared(lock), 0))
        err = peet__shared_lock(attempt_spin, (void *)lock, type != PEET_ABSTRACT_MUTEX_LOCK, deadline,
            PEET_ABSTRACT_MUTEX_UNLOCK, args);
    return err;
}

PUBLIC int pthread_spin_lock(pthread_spinlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_spin_lock)(lock), PEET_ABSTRACT_MUTEX_LOCK,
                                        (uint64_t)lock, PEET_MUTEX_SPIN, PEET_NEVER)
                                  : PEET__REAL(pthread_spin_lock)(lock);
    return take_spin(lock, PEET_ABSTRACT_MUTEX_LOCK, PEET_NEVER);
}

PUBLIC int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_spin_trylock)(lock), PEET_ABSTRACT_MUTEX_LOCK,
                                        (uint64_t)lock, PEET_MUTEX_SPIN, PEET_NEVER)
                                  : PEET__REAL(pthread_spin_trylock)(lock);
    return take_spin(lock, PEET_ABSTRACT_MUTEX_TRYLOCK, 0);
}

PUBLIC int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TELLS(peet_rt_real_unlocks, PEET__REAL(pthread_spin_unlock)(lock),
                                        PEET_ABSTRACT_MUTEX_UNLOCK, (uint64_t)lock, PEET_MUTEX_SPIN)
                                  : PEET__REAL(pthread_spin_unlock)(lock);
    if (__builtin_expect(peet__spin_shared(lock), 0))
        PEET__REAL(pthread_spin_unlock)(lock);
    return peet__unlock_request(PEET_ABSTRACT_MUTEX_UNLOCK, (const uint64_t[]){(uint64_t)lock, PEET_MUTEX_SPIN});
}
