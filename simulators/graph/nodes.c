/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, edges and tasks of the precedence graph; see graph.h. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

int graph_grow(struct graph *g, void *list, uint32_t *room, size_t wanted, size_t bytes)
{
    void **at = list, *more;
    size_t n = *room ? *room : 64;

    if (wanted <= *room)
        return 0;
    while (n < wanted)
        n *= 2;
    more = g->failed || n > UINT32_MAX / 2 ? NULL : realloc(*at, n * bytes);
    if (!more) {
        if (!g->failed)
            g->env->fail(g->env, "out of memory; --observe graph,limit=N keeps fewer nodes");
        g->failed = 1;
        return -1;
    }
    memset((char *)more + *room * bytes, 0, (n - *room) * bytes);
    *at = more;
    *room = (uint32_t)n;
    return 0;
}

uint32_t graph_task(struct graph *g, uint8_t kind, uint32_t parent, uint32_t fork, uint32_t nth, int64_t iteration)
{
    if (graph_grow(g, &g->tasks, &g->tasks_room, (size_t)g->ntasks + 1, sizeof(*g->tasks)))
        return GRAPH_NONE;
    g->tasks[g->ntasks] = (struct graph_task){.kind = kind,
        .parent = parent,
        .fork = fork,
        .nth = nth,
        .iteration = iteration,
        .first = GRAPH_NONE,
        .last = GRAPH_NONE,
        .below = GRAPH_NONE,
        .fulfilled = GRAPH_NONE};
    return g->ntasks++;
}

uint32_t graph_begin(struct graph *g, uint32_t task)
{
    struct graph_node *n;

    if (graph_grow(g, &g->nodes, &g->nodes_room, (size_t)g->nnodes + 1, sizeof(*g->nodes)))
        return GRAPH_NONE;
    if (g->nnodes >= g->limit) {
        if (!g->omitted++)
            g->env->fail(g->env, "the graph has more than %llu nodes; --observe graph,limit=N allows more",
                (unsigned long long)g->limit);
        g->failed = 1;
        return GRAPH_NONE;
    }
    n = &g->nodes[g->nnodes];
    *n = (struct graph_node){.task = task, .code = GRAPH_NONE};
    if (task != GRAPH_NONE) {
        n->index = g->tasks[task].nnodes++;
        if (g->tasks[task].first == GRAPH_NONE)
            g->tasks[task].first = g->nnodes;
        g->tasks[task].last = g->nnodes;
    }
    return g->nnodes++;
}

void graph_edge(struct graph *g, uint32_t from, uint32_t to, uint8_t kind)
{
    struct graph_node *a, *b;

    if (from == GRAPH_NONE || to == GRAPH_NONE || from == to ||
        graph_grow(g, &g->edges, &g->edges_room, (size_t)g->nedges + 1, sizeof(*g->edges)))
        return;
    g->edges[g->nedges++] = (struct graph_edge){from, to, kind};
    a = &g->nodes[from];
    b = &g->nodes[to];
    for (unsigned w = kind == EDGE_ORDER ? LOCKS_INSTRUCTIONS : 0; w < WEIGHTS; w++)
        if (a->end[w] > b->begin[w])
            b->begin[w] = a->end[w];
}

void graph_enter(struct graph *g, uint32_t node, const struct peet_block *block)
{
    if (node == GRAPH_NONE || g->nodes[node].function)
        return;
    g->nodes[node].function = block->function;
    g->nodes[node].line = block->line;
}

void graph_add_code(struct graph *g, uint32_t node, const struct peet_function *function, uint64_t instructions,
    uint64_t cycles)
{
    struct graph_node *n;
    uint32_t *at;

    if (node == GRAPH_NONE || !instructions)
        return;
    n = &g->nodes[node];
    n->instructions += instructions;
    n->cycles += cycles;
    for (at = &n->code; *at != GRAPH_NONE; at = &g->code[*at].next)
        if (g->code[*at].function == function) {
            g->code[*at].instructions += instructions;
            return;
        }
    if (graph_grow(g, &g->code, &g->code_room, (size_t)g->ncode + 1, sizeof(*g->code)))
        return;
    g->code[g->ncode] = (struct graph_code){node, n->code, function, instructions};
    n->code = g->ncode++;
}

void graph_end(struct graph *g, uint32_t node)
{
    struct graph_node *n;

    if (node == GRAPH_NONE || graph_grow(g, &g->order, &g->order_room, (size_t)g->norder + 1, sizeof(*g->order)))
        return;
    if (g->flow)
        graph_flow_end(g, node);
    n = &g->nodes[node];
    g->order[g->norder++] = node;
    g->work[0] += n->instructions;
    g->work[1] += n->cycles;
    for (unsigned w = 0; w < WEIGHTS; w++) {
        n->end[w] = n->begin[w] + (w & 1 ? n->cycles : n->instructions);
        if (n->end[w] > g->span[w])
            g->span[w] = n->end[w];
    }
}

static uint32_t slot(const struct graph *g, uint64_t address, uint32_t type, uint64_t extra)
{
    uint64_t x = (address ^ extra * 0x9e3779b97f4a7c15u ^ (uint64_t)type << 56) * 0xff51afd7ed558ccdu;
    uint32_t i = (uint32_t)(x >> 32) & (g->objects_room - 1);

    while (g->objects[i].used &&
        (g->objects[i].address != address || g->objects[i].type != type || g->objects[i].extra != extra))
        i = (i + 1) & (g->objects_room - 1);
    return i;
}

static int more_objects(struct graph *g)
{
    struct graph_object *old = g->objects;
    uint32_t n = g->objects_room;

    g->objects_room = n ? 2 * n : 256;
    g->objects = calloc(g->objects_room, sizeof *g->objects);
    if (!g->objects) {
        g->env->fail(g->env, "out of memory");
        g->failed = 1;
        g->objects = old;
        g->objects_room = n;
        return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (old[i].used)
            g->objects[slot(g, old[i].address, old[i].type, old[i].extra)] = old[i];
    free(old);
    return 0;
}

struct graph_object *graph_object(struct graph *g, uint64_t address, uint32_t type, uint64_t extra, int make)
{
    uint32_t i;

    if (2 * g->nobjects >= g->objects_room && more_objects(g))
        return NULL;
    i = slot(g, address, type, extra);
    if (!g->objects[i].used) {
        if (!make)
            return NULL;
        g->objects[i] = (struct graph_object){
            .address = address, .extra = extra, .type = type, .last = GRAPH_NONE, .round = GRAPH_NONE, .used = 1};
        g->nobjects++;
    }
    return &g->objects[i];
}
