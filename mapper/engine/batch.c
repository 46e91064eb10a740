/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executed blocks are given to the machine, to the observers and to the counts, without machine code (with it:
 * engine/direct.c).
 *
 * Blocks come in batches, as they were decoded.  A machine or observer with blocks() gets many in one call; one without
 * gets block() for each.  Counts go by block: executions[id] is raised by one, and everything else that is the same in
 * each execution is multiplied out at the end.  Called by map.c, and by pull.c for machines in pull form.  loops.c
 * takes events of several iterations.
 */
#include "state/map.h"

#include <stdlib.h>
#include <string.h>

/** The first time that a block of so high an id comes. */
static __attribute__((noinline)) void more_executions(struct peet_map *map, uint32_t id)
{
    uint32_t n = map->nexecutions ? map->nexecutions : 1024;
    struct peet_map_execution *more;

    while (n <= id)
        n *= 2;
    more = realloc(map->executions, n * sizeof *more);
    if (!more) {
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %u blocks", n);
        return;
    }
    memset(more + map->nexecutions, 0, (n - map->nexecutions) * sizeof *more);
    map->executions = more;
    map->nexecutions = n;
}

static __attribute__((noinline)) void count_varying(struct peet_map *map, struct peet_map_core *core,
    const struct peet_block_event *event)
{
    struct peet_counts counts = {0, 0, 0};

    if (!event->values) {
        map->inexact = 1;
        return;
    }
    peet_count_dynamic(event->block, event->values, PEET_COUNT_CALLGRIND, &counts);
    core->instructions += counts.instructions;
    map->varying.reads += counts.reads;
    map->varying.writes += counts.writes;
}

void peet__map_count_times(struct peet_map *map, const struct peet_block *block, uint64_t times)
{
    if (__builtin_expect(block->id >= map->nexecutions, 0)) {
        more_executions(map, block->id);
        if (block->id >= map->nexecutions)
            return;
    }
    map->executions[block->id].times += times;
    map->executions[block->id].block = block;
}

/** A block was executed so many times in a row. */
static inline void count_block(struct peet_map *map, struct peet_map_core *core, const struct peet_block *block,
    uint64_t times)
{
    peet__map_count_times(map, block, times);
    core->instructions += block->ninsns * times;
}

static inline void show_block(struct peet_map *map, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    const uint64_t from = peet__map_tells(&map->cores[hw], now);

    for (unsigned i = 0; i < map->nshown; i++) {
        struct peet_map_module *m = map->block_observers[i];
        const uint64_t begin = m->follower ? peet__map_begin(m, hw, from) : now;
        peet__map_done(m, hw, begin, m->module->block(m->self, hw, event, begin), "block");
    }
    if (map->nshown != map->nblock_observers)
        peet__map_queue_blocks(map, hw, event, 1, from, 0);
}

void peet__map_count_block(struct peet_map *map, struct peet_map_core *core, const struct peet_block *block,
    uint64_t times)
{
    count_block(map, core, block, times);
}

static void observe_block(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    const struct peet_block_event *event, uint64_t now)
{
    count_block(map, core, event->block, 1);
    if (!(event->block->flags & PEET_BLOCK_SIMPLE))
        count_varying(map, core, event);
    show_block(map, hw, event, now);
}

void peet__map_observe_block(struct peet_map *map, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    observe_block(map, hw, &map->cores[hw], event, now);
}

void peet__map_run_block(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    const struct peet_block_event *event)
{
    const uint64_t before = core->clock, stalled = core->stalled;
    uint64_t cost =
        map->machine_block ? map->machine_block(map->machine->self, hw, event, core->clock) : event->block->cost_cycles;

    observe_block(map, hw, core, event, core->clock);
    peet__map_charge(map, core, cost, "block");
    if (__builtin_expect(map->supposed != NULL, 0))
        peet__suppose_scale(map, core, event->block, before, stalled);
}

/** Count what a batch has delivered. */
static void count_batch(struct peet_map *map, struct peet_map_core *core, const struct peet_block_event *at,
    const struct peet_block_event *end)
{
    uint64_t instructions = 0;

    for (; at != end; at++) {
        const struct peet_block *block = at->block;
        struct peet_map_execution *e;

        if (__builtin_expect(block->id >= map->nexecutions, 0)) {
            more_executions(map, block->id);
            if (block->id >= map->nexecutions)
                break;
        }
        e = &map->executions[block->id];
        e->times++;
        e->block = block;
        instructions += block->ninsns;
        if (__builtin_expect(!(block->flags & PEET_BLOCK_SIMPLE), 0))
            count_varying(map, core, at);
    }
    core->instructions += instructions;
}

