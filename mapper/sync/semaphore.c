/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores.  A semaphore without a record has the value 0.
 */
#include "sync/sync.h"

#include <errno.h>

enum { VALUE_MAX = 0x7fffffff }; /* SEM_VALUE_MAX */

/** Take one if there is one. */
static int take(struct peet_map *map, struct peet_map_context *c, uint64_t address)
{
    struct peet_map_object *o = peet__sync_find(map, address, PEET_SYNC_SEMAPHORE);

    if (!o || !o->count)
        return 0;
    o->count--;
    peet__sync_answer(map, c, 0);
    peet__sync_drop_idle(map, o);
    return 1;
}

void peet__sem_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o;

    if (take(map, c, args[0]))
        return;
    o = peet__sync_get(map, args[0], PEET_SYNC_SEMAPHORE);
    if (o && !peet__sync_wait(map, core, o, &o->waiters, args[1]))
        peet__sync_drop_idle(map, o);
}

void peet__sem_trywait(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c,
    const uint64_t *args)
{
    (void)core;
    if (!take(map, c, args[0]))
        peet__sync_answer(map, c, EAGAIN);
}

void peet__sem_post(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    struct peet_map_object *o = peet__sync_get(map, args[0], PEET_SYNC_SEMAPHORE);
    struct peet_map_context *next;
    uint64_t n = args[1];

    if (!o)
        return;
    if (n > VALUE_MAX || o->count + n > VALUE_MAX) {
        peet__sync_drop_idle(map, o);
        peet__sync_answer(map, c, EOVERFLOW);
        return;
    }
    peet__sync_answer(map, c, 0);
    for (; n && (next = peet__sync_winner(map, &o->waiters)) != NULL; n--)
        peet__sync_grant(map, next, core->clock, 0);
    o->count += n;
    peet__sync_drop_idle(map, o);
}

void peet__sem_value(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c, const uint64_t *args)
{
    const struct peet_map_object *o = peet__sync_find(map, args[0], PEET_SYNC_SEMAPHORE);

    (void)core;
    peet__sync_answer(map, c, o ? o->count : 0);
}
