/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pull form: a machine with a main loop of its own asks for the next event of a hardware context, and says
 * afterwards how long the event took. Both forms use the same engine. A machine that always pulls the hardware context
 * with the least env->clock() (of equal ones, the lowest index) gets the events that the push form would give it.
 */
#include "state/map.h"
#include "sync/sync.h"

#include <string.h>

static struct peet_map *map_of(const struct peet_env *env)
{
    return ((struct peet_map_module *)env->host)->map;
}

/** The abstract event pulled last takes effect now that its cost is known. */
static void settle_pulled(struct peet_map *map)
{
    struct peet_map_core *core = map->pulled;

    if (!core)
        return;
    map->pulled = NULL;
    map->current = (unsigned)(core - map->cores);
    peet__map_take_effect(map, core, &map->pulled_event.abstract, map->pulled_clock);
}

void peet__map_pull_charge(const struct peet_env *env, unsigned hw, uint64_t cycles)
{
    struct peet_map *map = map_of(env);
    struct peet_map_core *core;

    if (hw >= map->ncores || !map->pulling) {
        env->fail(env, "charge() of hardware context %u outside main() or out of range", hw);
        return;
    }
    core = &map->cores[hw];
    if (core->is_idle) { /* waiting, said aloud */
        if (peet__map_long(core->clock, cycles))
            cycles = peet__map_take_time(map->machine, hw, core->clock, cycles, "charge");
        core->clock += cycles;
        core->idle += cycles;
        return;
    }
    peet__map_charge(map, core, cycles, "charge");
    if (map->pulled == core)
        settle_pulled(map);
}

uint64_t peet__map_clock(const struct peet_env *env, unsigned hw)
{
    struct peet_map *map = map_of(env);
    struct peet_map_core *core;
    uint64_t then;

    if (hw >= map->ncores) {
        env->fail(env, "clock(): there is no hardware context %u", hw);
        return 0;
    }
    core = &map->cores[hw];
    if (!core->is_idle)
        return core->clock;
    if (!map->pulling)
        return core->clock > map->now ? core->clock : map->now;
    then = peet__map_next_arrival(map);
    return then > core->clock ? then : core->clock;
}

/** Arrivals up to a time come in before a core acts at that time. */
static void arrivals_until(struct peet_map *map, uint64_t cycles)
{
    if (peet__map_next_arrival(map) <= cycles) {
        map->now = cycles;
        peet__map_arrivals(map);
    }
}

/**
 * A core without a context looks for work.  One that is pulled while idle is let catch up with the next
 * arrival; one that has just become free is not, since others may have something for it before that.
 * Returns: as peet__map_pick()
 */
static int find_work(struct peet_map *map, unsigned hw)
{
    struct peet_map_core *core = &map->cores[hw];
    int got = peet__map_pick(map, hw);
    uint64_t then = peet__map_next_arrival(map);

    if (!got && core->is_idle && then != PEET_MAP_NEVER) {
        arrivals_until(map, then > core->clock ? then : core->clock);
        got = peet__map_pick(map, hw);
    }
    if (got > 0 && core->is_idle)
        peet__map_wake(map, hw, core->clock);
    else if (!got && !core->is_idle)
        peet__map_set_idle(map, hw);
    return got;
}

static int end(struct peet_map *map, struct peet_pull *out)
{
    out->kind = PEET_PULL_END;
    return map->error.code;
}

static int idle(struct peet_map *map, struct peet_pull *out)
{
    int going;

    out->kind = PEET_PULL_IDLE;
    out->idle_until_cycles = peet__map_next_arrival(map);
    going = out->idle_until_cycles != PEET_MAP_NEVER;
    for (unsigned i = 0; i < map->ncores; i++)
        going |= !map->cores[i].is_idle;
    if (going)
        return 0;
    peet__map_stuck(map); /* nobody runs, nothing comes */
    if (map->ended || map->error.code)
        return end(map, out);
    out->idle_until_cycles = peet__map_next_arrival(map);
    return 0;
}

int peet__map_pull(const struct peet_env *env, unsigned hw, struct peet_pull *out)
{
    struct peet_map *map = map_of(env);
    struct peet_map_core *core;
    struct peet_event event;
    uint64_t stalled, cost;
    int kind;

    if (hw >= map->ncores || !map->pulling) {
        env->fail(env, "pull() of hardware context %u outside main() or out of range", hw);
        return map->error.code;
    }
    core = &map->cores[hw];
    settle_pulled(map);
    for (;;) {
        if (map->ended || map->error.code)
            return end(map, out);
        if (!core->is_idle)
            arrivals_until(map, core->clock);
        map->current = hw;
        if (!core->context) {
            stalled = core->stalled;
            kind = find_work(map, hw);
            if (kind < 0)
                return end(map, out);
            if (!kind)
                return idle(map, out);
            if (core->stalled != stalled) { /* the switch takes time, in which others may be due */
                out->kind = PEET_PULL_IDLE;
                out->idle_until_cycles = core->clock;
                return 0;
            }
        }
        if (map->config.policy == PEET_POLICY_RR && peet__map_preempt(map, hw))
            continue;
        kind = peet__map_produce(map, core, &event);
        if (kind < 0)
            return end(map, out);
        if (kind && kind != PEET_MAP_AGAIN)
            break;
        if (!kind)
            peet__map_over(map, core);
        if (peet__map_next_arrival(map) <= core->clock) { /* whom it has woken may be due first, elsewhere */
            out->kind = PEET_PULL_IDLE;
            out->idle_until_cycles = core->clock;
            return 0;
        }
    }
    map->nevents++;
    if (core->clock > map->now)
        map->now = core->clock;
    if (kind == PEET_EVENT_BLOCK) {
        out->kind = PEET_PULL_BLOCK;
        out->block = event.block;
        peet__map_observe_block(map, hw, &event.block, core->clock);
        return 0;
    }
    if (event.abstract.nargs && event.abstract.nargs <= 8) { /* they must outlive the next call to the source */
        memmove(map->args, event.abstract.args, event.abstract.nargs * sizeof *map->args);
        event.abstract.args = map->args;
    }
    out->kind = PEET_PULL_ABSTRACT;
    out->abstract = event.abstract;
    peet__map_observe_abstract(map, hw, &event.abstract);
    cost = peet__sync_cost(map, core, &event.abstract);
    if (cost || event.abstract.type == PEET_ABSTRACT_SYSCALL)
        peet__map_charge(map, core, cost, "abstract");
    map->pulled_clock = core->clock;
    map->pulled = core;
    map->pulled_event = event;
    return 0;
}
