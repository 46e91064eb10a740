/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes that a program makes new by plain stores although they are locked: it assigns PTHREAD_MUTEX_INITIALIZER,
 * clears the memory, or uses a stack again.  To the C library such a mutex is free, and so it is here.
 *
 * Owners are the mapper's, which does not see stores.  So a thread that has got a mutex leaves a mark in it, in a field
 * that the C library uses for robust mutexes only, and the mutex is remembered.  A thread that asks for a mutex that is
 * remembered and has no mark initialises it first.
 *
 *  1. Mark and memory of a mutex are set and taken back together, by its owner, between two events.  Of two threads that
 *     find no mark one initialises.
 *  2. A mutex whose place another one has taken is not looked at: it stays locked.
 *  3. Views of memory may hide a mark: runs that have views set none.
 */
#include "shared.h"
#include "thread.h"
#include "views/domain_internal.h"

#include <peet/module.h>

enum { PLACES = 1024 };
static pthread_mutex_t *marked[PLACES];

static pthread_mutex_t **place_of(const pthread_mutex_t *m)
{
    return &marked[((uint64_t)m / sizeof(void *) * 0x9e3779b97f4a7c15u) >> 54];
}
_Static_assert(PLACES == 1 << (64 - 54), "the highest bits");

static void **mark_of(pthread_mutex_t *m)
{
    return (void **)&m->__data.__list.__next;
}

void peet__mutex_marks(pthread_mutex_t *m)
{
    if (peet__robust(m) || peet__mutex_shared(m) || peet__domains_on())
        return;
    *place_of(m) = m;
    *mark_of(m) = m;
}

void peet__mutex_unmarks(pthread_mutex_t *m)
{
    pthread_mutex_t **const place = place_of(m);
    if (*place != m)
        return;
    *place = NULL;
    if (*mark_of(m) == m)
        *mark_of(m) = NULL;
}

void peet__mutex_overwritten(pthread_mutex_t *m, int kind)
{
    pthread_mutex_t **const place = place_of(m);
    if (__builtin_expect(*place != m || *mark_of(m), 1))
        return;
    *place = NULL;
    peet__lock_forget((uint64_t)m);
    peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)m, PEET_SYNC_MUTEX, (uint64_t)kind);
}
