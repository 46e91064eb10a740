/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for dtrack: a host that knows a few objects by heart, and the module driven through its descriptor.
 */
#ifndef PEET_TEST_DTRACK_RIG_H
#define PEET_TEST_DTRACK_RIG_H

#include <jansson.h>
#include <peet/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig_folder.h"
#include "modules/modhost.h"
#include "base/stats.h"

enum { DRIG_DATA = 16, DRIG_OBJECTS = 256 };

struct drig_object {
    uint64_t address, bytes;
    uint32_t data;
};

struct drig {
    struct peet_env env;
    struct peet_data data[DRIG_DATA];
    uint32_t ndata;
    struct drig_object objects[DRIG_OBJECTS];
    unsigned nobjects, failures;
    struct peet_memory_level levels[3];
    size_t nlevels;
    void *self;
    json_t *stats;
    uint64_t lookups;
};

static void drig_fail(const struct peet_env *env, const char *format, ...)
{
    struct drig *rig = env->host;

    (void)format;
    rig->failures++;
}

static const struct peet_data *drig_data_of(const struct peet_env *env, uint64_t address,
    struct peet_data_object *out_object)
{
    struct drig *rig = env->host;

    rig->lookups++;
    for (unsigned i = 0; i < rig->nobjects; i++) {
        const struct drig_object *o = &rig->objects[i];

        if (address - o->address >= o->bytes)
            continue;
        if (out_object)
            *out_object = (struct peet_data_object){o->address, o->bytes, i};
        return &rig->data[o->data];
    }
    if (out_object)
        *out_object = (struct peet_data_object){address, 0, 0};
    return &rig->data[0];
}

static const struct peet_data *drig_data(const struct peet_env *env, uint32_t id)
{
    struct drig *rig = env->host;

    return id < rig->ndata ? &rig->data[id] : NULL;
}

static uint64_t drig_member(const struct peet_env *env, const struct peet_data *data, uint64_t offset, char *out_name,
    size_t room)
{
    (void)env;
    (void)data;
    snprintf(out_name, room, "[%llu]", (unsigned long long)offset / 4);
    return offset / 4 * 4;
}

static const struct peet_memory_level *drig_memory(const struct peet_env *env, size_t *out_n)
{
    struct drig *rig = env->host;

    *out_n = rig->nlevels;
    return rig->levels;
}

/** drig_structure() - Returns: its id */
static inline uint32_t drig_structure(struct drig *rig, enum peet_data_kind kind, const char *name)
{
    rig->data[rig->ndata] = (struct peet_data){.id = rig->ndata,
        .kind = (uint8_t)kind,
        .name = name,
        .type = "int",
        .file = "",
        .function = "",
        .path = "",
        .element_bytes = 4};
    return rig->ndata++;
}

static inline void drig_object(struct drig *rig, uint32_t data, uint64_t address, uint64_t bytes)
{
    rig->objects[rig->nobjects++] = (struct drig_object){address, bytes, data};
    rig->data[data].objects++;
    rig->data[data].bytes += bytes;
}

/** drig_init() - a host with rest and stack; caches of these line sizes (0: no such level); structures and objects come
 * next */
static inline void drig_init(struct drig *rig, unsigned hws, uint32_t line1, uint64_t size1, uint32_t line2,
    uint64_t size2)
{
    memset(rig, 0, sizeof *rig);
    rig->env = (struct peet_env){.abi = PEET_MODULE_ABI,
        .struct_size = sizeof rig->env,
        .cores = hws,
        .hw_contexts = hws,
        .seed = 7,
        .output_dir = rig_folder(),
        .fail = drig_fail,
        .host = rig,
        .data_of = drig_data_of,
        .data = drig_data,
        .data_member = drig_member,
        .memory = drig_memory};
    peet_stats_install(&rig->env);
    if (line1)
        rig->levels[rig->nlevels++] = (struct peet_memory_level){"L1D", size1, line1, 1};
    if (line2)
        rig->levels[rig->nlevels++] = (struct peet_memory_level){"L2", size2, line2, hws};
    drig_structure(rig, PEET_DATA_REST, "");
    drig_structure(rig, PEET_DATA_STACK, "");
}

/** drig_open() - create dtrack; @set: "name=value" or NULL */
static inline int drig_open(struct drig *rig, const char *set)
{
    union peet_value values[16];
    struct peet_error error = {0};

    for (unsigned i = 0; peet_module.params[i].name; i++) {
        const struct peet_param *p = &peet_module.params[i];
        size_t n = strlen(p->name);
        const char *text = set && !strncmp(set, p->name, n) && set[n] == '=' ? set + n + 1 : p->def;

        if (peet_modhost_value(p, "test", text, &values[i], &error))
            return -1;
    }
    rig->self = peet_module.create(&rig->env, values);
    return rig->self ? 0 : -1;
}

static inline void drig_finish(struct drig *rig)
{
    peet_module.finish(rig->self, 1000);
    json_decref(rig->stats);
    rig->stats = json_object();
    peet_module.stats(rig->self, &rig->env, peet_stats_node(rig->stats));
}

static inline void drig_close(struct drig *rig)
{
    if (rig->self)
        peet_module.destroy(rig->self);
    json_decref(rig->stats);
}

/** drig_of() - what stands in the results of a structure; NULL: it was not touched */
static inline json_t *drig_of(const struct drig *rig, uint32_t data)
{
    json_t *list = json_object_get(rig->stats, "structures"), *one;
    size_t i;

    json_array_foreach(list, i, one) if (json_integer_value(json_object_get(one, "id")) == data) return one;
    return NULL;
}

static inline uint64_t drig_u64(const json_t *node, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(node, key));
}

static inline const json_t *drig_level(const json_t *node, unsigned level)
{
    return json_array_get(json_object_get(node, "levels"), level);
}

static inline void drig_alloc(struct drig *rig, int release)
{
    uint64_t args[3] = {0};
    struct peet_abstract_event event = {release ? PEET_ABSTRACT_FREE : PEET_ABSTRACT_ALLOC, 0, 3, args};

    peet_module.abstract(rig->self, 0, &event, 0);
}

static inline uint64_t drig_random(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

#endif
