/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory reports: what the machine says of its caches goes to the observers that asked for it.  deliver.c installs
 * these services in each module's env.
 */
#include "state/map.h"

#include <stdlib.h>
#include <string.h>

static struct peet_map *map_of(const struct peet_env *env)
{
    return ((struct peet_map_module *)env->host)->map;
}

static void report(const struct peet_env *env, const struct peet_memory_event *events, size_t n)
{
    struct peet_map *map = map_of(env);

    for (unsigned i = 0; i < map->nobservers; i++) {
        struct peet_map_module *m = map->observers[i];

        if (m && (m->module->needs & PEET_NEEDS_MEMORY))
            m->module->memory(m->self, events, n);
    }
}

/** The names are the module's own, which stays loaded as long as the map lives. */
static void describe(const struct peet_env *env, const struct peet_memory_level *levels, size_t n)
{
    struct peet_map *map = map_of(env);
    struct peet_memory_level *copy;

    if (((struct peet_map_module *)env->host)->follower)
        return;
    copy = n ? malloc(n * sizeof *copy) : NULL;
    if (((struct peet_map_module *)env->host)->module->kind != PEET_MACHINE) {
        free(copy);
        env->fail(env, "describe_memory(): only the machine has a memory system");
        return;
    }
    if (n && !copy) {
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for %zu cache levels", n);
        return;
    }
    if (n)
        memcpy(copy, levels, n * sizeof *copy);
    free(map->levels);
    map->levels = copy;
    map->nlevels = n;
}

static const struct peet_memory_level *levels(const struct peet_env *env, size_t *out_n)
{
    struct peet_map *map = map_of(env);

    *out_n = map->nlevels;
    return map->levels;
}

void peet__map_reports(struct peet_map *map, struct peet_env *env)
{
    env->report = report;
    env->describe_memory = describe;
    env->memory = levels;
    env->reports = map->config.memory_reports ? (1u << PEET_MEMORY_TYPES) - 1 : 0;
    if (map->config.memory_fills)
        env->reports |= 1u << PEET_MEMORY_FILL;
}
