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

/** What a report says that cannot be; NULL: nothing. */
static const char *nonsense(const struct peet_map *map, const struct peet_memory_event *e)
{
    if (e->hw >= map->ncores)
        return "a hardware context";
    if (e->other >= map->ncores && e->other != PEET_MEMORY_NOBODY && e->type != PEET_MEMORY_STALL)
        return "another hardware context";
    if (e->type > PEET_MEMORY_FILL)
        return "a type";
    if (e->cause >= PEET_MISS_CAUSES)
        return "a cause";
    if (e->cycles >> PEET_MAP_LONG_LOG2)
        return "a number of cycles";
    return NULL;
}

static void report(const struct peet_env *env, const struct peet_memory_event *events, size_t n)
{
    struct peet_map *map = map_of(env);
    const struct peet_map_module *teller = env->host;

    if (teller->module->kind != PEET_MACHINE || teller->follower || !teller->self) {
        if (!teller->follower)
            env->fail(env, "report(): %s", teller->self ? "only the machine has a memory system" : "in create()");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *what = nonsense(map, &events[i]);

        if (what) {
            env->fail(env,
                "report() with %s that cannot be: type %u, hardware context %u, other %u, cause %u, %llu cycles", what,
                events[i].type, events[i].hw, events[i].other, events[i].cause, (unsigned long long)events[i].cycles);
            return;
        }
    }
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
    const struct peet_map_module *teller = env->host;
    struct peet_memory_level *copy;

    if (teller->follower)
        return;
    if (teller->module->kind != PEET_MACHINE || teller->self) {
        env->fail(env, "describe_memory(): %s",
            teller->self ? "outside create()" : "only the machine has a memory system");
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (n > UINT8_MAX || !levels || !levels[i].name || !*levels[i].name || !levels[i].line_bytes ||
            !levels[i].size_bytes || !levels[i].shared_by) {
            env->fail(env, "describe_memory(): level %zu of %zu lacks a name, a size, a line size or who shares it%s",
                i + 1, n, n > UINT8_MAX ? "; 255 are the most" : "");
            return;
        }
    copy = n ? malloc(n * sizeof *copy) : NULL;
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
    if (map->config.memory_no_losses)
        env->reports &= ~(1u << PEET_MEMORY_EVICT | 1u << PEET_MEMORY_INVALIDATE);
    if (map->config.memory_fills)
        env->reports |= 1u << PEET_MEMORY_FILL;
}
