/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer that is told at the commit (peet/direct.h): it counts instructions, and how often what it is told began
 * before what it was told last, of the same hardware context (never) and of others (where these run ahead of each
 * other).
 */
#include <peet/direct.h>
#include <peet/module.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct peet_direct_counted counted;
    struct peet_direct_watch watch; /* with its guards, of which there are none */
};

struct told {
    const struct peet_env *env;
    struct peet_direct_sums sums;
    struct block **blocks;
    uint32_t nblocks;
    uint64_t last, *of_hw, instructions, shown, earlier, backwards;
    uint64_t executions, cycles;
};

static const struct peet_param params[] = {{0}};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct told *self = calloc(1, sizeof *self);

    (void)values;
    self->env = env;
    self->of_hw = calloc(env->hw_contexts, sizeof *self->of_hw);
    return self;
}

static void destroy(void *arg)
{
    struct told *self = arg;

    for (uint32_t i = 0; i < self->nblocks; i++)
        free(self->blocks[i]);
    free(self->blocks);
    free(self->of_hw);
    free(self);
}

static void at(struct told *self, unsigned hw, uint64_t now)
{
    self->backwards += now < self->of_hw[hw];
    self->earlier += now < self->last;
    self->of_hw[hw] = self->last = now;
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct told *self = arg;

    at(self, hw, now);
    self->instructions += event->block->ninsns;
    self->executions++;
    return 0;
}

static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    struct told *self = arg;

    (void)until;
    at(self, hw, now);
    self->instructions += event->block->ninsns * event->turns;
    self->executions += event->turns;
    *out_turns = event->turns;
    return 0;
}

static int watch(void *arg, const struct peet_block *block, const uint64_t *values, struct peet_direct_watch **out)
{
    struct told *self = arg;
    struct block **more;

    (void)values;
    if (block->id >= self->nblocks) {
        more = realloc(self->blocks, (block->id + 1) * sizeof *more);
        memset(more + self->nblocks, 0, (block->id + 1 - self->nblocks) * sizeof *more);
        self->blocks = more;
        self->nblocks = block->id + 1;
    }
    if (!self->blocks[block->id])
        self->blocks[block->id] = calloc(1, sizeof **more);
    self->blocks[block->id]->counted.sums = &self->sums;
    self->blocks[block->id]->counted.adds[0] = block->ninsns;
    self->blocks[block->id]->watch.counted = &self->blocks[block->id]->counted;
    *out = &self->blocks[block->id]->watch;
    return 0;
}

static void executed(void *arg, const struct peet_block *block, uint64_t times)
{
    struct told *self = arg;

    self->executions += times;
    self->cycles += self->blocks[block->id]->counted.cycles;
    self->blocks[block->id]->counted.cycles = 0;
}

static void undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    struct told *self = arg;

    (void)values;
    self->executions -= times;
    self->cycles -= times * self->blocks[block->id]->counted.each;
}

static void shown(void *arg, unsigned hw, const struct peet_block_event *event, const struct peet_block *previous,
    uint64_t now, const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct told *self = arg;

    (void)event, (void)previous, (void)sums;
    self->shown++;
    at(self, hw, now);
}

static void ends(void *arg, unsigned hw, const struct peet_block *previous, uint64_t now,
    const uint64_t sums[PEET_DIRECT_SUMS])
{
    struct told *self = arg;

    if (previous)
        at(self, hw, now);
    self->instructions += sums[0];
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct told *self = arg;

    env->stats_u64(env, node, "instructions", self->instructions);
    env->stats_u64(env, node, "executions", self->executions);
    env->stats_u64(env, node, "shown", self->shown);
    env->stats_u64(env, node, "earlier", self->earlier);
    env->stats_u64(env, node, "backwards", self->backwards);
}

static const struct peet_direct_observer observed = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof observed,
    .watch = watch,
    .executed = executed,
    .shown = shown,
    .ends = ends,
    .undone = undone,
    .at_commit = 1,
};

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "told",
    .summary = "what observers are told at the commit",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .loop = loop,
    .stats = stats,
    .observed = &observed,
};
