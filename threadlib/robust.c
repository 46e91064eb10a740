/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust mutexes: what happens when a thread ends that has one.  Each thread keeps a list of those that it holds; at
 * its end they are unlocked in its name, and marked.  Who gets such a mutex next hears EOWNERDEAD, and must say that
 * what it protects is consistent again before it unlocks: else it is ENOTRECOVERABLE to all, for ever.  Owner, depth,
 * mark and links stand in the object, in fields that are glibc's own in a plain run.
 *
 * pthread_mutex.c and pthread_cond.c call this around their events, pthread_thread.c at a thread's end.
 */
#include "thread.h"

#include <errno.h>
#include <peet/module.h>
#include "world/world.h"

enum { SOUND, OWNER_DEAD, LOST }; /* __data.__nusers */

static int me(void)
{
    return (int)peet__thread_self()->number + 1;
}

static pthread_mutex_t *of_link(struct __pthread_internal_list *link)
{
    return (pthread_mutex_t *)((char *)link - offsetof(pthread_mutex_t, __data.__list));
}

static void changed(const pthread_mutex_t *m)
{
    peet__domain_changed(m, sizeof *m);
}

static void enter(pthread_mutex_t *m, unsigned depth)
{
    struct peet__thread *self = peet__thread_self();
    struct __pthread_internal_list *link = &m->__data.__list;
    m->__data.__owner = me();
    m->__data.__count = depth;
    link->__prev = NULL;
    link->__next = self->robust;
    if (self->robust) {
        self->robust->__prev = link;
        changed(of_link(self->robust));
    }
    self->robust = link;
    changed(m);
}

static void leave(pthread_mutex_t *m)
{
    struct __pthread_internal_list *link = &m->__data.__list;
    if (link->__prev) {
        link->__prev->__next = link->__next;
        changed(of_link(link->__prev));
    } else {
        peet__thread_self()->robust = link->__next;
    }
    if (link->__next) {
        link->__next->__prev = link->__prev;
        changed(of_link(link->__next));
    }
    link->__prev = link->__next = NULL;
    m->__data.__owner = 0;
    m->__data.__count = 0;
    changed(m);
}

static void unlock(pthread_mutex_t *m)
{
    uint64_t args[] = {(uint64_t)m, (uint64_t)peet__mutex_kind(m)};
    peet_rt_event(PEET_ABSTRACT_MUTEX_UNLOCK, 2, args);
}

/* The mutex is the caller's.  Returns: what the caller hears */
static int taken(pthread_mutex_t *m, unsigned depth)
{
    if (m->__data.__nusers == LOST) {
        unlock(m);
        return ENOTRECOVERABLE;
    }
    enter(m, depth);
    return m->__data.__nusers == OWNER_DEAD ? EOWNERDEAD : 0;
}

/* If the caller holds it.  What stands in the object need not be true. */
static int listed(const pthread_mutex_t *m)
{
    struct __pthread_internal_list *link = peet__thread_self()->robust;
    while (link && of_link(link) != m)
        link = link->__next;
    return link != NULL;
}

void peet__robust_destroy(pthread_mutex_t *m)
{
    if (!listed(m))
        return;
    unsigned depth = m->__data.__count;
    leave(m);
    while (depth--)
        unlock(m);
}

void peet__robust_init(pthread_mutex_t *m)
{
    if (listed(m))
        leave(m);
    m->__data.__owner = 0;
    m->__data.__count = 0;
    m->__data.__nusers = SOUND;
    m->__data.__list = (struct __pthread_internal_list){NULL, NULL};
}

int peet__robust_locked(pthread_mutex_t *m, int err)
{
    if (err)
        return err;
    if (m->__data.__owner == me()) {
        m->__data.__count++;
        changed(m);
        return 0;
    }
    return taken(m, 1);
}

int peet__robust_unlocks(pthread_mutex_t *m)
{
    if (m->__data.__owner != me())
        return EPERM;
    if (m->__data.__count > 1) {
        m->__data.__count--;
        changed(m);
        return 0;
    }
    if (m->__data.__nusers == OWNER_DEAD)
        m->__data.__nusers = LOST;
    leave(m);
    return 0;
}

int peet__robust_waits(pthread_mutex_t *m, unsigned *out_depth)
{
    if (m->__data.__owner != me())
        return EPERM;
    *out_depth = m->__data.__count;
    m->__data.__count = 1;
    return peet__robust_unlocks(m);
}

int peet__robust_waited(pthread_mutex_t *m, unsigned depth, int err)
{
    int worse = taken(m, depth);
    return worse ? worse : err;
}

int peet__robust_consistent(pthread_mutex_t *m)
{
    if (m->__data.__owner != me() || m->__data.__nusers != OWNER_DEAD)
        return EINVAL;
    m->__data.__nusers = SOUND;
    changed(m);
    return 0;
}

void peet__robust_thread_ends(struct peet__thread *self)
{
    while (self->robust) {
        pthread_mutex_t *m = of_link(self->robust);
        unsigned depth = m->__data.__count;
        m->__data.__nusers = OWNER_DEAD;
        leave(m);
        while (depth--)
            unlock(m);
    }
}
