/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that try for a lock while they hold another, and let go if it is taken (std::lock(), trylocks against
 * deadlock).  On processors that are all alike, with locks that are handed over, they may come round and
 * round for ever, each holding what another tries for; on real ones some disturbance ends that soon.  The
 * disturbance here: after many failures the try is put off by a random time, longer from time to time, and decided
 * then.  mutex.c and rwlock.c ask before a try fails.
 */
#include "base/splitmix.h"
#include "sync/sync.h"

enum {
    PATIENCE = 64,     /* failures before the first one that is put off */
    SETTLED = 64,      /* successes in a row after which failures are forgotten */
    FIRST_CYCLES = 64, /* the longest delay at first; twice as much every EACH failures */
    EACH = 16,
    DOUBLINGS = 12,
};

void peet__try_succeeds(struct peet_map_context *c)
{
    c->put_off = 0;
    if (c->tries_failed && ++c->tries_well >= SETTLED)
        c->tries_failed = c->tries_well = 0;
}

int peet__try_put_off(struct peet_map *map, struct peet_map_core *core, struct peet_map_context *c)
{
    uint32_t doublings;

    if (c->put_off || !c->holding) {
        c->put_off = 0;
        return 0;
    }
    c->tries_well = 0;
    if (c->tries_failed < PATIENCE) {
        c->tries_failed++;
        return 0;
    }
    doublings = (c->tries_failed++ - PATIENCE) / EACH;
    if (doublings >= DOUBLINGS) {
        doublings = DOUBLINGS;
        c->tries_failed--;
    }
    c->put_off = 1;
    map->sync->operations[peet__sync_kind(c->request.type)]--; /* it comes again */
    return peet__sync_wait(map, core, NULL, NULL,
        core->clock + 1 + peet__splitmix64(&map->sync->random) % ((uint64_t)FIRST_CYCLES << doublings));
}

int peet__try_again(struct peet_map *map, struct peet_map_context *c, uint64_t cycles)
{
    if (!c->put_off)
        return 0;
    c->next_step = PEET_STEP_EFFECT;
    peet__map_arrive(map, c, NULL, cycles);
    return 1;
}