/** Can blocks come by the batch: to the machine, and to whoever looks on? */
static int by_the_batch(const struct peet_map *map)
{
    if (!map->machine_block || !map->machine->module->blocks)
        return 0;
    for (unsigned i = 0; i < map->nblock_observers; i++)
        if (!map->block_observers[i]->module->blocks)
            return 0;
    return 1;
}

/** The machine takes blocks up to the next loop, as far as it likes.  Returns: the first that it has not taken */
static struct peet_block_event *machine_batch(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    struct peet_block_event *at, struct peet_block_event *end, uint64_t limit)
{
    const struct peet_module *const machine = map->machine->module;
    struct peet_map_context *c = core->context;
    struct peet_block_event *stop = c->batch_loop > at ? c->batch_loop : at;
    size_t done = 0, all;
    uint64_t cost, from;

    if (at->context != c->number)
        for (struct peet_block_event *e = at; e != end; e++)
            e->context = c->number;
    while (stop != end && stop->turns == 1)
        stop++;
    c->batch_loop = stop;
    cost = machine->blocks(map->machine->self, hw, at, (size_t)(stop - at), core->clock, limit, &done);
    if (!done || done > (size_t)(stop - at)) {
        peet__map_fail(map, PEET_EMODULE, "%s: blocks() took %zu of %zu blocks", machine->name, done,
            (size_t)(stop - at));
        done = (size_t)(stop - at);
    }
    from = peet__map_tells(core, core->clock);
    for (unsigned i = 0; i < map->nshown; i++) {
        struct peet_map_module *m = map->block_observers[i];
        const uint64_t begin = m->follower ? peet__map_begin(m, hw, from) : core->clock;
        all = done;
        peet__map_done(m, hw, begin, m->module->blocks(m->self, hw, at, done, begin, UINT64_MAX, &all), "blocks");
        peet__map_took(m, all, done, "blocks", "blocks");
    }
    if (map->nshown != map->nblock_observers)
        peet__map_queue_blocks(map, hw, at, done, from, 1);
    peet__map_charge(map, core, cost, "blocks");
    return at + done;
}

/** Each block by itself takes the time that is supposed. */
static size_t run_supposed(struct peet_map *map, unsigned hw, struct peet_map_core *core, uint64_t limit)
{
    struct peet_map_context *c = core->context;
    size_t n = 0;

    do {
        c->batch->context = c->number;
        if (c->batch->turns == 1)
            peet__map_run_block(map, hw, core, c->batch++);
        else if (!peet__map_run_loop(map, hw, core, c->batch, limit))
            c->batch++;
        n++;
    } while (c->batch != c->batch_end && core->clock < limit && !map->attention);
    return n;
}

size_t peet__map_run_batch(struct peet_map *map, unsigned hw, struct peet_map_core *core, uint64_t limit)
{
    if (__builtin_expect(map->supposed != NULL, 0))
        return run_supposed(map, hw, core, limit);
    if (__builtin_expect(!map->batched, 0))
        map->batched = by_the_batch(map) ? 2 : 1;

    struct peet_map_context *c = core->context;
    struct peet_block_event *const begin = c->batch, *const end = c->batch_end, *at = begin;
    uint64_t (*const block)(void *, unsigned, const struct peet_block_event *, uint64_t) = map->machine_block;
    void *const self = map->machine->self;
    const uint32_t number = c->number;
    const int shown = map->nblock_observers != 0;
    const int batched = map->batched == 2;
    uint64_t clock = core->clock;
    struct peet_block_event *uncounted = begin; /* count_batch() has not seen it yet */
    size_t again = 0;

    do {
        uint64_t cost;

        if (batched && at->turns == 1) {
            at = machine_batch(map, hw, core, at, end, limit);
            clock = core->clock;
            continue;
        }
        at->context = number;
        if (__builtin_expect(at->turns != 1, 0)) {
            struct peet_block_event *loop = at;

            count_batch(map, core, uncounted, at);
            if (!peet__map_run_loop(map, hw, core, loop, limit))
                at++;
            else
                again = 1;
            uncounted = at;
            clock = core->clock;
            continue;
        }
        cost = block ? block(self, hw, at, clock) : at->block->cost_cycles;
        if (shown)
            show_block(map, hw, at, clock);
        at++;
        if (peet__map_long(clock, cost))
            cost = peet__map_take_time(map->machine, hw, clock, cost, "block");
        clock += cost;
        if (core->not_ready > clock) {
            core->stalled += core->not_ready - clock;
            clock = core->not_ready;
        }
        core->clock = clock;
    } while (at != end && clock < limit && !map->attention);
    c->batch = at;
    count_batch(map, core, uncounted, at);
    return (size_t)(at - begin) + again;
}
