/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapper's life and death: its memory, its machine and its observers.
 */
#include "state/map.h"
#include "consistency/consistency.h"
#include "engine/processors.h"
#include "sync/sync.h"

#include <stdlib.h>
#include <string.h>

/** Room for so many hardware contexts; before anything has run. */
static int set_cores(struct peet_map *map, unsigned n, struct peet_error *error)
{
    uint32_t leaves = 2;

    while (leaves < n + 1)
        leaves *= 2;
    free(map->cores);
    free(map->due);
    free(map->idle_bits);
    map->ncores = n;
    map->tree_leaves = leaves;
    map->cores = calloc(n, sizeof *map->cores);
    map->due = malloc(2 * leaves * sizeof *map->due);
    map->idle_bits = calloc((n + 63) / 64, sizeof *map->idle_bits);
    if (!map->cores || !map->due || !map->idle_bits)
        return peet_error_set(error, PEET_ENOMEM, "mapper: out of memory for %u hardware contexts", n);
    for (uint32_t i = 0; i < leaves; i++)
        map->due[leaves + i] = (struct peet_map_due){PEET_MAP_NEVER, i};
    for (uint32_t i = leaves - 1; i; i--)
        map->due[i] = map->due[2 * i];
    return 0;
}

int peet_map_new(const struct peet_map_config *config, const struct peet_source_ops *ops, void *source,
    struct peet_map **out_map, struct peet_error *error)
{
    struct peet_map *map = calloc(1, sizeof *map);
    int err;

    *out_map = NULL;
    if (!config->cores || config->cores > 1 << 20) {
        free(map);
        return peet_error_set(error, PEET_EINVALID, "cores: %u is out of range", config->cores);
    }
    if (!map || !(map->records = calloc(PEET_MAP_LISTED, sizeof *map->records))) {
        free(map);
        return peet_error_set(error, PEET_ENOMEM, "mapper: out of memory");
    }
    map->config = *config;
    if (!map->config.quantum_cycles)
        map->config.quantum_cycles = 1;
    if (!map->config.slice_cycles || map->config.policy == PEET_POLICY_RR || !ops->dry)
        map->config.slice_cycles = PEET_MAP_NEVER;
    map->ops = ops;
    map->source = source;
    map->exit_source = UINT32_MAX;
    if (!map->config.spin_quantum_cycles)
        map->config.spin_quantum_cycles = 10000;
    if (!map->config.poll_cycles)
        map->config.poll_cycles = 10000;
    map->frequency_given = config->frequency_hz != 0;
    if (!map->config.frequency_hz)
        map->config.frequency_hz = 1000000000;
    err = set_cores(map, config->cores, error);
    if (!err)
        err = peet__sync_new(map, error);
    if (!err)
        err = peet__suppose_new(map, error);
    if (err) {
        peet_map_free(map);
        return err;
    }
    *out_map = map;
    return 0;
}

void peet_map_free(struct peet_map *map)
{
    struct peet_map_loop *loop;
    struct peet_map_context *c;

    if (!map)
        return;
    for (unsigned i = 0; i < map->nobservers; i++)
        peet__map_module_free(map->observers[i]);
    peet__map_queue_free(map);
    peet__consistency_free(map);
    peet__map_module_free(map->machine);
    peet__suppose_free(map);
    peet__sync_free(map); /* its queues refer to contexts */
    for (uint32_t i = 0; i < map->nsources; i++)
        if ((c = map->contexts[i]) != NULL) {
            if (c->forked) {
                free(c->forked->shares);
                free(c->forked);
            }
            free(c);
        }
    while ((c = map->free_contexts) != NULL) {
        map->free_contexts = c->next;
        free(c);
    }
    while ((loop = map->free_loops) != NULL) {
        map->free_loops = loop->after;
        free(loop->shares);
        free(loop);
    }
    free(map->levels);
    peet_costs_close(map->costs);
    free(map->observers);
    free(map->block_observers);
    free(map->contexts);
    free(map->free_sources);
    free(map->records);
    peet__roi_fini(map);
    free(map->executions);
    free(map->arrivals);
    free(map->pick_numbers);
    free(map->cores);
    free(map->due);
    free(map->idle_bits);
    free(map);
}

int peet_map_set_machine(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error)
{
    unsigned n = map->config.cores;
    int err = peet__map_module_new(map, module, values, 1, 0, &map->machine, error);

    if (err)
        return err;
    if (module->hw_contexts)
        n = module->hw_contexts(map->machine->self, map->config.cores);
    if (!n || n > 1 << 20)
        return peet_error_set(error, PEET_EMODULE, "%s: %u hardware contexts for %u cores", module->name, n,
            map->config.cores);
    if (n != map->ncores && (err = set_cores(map, n, error)) != 0)
        return err;
    map->machine->env.hw_contexts = n;
    map->picker = module->pick_context ? map->machine : NULL;
    map->judge = module->pick_winner ? map->machine : NULL;
    if (module->needs & PEET_NEEDS_BLOCKS)
        map->machine_block = module->block;
    return 0;
}

/** Those that the queue tells come last. */
static void add_block_observer(struct peet_map *map, struct peet_map_module *m)
{
    if (!m->queued) {
        map->block_observers[map->nblock_observers] = map->block_observers[map->nshown];
        map->block_observers[map->nshown++] = m;
    } else {
        map->block_observers[map->nblock_observers] = m;
    }
    map->nblock_observers++;
}

/** Somebody who looks on; @follower as for peet__map_module_new(). */
static int add(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    unsigned follower, struct peet_error *error)
{
    size_t n = map->nobservers + 1;
    struct peet_map_module **all = realloc(map->observers, n * sizeof *all), **some;
    int err;

    if (all)
        map->observers = all;
    some = realloc(map->block_observers, n * sizeof *some);
    if (some)
        map->block_observers = some;
    if (!all || !some)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", module->name);
    err = peet__map_module_new(map, module, values, follower != 0, follower, &map->observers[map->nobservers], error);
    if (err)
        return err;
    if (module->needs & PEET_NEEDS_BLOCKS)
        add_block_observer(map, map->observers[map->nobservers]);
    map->nobservers++;
    return 0;
}

int peet_map_add_observer(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error)
{
    return add(map, module, values, 0, error);
}

void peet_map_set_picker(struct peet_map *map, unsigned observer)
{
    map->picker = map->observers[observer];
}

void peet_map_set_judge(struct peet_map *map, unsigned observer)
{
    map->judge = map->observers[observer];
}

int peet_map_add_follower(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error)
{
    const unsigned number = map->nfollowers + 1;
    struct peet_map_module *m;
    unsigned n;
    int err;

    if (map->machine->module->main || module->main)
        return peet_error_set(error, PEET_EINVALID, "follower %u, %s: %s has a main loop of its own, and %s", number,
            module->name, module->main ? module->name : map->machine->module->name,
            module->main ? "cannot follow" : "nobody can follow it");
    if (module->needs & PEET_NEEDS_ABSTRACT)
        return peet_error_set(error, PEET_EINVALID,
            "follower %u, %s: it goes by abstract events, whose times followers do not have; give it as the machine",
            number, module->name);
    err = add(map, module, values, number, error);
    if (err)
        return err;
    m = map->observers[map->nobservers - 1];
    n = module->hw_contexts ? module->hw_contexts(m->self, map->config.cores) : map->config.cores;
    if (n != map->ncores)
        return peet_error_set(error, PEET_EINVALID,
            "follower %u, %s: it would have %u hardware contexts, the machine %s has %u", number, module->name, n,
            map->machine->module->name, map->ncores);
    map->nfollowers++;
    return 0;
}
