/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling: when contexts and loops become ready, and which of them a free hardware context executes.
 *
 *   1. Everything that becomes ready (a context, a loop) passes through one heap of arrivals, ordered by time and then
 *      by order of arrival.  So the list of ready contexts is in order of readiness, however far the hardware contexts
 *      have come.
 *   2. The heap is leaf 0 of the winner tree: at equal times arrivals come before any hardware context acts.
 *   3. A deadline (sync/sync.c) comes before an arrival of the same time.
 */
#include "state/map.h"
#include "sync/sync.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int before(const struct peet_map_arrival *a, const struct peet_map_arrival *b)
{
    return a->cycles < b->cycles || (a->cycles == b->cycles && a->order < b->order);
}

void peet__map_arrive(struct peet_map *map, struct peet_map_context *context, struct peet_map_loop *loop,
    uint64_t cycles)
{
    struct peet_map_arrival one = {cycles, map->orders++, context, loop}, *heap;
    size_t i = map->narrivals;

    if (i == map->arrivals_room) {
        size_t room = i ? 2 * i : 64;

        heap = realloc(map->arrivals, room * sizeof *heap);
        if (!heap) {
            peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %zu waiting contexts", i + 1);
            return;
        }
        map->arrivals = heap;
        map->arrivals_room = room;
    }
    heap = map->arrivals;
    map->narrivals++;
    for (; i && before(&one, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = one;
    if (context) {
        context->state = PEET_MAP_WAITING;
        context->ready_cycles = cycles;
    } else {
        loop->ready_cycles = cycles;
    }
    if (cycles < peet__map_key(map, 0))
        peet__map_rekey(map, 0, cycles);
}

uint64_t peet__map_next_arrival(const struct peet_map *map)
{
    uint64_t timed = peet__sync_next(map);

    return map->narrivals && map->arrivals[0].cycles < timed ? map->arrivals[0].cycles : timed;
}

static struct peet_map_arrival pop(struct peet_map *map)
{
    struct peet_map_arrival *heap = map->arrivals, top = heap[0], last = heap[--map->narrivals];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < map->narrivals) {
        if (child + 1 < map->narrivals && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

/* ---- the ready list */

static void append(struct peet_map *map, struct peet_map_context *c)
{
    c->state = PEET_MAP_READY;
    c->prev = map->ready_tail;
    c->next = NULL;
    *(map->ready_tail ? &map->ready_tail->next : &map->ready_head) = c;
    map->ready_tail = c;
    map->nready++;
    if (map->config.policy == PEET_POLICY_AFFINITY && c->last_hw != UINT_MAX) {
        struct peet_map_core *core = &map->cores[c->last_hw];

        c->own_prev = core->own_tail;
        c->own_next = NULL;
        *(core->own_tail ? &core->own_tail->own_next : &core->own_head) = c;
        core->own_tail = c;
    }
}

static void take(struct peet_map *map, struct peet_map_context *c)
{
    *(c->prev ? &c->prev->next : &map->ready_head) = c->next;
    *(c->next ? &c->next->prev : &map->ready_tail) = c->prev;
    c->prev = c->next = NULL;
    map->nready--;
    if (map->config.policy == PEET_POLICY_AFFINITY && c->last_hw != UINT_MAX) {
        struct peet_map_core *core = &map->cores[c->last_hw];

        *(c->own_prev ? &c->own_prev->own_next : &core->own_head) = c->own_next;
        *(c->own_next ? &c->own_next->own_prev : &core->own_tail) = c->own_prev;
        c->own_prev = c->own_next = NULL;
    }
}

/** Wake the idle core that suits a context best. */
static void wake_for(struct peet_map *map, const struct peet_map_context *c, uint64_t cycles)
{
    if (!map->nidle)
        return;
    if ((map->config.policy == PEET_POLICY_AFFINITY || map->supposed) && c->last_hw != UINT_MAX &&
        map->cores[c->last_hw].is_idle) {
        peet__map_wake(map, c->last_hw, cycles);
        return;
    }
    for (unsigned hw = 0; map->supposed && hw < map->ncores; hw++)
        if (map->cores[hw].is_idle && !map->cores[hw].kept) {
            peet__map_wake(map, hw, cycles);
            return;
        }
    for (unsigned w = 0; w < (map->ncores + 63) / 64; w++)
        if (map->idle_bits[w]) {
            peet__map_wake(map, 64 * w + (unsigned)__builtin_ctzll(map->idle_bits[w]), cycles);
            return;
        }
}

void peet__map_arrivals(struct peet_map *map)
{
    peet__spin_cut_all(map); /* they may have to make room */
    while (peet__map_next_arrival(map) <= map->now) {
        struct peet_map_arrival one;

        /* a deadline comes before what arrives then */
        if (!map->narrivals || peet__sync_next(map) <= map->arrivals[0].cycles) {
            peet__sync_due(map);
            if (map->error.code)
                return;
            continue;
        }
        one = pop(map);
        if (one.context) {
            one.context->arrival = one.order;
            append(map, one.context);
            wake_for(map, one.context, one.cycles);
            continue;
        }
        one.loop->arrival = one.order;
        peet__map_offer(map, one.loop);
        for (unsigned w = 0; map->nidle && w < (map->ncores + 63) / 64; w++)
            for (uint64_t bits = map->idle_bits[w]; bits; bits &= bits - 1)
                peet__map_wake(map, 64 * w + (unsigned)__builtin_ctzll(bits), one.cycles);
    }
    peet__map_rekey(map, 0, peet__map_next_arrival(map));
}

/* ---- picking */

/** Does the context's own core look for work at this very time? */
static int own_core_is_free(const struct peet_map *map, const struct peet_map_context *c, unsigned hw)
{
    return c->last_hw != UINT_MAX && c->last_hw != hw && !map->cores[c->last_hw].context &&
        peet__map_key(map, c->last_hw + 1) == map->now;
}

/** The ready context that the policy would run on a core, or NULL. */
static struct peet_map_context *first(struct peet_map *map, unsigned hw)
{
    struct peet_map_context *c = map->cores[hw].own_head, *oldest = map->ready_head;

    if (__builtin_expect(map->supposed != NULL, 0)) /* who goes back in time finds that time on its own core only */
        for (c = oldest; c; c = c->next)
            if (c->last_hw == hw)
                return c;
    if (oldest && map->cores[hw].clock >= map->config.spin_quantum_cycles &&
        map->cores[hw].clock - map->config.spin_quantum_cycles >= oldest->ready_cycles)
        return oldest; /* those that come back to their own core again and again must not keep it out for ever */
    if (c || map->config.policy != PEET_POLICY_AFFINITY)
        return c ? c : map->ready_head;
    for (c = map->ready_head; c && own_core_is_free(map, c, hw); c = c->next)
        ;
    return c;
}

/** Let a module choose among the ready contexts.  Returns: NULL after an error */
static struct peet_map_context *module_choice(struct peet_map *map, unsigned hw)
{
    struct peet_map_context *c, *chosen = NULL, *own = map->cores[hw].own_head;
    unsigned n = 0, index;

    if (map->nready > map->npick) {
        uint32_t *more = realloc(map->pick_numbers, 2 * map->nready * sizeof *more);

        if (!more) {
            peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the list of ready contexts");
            return NULL;
        }
        map->pick_numbers = more;
        map->npick = 2 * map->nready;
    }
    for (c = own; c; c = c->own_next)
        map->pick_numbers[n++] = c->number;
    for (c = map->ready_head; c; c = c->next)
        if (!own || c->last_hw != hw)
            map->pick_numbers[n++] = c->number;
    index = map->picker->module->pick_context(map->picker->self, hw, map->pick_numbers, n, map->cores[hw].clock);
    if (index >= n) {
        peet__map_fail(map, PEET_EMODULE, "%s: pick_context() chose entry %u of %u", map->picker->module->name, index,
            n);
        return NULL;
    }
    for (c = map->ready_head; c && !chosen; c = c->next)
        if (c->number == map->pick_numbers[index])
            chosen = c;
    return chosen;
}

int peet__map_pick(struct peet_map *map, unsigned hw)
{
    struct peet_map_core *core = &map->cores[hw];

    for (;;) {
        struct peet_map_context *c = map->nready ? first(map, hw) : NULL;
        struct peet_map_loop *loop = peet__map_loop_for(map, hw);
        int got;

        if (c && loop && !c->loop && c->arrival > loop->arrival)
            c = NULL;
        if (c && map->picker && !(c = module_choice(map, hw)))
            return map->error.code;
        if (c) {
            take(map, c);
            if (c->ready_cycles > core->clock) { /* pull form: the machine lets a core catch up */
                core->idle += c->ready_cycles - core->clock;
                core->clock = c->ready_cycles;
            }
            peet__map_dispatch(map, hw, c);
            /* a core that left a context to this one, which had another of its own, shall look again */
            if (map->nready && map->nidle && map->config.policy == PEET_POLICY_AFFINITY)
                wake_for(map, map->ready_head, map->now);
            return 1;
        }
        if (!loop)
            return 0;
        if (loop->ready_cycles > core->clock) {
            core->idle += loop->ready_cycles - core->clock;
            core->clock = loop->ready_cycles;
        }
        got = peet__map_iterate(map, loop, hw);
        if (got)
            return got;
    }
}

int peet__map_others_wait(struct peet_map *map, unsigned hw)
{
    return map->nready || (!map->cores[hw].context->loop && peet__map_loop_for(map, hw));
}
