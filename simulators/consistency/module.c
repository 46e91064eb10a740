/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module `consistency`: sc, tso, pso, pc, wo, rc on top of any machine.  Parameters and statistics; model.c does
 * the work.
 */
#include "model.h"

#include <stdlib.h>

struct consistency {
    const struct peet_env *env;
    struct model_config config;
    struct model *model;
};

static const struct peet_param params[] = {
    {"model", PEET_PARAM_ENUM, "", "tso", "sc|tso|pso|pc|wo|rc",
        "sequential, total store order (x86), partial store order, processor, weak ordering, release consistency"},
    {"depth", PEET_PARAM_U64, "stores", "32", "1..65536",
        "stores that a processor's buffer holds; with more to come, the oldest is performed"},
    {"drain", PEET_PARAM_ENUM, "", "timed", "eager|lazy|timed|random",
        "when stores are performed: at once, when they must, when the memory system is done with them, or by the seed"},
    {"delay", PEET_PARAM_U64, "cycles", "0", "0..1000000000", "timed: so long after the memory system is done"},
    {"visible", PEET_PARAM_U64, "cycles", "200000", "0..1000000000000",
        "everybody sees a store so long after it, at the latest; 0: when all wait for it"},
    {"odds", PEET_PARAM_U64, "", "4", "1..1000000000",
        "random: one in so many references of any processor performs a store"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct consistency *self = calloc(1, sizeof *self);

    if (!self) {
        env->fail(env, "out of memory");
        return NULL;
    }
    self->env = env;
    self->config = (struct model_config){.kind = (enum model_kind)values[0].u64,
        .depth = (uint32_t)values[1].u64,
        .drain = (enum model_drain)values[2].u64,
        .delay_cycles = values[3].u64,
        .visible_cycles = values[4].u64,
        .odds = values[5].u64,
        .seed = env->seed};
    return self;
}

static void destroy(void *arg)
{
    struct consistency *self = arg;

    model_free(self->model);
    free(self);
}

static int begin(void *arg, const struct peet_views *views)
{
    struct consistency *self = arg;

    self->model = model_new(&self->config, views);
    if (!self->model)
        self->env->fail(self->env, "out of memory");
    return self->model ? 0 : -1;
}

static void store(void *arg, unsigned processor, const struct peet_store *one, uint64_t now)
{
    struct consistency *self = arg;

    if (model_store(self->model, processor, one, now))
        self->env->fail(self->env, "out of memory");
}

static void order(void *arg, unsigned processor, unsigned ordering, uint64_t now)
{
    model_order(((struct consistency *)arg)->model, processor, ordering, now);
}

static void step(void *arg, unsigned processor, uint64_t now)
{
    model_step(((struct consistency *)arg)->model, processor, now);
}

static void synchronise(void *arg, unsigned processor, unsigned ordering, uint64_t now)
{
    model_synchronise(((struct consistency *)arg)->model, processor, ordering, now);
}

static unsigned moves(void *arg, struct peet_move *out_moves, unsigned room)
{
    return model_moves(((struct consistency *)arg)->model, out_moves, room);
}

static void move(void *arg, const struct peet_move *one)
{
    model_move(((struct consistency *)arg)->model, one);
}

static int waits(void *arg, unsigned processor, unsigned ordering)
{
    return model_waits(((struct consistency *)arg)->model, processor, ordering);
}

static void stats(void *arg, const struct peet_env *env, struct peet_stats *node)
{
    const struct consistency *self = arg;
    const struct model_statistics *s;

    if (!self->model)
        return;
    s = model_statistics(self->model);
    env->stats_u64(env, node, "stores", s->stores);
    env->stats_u64(env, node, "locked_stores", s->locked);
    env->stats_u64(env, node, "performed_in_memory", s->commits);
    env->stats_u64(env, node, "performed_from_queues", s->applications);
    env->stats_u64(env, node, "performed_for_room", s->full);
    env->stats_u64(env, node, "performed_overdue", s->overdue);
    env->stats_u64(env, node, "orderings", s->orders);
    env->stats_u64(env, node, "orderings_that_waited", s->waits);
    env->stats_u64(env, node, "never_seen_bytes", s->hidden_bytes);
    env->stats_u64(env, node, "deepest_buffer_stores", s->deepest);
    env->stats_u64(env, node, "longest_queue_stores", s->longest);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "consistency",
    .summary = "store buffers and invalidation queues: sc, tso, pso, pc, wo, rc",
    .kind = PEET_CONSISTENCY,
    .params = params,
    .create = create,
    .destroy = destroy,
    .stats = stats,
};

const struct peet_consistency peet_consistency = {
    .abi = PEET_CONSISTENCY_ABI,
    .struct_size = sizeof(struct peet_consistency),
    .begin = begin,
    .store = store,
    .order = order,
    .step = step,
    .synchronise = synchronise,
    .moves = moves,
    .move = move,
    .waits = waits,
};
