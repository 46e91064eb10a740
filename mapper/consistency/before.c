/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locked operations that have changed nothing, as a compare-and-exchange that fails: in explorations they have read.  Who reads, and
 * others that change nothing, could come before them or after them: the values would be the same, and so what comes of them.  This
 * depends on what writes to the same bytes, and on nothing else.
 *
 * A locked operation begins its step (ATOMIC).  What stood there before is looked at when a step begins, at all places of locked
 * operations so far; at a place that is not known yet such an operation has written.
 */
#include "consistency/consistency.h"
#include "sync/sync.h"

void peet__consistency_step(struct peet_map *map)
{
    struct peet_before *b = &map->consistency->before;

    for (uint32_t i = 0; i < b->n; i++)
        if (peet__consistency_value(map, 0, b->places[i].address, b->places[i].bytes, &b->places[i].value))
            b->places[i].bytes = 0;
}

int peet__consistency_as_before(struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes)
{
    struct peet_before *b = &map->consistency->before;
    uint64_t now;

    if (map->consistency->ops || !map->consistency->looked || bytes > sizeof now ||
        peet__consistency_value(map, hw, address, bytes, &now))
        return 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->places[i].address == address && b->places[i].bytes == bytes) {
            const int same = b->places[i].value == now;

            b->places[i].value = now; /* a step might have several, in spite of all */
            return same;
        }
    b->places[b->n < PEET_BEFORE_MOST ? b->n++ : b->next++ % PEET_BEFORE_MOST] =
        (struct peet_read){address, bytes, now};
    return 0;
}
