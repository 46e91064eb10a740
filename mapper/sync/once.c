/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Initialisation that is to happen once.  There is a record while the initialiser runs; that it has run
 * is in the object's own memory, which the front end reads before it asks and again when it is told to run.
 */
#include "sync/sync.h"

void peet__once_begin(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_get(map, args[0], PEET_SYNC_ONCE);

    if (!o)
        return;
    if (o->held) {
        peet__sync_wait(map, core, o, &o->waiters, PEET_NEVER);
        return;
    }
    o->held = 1;
    o->owner = c->number;
    peet__sync_answer(map, c, 1);
}

void peet__once_end(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_ONCE);
    struct peet_map_context *next;

    peet__sync_answer(map, c, 0);
    if (!o)
        return;
    o->held = 0;
    if (!args[1] && (next = peet__heap_pop(&o->waiters)) != NULL) { /* it failed: another one tries */
        o->held = 1;
        o->owner = next->number;
        peet__sync_grant(map, next, core->clock, 1);
        return;
    }
    while ((next = peet__heap_pop(&o->waiters)) != NULL)
        peet__sync_grant(map, next, core->clock, 0);
    peet__sync_drop(map, o);
}
