/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers.  All go on at the time at which the last one comes, in the order in which they came; the last
 * one does not wait.
 */
#include "sync/sync.h"

#include <errno.h>

void peet__barrier_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = args[1] ? peet__sync_get(map, args[0], PEET_SYNC_BARRIER) : peet__sync_find(map, args[0], PEET_SYNC_BARRIER);
    struct peet_map_context *one;

    if (!o) {
        if (!args[1]) {
            peet__sync_misuse(map, c, core->clock, "waits at barrier %s, which is not initialised", PEET_SYNC_NAME(map, args[0]));
            peet__sync_answer(map, c, EINVAL);
        }
        return;
    }
    if (args[1])
        o->count = args[1];
    if (o->waiters.n + 1 < o->count) {
        peet__sync_wait(map, core, o, NULL, PEET_NEVER);
        peet__heap_push(map, &o->waiters, c, 0, map->sync->orders++);
        return;
    }
    peet__sync_answer(map, c, 1);
    while ((one = peet__heap_pop(&o->waiters)) != NULL)
        peet__sync_grant(map, one, core->clock, 0);
    peet__sync_drop_idle(map, o);
}
