/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine whose processors must cool down: after every `burst` instructions a processor rests for `rest` cycles.  The cost of
 * a block is what block() returns; time in which a processor can do nothing is not_ready_until(), and counts as stalled.
 *
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o pauses.so pauses.c
 *   peet run --machine ./pauses.so,burst=1000,rest=500 --cores 4 -- ./prog
 */
#include <stdlib.h>
#include <peet/module.h>

struct pauses {
    const struct peet_env *env;
    uint64_t burst, rest, pauses;
    uint64_t *since; /* instructions since the last pause, by hardware context */
};

static const struct peet_param params[] = {
    {"burst", PEET_PARAM_U64, "instructions", "1000", "1..", "instructions between two pauses of a processor"},
    {"rest", PEET_PARAM_U64, "cycles", "500", "0..1000000000", "length of a pause"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct pauses *m = calloc(1, sizeof *m);
    if (m)
        *m = (struct pauses){env, values[0].u64, values[1].u64, 0, calloc(env->hw_contexts, sizeof *m->since)};
    if (!m || !m->since) {
        free(m);
        env->fail(env, "out of memory");
        return NULL;
    }
    return m;
}

static void destroy(void *self)
{
    free(((struct pauses *)self)->since);
    free(self);
}

/* A block is as many cycles as instructions.  The time of not_ready_until() is a clock, not a length: when this block is over, and the rest. */
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct pauses *m = self;
    const uint64_t cycles = event->block->ninsns;
    m->since[hw] += cycles;
    if (m->since[hw] >= m->burst) {
        m->since[hw] = 0;
        m->env->not_ready_until(m->env, hw, now + cycles + m->rest);
        m->pauses++;
    }
    return cycles;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "pauses", ((struct pauses *)self)->pauses);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "pauses", .kind = PEET_MACHINE,
    .summary = "processors rest after every burst of instructions", .needs = PEET_NEEDS_BLOCKS, .params = params,
    .create = create, .destroy = destroy, .block = block, .stats = stats};
