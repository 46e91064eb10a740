/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition variables.  The wait gives up the mutex and joins the waiters in one step.  Who is
 * signalled, interrupted or out of time joins those that wait for the mutex, in that order, and goes on when it
 * has it: no crowd wakes up for one mutex.
 */
#include "sync/sync.h"

#include <errno.h>

void peet__cond_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *mutex = peet__sync_find(map, args[1], PEET_SYNC_MUTEX), *o;

    if (!mutex || !mutex->held || mutex->owner != c->number) {
        if (args[2] != PEET_MUTEX_ERRORCHECK && args[2] != PEET_MUTEX_RECURSIVE)
            peet__sync_misuse(map, c, core->clock, "waits for condition %s without holding its mutex %s",
                PEET_SYNC_NAME(map, args[0]), PEET_SYNC_NAME(map, args[1]));
        peet__sync_answer(map, c, EPERM);
        return;
    }
    if (peet__lock_release(map, c))
        return;
    o = peet__sync_get(map, args[0], PEET_SYNC_COND);
    if (!o)
        return;
    if (args[3] <= core->clock) { /* as if it had waited: others that want the mutex have had it in between */
        uint64_t count = mutex->count;

        if (!mutex->waiters.n) {
            peet__sync_drop_idle(map, o);
            map->sync->timeouts[PEET_SYNC_COND]++;
            peet__sync_answer(map, c, ETIMEDOUT);
            return;
        }
        c->relocks = count;
        c->state = PEET_MAP_BLOCKED;
        c->wait_since = core->clock;
        peet__map_release(core);
        peet__lock_left(c);
        peet__mutex_release(map, mutex, core->clock);
        c->waiting = o;
        peet__sync_give_up(map, c, core->clock, ETIMEDOUT);
        return;
    }
    c->relocks = mutex->count;
    peet__sync_wait(map, core, o, &o->waiters, args[3]);
    peet__lock_left(c);
    peet__mutex_release(map, mutex, core->clock);
}

void peet__cond_signal(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_COND);
    struct peet_map_context *next;

    peet__sync_answer(map, c, 0);
    if (!o)
        return;
    next = peet__sync_winner(map, &o->waiters);
    if (next)
        peet__mutex_reacquire(map, next, core->clock, 0);
    peet__sync_drop_idle(map, o);
}

void peet__cond_broadcast(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_COND);
    struct peet_map_context *next;

    peet__sync_answer(map, c, 0);
    if (!o)
        return;
    while ((next = peet__heap_pop(&o->waiters)) != NULL)
        peet__mutex_reacquire(map, next, core->clock, 0);
    peet__sync_drop_idle(map, o);
}
