/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppositions of peet whatif: waits that take no time, and functions that take a given part of their time.
 *
 * FREE WAITS.  Synchronisation still orders the program: one context at a time holds a lock, and no context passes a
 * barrier before all have arrived. But a context that had to wait continues with the clock that it had when it asked.
 * So contexts go back in time, against the order in which they act:
 *
 *     context 0   |--own--|==lock==|                      |--own--|==lock==|
 *     context 1   |--own--|........|==lock==|      =>     |--own--|==lock==|        both take as long
 *                                                                                   as if they were alone
 *
 * Invariants
 *   1. The clock of a hardware context never goes back: one that has run others meanwhile goes on from where it is.
 *   2. No grant comes before its request. A wait that is not supposed to be free still takes its time. If a context
 *      reaches a lock, a barrier or the end of a thread before the time at which a context that acted earlier has left
 *      it, it waits until that time (peet__suppose_after()).
 *   3. Machines are told (times_apart): requests for shared resources come out of order, also by much.
 *
 * SCALED FUNCTIONS.  The time of a block, with its waiting, is multiplied; fractions of a cycle are carried over. The
 * machine keeps the end of the block that it computed itself. If another context delays something that the block was
 * promised, the new time is moved by as much as the block's end was moved, and may lie in the past (not_ready_until()
 * in deliver.c).
 */
#include "sync/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What is supposed of a function, by its id; NULL entries: not looked up yet. */
struct peet_map_supposed {
    const double **factors;
    uint32_t nfactors;
    uint8_t *met; /* of config.scaled, then of config.free: is there something of that name? */
};

static const double untouched = 1;

int peet__suppose_new(struct peet_map *map, struct peet_error *error)
{
    struct peet_map_supposed *s;

    if (!map->config.nscaled && !map->config.nfree)
        return 0;
    s = map->supposed = calloc(1, sizeof *s);
    if (!s || !(s->met = calloc(map->config.nscaled + map->config.nfree, 1)))
        return peet_error_set(error, PEET_ENOMEM, "mapper: out of memory");
    return 0;
}

void peet__suppose_free(struct peet_map *map)
{
    if (map->supposed) {
        free(map->supposed->factors);
        free(map->supposed->met);
    }
    free(map->supposed);
}

/* ------------------------------------------------------------------------------------------ functions */

static const double *look_up(struct peet_map *map, const struct peet_function *f)
{
    struct peet_map_supposed *s = map->supposed;

    if (f->id >= s->nfactors) {
        uint32_t n = s->nfactors ? s->nfactors : 256;
        const double **more;

        while (n <= f->id)
            n *= 2;
        more = realloc(s->factors, n * sizeof *more);
        if (!more) {
            peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %u functions", n);
            return &untouched;
        }
        memset(more + s->nfactors, 0, (n - s->nfactors) * sizeof *more);
        s->factors = more;
        s->nfactors = n;
    }
    s->factors[f->id] = &untouched;
    for (size_t i = 0; i < map->config.nscaled; i++)
        if (f->name && strcmp(map->config.scaled[i].function, f->name) == 0) {
            s->factors[f->id] = &map->config.scaled[i].factor;
            s->met[i] = 1;
        }
    return s->factors[f->id];
}

void peet__suppose_scale(struct peet_map *map, struct peet_map_core *core, const struct peet_block *block,
    uint64_t before, uint64_t stalled)
{
    const struct peet_function *f = block->function;
    const double *factor = !map->config.nscaled                            ? &untouched
        : f->id < map->supposed->nfactors && map->supposed->factors[f->id] ? map->supposed->factors[f->id]
                                                                           : look_up(map, f);
    uint64_t taken = core->clock - before, left;
    double wanted;

    core->last_supposed = 0;
    if (*factor == 1)
        return;
    wanted = (double)taken * *factor + core->part;
    left = (uint64_t)wanted;
    core->part = wanted - (double)left;
    stalled = core->stalled - stalled;
    core->stalled -= stalled;
    core->stalled += taken ? (uint64_t)((double)stalled / (double)taken * (double)left) : 0;
    core->clock = before + left;
    core->last_supposed = (int64_t)(left - taken);
    core->supposed += core->last_supposed;
    core->not_ready = 0; /* it has been waited for */
}

/* ---------------------------------------------------------------------------------------------- waits */

/** "lock" is also "lock+8": a member of it, or an element. */
static int is_called(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);

    return strncmp(name, wanted, n) == 0 && (!name[n] || name[n] == '+' || name[n] == '.' || name[n] == '[');
}

static int is_free(struct peet_map *map, const struct peet_map_object *o)
{
    const int lock = o->key.type == PEET_SYNC_MUTEX || o->key.type == PEET_SYNC_RWLOCK;
    char name[160] = "", address[24];

    if (!lock && o->key.type != PEET_SYNC_BARRIER)
        return 0;
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)o->key.address);
    if (map->config.name_of && !map->config.name_of(map->config.report_arg, o->key.address, name, sizeof name))
        name[0] = '\0';
    for (size_t i = 0; i < map->config.nfree; i++)
        if (strcmp(map->config.free[i], lock ? "locks" : "barriers") == 0 ||
            strcmp(map->config.free[i], address) == 0 || (*name && is_called(name, map->config.free[i]))) {
            map->supposed->met[map->config.nscaled + i] = 1;
            return 1;
        }
    return 0;
}

static int waits_free(struct peet_map *map, struct peet_map_object *o)
{
    if (o && !o->supposed)
        o->supposed = is_free(map, o) ? PEET_SUPPOSED_FREE : PEET_SUPPOSED_KNOWN;
    return o && o->supposed == PEET_SUPPOSED_FREE;
}

void peet__suppose_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o)
{
    core->kept = (uint8_t)waits_free(map, o);
}

uint64_t peet__suppose_grant(struct peet_map *map, const struct peet_map_context *c, struct peet_map_object *o,
    uint64_t cycles)
{
    return cycles < c->asked_cycles || waits_free(map, o) ? c->asked_cycles : cycles;
}

int peet__suppose_after(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o,
    uint64_t left_cycles)
{
    return left_cycles > core->clock && !waits_free(map, o) && peet__sync_wait(map, core, o, NULL, PEET_NEVER);
}

/* ------------------------------------------------------------------------------------------ at the end */

int peet_map_not_met(const struct peet_map *map, size_t i, const char **out_option, const char **out_name)
{
    if (!map->supposed || i >= map->config.nscaled + map->config.nfree)
        return -1;
    *out_option = i < map->config.nscaled ? "--scale" : "--free";
    *out_name = i < map->config.nscaled ? map->config.scaled[i].function : map->config.free[i - map->config.nscaled];
    return !map->supposed->met[i];
}
