/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data structures as modules see them (struct peet_env), and the notes of allocations on their way to the table.
 * deliver.c installs the services in each module's env.
 */
#include "state/map.h"
#include "data/datamap.h"

static struct peet_datamap *of(const struct peet_env *env)
{
    return ((struct peet_map_module *)env->host)->map->config.data;
}

static const struct peet_data *data_of(const struct peet_env *env, uint64_t address,
    struct peet_data_object *out_object)
{
    return peet_datamap_of(of(env), address, out_object);
}

static const struct peet_data *data(const struct peet_env *env, uint32_t id)
{
    return peet_datamap_get(of(env), id);
}

static uint64_t data_member(const struct peet_env *env, const struct peet_data *structure, uint64_t offset,
    char *out_name, size_t room)
{
    return peet_datamap_member(of(env), structure, offset, out_name, room);
}

/** The machine's data_of(): that it asks at all says that it knows perfect memory. */
static const struct peet_data *asked(const struct peet_env *env, uint64_t address, struct peet_data_object *out_object)
{
    ((struct peet_map_module *)env->host)->map->asked_data = 1;
    return data_of(env, address, out_object);
}

int peet_map_asked_data(const struct peet_map *map)
{
    return map->asked_data;
}

void peet__map_data_services(struct peet_map *map, struct peet_env *env)
{
    if (!map->config.data)
        return;
    env->data_of =
        map->config.perfect && ((struct peet_map_module *)env->host)->module->kind == PEET_MACHINE ? asked : data_of;
    env->data = data;
    env->data_member = data_member;
    env->perfect = map->config.perfect;
}

void peet__map_data_begin(struct peet_map *map, struct peet_abstract_event *event)
{
    const int alloc = event->type == PEET_ABSTRACT_ALLOC;

    if (map->config.data && peet_datamap_note(map->config.data, event->type, event->args, event->nargs))
        peet__map_fail(map, PEET_ENOMEM, "mapper: out of memory for the table of data structures");
    if (event->nargs > (alloc ? 3 : 2))
        event->nargs = alloc ? 3 : 2;
}

void peet__map_data_end(struct peet_map *map)
{
    if (map->config.data)
        peet_datamap_settle(map->config.data);
}
