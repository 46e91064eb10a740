/* SPDX-License-Identifier: Apache-2.0 */
/* An observer that counts one in three of libraries' operations on ranges by range(), and has the others shown. */
#include <peet/direct.h>
#include <peet/module.h>
#include <stdlib.h>

static const struct peet_param params[] = {{0}};
struct ranges {
    uint64_t told, shown; /* references */
    unsigned n;
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    (void)env, (void)values;
    return calloc(1, sizeof(struct ranges));
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct ranges *self = arg;

    (void)hw, (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        if (event->block->refs[i].flags & PEET_REF_RANGE)
            self->shown += peet_ref_begin(&event->block->refs[i], event->values).count;
    return 0;
}

static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    (void)arg, (void)hw, (void)now, (void)until;
    *out_turns = event->turns;
    return 0;
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct ranges *self = arg;

    env->stats_u64(env, node, "told", self->told);
    env->stats_u64(env, node, "shown", self->shown);
}

static int watch(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    (void)self, (void)block, (void)values;
    *out_watch = NULL;
    return 0;
}

static int range(void *arg, const struct peet_block *block, uint64_t references)
{
    struct ranges *self = arg;

    (void)block;
    if (self->n++ % 3)
        return -1;
    self->told += references;
    return 0;
}

static const struct peet_direct_observer observed = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof observed,
    .watch = watch,
    .range = range,
};

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "ranges",
    .summary = "operations on ranges that an observer need not see",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params,
    .create = create,
    .destroy = free,
    .block = block,
    .loop = loop,
    .stats = stats,
    .observed = &observed,
};
