/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-write locks.  The preference stands in the object, where glibc's init and static initialisers put
 * it; who holds it and who waits is the mapper's.  Those that processes share are held in the C library's way, too.
 */
#include "real.h"
#include "shared.h"

#include <errno.h>
#include <peet/module.h>

/* glibc takes PTHREAD_RWLOCK_PREFER_WRITER_NP for "readers", since its readers may recurse. */
static uint64_t kind_of(const pthread_rwlock_t *lock)
{
    return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ? PEET_RWLOCK_PREFER_WRITER
                                                                                : PEET_RWLOCK_PREFER_READER;
}

PUBLIC int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
    int err = PEET__REAL(pthread_rwlock_init)(lock, attr);
    peet__lock_forget((uint64_t)lock);
    if (err == 0 && peet__simulating())
        peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)lock, PEET_SYNC_RWLOCK, kind_of(lock));
    else if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(lock, PEET_SYNC_RWLOCK, kind_of(lock));
    return err;
}

PUBLIC int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_GONE(PEET__REAL(pthread_rwlock_destroy)(lock), lock, PEET_SYNC_RWLOCK);
    return (int)peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)lock, PEET_SYNC_RWLOCK);
}

static int attempt_read(void *lock)
{
    return PEET__REAL(pthread_rwlock_tryrdlock)(lock);
}

static int attempt_write(void *lock)
{
    return PEET__REAL(pthread_rwlock_trywrlock)(lock);
}

static int take(pthread_rwlock_t *lock, unsigned type, uint64_t deadline)
{
    const int tries = type == PEET_ABSTRACT_RWLOCK_TRYREAD || type == PEET_ABSTRACT_RWLOCK_TRYWRITE;
    const uint64_t args[] = {(uint64_t)lock, kind_of(lock), deadline};
    const int reads = type == PEET_ABSTRACT_RWLOCK_READ || type == PEET_ABSTRACT_RWLOCK_TRYREAD;
    int err = peet__lock_request(type, tries ? 2 : 3, args);
    if (err == 0 && __builtin_expect(peet__rwlock_shared(lock), 0))
        err = peet__shared_lock(reads ? attempt_read : attempt_write, lock, tries, deadline,
            PEET_ABSTRACT_RWLOCK_UNLOCK, args);
    return err;
}

static int take_until(pthread_rwlock_t *lock, unsigned type, clockid_t clock, const struct timespec *until)
{
    if (!peet__deadline_clock(clock) || !peet__deadline_valid(until))
        return EINVAL;
    return take(lock, type, peet_rt_cycles_until(clock, until));
}

PUBLIC int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_rdlock)(lock), PEET_ABSTRACT_RWLOCK_READ,
                                        (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_rdlock)(lock);
    return take(lock, PEET_ABSTRACT_RWLOCK_READ, PEET_NEVER);
}

PUBLIC int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_wrlock)(lock),
                                        PEET_ABSTRACT_RWLOCK_WRITE, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_wrlock)(lock);
    return take(lock, PEET_ABSTRACT_RWLOCK_WRITE, PEET_NEVER);
}

PUBLIC int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_timedrdlock)(lock, until),
                                        PEET_ABSTRACT_RWLOCK_READ, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_timedrdlock)(lock, until);
    return take_until(lock, PEET_ABSTRACT_RWLOCK_READ, CLOCK_REALTIME, until);
}

PUBLIC int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_timedwrlock)(lock, until),
                                        PEET_ABSTRACT_RWLOCK_WRITE, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_timedwrlock)(lock, until);
    return take_until(lock, PEET_ABSTRACT_RWLOCK_WRITE, CLOCK_REALTIME, until);
}

PUBLIC int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_clockrdlock)(lock, clock, until),
                                        PEET_ABSTRACT_RWLOCK_READ, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_clockrdlock)(lock, clock, until);
    return take_until(lock, PEET_ABSTRACT_RWLOCK_READ, clock, until);
}

PUBLIC int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_clockwrlock)(lock, clock, until),
                                        PEET_ABSTRACT_RWLOCK_WRITE, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_clockwrlock)(lock, clock, until);
    return take_until(lock, PEET_ABSTRACT_RWLOCK_WRITE, clock, until);
}

PUBLIC int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_tryrdlock)(lock),
                                        PEET_ABSTRACT_RWLOCK_READ, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_tryrdlock)(lock);
    return take(lock, PEET_ABSTRACT_RWLOCK_TRYREAD, 0);
}

PUBLIC int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TAKES(PEET__REAL(pthread_rwlock_trywrlock)(lock),
                                        PEET_ABSTRACT_RWLOCK_WRITE, (uint64_t)lock, kind_of(lock), PEET_NEVER)
                                  : PEET__REAL(pthread_rwlock_trywrlock)(lock);
    return take(lock, PEET_ABSTRACT_RWLOCK_TRYWRITE, 0);
}

/* In a child of fork(), one that was held in the simulation is free unless processes share it. */
static int is_free(const pthread_rwlock_t *lock)
{
    enum { WRITER = 2, READER = 8 }; /* glibc's bit for a writer, and what a reader adds */
    return lock->__data.__readers < READER && !(lock->__data.__readers & WRITER);
}

PUBLIC int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    if (peet__rt.forked && is_free(lock))
        return 0;
    if (!peet__simulating())
        return PEET__REAL_WATCHED ? PEET__REAL_TELLS(peet_rt_real_unlocks, PEET__REAL(pthread_rwlock_unlock)(lock),
                                        PEET_ABSTRACT_RWLOCK_UNLOCK, (uint64_t)lock, kind_of(lock))
                                  : PEET__REAL(pthread_rwlock_unlock)(lock);
    if (__builtin_expect(peet__rwlock_shared(lock), 0) && !is_free(lock))
        PEET__REAL(pthread_rwlock_unlock)(lock);
    const uint64_t args[] = {(uint64_t)lock, kind_of(lock)};
    return peet__unlock_request(PEET_ABSTRACT_RWLOCK_UNLOCK, args);
}

PUBLIC int __pthread_rwlock_init(pthread_rwlock_t *, const pthread_rwlockattr_t *)
    __attribute__((alias("pthread_rwlock_init")));
PUBLIC int __pthread_rwlock_destroy(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_destroy")));
PUBLIC int __pthread_rwlock_rdlock(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_rdlock")));
PUBLIC int __pthread_rwlock_wrlock(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_wrlock")));
PUBLIC int __pthread_rwlock_tryrdlock(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_tryrdlock")));
PUBLIC int __pthread_rwlock_trywrlock(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_trywrlock")));
PUBLIC int __pthread_rwlock_unlock(pthread_rwlock_t *) __attribute__((alias("pthread_rwlock_unlock")));
