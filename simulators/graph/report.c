/* SPDX-License-Identifier: Apache-2.0 */
/* The results of the precedence graph, as they stand in stats.json below "graph"; the keys are described in
 * docs/REPORTS.md. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 200, PROCESSORS_MOST = 1024 };

static const char *const kinds[EDGE_KINDS] = {"program", "fork", "join", "barrier", "signal", "order"};

static const struct graph *sorted; /* qsort() has no argument for it */

/** Tasks of one parent: by where they were made, threads before iterations, then by number. */
static int by_birth(const void *a, const void *b)
{
    const struct graph_task *x = &sorted->tasks[*(const uint32_t *)a], *y = &sorted->tasks[*(const uint32_t *)b];
    uint32_t p = x->parent == GRAPH_NONE ? 0 : sorted->tasks[x->parent].number + 1,
             q = y->parent == GRAPH_NONE ? 0 : sorted->tasks[y->parent].number + 1;
    uint32_t i = x->fork == GRAPH_NONE ? 0 : sorted->nodes[x->fork].index,
             k = y->fork == GRAPH_NONE ? 0 : sorted->nodes[y->fork].index;

    if (p != q)
        return p < q ? -1 : 1;
    if (i != k)
        return i < k ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->nth != y->nth)
        return x->nth < y->nth ? -1 : 1;
    return (x->iteration > y->iteration) - (x->iteration < y->iteration);
}

/** Numbers tasks by generations, parents before children, and nodes by task; barriers come last, by what they follow.
 *  Returns: nodes in that order, to be freed; NULL: no memory */
static uint32_t *number(struct graph *g)
{
    uint32_t *tasks = malloc((g->ntasks + 1) * sizeof *tasks), *nodes = malloc((g->nnodes + 1) * sizeof *nodes), n = 0;
    uint32_t *generation = calloc(g->ntasks + 1, sizeof *generation), *begin = calloc(g->ntasks + 2, sizeof *begin);
    uint32_t *start = calloc(g->ntasks + 1, sizeof *start);

    if (!tasks || !nodes || !generation || !begin || !start) {
        free(nodes);
        nodes = NULL;
        goto out;
    }
    for (uint32_t i = 0; i < g->ntasks; i++) { /* a parent has been there before its children */
        generation[i] = g->tasks[i].parent == GRAPH_NONE ? 0 : generation[g->tasks[i].parent] + 1;
        begin[generation[i] + 1]++;
    }
    for (uint32_t i = 0; i < g->ntasks; i++)
        begin[i + 1] += begin[i];
    for (uint32_t i = 0; i < g->ntasks; i++)
        tasks[begin[generation[i]] + start[generation[i]]++] = i;
    memset(start, 0, g->ntasks * sizeof *start);
    sorted = g;
    for (uint32_t i = 0; i < g->ntasks && begin[i] < g->ntasks; i++) {
        qsort(tasks + begin[i], begin[i + 1] - begin[i], sizeof *tasks, by_birth);
        for (uint32_t k = begin[i]; k < begin[i + 1]; k++)
            g->tasks[tasks[k]].number = k;
    }
    for (uint32_t i = 0; i < g->ntasks; i++) {
        start[tasks[i]] = n;
        n += g->tasks[tasks[i]].nnodes;
    }
    for (uint32_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].task != GRAPH_NONE)
            nodes[g->nodes[i].number = start[g->nodes[i].task] + g->nodes[i].index] = i;
        else
            nodes[g->nodes[i].number = n++] = i;
out:
    free(tasks);
    free(generation);
    free(begin);
    free(start);
    return nodes;
}

/** A task's place below its parent. */
static int put_place(const struct graph_task *t, char *out, size_t bytes)
{
    switch (t->kind) {
    case TASK_ITERATION:
        return snprintf(out, bytes, "/loop%u[%lld]", t->nth, (long long)t->iteration);
    case TASK_EXPLICIT:
        return snprintf(out, bytes, "/task%u", t->nth);
    default:
        return snprintf(out, bytes, "/thread%u", t->nth);
    }
}

