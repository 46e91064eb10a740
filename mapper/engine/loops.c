/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of many iterations of one block, for loop() of struct peet_module. A machine may execute by loop() exactly the
 * iterations that it would have executed by block() before the same time limit.
 */
#include "consistency/consistency.h"
#include "state/map.h"

int peet_map_wants_loops(const struct peet_map *map)
{
    if (map->consistency && peet__consistency_references(map))
        return 0;
    if (!map->machine || !map->machine->module->loop || map->machine->module->main)
        return 0;
    for (unsigned i = 0; i < map->nblock_observers; i++)
        if (!map->block_observers[i]->module->loop)
            return 0;
    return 1;
}

/** Turns that no module sees, at their static cost, up to a time. */
static uint64_t skip(const struct peet_block *block, uint64_t now, uint64_t limit, uint64_t *turns)
{
    uint64_t wanted = limit <= now ? 1 : block->cost_cycles ? (limit - now - 1) / block->cost_cycles + 1 : *turns;

    if (wanted < *turns)
        *turns = wanted;
    return *turns * block->cost_cycles;
}

uint64_t peet__map_run_loop(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    struct peet_block_event *event, uint64_t limit)
{
    const struct peet_module *machine = map->machine->module;
    const struct peet_block *block = event->block;
    struct peet_block_event taken = *event;
    uint64_t turns = event->turns, all, from;
    const uint64_t before = core->clock, stalled = core->stalled;
    uint64_t cost = map->roi.hidden ? skip(block, core->clock, limit, &turns)
                                    : machine->loop(map->machine->self, hw, event, core->clock, limit, &turns);

    if (!turns || turns > event->turns) {
        peet__map_fail(map, PEET_EMODULE, "%s: loop() took %llu of %llu turns", machine->name,
            (unsigned long long)turns, (unsigned long long)event->turns);
        turns = event->turns;
    }
    taken.turns = turns;
    from = peet__map_tells(core, core->clock);
    for (unsigned i = 0; i < map->nshown; i++) {
        struct peet_map_module *m = map->block_observers[i];
        const uint64_t begin = m->follower ? peet__map_begin(m, hw, from) : core->clock;
        all = turns;
        peet__map_done(m, hw, begin, m->module->loop(m->self, hw, &taken, begin, UINT64_MAX, &all), "loop");
        peet__map_took(m, all, turns, "loop", "turns");
    }
    if (map->nshown != map->nblock_observers)
        peet__map_queue_loop(map, hw, &taken, from);
    peet__map_count_block(map, core, block, turns);
    peet__map_charge(map, core, cost, "loop");
    if (__builtin_expect(map->supposed != NULL, 0))
        peet__suppose_scale(map, core, block, before, stalled);
    event->turns -= turns;
    if (event->turns && event->values)
        for (uint32_t i = 0; i < block->nvalues; i++)
            ((uint64_t *)event->values)[i] += (uint64_t)event->strides[i] * turns; /* the batch's own array */
    return event->turns;
}
