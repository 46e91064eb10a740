/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ideal machine: memory costs nothing, processors do not disturb each other.  A block takes its
 * schema cost (the sum of its instructions' reciprocal throughputs), its number of instructions, or one
 * cycle.  What remains is the program's own parallelism: the reference for every other machine.
 */
#include <peet/direct.h>
#include <peet/module.h>

#include <stdlib.h>

enum cost { COST_SCHEMA, COST_UNIT, COST_INSTRUCTIONS };

struct ideal {
    enum cost cost;
    unsigned nhw;
    struct {
        struct peet_direct_run run;
    } hw[];
};

static const struct peet_param params[] = {
    {"cost", PEET_PARAM_ENUM, "", "schema", "schema|unit|instructions",
        "cycles of a block: by the compiler's scheduling model, 1, or its number of instructions"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    const unsigned nhw = env->hw_contexts ? env->hw_contexts : 1;
    struct ideal *self = calloc(1, sizeof *self + nhw * sizeof self->hw[0]);

    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    self->cost = (enum cost)values[0].u64;
    self->nhw = nhw;
    return self;
}

static void destroy(void *self)
{
    free(self);
}

static uint64_t cost_of(const struct ideal *self, const struct peet_block *block)
{
    if (self->cost == COST_SCHEMA)
        return block->cost_cycles;
    return self->cost == COST_UNIT ? 1 : block->ninsns;
}

static uint64_t block(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    const struct ideal *self = arg;

    (void)hw;
    (void)now;
    return cost_of(self, event->block);
}

static uint64_t loop(void *arg, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    uint64_t one = block(arg, hw, event, now), turns = event->turns;

    if (until <= now)
        turns = 1;
    else if (one && (until - now - 1) / one < turns)
        turns = (until - now - 1) / one + 1;
    *out_turns = turns;
    return turns * one;
}

static uint64_t blocks(void *arg, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    const uint64_t limit = until > now ? until - now : 0;
    uint64_t cycles = 0;
    size_t i = 0;

    do
        cycles += block(arg, hw, &events[i], now);
    while (++i < n && cycles < limit);
    *out_done = i;
    return cycles;
}

/* All that a block is here is its cost. */

static void direct_range(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values)
{
    (void)values;
    run->time += cost_of(run->machine, block);
}

static uint64_t direct_iterations(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t turns)
{
    const uint64_t one = cost_of(run->machine, block), left = run->limit - run->time;

    (void)values;
    (void)strides;
    if (run->time >= run->limit)
        return 0;
    if (one && (left - 1) / one < turns)
        turns = (left - 1) / one + 1;
    run->time += turns * one;
    return turns;
}

static int direct_table(void *arg, struct peet_direct_table *table)
{
    struct ideal *self = arg;

    for (unsigned hw = 0; hw < self->nhw; hw++)
        self->hw[hw].run.machine = self;
    table->whole_cycles = 1;
    table->range = direct_range;
    table->iterations = direct_iterations;
    return 0;
}

static int direct_block(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out)
{
    (void)values;
    *out = (struct peet_direct_block){.time = cost_of(self, block)};
    return 0;
}

static uint64_t since(uint64_t now, uint64_t time)
{
    return time > now ? time - now : 0;
}

static struct peet_direct_run *direct_ahead(void *arg, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    struct ideal *self = arg;
    struct peet_direct_run *run = &self->hw[hw].run;

    run->now = now;
    run->time = 0;
    run->until = since(now, until);
    run->limit = since(now, limit);
    return run;
}

static struct peet_direct_run *direct_begin(void *self, unsigned hw, uint64_t now, uint64_t until)
{
    return direct_ahead(self, hw, now, until, until);
}

static void direct_event(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)hw;
    run->time += cost_of(self, event->block);
}

static uint64_t direct_end(void *self, unsigned hw)
{
    return ((struct ideal *)self)->hw[hw].run.time;
}

static uint64_t direct_undo(void *arg, unsigned hw, uint64_t instructions)
{
    struct ideal *self = arg;

    (void)instructions;
    return self->hw[hw].run.now + self->hw[hw].run.checkpoint.time;
}

static const struct peet_direct direct = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof(struct peet_direct),
    .table = direct_table,
    .block = direct_block,
    .begin = direct_begin,
    .event = direct_event,
    .end = direct_end,
    .ahead = direct_ahead,
    .undo = direct_undo,
};

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "ideal",
    .summary = "no memory delays: blocks take their schema cost",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .loop = loop,
    .blocks = blocks,
    .direct = &direct,
};
