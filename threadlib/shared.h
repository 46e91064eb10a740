/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that processes share (shared.c).  Where glibc keeps whether an object is one of them stands here.
 */
#ifndef PEET_THREADLIB_SHARED_H
#define PEET_THREADLIB_SHARED_H

#include "thread.h"

#include <semaphore.h>

/** A mutex; robust ones and those with priorities are the mapper's alone. */
static inline int peet__mutex_shared(const pthread_mutex_t *m)
{
    return (m->__data.__kind & (0x80 | 0x70)) == 0x80;
}

static inline int peet__cond_shared(const pthread_cond_t *cond)
{
    return cond->__data.__wrefs & 1;
}

static inline int peet__rwlock_shared(const pthread_rwlock_t *lock)
{
    return lock->__data.__shared != 0;
}

static inline int peet__barrier_shared(const pthread_barrier_t *barrier)
{
    return ((const int *)barrier)[3] != 0;
}

static inline int peet__sem_shared(const sem_t *sem)
{
    return ((const int *)sem)[2] != 0;
}

/** Beside the mapper's lock, which the caller holds. */
void peet__mutex_shared_lock(pthread_mutex_t *m);
void peet__mutex_shared_unlock(pthread_mutex_t *m);

/** Whether a spin lock was initialised as one. */
int peet__spin_shared(const volatile void *lock);
void peet__spin_made(const volatile void *lock, int shared);

/** Whether other processes may have such objects: the program has forked, or opened what others have made. */
static inline int peet__others(void)
{
    return __builtin_expect(peet__rt.others, 0);
}

/** A while in which they, and other threads, may go on: until @ns from now, or the deadline.  Returns: 0 or EINTR */
int peet__shared_pause(uint64_t ns, uint64_t deadline);
/**
 * peet__shared_take() - what the mapper has let the caller have is to be had from other processes, too
 * @attempt: returns 0, EBUSY, or another errno value
 * @deadline: in cycles; 0: EBUSY is the answer, PEET_NEVER: none
 * Returns: as @attempt, or ETIMEDOUT
 */
int peet__shared_take(int (*attempt)(void *), void *object, uint64_t deadline);
/**
 * peet__shared_lock() - a lock that the mapper has let the caller have is to be had from other processes, too
 * @tries: the request was to try.  @unlock, @args: the mapper's lock is released by that request if it is not to be had
 * Returns: 0, EBUSY if it tries, ETIMEDOUT if not, or another errno value
 */
int peet__shared_lock(int (*attempt)(void *), void *object, int tries, uint64_t deadline, unsigned unlock,
    const uint64_t *args);

#endif
