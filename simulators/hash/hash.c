/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One number for a whole run: a 64-bit hash over every event in the order of its delivery, with its
 * hardware context, software context, time, code address, addresses and arguments.  Two runs that
 * differ anywhere differ here (but for one chance in 2^64).
 */
#include <peet/module.h>

#include <stdio.h>
#include <stdlib.h>

struct hash {
    uint64_t state, events;
};

/** One round of multiply and fold; the constant is the golden ratio's fraction, made odd. */
static inline uint64_t mix(uint64_t state, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(state ^ word) * 0x9e3779b97f4a7c15u;

    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (state << 23 | state >> 41);
}

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct hash *self = calloc(1, sizeof *self);

    (void)values;
    if (!self)
        env->fail(env, "out of memory");
    else
        self->state = 0x5065657448617368u;
    return self;
}

static void destroy(void *self)
{
    free(self);
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct hash *self = arg;
    uint64_t state = mix(self->state, (uint64_t)hw << 32 | event->context);

    state = mix(state, now);
    state = mix(state, event->block->pc);
    for (uint32_t i = 0; i < event->block->nvalues; i++)
        state = mix(state, event->values[i]);
    self->state = state;
    self->events++;
    return 0;
}

static uint64_t abstract(void *arg, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct hash *self = arg;
    uint64_t state = mix(self->state, (uint64_t)hw << 32 | event->context);

    state = mix(state, now);
    state = mix(state, ~(uint64_t)event->type);
    for (uint32_t i = 0; i < event->nargs; i++)
        state = mix(state, event->args[i]);
    self->state = state;
    self->events++;
    return 0;
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct hash *self = arg;
    char text[24];

    snprintf(text, sizeof text, "%016llx", (unsigned long long)self->state);
    env->stats_string(env, node, "hash", text);
    env->stats_u64(env, node, "events", self->events);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "hash",
    .summary = "one 64-bit hash over every event of the run",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
    .stats = stats,
};
