/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that begin in the middle of a recorded one: several contexts are there from the start, hold what they had got before, and
 * some of them have asked for something that they had not been given.
 *
 *   1. What is held takes effect before anything else, without time, and modules do not see it.
 *   2. A context's first event may be an AGAIN: its last request from before, which takes effect when the context goes
 *      on.
 *   3. Who waits for something that was to come from outside the piece would wait for ever.  When nobody can go on, the one of those
 *      who have more to do goes on that went on first then.  That is counted.
 */
#include "state/map.h"
#include "sync/sync.h"

#include <string.h>

void peet__middle_shift(const struct peet_map *map, uint32_t type, uint64_t *args, uint32_t nargs)
{
    const char *name = peet__map_forms[type].args, *found = strstr(name, "deadline");
    const uint64_t shift = map->config.middle->shift_cycles;
    uint32_t i = 0;

    if (!found)
        return;
    for (; name != found; name++)
        i += *name == ' ';
    if (i < nargs && args[i] != PEET_NEVER)
        args[i] = args[i] > shift ? args[i] - shift : 0;
}

/* ----------------------------------------------------------------------------------------- to begin */

/** A request takes effect for a context that has no processor. */
static void take_effect(struct peet_map *map, struct peet_map_context *c, uint32_t type, const uint64_t *args,
    uint32_t n)
{
    struct peet_map_core *core = &map->cores[0];
    struct peet_abstract_event event = {type, c->number, n, c->request.args};
    struct peet_map_object *o;

    if (type == PEET_ABSTRACT_MUTEX_LOCK) { /* under lock models, too, nothing is left to do */
        o = peet__sync_get(map, args[0], PEET_SYNC_MUTEX);
        if (o && o->held && o->owner == c->number)
            o->count++;
        else if (o && !o->held)
            peet__mutex_take(o, c, (unsigned)args[1]);
        return;
    }
    if (type == PEET_ABSTRACT_ROI_BEGIN) { /* the region goes on */
        if (peet__roi_mark(map, 0, 1))
            peet__map_fail(map, PEET_ENOMEM, "out of memory");
        return;
    }
    c->request.type = type;
    c->request.nargs = n;
    memcpy(c->request.args, args, n * sizeof *args);
    core->context = c;
    if (type == PEET_ABSTRACT_ORDER)
        peet__order(map, core, c->request.args);
    else if (peet__sync_deferred(type) && type != PEET_ABSTRACT_THREAD_CREATE)
        peet__sync_effect(map, core, &event);
    core->context = NULL;
    map->ops->result(map->source, c->source, 0);
}

/** Returns: whether the context is waiting after that: two cannot have held the same */
static int hold(struct peet_map *map, struct peet_map_context *c, const struct peet_map_begun *begun)
{
    for (const uint64_t *at = begun->held, *end = at + begun->nheld; at != end && !map->error.code; at += 2 + at[1])
        if (c->state != PEET_MAP_BLOCKED && at[0] < PEET_ABSTRACT_TYPES && at[1] >= peet__map_forms[at[0]].nargs &&
            at[1] <= PEET_MAP_ARGS)
            take_effect(map, c, (uint32_t)at[0], at + 2, (uint32_t)at[1]);
    return c->state == PEET_MAP_BLOCKED;
}

/** A thread that is over keeps its record until it is joined. */
static int was(struct peet_map *map, const struct peet_map_begun *begun)
{
    struct peet_map_context gone = {.number = begun->number};

    if (peet__thread_find(map, begun->number))
        return 0;
    if (peet__thread_add(map, &gone, 0, 0))
        return map->error.code;
    gone.thread->context = NULL;
    map->sync->live_threads--;
    return 0;
}

int peet__middle_start(struct peet_map *map)
{
    const struct peet_map_middle *m = map->config.middle;
    uint64_t operations[PEET_SYNC_KINDS];
    struct peet_map_context *c;

    memcpy(operations, map->sync->operations, sizeof operations);
    map->started = 1;
    for (unsigned i = 0; i < map->ncores; i++)
        peet__map_set_idle(map, i);
    map->next_number = m->next_number;
    for (size_t i = 0; i < m->n && !map->error.code; i++) {
        const struct peet_map_begun *begun = &m->contexts[i];

        if (begun->over) {
            was(map, begun);
            continue;
        }
        if (peet__map_context_new(map, &c))
            break;
        c->number = begun->number;
        c->next_step = PEET_STEP_BEGIN;
        if (map->ops->begin(map->source, c->source, i, &map->error) ||
            peet__thread_add(map, c, begun->detached, begun->ready_cycles))
            break;
        map->live++;
        if (!hold(map, c, begun))
            peet__map_arrive(map, c, NULL, begun->ready_cycles);
    }
    memcpy(map->sync->operations, operations, sizeof operations);
    return map->error.code;
}

