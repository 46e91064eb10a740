/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a real run (peet record): requests at one place begin in the order that was recorded.  Nothing of it
 * takes time, and modules do not see it.  A context that must wait does so as for the object of its request.
 */
#include "sync/sync.h"

/** It may not be dropped while it is known: its count is the next number. */
static struct peet_map_object *place(struct peet_map *map, uint64_t number)
{
    struct peet_map_object *o = peet__sync_get(map, number, PEET_SYNC_ORDER);

    if (o)
        o->valued = 1;
    return o;
}

/** What asks for all that orders contexts. */
static const char *wants_order(const struct peet_map *map)
{
    for (size_t i = 0; i < map->nobservers; i++)
        if (map->observers[i]->module->needs & PEET_NEEDS_ORDER)
            return map->observers[i]->module->name;
    return NULL;
}

int peet__order(struct peet_map *map, struct peet_map_core *core, const uint64_t *args)
{
    const char *const asks = wants_order(map);
    if (asks)
        return peet__map_fail(map, PEET_EINVALID,
            "%s: a recording of a real run does not have all that orders threads: observe a run of the program, or a trace "
            "of one",
            asks);
    const uint64_t number = args[1];
    struct peet_map_object *o = place(map, args[0]);
    struct peet_map_context *c = core->context;

    if (!o)
        return map->error.code;
    if (args[2] == PEET_ORDER_BEGIN) {
        if (number <= o->count) {
            peet__sync_answer(map, c, 0);
            return 0;
        }
        c->request.type = (uint32_t)args[4];
        c->request.nargs = 1;
        c->request.args[0] = args[3];
        if (peet__sync_wait(map, core, NULL, NULL, PEET_NEVER))
            peet__heap_push(map, &o->waiters, c, number, map->sync->orders++);
        return map->error.code ? map->error.code : PEET_MAP_AGAIN;
    }
    if (number >= o->count)
        o->count = number + 1;
    peet__sync_answer(map, c, 0);
    while (o->waiters.n && o->waiters.entries[0].key <= o->count)
        peet__sync_grant(map, peet__heap_pop(&o->waiters), core->clock, 0);
    return map->error.code;
}
