/* SPDX-License-Identifier: Apache-2.0 */
/* The observer `graph`: events become nodes and edges of the run's precedence graph.  See graph.h. */
#include "graph.h"

#include <stdlib.h>

static const struct peet_param params[] = {
    {"limit", PEET_PARAM_U64, "", "1000000", "1..100000000", "nodes of the graph; a run with more is an error"},
    {"data", PEET_PARAM_BOOL, "", "off", "",
        "how much data nodes and tasks hand to each other, which needs to see each reference"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct graph *g = calloc(1, sizeof *g);

    if (!g) {
        env->fail(env, "out of memory");
        return NULL;
    }
    g->env = env;
    g->limit = values[0].u64;
    if (values[1].u64 && !(g->flow = graph_flow_new())) {
        env->fail(env, "out of memory");
        free(g);
        return NULL;
    }
    if (!(g->counted = graph_counted_new())) {
        env->fail(env, "out of memory");
        graph_flow_free(g->flow);
        free(g);
        return NULL;
    }
    return g;
}

static void destroy(void *self)
{
    struct graph *g = self;

    for (uint32_t i = 0; i < g->objects_room; i++)
        free(g->objects[i].posts);
    for (uint32_t i = 0; i < g->nloops; i++)
        free(g->loops[i].ends);
    graph_flow_free(g->flow);
    graph_counted_free(g->counted);
    graph_tasks_free(g);
    free(g->nodes);
    free(g->edges);
    free(g->code);
    free(g->tasks);
    free(g->loops);
    free(g->contexts);
    free(g->objects);
    free(g->order);
    free(g->children);
    free(g);
}

static void take(struct graph *g, const struct peet_block_event *event, uint64_t turns)
{
    struct graph_context *c;

    if (g->failed || !(c = graph_context(g, event->context)))
        return;
    if (__builtin_expect(c->wait != PEET_ABSTRACT_NONE, 0))
        graph_resume(g, c, NULL);
    graph_enter(g, c->node, event->block);
    graph_add_code(g, c->node, event->block->function, event->block->ninsns * turns, event->block->cost_cycles * turns);
    if (g->flow && !g->failed)
        graph_flow_block(g, c->node, event);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw;
    (void)now;
    take(self, event, 1);
    return 0;
}

static uint64_t blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    (void)hw;
    (void)now;
    (void)until;
    for (size_t i = 0; i < n; i++)
        take(self, &events[i], 1);
    *out_done = n;
    return 0;
}

static uint64_t loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    (void)hw;
    (void)now;
    (void)until;
    take(self, event, event->turns);
    *out_turns = event->turns;
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct graph *g = self;

    (void)hw;
    (void)now;
    if (!g->failed)
        graph_abstract(g, event);
    return 0;
}

static void finish(void *self, uint64_t end_cycles)
{
    struct graph *g = self;

    (void)end_cycles;
    for (uint32_t i = 0; i < g->ntasks; i++)
        if (!g->tasks[i].over && g->tasks[i].last != GRAPH_NONE) {
            graph_end(g, g->tasks[i].last);
            g->tasks[i].over = 1;
        }
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    graph_stats(self, env, node);
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "graph",
    .summary = "the precedence graph: work, span, parallelism over time, critical path",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT | PEET_NEEDS_NO_LOOKS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = block,
    .loop = loop,
    .blocks = blocks,
    .abstract = abstract,
    .finish = finish,
    .stats = stats,
    .observed = &graph_observed,
};
