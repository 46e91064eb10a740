/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes and spin locks.  A mutex that is unlocked while others wait is handed over: the winner owns it
 * from that moment, whenever it gets a processor.
 */
#include "sync/sync.h"

#include <errno.h>

void peet__mutex_take(struct peet_map_object *o, struct peet_map_context *c, unsigned kind)
{
    c->holding++;
    o->held = 1;
    o->owner = c->number;
    o->kind = (uint8_t)kind;
    o->count = 1;
}

static int own(const struct peet_map_object *o, const struct peet_map_context *c)
{
    return o->held && o->owner == c->number;
}

/** What a lock request by its owner means.  Returns: 1 if that is all */
static int relock(struct peet_map *map, struct peet_map_object *o, struct peet_map_context *c, unsigned kind)
{
    if (kind == PEET_MUTEX_RECURSIVE) {
        if (o->count < UINT32_MAX)
            o->count++;
        peet__sync_answer(map, c, o->count < UINT32_MAX ? 0 : EAGAIN);
        return 1;
    }
    if (kind == PEET_MUTEX_ERRORCHECK) {
        peet__sync_answer(map, c, EDEADLK);
        return 1;
    }
    return 0; /* it waits for itself */
}

void peet__mutex_lock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_MUTEX);

    if (o && own(o, c) && relock(map, o, c, (unsigned)args[1]))
        return;
    if (peet__lock_acquire(map, c))
        return;
    o = peet__sync_get(map, args[0], PEET_SYNC_MUTEX);
    if (!o)
        return;
    if (!o->held && o->left_cycles && peet__suppose_after(map, core, o, o->left_cycles)) {
        peet__mutex_take(o, c, (unsigned)args[1]);
        peet__sync_grant(map, c, o->left_cycles, 0);
    } else if (!o->held) {
        peet__mutex_take(o, c, (unsigned)args[1]);
        peet__sync_answer(map, c, 0);
    } else {
        peet__sync_wait(map, core, o, &o->waiters, args[2]);
    }
}

void peet__mutex_trylock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_MUTEX);

    if (o && own(o, c) && args[1] == PEET_MUTEX_RECURSIVE && relock(map, o, c, (unsigned)args[1]))
        return;
    if (peet__lock_acquire(map, c))
        return;
    o = peet__sync_get(map, args[0], PEET_SYNC_MUTEX);
    if (!o)
        return;
    if (o->held) {
        if (!peet__try_put_off(map, core, c))
            peet__sync_answer(map, c, EBUSY);
        return;
    }
    peet__try_succeeds(c);
    peet__mutex_take(o, c, (unsigned)args[1]);
    peet__sync_answer(map, c, 0);
}

void peet__mutex_release(struct peet_map *map, struct peet_map_object *o, uint64_t cycles)
{
    struct peet_map_context *next;

    o->held = 0;
    o->count = 0;
    if (map->supposed && cycles > o->left_cycles)
        o->left_cycles = cycles;
    if (!peet__lock_modelled(map))
        next = peet__sync_winner(map, &o->waiters);
    else
        next = peet__heap_pop(&o->waiters); /* queues of ticket and mcs */
    if (!next) {
        peet__sync_drop_idle(map, o);
        return;
    }
    if (peet__lock_modelled(map)) { /* it finds out by looking */
        peet__mutex_take(o, next, o->kind);
        o->mutex.owner_node = next->node;
        return;
    }
    peet__mutex_take(o, next,
        next->request.type == PEET_ABSTRACT_COND_WAIT ? (unsigned)next->request.args[2]
                                                      : (unsigned)next->request.args[1]);
    if (next->request.type == PEET_ABSTRACT_COND_WAIT && next->relocks)
        o->count = next->relocks;
    peet__sync_grant(map, next, cycles, next->request.type == PEET_ABSTRACT_COND_WAIT ? next->wait_result : 0);
}

void peet__mutex_unlock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_MUTEX);
    const int checked = args[1] == PEET_MUTEX_RECURSIVE || args[1] == PEET_MUTEX_ERRORCHECK;

    if (o && o->held && !(checked && !own(o, c)) && !(args[1] == PEET_MUTEX_RECURSIVE && o->count > 1) &&
        peet__lock_release(map, c))
        return;
    if (!o || !o->held) {
        if (!checked)
            peet__sync_misuse(map, c, core->clock, "unlocks mutex %s, which is not locked",
                PEET_SYNC_NAME(map, args[0]));
        peet__sync_answer(map, c, checked ? EPERM : 0);
        return;
    }
    if (!own(o, c)) {
        if (checked) {
            peet__sync_answer(map, c, EPERM);
            return;
        }
        /* undefined, and done as the C library does it */
        peet__sync_misuse(map, c, core->clock, "unlocks mutex %s, which context %u has locked",
            PEET_SYNC_NAME(map, args[0]), o->owner);
    }
    peet__sync_answer(map, c, 0);
    if (args[1] == PEET_MUTEX_RECURSIVE && o->count > 1) {
        o->count--;
        return;
    }
    peet__lock_left(c);
    peet__mutex_release(map, o, core->clock);
}

void peet__mutex_relock(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_get(map, c->request.args[1], PEET_SYNC_MUTEX);

    c->relocking = 0;
    if (!o)
        return;
    if (o->held) {
        c->state = PEET_MAP_BLOCKED;
        c->waiting = o;
        peet__sync_queue(map, &o->waiters, c);
        peet__map_release(core);
        return;
    }
    peet__mutex_take(o, c, (unsigned)c->request.args[2]);
    if (c->relocks)
        o->count = c->relocks;
    peet__sync_granted(map, c, args);
}

void peet__mutex_reacquire(struct peet_map *map, struct peet_map_context *c, uint64_t cycles, uint64_t result)
{
    struct peet_map_object *o = peet__sync_get(map, c->request.args[1], PEET_SYNC_MUTEX);

    if (!o)
        return;
    peet__heap_remove(&map->sync->timers, c);
    c->wait_result = result;
    if (cycles > c->asked_cycles)
        c->asked_cycles = cycles;
    if (peet__lock_modelled(map)) {
        peet__sync_drop_idle(map, o);
        peet__lock_reacquire(map, c, cycles);
        return;
    }
    if (map->chooser) { /* it is awake, and asks when it is chosen: others may have had the mutex meanwhile */
        peet__sync_drop_idle(map, o);
        c->relocking = 1;
        peet__sync_grant(map, c, cycles, result);
        return;
    }
    if (!o->held) {
        peet__mutex_take(o, c, (unsigned)c->request.args[2]);
        if (c->relocks)
            o->count = c->relocks;
        peet__sync_grant(map, c, cycles, result);
        return;
    }
    c->waiting = o;
    peet__sync_queue(map, &o->waiters, c);
}