int peet__middle_again(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event)
{
    struct peet_map_context *c = core->context;
    const uint64_t type = event->nargs >= 2 ? event->args[1] : 0, number = event->nargs >= 2 ? event->args[0] : 0;
    const uint32_t n = event->nargs - 2, next = map->next_number;
    struct peet_abstract_event again = {(uint32_t)type, c->number, n, c->request.args};

    if (!map->config.middle || event->nargs < 2 || type >= PEET_ABSTRACT_TYPES || n < peet__map_forms[type].nargs ||
        n > PEET_MAP_ARGS || number > UINT32_MAX)
        return peet__map_fail(map, PEET_ESTREAM, "context %u: the trace names a pending request that is not a request",
            c->number);
    if (type != PEET_ABSTRACT_DOALL_FORK && !peet__sync_deferred((uint32_t)type))
        return PEET_MAP_AGAIN;
    c->request.type = (uint32_t)type;
    c->request.nargs = n;
    memcpy(c->request.args, event->args + 2, n * sizeof *event->args);
    peet__middle_shift(map, (uint32_t)type, c->request.args, n);
    if (type == PEET_ABSTRACT_DOALL_FORK) {
        peet__map_resolve_schedule(map, &c->request.args[2], &c->request.args[3]);
        c->marked_fork = 0;
        map->next_number = (uint32_t)number;
    } else if (type == PEET_ABSTRACT_THREAD_CREATE) {
        c->request.args[5] = number;
    }
    peet__map_effect(map, core, &again);
    if (map->next_number < next)
        map->next_number = next;
    return map->error.code ? map->error.code : PEET_MAP_AGAIN;
}

/* ----------------------------------------------------------------------------------------- to force */

/** The wait of a blocked context ends, as if what it waits for had come.  Returns: whether it could be done */
static int force(struct peet_map *map, struct peet_map_context *c, uint64_t cycles)
{
    struct peet_map_object *o = c->waiting;
    const int condition = c->request.type == PEET_ABSTRACT_COND_WAIT;

    if (!o && c->request.type == PEET_ABSTRACT_THREAD_JOIN)
        peet__thread_unjoin(map, c);
    else if (!o && c->request.type == PEET_ABSTRACT_IO_WAIT)
        peet__io_forget(map, c);
    if (!o) { /* a thread, a descriptor, an order */
        peet__sync_grant(map, c, cycles, 0);
        return 1;
    }
    switch (o->key.type) {
    case PEET_SYNC_MUTEX:
        if (peet__lock_modelled(map))
            return 0;
        peet__heap_remove(c->queue, c);
        peet__mutex_take(o, c, (unsigned)(condition ? c->request.args[2] : c->request.args[1]));
        peet__sync_grant(map, c, cycles, condition ? c->wait_result : 0);
        return 1;
    case PEET_SYNC_RWLOCK: /* whoever holds it has left it */
        peet__rwlock_forget(map, o, c);
        o->held = 0;
        o->count = 0;
        peet__rwlock_admit(map, o, cycles);
        return 1;
    case PEET_SYNC_COND:
        if (peet__lock_modelled(map))
            return 0;
        peet__heap_remove(c->queue, c);
        peet__mutex_reacquire(map, c, cycles, 0);
        return 1;
    case PEET_SYNC_ONCE:
        o->held = 0;
        break;
    }
    peet__sync_grant(map, c, cycles, 0);
    return 1;
}

int peet__middle_force(struct peet_map *map)
{
    struct peet_map_context *first = NULL;
    uint64_t when = UINT64_MAX;

    for (uint32_t i = 0; i < map->nsources; i++) {
        struct peet_map_context *c = map->contexts[i];
        const uint64_t at =
            c && c->state == PEET_MAP_BLOCKED && !c->forked ? map->ops->goes_on(map->source, c->source) : UINT64_MAX;

        if (at < when) {
            when = at;
            first = c;
        }
    }
    if (!first || !force(map, first, peet_map_cycles(map)))
        return 0;
    map->sync->forced++;
    return 1;
}

uint64_t peet_map_forced(const struct peet_map *map)
{
    return map->sync->forced;
}
