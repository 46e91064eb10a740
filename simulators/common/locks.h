/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a lock, as far as an observer can tell from the events that it hears: requests say nothing of their results
 * unless they have to wait (SYNC_GRANT).  What a try has got follows from the state of the lock.
 *
 * One moment is not seen: a lock that has been handed to somebody whose SYNC_GRANT is still to come counts as free.  A
 * try that fails then is taken for one that succeeds, until the SYNC_GRANT says who has it.
 */
#ifndef PEET_SIM_LOCKS_H
#define PEET_SIM_LOCKS_H

#include <peet/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A mutex, spin lock or read-write lock; all 0: free. */
struct peet_sim_lock {
    uint64_t holder;         /* context and 1 that holds it alone; 0: none does */
    uint32_t times, readers; /* times: how often it has locked a recursive mutex */
};

enum peet_sim_lock_left { PEET_SIM_LOCK_KEPT, PEET_SIM_LOCK_READER, PEET_SIM_LOCK_OWNER };

/** peet_sim_lock_reads() - is it a request for a read-write lock to be shared? */
static inline int peet_sim_lock_reads(uint32_t type)
{
    return type == PEET_ABSTRACT_RWLOCK_READ || type == PEET_ABSTRACT_RWLOCK_TRYREAD;
}

/**
 * peet_sim_lock_asked() - MUTEX_LOCK, MUTEX_TRYLOCK, RWLOCK_READ, _WRITE, _TRYREAD or _TRYWRITE
 * Returns: 1 if the context has the lock now; 0: it waits, or the request has failed
 */
static inline int peet_sim_lock_asked(struct peet_sim_lock *l, const struct peet_abstract_event *event)
{
    const uint64_t self = event->context + 1ull;
    const int mutex = event->type == PEET_ABSTRACT_MUTEX_LOCK || event->type == PEET_ABSTRACT_MUTEX_TRYLOCK;
    if (l->holder == self && mutex && event->args[1] == PEET_MUTEX_RECURSIVE) {
        l->times++;
        return 1;
    }
    if (l->holder || (l->readers && !peet_sim_lock_reads(event->type)))
        return 0;
    if (peet_sim_lock_reads(event->type)) {
        l->readers++;
    } else {
        l->holder = self;
        l->times = 1;
    }
    return 1;
}

/**
 * peet_sim_lock_granted() - the wait of a request is over
 * @type: of the request; COND_WAIT: the mutex is the context's again, @times as often as before
 * @had: what peet_sim_lock_asked() said: a lock that seemed free may have been another one's
 * @result: of SYNC_GRANT
 * Returns: 1 if the context has the lock now
 */
static inline int peet_sim_lock_granted(struct peet_sim_lock *l, uint32_t context, uint32_t type, uint32_t times,
    int had, uint64_t result)
{
    const int reads = peet_sim_lock_reads(type);
    if (result && (type != PEET_ABSTRACT_COND_WAIT || result & PEET_FAILED)) {
        if (had && reads && l->readers)
            l->readers--;
        else if (had && !reads && l->holder == context + 1ull)
            l->holder = 0;
        return 0;
    }
    if (reads) {
        l->readers += !had;
        return 1;
    }
    l->holder = context + 1ull;
    l->times = times ? times : 1;
    return 1;
}

/**
 * peet_sim_lock_left() - MUTEX_UNLOCK, RWLOCK_UNLOCK, or the mutex of COND_WAIT
 * @kind: enum peet_mutex_kind of a mutex
 * @out_times: of COND_WAIT, which leaves it altogether: how often it had been locked; else NULL
 */
static inline enum peet_sim_lock_left peet_sim_lock_left(struct peet_sim_lock *l, uint32_t context, uint32_t type,
    uint64_t kind, uint32_t *out_times)
{
    const int own = l->holder == context + 1ull;
    if (type == PEET_ABSTRACT_RWLOCK_UNLOCK && !own) {
        l->readers -= l->readers > 0;
        return PEET_SIM_LOCK_READER;
    }
    if (!own && (kind == PEET_MUTEX_RECURSIVE || kind == PEET_MUTEX_ERRORCHECK))
        return PEET_SIM_LOCK_KEPT; /* it fails */
    if (out_times)
        *out_times = l->times;
    else if (kind == PEET_MUTEX_RECURSIVE && type == PEET_ABSTRACT_MUTEX_UNLOCK && l->times > 1) {
        l->times--;
        return PEET_SIM_LOCK_KEPT;
    }
    l->holder = 0;
    l->times = 0;
    return PEET_SIM_LOCK_OWNER;
}

#ifdef __cplusplus
}
#endif

#endif
