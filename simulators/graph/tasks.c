/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP's tasks, each a task of the graph.  A context executes tasks on top of each other; a node of a task that lies
 * below stays open meanwhile, since nothing of it waits.  What waits for tasks begins a new node, behind the ends of
 * these tasks.  See enum peet_task_what of <peet/module.h>.
 */
#include "graph.h"

#include <stdlib.h>

static void add(struct graph *g, struct graph_list *list, uint32_t what)
{
    if (graph_grow(g, &list->at, &list->room, (size_t)list->n + 1, sizeof *list->at) == 0)
        list->at[list->n++] = what;
}

static void clear(struct graph_list *list)
{
    free(list->at);
    *list = (struct graph_list){0};
}

/* The task of a number, or GRAPH_NONE. */
static uint32_t find(const struct graph *g, uint64_t number)
{
    return number && number < g->nexplicit ? g->explicit[number] - 1 : GRAPH_NONE;
}

void graph_tasks_free(struct graph *g)
{
    for (uint32_t i = 0; i < g->ntasks; i++) {
        clear(&g->tasks[i].children);
        clear(&g->tasks[i].executed);
        clear(&g->tasks[i].after);
    }
    for (uint32_t i = 0; i < g->ngroups; i++)
        clear(&g->groups[i].ended);
    free(g->groups);
    free(g->explicit);
}

/* Behind the ends of these tasks, if there are any. */
static void join(struct graph *g, struct graph_context *c, struct graph_list *ends)
{
    if (!ends->n)
        return;
    graph_next(g, c);
    for (uint32_t i = 0; i < ends->n; i++)
        graph_edge(g, ends->at[i], c->node, EDGE_JOIN);
    clear(ends);
}

void graph_tasks_arrive(struct graph *g, struct graph_context *c, struct graph_list *out_ends)
{
    *out_ends = g->tasks[c->task].executed;
    g->tasks[c->task].executed = (struct graph_list){0};
}

static void create(struct graph *g, struct graph_context *c, uint64_t number)
{
    const uint32_t fork = c->node, parent = c->task;
    uint32_t task;

    graph_next(g, c);
    if (number >= UINT32_MAX || graph_grow(g, &g->explicit, &g->nexplicit, number + 1, sizeof *g->explicit))
        return;
    task = graph_task(g, TASK_EXPLICIT, parent, fork, g->tasks[parent].nexplicit++, 0);
    if (task == GRAPH_NONE)
        return;
    g->tasks[task].group = g->tasks[task].member_of = g->tasks[parent].group;
    g->explicit[number] = task + 1;
}

static void start(struct graph *g, struct graph_context *c, uint32_t task)
{
    struct graph_task *t = &g->tasks[task];

    if (task == c->task || t->below != GRAPH_NONE || t->over)
        return;
    t->below = c->task;
    c->task = task;
    if (t->last != GRAPH_NONE) { /* it goes on */
        c->node = t->last;
        return;
    }
    c->node = graph_begin(g, task);
    graph_edge(g, t->fork, c->node, EDGE_FORK);
    for (uint32_t i = 0; i < t->after.n; i++) {
        const struct graph_task *before = &g->tasks[t->after.at[i] >> 1];
        const uint8_t kind = t->after.at[i] & 1 ? EDGE_ORDER : EDGE_SIGNAL;

        graph_edge(g, before->last, c->node, kind);
        graph_edge(g, before->fulfilled, c->node, kind);
    }
    clear(&t->after);
}

/* The context goes on with what the task lay on. */
static void leave(struct graph *g, struct graph_context *c, uint32_t task)
{
    if (c->task != task || g->tasks[task].below == GRAPH_NONE)
        return;
    c->task = g->tasks[task].below;
    c->node = g->tasks[c->task].last;
    g->tasks[task].below = GRAPH_NONE;
}

/* Whoever waits for the task, in whichever way, waits for this node. */
static void publish(struct graph *g, uint32_t task, uint32_t below, uint32_t node)
{
    const struct graph_task *t = &g->tasks[task];

    add(g, &g->tasks[t->parent].children, node);
    add(g, &g->tasks[below].executed, node);
    if (t->member_of)
        add(g, &g->groups[t->member_of].ended, node);
}

static void end(struct graph *g, struct graph_context *c, uint32_t task)
{
    if (c->task != task || g->tasks[task].below == GRAPH_NONE)
        return;
    graph_end(g, c->node);
    g->tasks[task].over = 1;
    publish(g, task, g->tasks[task].below, c->node);
    leave(g, c, task);
}

/* The event of a task that is detached: it is complete when this is here and the task has ended. */
static void fulfil(struct graph *g, struct graph_context *c, uint32_t task)
{
    const uint32_t node = c->node;

    graph_next(g, c);
    g->tasks[task].fulfilled = node;
    publish(g, task, c->task, node);
}

static void order(struct graph *g, struct graph_context *c, uint64_t later, uint64_t earlier, int by_chance)
{
    const uint32_t before = find(g, earlier), task = later ? find(g, later) : c->task;
    const uint8_t kind = by_chance ? EDGE_ORDER : EDGE_SIGNAL;

    if (before == GRAPH_NONE || task == GRAPH_NONE)
        return;
    if (task != c->task) {
        add(g, &g->tasks[task].after, before << 1 | (by_chance != 0));
        return;
    }
    graph_next(g, c);
    graph_edge(g, g->tasks[before].last, c->node, kind);
    graph_edge(g, g->tasks[before].fulfilled, c->node, kind);
}

static void begin_group(struct graph *g, uint32_t task)
{
    const uint32_t n = g->ngroups ? g->ngroups : 1; /* 0 is none */

    if (graph_grow(g, &g->groups, &g->groups_room, (size_t)n + 1, sizeof *g->groups))
        return;
    g->groups[n].outer = g->tasks[task].group;
    g->tasks[task].group = n;
    g->ngroups = n + 1;
}

static void waited(struct graph *g, struct graph_context *c, uint64_t what)
{
    struct graph_task *const t = &g->tasks[c->task];

    if (what == PEET_TASKS_CHILDREN) {
        join(g, c, &t->children);
    } else if (what == PEET_TASKS_EXECUTED) {
        join(g, c, &t->executed);
    } else if (t->group) {
        const uint32_t group = t->group;

        t->group = g->groups[group].outer;
        join(g, c, &g->groups[group].ended);
    }
}

void graph_tasks(struct graph *g, struct graph_context *c, const uint64_t *args)
{
    const uint32_t task = find(g, args[1]);

    switch (args[0]) {
    case PEET_TASK_CREATE:
        create(g, c, args[1]);
        break;
    case PEET_TASK_START:
        if (task != GRAPH_NONE)
            start(g, c, task);
        break;
    case PEET_TASK_SUSPEND:
        if (task != GRAPH_NONE)
            leave(g, c, task);
        break;
    case PEET_TASK_END:
        if (task != GRAPH_NONE)
            end(g, c, task);
        break;
    case PEET_TASK_ORDER:
    case PEET_TASK_TURN:
        order(g, c, args[1], args[2], args[0] == PEET_TASK_TURN);
        break;
    case PEET_TASK_WAIT:
        waited(g, c, args[2]);
        break;
    case PEET_TASK_FULFIL:
        if (task != GRAPH_NONE)
            fulfil(g, c, task);
        break;
    case PEET_TASK_GROUP:
        begin_group(g, c->task);
        break;
    case PEET_TASK_WAKE:
        c->wakes = args[1];
        break;
    }
}
