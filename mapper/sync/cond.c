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

        if (!mutex->waiters.n && !peet__lock_modelled(map)) { /* who spins is not among them */
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

unsigned peet__cond_waiters(struct peet_map *map, uint64_t address, uint32_t *out_numbers, unsigned room)
{
    const struct peet_map_object *o = peet__sync_find(map, address, PEET_SYNC_COND);
    const unsigned n = o ? o->waiters.n : 0;

    for (unsigned i = 0; i < n && i < room; i++) {
        const uint32_t number = o->waiters.entries[i].context->number;
        unsigned at = i;

        for (; at && out_numbers[at - 1] > number; at--)
            out_numbers[at] = out_numbers[at - 1];
        out_numbers[at] = number;
    }
    return n;
}

/** The one that an exploration wants to be woken, or as ever. */
static struct peet_map_context *signalled(struct peet_map *map, struct peet_map_context *by, struct peet_map_object *o)
{
    const uint32_t wanted = by->signals;

    by->signals = 0;
    for (uint32_t i = 0; wanted && i < o->waiters.n; i++) {
        struct peet_map_context *c = o->waiters.entries[i].context;

        if (c->number + 1 == wanted) {
            peet__heap_remove(&o->waiters, c);
            return c;
        }
    }
    return peet__sync_winner(map, &o->waiters);
}

void peet__cond_signal(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_COND);
    struct peet_map_context *next;

    peet__sync_answer(map, c, 0);
    if (!o)
        return;
    next = signalled(map, c, o);
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
