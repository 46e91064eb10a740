/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that the machine leaves to peet (direct.h): the decoder takes them in machine code, the engine sees no
 * events.  How often each was taken is counted there, and fetched when somebody wants to know.
 */
#include "engine/map.h"

const struct peet_direct *peet_map_direct(const struct peet_map *map, void **out_self)
{
    const struct peet_module *machine = map->machine ? map->machine->module : NULL;

    if (!machine || !machine->direct || machine->main || map->nblock_observers || map->consistency || map->config.remap ||
        map->config.policy == PEET_POLICY_RR || !map->ops->direct)
        return NULL;
    *out_self = map->machine->self;
    return machine->direct;
}

void peet_map_set_direct(struct peet_map *map)
{
    map->direct = map->machine->module->direct;
}

static void one(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    struct peet_map *map = arg;
    struct peet_block_event shown = *event;

    shown.context = map->cores[map->current].context->number;
    map->direct->event(map->machine->self, map->current, run, &shown);
    peet__map_observe_block(map, map->current, &shown);
}

int peet__map_run_direct(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_context *c = core->context;
    void *const self = map->machine->self;
    struct peet_direct_run *run;
    int any;

    if (map->roi.hidden || c->spin.watched || map->chooser || !map->ops->words(map->source, c->source))
        return 0;
    run = map->direct->begin(self, map->current, core->clock, map->until);
    run->instructions = 0;
    any = map->ops->direct(map->source, c->source, run, one, map);
    map->direct_instructions = run->instructions;
    core->instructions += run->instructions;
    peet__map_charge(core, map->direct->end(self, map->current));
    return any;
}

static void executed(void *arg, const struct peet_block *block, uint64_t times)
{
    struct peet_map *map = arg;

    peet__map_count_times(map, block, times);
    if (map->direct->executed)
        map->direct->executed(map->machine->self, block, times);
}

void peet__map_settle_direct(struct peet_map *map)
{
    if (map->direct)
        map->ops->executed(map->source, executed, map);
}
