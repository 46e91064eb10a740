/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks, semaphores and barriers while only one context is alive.  A request to lock suspends the context until the
 * mapper has performed it: two switches, and a turn of the engine.  A context that is alone need not wait for the answer
 * where it is known: a lock that nobody holds is granted.  The request then goes into the recording as a note.  The
 * mapper performs it at the same simulated time, with the same cost, as it would have performed the event; most often
 * among the blocks that it takes in machine code (mapper/engine/direct.c).
 *
 * 1. A note is written only if the answer is 0 for sure: the context is alone, this file knows all locks that are
 *    held, and the lock is none of them.  Everything else is an event.
 * 2. `noted` are the locks that contexts have taken by notes and still hold.  `others` counts those taken by events.
 *    As long as it is not 0, a lock that is not in `noted` may be held, and is asked for by an event.
 * 3. The mapper delivers notes in the order of the recording, so whatever is asked for by an event finds all notes
 *    performed.
 *
 * 4. A recursive mutex that its owner locks again is granted, too; it counts how often in `depth`.
 * 5. Who is alone signals to nobody: a condition's signal is a note, whatever it is.
 * 6. `counted` are semaphores whose value is known: it was given, and each change since then was a note.  An event that
 *    may change it makes it unknown.
 * 7. A barrier for one lets everybody through.
 * 8. Room for a note is made before anything is decided: a signal's handler, which may lock, runs there if it runs.
 *
 * 10^6 pairs of pthread_mutex_lock() and pthread_mutex_unlock() take a seventh of the time that they take as events.
 */
#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <peet/module.h>
#include <string.h>

enum { NOTED = 16, DEPTH = 1000 }; /* locks held at a time, and how often; beyond that they are asked for by events */

static struct {
    uint64_t object;
    uint32_t context, depth;
} noted[NOTED];
static unsigned nnoted;
static uint64_t others;

static struct {
    uint64_t object, value;
} counted[NOTED];
static unsigned ncounted;

static int find(uint64_t object)
{
    for (unsigned i = nnoted; i-- > 0;)
        if (noted[i].object == object)
            return (int)i;
    return -1;
}

/** One of its holds is over. */
static void release(unsigned i)
{
    if (--noted[i].depth)
        return;
    nnoted--;
    for (; i < nnoted; i++)
        noted[i] = noted[i + 1];
}

/** "events": every request is asked for, for tests. */
static int notes_allowed(void)
{
    static int allowed = -1;
    if (allowed < 0) {
        const char *how = peet_rt_setting("PEET_LOCKS");
        allowed = !(how && strcmp(how, "events") == 0);
    }
    return allowed;
}

/** An iteration of a marked loop is recorded as a whole and cut up later: in one, everything is asked for. */
static int alone(void)
{
    return !peet__ctl->concurrent && peet__rt.current->mark_depth == 0 && notes_allowed();
}

/** The owner of a recursive mutex asks for it again.  Read-write locks have other kinds, of the same numbers. */
static int again(unsigned type, const uint64_t *args, unsigned i)
{
    return (type == PEET_ABSTRACT_MUTEX_LOCK || type == PEET_ABSTRACT_MUTEX_TRYLOCK) &&
        args[1] == PEET_MUTEX_RECURSIVE && noted[i].context == peet__rt.current->number && noted[i].depth < DEPTH;
}

int peet__lock_request(unsigned type, unsigned nargs, const uint64_t *args)
{
    if (alone()) {
        peet_rt_make_room(nargs);
        const int i = find(args[0]);
        if (i < 0 && !others && nnoted < NOTED) {
            noted[nnoted].object = args[0];
            noted[nnoted].depth = 1;
            noted[nnoted++].context = peet__rt.current->number;
            peet_rt_note(type, nargs, args);
            return 0;
        }
        if (i >= 0 && again(type, args, (unsigned)i)) {
            noted[i].depth++;
            peet_rt_note(type, nargs, args);
            return 0;
        }
    }
    int err = (int)peet_rt_event(type, nargs, args);
    others += err == 0 || err == EOWNERDEAD;
    return err;
}

int peet__unlock_request(unsigned type, const uint64_t args[2])
{
    if (alone())
        peet_rt_make_room(2);
    const int i = find(args[0]);
    if (i >= 0 && alone() && noted[i].context == peet__rt.current->number) {
        release((unsigned)i);
        peet_rt_note(type, 2, args);
        return 0;
    }
    int err = (int)peet_rt_event(type, 2, args);
    if (err)
        return err;
    const int now = find(args[0]);
    if (now >= 0)
        release((unsigned)now);
    else
        others -= others > 0;
    return 0;
}

void peet__lock_forget(uint64_t object)
{
    const int i = find(object);
    if (i < 0)
        return;
    noted[i].depth = 1;
    release((unsigned)i);
}

int peet__signal_request(unsigned type, uint64_t object)
{
    if (!alone())
        return (int)peet_rt_event(type, 1, &object);
    peet_rt_note(type, 1, &object);
    return 0;
}

/* ------------------------------------------------------------------------------------- semaphores, barriers */

static int find_counted(uint64_t object)
{
    for (unsigned i = ncounted; i-- > 0;)
        if (counted[i].object == object)
            return (int)i;
    return -1;
}

void peet__sem_known(uint64_t object, uint64_t value)
{
    const int i = find_counted(object);
    if (i >= 0)
        counted[i] = counted[--ncounted];
    if (value == UINT64_MAX || ncounted == NOTED || !alone())
        return;
    counted[ncounted].object = object;
    counted[ncounted++].value = value;
}

/** Is it known that it succeeds?  Then the value is the next one. */
static int succeeds(uint64_t *value, unsigned type, const uint64_t *args)
{
    if (type == PEET_ABSTRACT_SEM_POST ? args[1] > SEM_VALUE_MAX - *value : !*value)
        return 0;
    *value = type == PEET_ABSTRACT_SEM_POST ? *value + args[1] : *value - 1;
    return 1;
}

uint64_t peet__sem_request(unsigned type, unsigned nargs, const uint64_t *args)
{
    if (alone()) {
        peet_rt_make_room(nargs);
        const int i = find_counted(args[0]);
        if (i >= 0 && succeeds(&counted[i].value, type, args)) {
            peet_rt_note(type, nargs, args);
            return 0;
        }
    }
    peet__sem_known(args[0], UINT64_MAX);
    return peet_rt_event(type, nargs, args);
}

uint64_t peet__barrier_request(uint64_t object, uint64_t count)
{
    const uint64_t args[] = {object, count};
    if (count != 1 || !alone())
        return peet_rt_event(PEET_ABSTRACT_BARRIER_WAIT, 2, args);
    peet_rt_note(PEET_ABSTRACT_BARRIER_WAIT, 2, args);
    return 1;
}