void graph_task_name(const struct graph *g, uint32_t task, char *out, size_t bytes)
{
    enum { GENERATIONS = 12 }; /* of so many the name tells */
    const struct graph_task *line[GENERATIONS];
    unsigned n = 0;
    size_t used;

    if (task == GRAPH_NONE) {
        snprintf(out, bytes, "barrier");
        return;
    }
    for (; n < GENERATIONS && g->tasks[task].parent != GRAPH_NONE; task = g->tasks[task].parent)
        line[n++] = &g->tasks[task];
    used = (size_t)snprintf(out, bytes, "%s", g->tasks[task].parent == GRAPH_NONE ? "main" : "...");
    while (n && used < bytes)
        used += (size_t)put_place(line[--n], out + used, bytes - used);
}

static void put_nodes(const struct graph *g, const uint32_t *nodes, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "node_list");
    char name[256];

    for (uint32_t i = 0; i < g->nnodes; i++) {
        const struct graph_node *n = &g->nodes[nodes[i]];
        struct peet_stats *o = env->stats_object(env, list, NULL);

        graph_task_name(g, n->task, name, sizeof name);
        env->stats_u64(env, o, "id", i);
        env->stats_string(env, o, "task", name);
        env->stats_u64(env, o, "index", n->index);
        env->stats_u64(env, o, "instructions", n->instructions);
        env->stats_u64(env, o, "cycles", n->cycles);
        env->stats_u64(env, o, "begin_cycles", n->begin[BY_CYCLES]);
        env->stats_string(env, o, "function", n->function ? n->function->name : "");
        env->stats_u64(env, o, "line", n->line);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct graph_edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static void put_edges(const struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "edge_list");
    struct graph_edge *edges = malloc((g->nedges + 1) * sizeof *edges);

    if (!edges) {
        env->fail(env, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < g->nedges; i++)
        edges[i] =
            (struct graph_edge){g->nodes[g->edges[i].from].number, g->nodes[g->edges[i].to].number, g->edges[i].kind};
    if (g->nedges)
        qsort(edges, g->nedges, sizeof *edges, by_place);
    for (uint32_t i = 0; i < g->nedges; i++) {
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_u64(env, o, "from", edges[i].from);
        env->stats_u64(env, o, "to", edges[i].to);
        env->stats_string(env, o, "kind", kinds[edges[i].kind]);
    }
    free(edges);
}

/* -------------------------------------------------------------------------------------- the critical path */

struct share {
    const struct peet_function *function;
    uint64_t instructions;
};

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    return peet_function_order(x->function, y->function);
}

/** Of nodes that end at the same time the one with the least number counts, so that the path is the same in every run.
 */
static uint32_t later(const struct graph *g, uint32_t a, uint32_t b)
{
    const struct graph_node *x = &g->nodes[b];

    if (a == GRAPH_NONE || x->end[BY_CYCLES] > g->nodes[a].end[BY_CYCLES])
        return b;
    return x->end[BY_CYCLES] == g->nodes[a].end[BY_CYCLES] && x->number < g->nodes[a].number ? b : a;
}

/** The nodes of the longest way, the last one first.  Returns: how many */
static uint32_t longest(const struct graph *g, uint32_t *way)
{
    uint32_t *before = malloc((g->nnodes + 1) * sizeof *before), final = GRAPH_NONE, n = 0;

    for (uint32_t i = 0; before && i < g->nnodes; i++) {
        before[i] = GRAPH_NONE;
        final = later(g, final, i);
    }
    for (uint32_t i = 0; before && i < g->nedges; i++)
        if (g->edges[i].kind != EDGE_ORDER)
            before[g->edges[i].to] = later(g, before[g->edges[i].to], g->edges[i].from);
    for (uint32_t at = final; before && at != GRAPH_NONE && n < g->nnodes; at = before[at])
        way[n++] = at;
    free(before);
    return n;
}

