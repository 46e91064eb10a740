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

/** What a context has asked for last. */
struct peet_sim_lock_request {
    uint32_t times; /* COND_WAIT: how often it had locked the mutex */
    int had;        /* it seemed to have the lock at once */
};

enum peet_sim_lock_left { PEET_SIM_LOCK_KEPT, PEET_SIM_LOCK_READER, PEET_SIM_LOCK_OWNER };

/** peet_sim_lock_asks() - is it a request for a lock? COND_WAIT, which gives one back first, is none */
static inline int peet_sim_lock_asks(uint32_t type)
{
    return type == PEET_ABSTRACT_MUTEX_LOCK || type == PEET_ABSTRACT_MUTEX_TRYLOCK ||
        type == PEET_ABSTRACT_RWLOCK_READ || type == PEET_ABSTRACT_RWLOCK_WRITE ||
        type == PEET_ABSTRACT_RWLOCK_TRYREAD || type == PEET_ABSTRACT_RWLOCK_TRYWRITE;
}

/** peet_sim_lock_reads() - is it a request for a read-write lock to be shared? */
static inline int peet_sim_lock_reads(uint32_t type)
{
    return type == PEET_ABSTRACT_RWLOCK_READ || type == PEET_ABSTRACT_RWLOCK_TRYREAD;
}

/** peet_sim_lock_of() - the address of the lock that an event asks for or gives back */
static inline uint64_t peet_sim_lock_of(const struct peet_abstract_event *event)
{
    return event->args[event->type == PEET_ABSTRACT_COND_WAIT];
}

/**
 * peet_sim_lock_asked() - one of peet_sim_lock_asks()
 * @out_request: for peet_sim_lock_granted()
 * Returns: 1 if the context has the lock now; 0: it waits, or the request has failed
 */
static inline int peet_sim_lock_asked(struct peet_sim_lock *l, const struct peet_abstract_event *event,
    struct peet_sim_lock_request *out_request)
{
    const uint64_t self = event->context + 1ull;
    const int mutex = event->type == PEET_ABSTRACT_MUTEX_LOCK || event->type == PEET_ABSTRACT_MUTEX_TRYLOCK;
    out_request->times = 1;
    out_request->had = 1;
    if (l->holder == self && mutex && event->args[1] == PEET_MUTEX_RECURSIVE) {
        l->times++;
        return 1;
    }
    if (l->holder || (l->readers && !peet_sim_lock_reads(event->type)))
        return out_request->had = 0;
    if (peet_sim_lock_reads(event->type)) {
        l->readers++;
    } else {
        l->holder = self;
        l->times = 1;
    }
    return 1;
}

/**
 * peet_sim_lock_granted() - the wait of a request is over; after COND_WAIT the mutex is the context's again
 * @grant: SYNC_GRANT
 * @type: of the request
 * @request: what peet_sim_lock_asked() or _left() said: a lock that seemed free may have been another one's
 * Returns: 1 if the context has the lock now
 */
static inline int peet_sim_lock_granted(struct peet_sim_lock *l, const struct peet_abstract_event *grant, uint32_t type,
    const struct peet_sim_lock_request *request)
{
    const int reads = peet_sim_lock_reads(type);
    const uint64_t result = grant->args[3], self = grant->context + 1ull;
    if (result && (type != PEET_ABSTRACT_COND_WAIT || result & PEET_FAILED)) {
        if (request->had && reads && l->readers)
            l->readers--;
        else if (request->had && !reads && l->holder == self)
            l->holder = 0;
        return 0;
    }
    if (reads) {
        l->readers += !request->had;
        return 1;
    }
    l->holder = self;
    l->times = request->times ? request->times : 1;
    return 1;
}

/**
 * peet_sim_lock_left() - MUTEX_UNLOCK, RWLOCK_UNLOCK, or COND_WAIT, which leaves its mutex altogether
 * @out_request: of COND_WAIT, for peet_sim_lock_granted()
 */
static inline enum peet_sim_lock_left peet_sim_lock_left(struct peet_sim_lock *l,
    const struct peet_abstract_event *event, struct peet_sim_lock_request *out_request)
{
    const int own = l->holder == event->context + 1ull, waits = event->type == PEET_ABSTRACT_COND_WAIT;
    const uint64_t kind = event->args[waits ? 2 : 1];
    if (waits)
        out_request->times = out_request->had = 0;
    if (event->type == PEET_ABSTRACT_RWLOCK_UNLOCK && !own) {
        l->readers -= l->readers > 0;
        return PEET_SIM_LOCK_READER;
    }
    if (!own && (kind == PEET_MUTEX_RECURSIVE || kind == PEET_MUTEX_ERRORCHECK))
        return PEET_SIM_LOCK_KEPT; /* it fails */
    if (waits) {
        out_request->times = l->times;
    } else if (kind == PEET_MUTEX_RECURSIVE && event->type == PEET_ABSTRACT_MUTEX_UNLOCK && l->times > 1) {
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
