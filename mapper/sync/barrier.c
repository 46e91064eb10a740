/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers.  All go on at the time at which the last one comes, in the order in which they came; the last
 * one does not wait.  Who runs a handler of a signal has arrived as well as those that wait: it knows the round in
 * which it did, and when it is back it waits for the end of that round, if it is not over.
 */
#include "sync/sync.h"

#include <errno.h>

static uint32_t next_round(struct peet_map *map)
{
    struct peet_map_sync *s = map->sync;

    s->rounds = s->rounds % (INT32_MAX - 1) + 1; /* fits into an answer, and is not 0 */
    return s->rounds;
}

uint64_t peet__barrier_leave(struct peet_map *map, struct peet_map_object *o)
{
    if (!o->barrier.round)
        o->barrier.round = next_round(map);
    o->barrier.away++;
    return EINTR | (uint64_t)o->barrier.round << 32;
}

void peet__barrier_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    const uint64_t count = (uint32_t)args[1], round = args[1] >> 32;
    struct peet_map_object *o = count && !round ? peet__sync_get(map, args[0], PEET_SYNC_BARRIER)
                                                : peet__sync_find(map, args[0], PEET_SYNC_BARRIER);
    struct peet_map_context *one;
    uint64_t latest;

    if (round && (!o || o->barrier.round != round)) { /* back from a handler: the others have come meanwhile */
        peet__sync_answer(map, c, 0);
        return;
    }
    if (!o) {
        if (!count) {
            peet__sync_misuse(map, c, core->clock, "waits at barrier %s, which is not initialised",
                PEET_SYNC_NAME(map, args[0]));
            peet__sync_answer(map, c, EINVAL);
        }
        return;
    }
    if (round)
        o->barrier.away--;
    if (count)
        o->count = count;
    if (o->waiters.n + o->barrier.away + 1 < o->count) {
        peet__sync_wait(map, core, o, NULL, PEET_NEVER);
        peet__heap_push(map, &o->waiters, c, 0, map->sync->orders++);
        return;
    }
    latest = core->clock;
    /* where waits are supposed to be free, not the last one to act is the last one to come */
    for (uint32_t i = 0; i < o->waiters.n; i++)
        if (o->waiters.entries[i].context->asked_cycles > latest)
            latest = o->waiters.entries[i].context->asked_cycles;
    if (latest > core->clock && peet__suppose_after(map, core, o, latest))
        peet__sync_grant(map, c, latest, 1);
    else
        peet__sync_answer(map, c, 1);
    while ((one = peet__heap_pop(&o->waiters)) != NULL)
        peet__sync_grant(map, one, latest, 0);
    o->barrier.round = o->barrier.away = 0;
    peet__sync_drop_idle(map, o);
}