static void put_path(const struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *path = env->stats_array(env, node, "critical_path"), *list;
    uint32_t *way = malloc((g->nnodes + 1) * sizeof *way), n = way ? longest(g, way) : 0;
    struct share *shares = NULL;
    size_t nshares = 0, room = 0;

    for (uint32_t i = n; i-- > 0;) {
        env->stats_u64(env, path, NULL, g->nodes[way[i]].number);
        for (uint32_t c = g->nodes[way[i]].code; c != GRAPH_NONE; c = g->code[c].next) {
            size_t k = 0;

            while (k < nshares && shares[k].function != g->code[c].function)
                k++;
            if (k == nshares) {
                struct share *more = nshares == room ? realloc(shares, (room ? 2 * room : 64) * sizeof *more) : shares;

                if (!more)
                    break;
                room = nshares == room ? (room ? 2 * room : 64) : room;
                shares = more;
                shares[nshares++] = (struct share){g->code[c].function, 0};
            }
            shares[k].instructions += g->code[c].instructions;
        }
    }
    if (nshares)
        qsort(shares, nshares, sizeof *shares, by_share);
    list = env->stats_array(env, node, "critical_functions");
    for (size_t i = 0; i < nshares; i++) {
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_string(env, o, "function", shares[i].function->name);
        env->stats_string(env, o, "file", shares[i].function->file);
        env->stats_u64(env, o, "line", shares[i].function->line);
        env->stats_u64(env, o, "instructions", shares[i].instructions);
    }
    free(shares);
    free(way);
}

/* --------------------------------------------------------------------------------- parallelism and bounds */

/** With as many processors as it can use: how many nodes run at once, as means over windows of the span. */
static void put_windows(const struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    uint64_t span = g->span[BY_CYCLES], width = span / WINDOWS + 1;
    double *busy = calloc(WINDOWS + 1, sizeof *busy);
    struct peet_stats *list = env->stats_array(env, node, "parallelism_over_time");

    env->stats_u64(env, node, "window_cycles", width);
    for (uint32_t i = 0; busy && i < g->nnodes; i++) {
        uint64_t at = g->nodes[i].begin[BY_CYCLES], end = g->nodes[i].end[BY_CYCLES];

        while (at < end) {
            uint64_t stop = (at / width + 1) * width < end ? (at / width + 1) * width : end;

            busy[at / width] += (double)(stop - at);
            at = stop;
        }
    }
    for (uint64_t w = 0; busy && w * width < span; w++) {
        uint64_t length = (w + 1) * width < span ? width : span - w * width;

        env->stats_f64(env, list, NULL, busy[w] / (double)length);
    }
    free(busy);
}

static void put_bounds(const struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "speedup_bounds");
    double work = (double)g->work[1], span = (double)g->span[BY_CYCLES];

    for (unsigned p = 1; p <= PROCESSORS_MOST && span > 0; p *= 2) {
        struct peet_stats *o = env->stats_object(env, list, NULL);
        double least = work / p > span ? work / p : span;

        env->stats_u64(env, o, "processors", p);
        env->stats_f64(env, o, "at_most", work / least);
        env->stats_f64(env, o, "at_least", work / (work / p + span));
    }
}

void graph_stats(struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    uint32_t *nodes = number(g);
    struct peet_stats *list;

    if (!nodes) {
        env->fail(env, "out of memory");
        return;
    }
    env->stats_u64(env, node, "work_instructions", g->work[0]);
    env->stats_u64(env, node, "span_instructions", g->span[BY_INSTRUCTIONS]);
    env->stats_u64(env, node, "work_cycles", g->work[1]);
    env->stats_u64(env, node, "span_cycles", g->span[BY_CYCLES]);
    env->stats_u64(env, node, "span_with_locks_instructions", g->span[LOCKS_INSTRUCTIONS]);
    env->stats_u64(env, node, "span_with_locks_cycles", g->span[LOCKS_CYCLES]);
    env->stats_f64(env, node, "parallelism", g->span[BY_CYCLES] ? (double)g->work[1] / (double)g->span[BY_CYCLES] : 0);
    env->stats_u64(env, node, "tasks", g->ntasks);
    env->stats_u64(env, node, "nodes", g->nnodes);
    env->stats_u64(env, node, "edges", g->nedges);
    put_bounds(g, env, node);
    put_windows(g, env, node);
    put_path(g, env, node);
    put_nodes(g, nodes, env, node);
    put_edges(g, env, node);
    if (g->flow)
        graph_flow_stats(g, env, node);
    list = env->stats_array(env, node, "run_order");
    for (uint32_t i = 0; i < g->norder; i++)
        env->stats_u64(env, list, NULL, g->nodes[g->order[i]].number);
    free(nodes);
}
