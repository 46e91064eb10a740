/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for the x86 machine's memory system alone: configurations by key, accesses made by hand, what observers
 * would be told counted.  Tests of simulators/x86/memory*.c only.
 */
#ifndef PEET_TEST_MEMRIG_H
#define PEET_TEST_MEMRIG_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "x86/memory_fast.h"

struct memrig {
    struct peet_env env;
    struct x86_memory_config config;
    struct x86_memory *memory;
    char failure[600];
    unsigned failures;
    /* told: */
    uint64_t misses[4][PEET_MISS_CAUSES], evictions[4], invalidations[4];
    struct peet_memory_event last;
    void (*hear)(struct memrig *rig, const struct peet_memory_event *event); /* NULL: nobody */
    struct peet_data data;
    uint64_t perfect_from, perfect_bytes;
    size_t nlevels;
    struct peet_memory_level levels[4];
};

static inline void memrig_fail(const struct peet_env *env, const char *format, ...)
{
    struct memrig *rig = env->host;
    va_list args;

    if (rig->failures++)
        return;
    va_start(args, format);
    vsnprintf(rig->failure, sizeof rig->failure, format, args);
    va_end(args);
}

static inline void memrig_report(const struct peet_env *env, const struct peet_memory_event *events, size_t n)
{
    struct memrig *rig = env->host;

    for (size_t i = 0; i < n; i++) {
        const struct peet_memory_event *e = &events[i];

        rig->last = *e;
        if (rig->hear)
            rig->hear(rig, e);
        if (e->flags & PEET_MEMORY_WALK || e->level > 3)
            continue;
        if (e->type == PEET_MEMORY_MISS)
            rig->misses[e->level][e->cause]++;
        else if (e->type == PEET_MEMORY_EVICT)
            rig->evictions[e->level]++;
        else if (e->type == PEET_MEMORY_INVALIDATE)
            rig->invalidations[e->level]++;
    }
}

static inline void memrig_describe(const struct peet_env *env, const struct peet_memory_level *levels, size_t n)
{
    struct memrig *rig = env->host;

    rig->nlevels = n;
    memcpy(rig->levels, levels, n * sizeof *levels);
}

static inline const struct peet_data *memrig_data_of(const struct peet_env *env, uint64_t address,
    struct peet_data_object *out)
{
    struct memrig *rig = env->host;

    rig->data.flags = address - rig->perfect_from < rig->perfect_bytes ? PEET_DATA_PERFECT : 0;
    return &rig->data;
}

/** memrig_init() - defaults; then memrig_set() as wanted, and memrig_open() */
static inline void memrig_init(struct memrig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->env = (struct peet_env){.abi = PEET_MODULE_ABI,
        .struct_size = sizeof rig->env,
        .fail = memrig_fail,
        .host = rig,
        .report = memrig_report,
        .describe_memory = memrig_describe};
    x86_memory_config_default(&rig->config);
}

/** memrig_set() - "l1d_bytes=32768 protocol=mesif ..." */
static inline void memrig_set(struct memrig *rig, const char *settings)
{
    char text[2000], *save, *word;

    snprintf(text, sizeof text, "%s", settings);
    for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        int err;

        *value++ = 0;
        if (*value >= '0' && *value <= '9')
            err = x86_memory_config_key(&rig->config, word, strtoull(value, NULL, 0), NULL);
        else
            err = x86_memory_config_key(&rig->config, word, 0, value);
        if (err) {
            fprintf(stderr, "setting %s=%s: %d\n", word, value, err);
            abort();
        }
    }
}

static inline int memrig_open(struct memrig *rig, unsigned cores)
{
    rig->memory = x86_memory_new(&rig->env, &rig->config, cores);
    return rig->memory ? 0 : -1;
}

static inline void memrig_close(struct memrig *rig)
{
    x86_memory_free(rig->memory);
}

static inline struct x86_outcome memrig_access(struct memrig *rig, unsigned core, uint64_t address, unsigned size,
    enum x86_access_kind kind, uint64_t now)
{
    struct x86_access access = {
        .address = address, .size_bytes = size, .core = core, .hw = core * rig->config.threads, .kind = (uint8_t)kind};
    struct x86_outcome out;

    x86_memory_access(rig->memory, &access, now, &out);
    return out;
}

/** memrig_load() - Returns: how long it took */
static inline uint64_t memrig_load(struct memrig *rig, unsigned core, uint64_t address, uint64_t now)
{
    return memrig_access(rig, core, address, 8, X86_LOAD, now).done_cycles - now;
}

/** A reproducible random number below n, unlike the simulator's own. */
static inline uint64_t memrig_random(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

#endif
