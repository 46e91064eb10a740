/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `graph`: the run's precedence graph.  A node is what a task executes between two synchronisations; an
 * edge says that one node cannot begin before another has ended.  A task is the main program, a thread, an iteration of
 * a parallel loop, or a task of OpenMP.
 *
 * Invariants
 *   1. Weights are instructions, and cycles as the schema has them (block->cost_cycles): both are the same on every
 *      machine.
 *   2. An edge of kind ORDER is no need of the program but the run's choice: who got a lock after whom.  Work, span
 *      and critical path are without them; `span_with_locks` is with them.  Readers of a lock are not in order.
 *   3. A node is closed once.  Its begin is the latest end of the nodes before it; so spans need no graph, and stay
 *      right when the list of nodes is full.
 *   4. Nodes are numbered by task and place in it, tasks by who made them and in which order.  So the same program
 *      gives the same graph whatever the processors, if it does the same work.
 *
 * Work and span as in Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing" (1999); the bound
 * time <= work / p + span as in Brent (1974) and Graham (1966).
 */
#ifndef PEET_GRAPH_H
#define PEET_GRAPH_H

#include <peet/direct.h>
#include <peet/module.h>
#include "common/locks.h"

enum { GRAPH_NONE = UINT32_MAX };
enum graph_weight { BY_INSTRUCTIONS, BY_CYCLES, LOCKS_INSTRUCTIONS, LOCKS_CYCLES, WEIGHTS };
enum graph_edge_kind { EDGE_PROGRAM, EDGE_FORK, EDGE_JOIN, EDGE_BARRIER, EDGE_SIGNAL, EDGE_ORDER, EDGE_KINDS };
enum graph_task_kind { TASK_MAIN, TASK_THREAD, TASK_ITERATION, TASK_EXPLICIT };

struct seen;

struct graph_edge {
    uint32_t from, to;
    uint8_t kind;
};

struct graph_list {
    uint32_t n, room, *at;
};

/** What a node has executed of one function. */
struct graph_code {
    uint32_t node, next;
    const struct peet_function *function;
    uint64_t instructions;
};

struct graph_node {
    uint32_t task, index; /* its place in the task; barriers have no task */
    uint64_t instructions, cycles;
    uint64_t begin[WEIGHTS], end[WEIGHTS];
    uint32_t code; /* of struct graph_code, a chain */
    uint32_t line; /* where it begins */
    const struct peet_function *function;
    uint32_t number;   /* in the order of the task */
    struct seen *seen; /* flow.c: data that it has taken from others */
};

struct graph_task {
    uint8_t kind, over;
    uint32_t parent, fork; /* task, and its node that made this one */
    uint32_t nth;          /* thread: which of its parent; iteration: which loop of its parent */
    int64_t iteration;
    uint32_t nnodes, nthreads, nloops, nexplicit; /* its nodes; tasks and loops that it has made */
    uint32_t first, last;                         /* nodes; the last one is open until the task is over */
    uint32_t number;                              /* in canonical order */

    uint32_t below;             /* a task of OpenMP that is executed: what its context goes on with; else GRAPH_NONE */
    uint32_t group, member_of;  /* the taskgroup that it is in now, and that it was made in; 0: none */
    uint32_t fulfilled;         /* the node with its event, if it is detached */
    struct graph_list children; /* nodes: the ends of its tasks, until it has waited for them, */
    struct graph_list executed; /* and of those that were executed on top of it, until a barrier */
    struct graph_list after;    /* twice a task, and 1 if only the run's choice: it begins after that one's end */
};

/** A taskgroup: the ends of its tasks, and the group around it. */
struct graph_group {
    uint32_t outer;
    struct graph_list ended;
};

/** A loop that has begun; iterations take it by their numbers. */
struct graph_loop {
    int64_t lo, hi;
    uint32_t task, fork, nth, started, finished, nends, ends_room;
    uint32_t *ends;
    uint8_t open;
};

/** The software context that runs a task. */
struct graph_context {
    uint32_t task, node, wait, loop;
    uint64_t object, argument;
    uint64_t wakes; /* the semaphore of its next request orders nothing; 0: none is known */
    struct peet_sim_lock_request lock;
    uint8_t known, had; /* had: the semaphore that it waits for gave at once */
};

/** A synchronisation object: the last node that released it, or the nodes that have come to it. */
struct graph_object {
    uint64_t address, extra; /* extra: of a post its iteration */
    uint32_t type, last, round, used;
    struct peet_sim_lock lock;
    uint64_t tokens;         /* a semaphore's first value, as far as nobody has taken it; a barrier's round */
    uint32_t waiting, given; /* of a semaphore: contexts, and posts that are theirs already */
    uint32_t head, nposts, room, *posts; /* of a lock: the readers that have left since somebody had it alone */
};

struct graph {
    const struct peet_env *env;
    uint64_t limit;
    struct graph_node *nodes;
    struct graph_edge *edges;
    struct graph_code *code;
    struct graph_task *tasks;
    struct graph_loop *loops;
    struct graph_context *contexts;
    struct graph_object *objects; /* open addressing */
    uint32_t *order;              /* nodes as they ended */
    uint32_t nnodes, nodes_room, nedges, edges_room, ncode, code_room, ntasks, tasks_room, nloops, loops_room,
        ncontexts, objects_room, nobjects, norder, order_room;
    struct {
        uint32_t task, fork, nth;
        uint8_t known;
    } *children; /* by context number: who has made it */
    uint32_t nchildren;
    uint32_t *explicit, nexplicit; /* OpenMP's tasks by number: index and 1 */
    struct graph_group *groups;    /* from 1 */
    uint32_t ngroups, groups_room;
    uint64_t work[2], span[WEIGHTS], omitted;
    struct graph_flow *flow; /* NULL: nobody asks for data */
    struct graph_counted *counted;
    int failed;
};

/* ---- nodes.c */
int graph_grow(struct graph *g, void *list, uint32_t *room, size_t wanted, size_t bytes);
uint32_t graph_task(struct graph *g, uint8_t kind, uint32_t parent, uint32_t fork, uint32_t nth, int64_t iteration);
/** A node of a task (or GRAPH_NONE: a barrier) begins.  Returns: its index; when the list is full, the task's last one
 * goes on */
uint32_t graph_begin(struct graph *g, uint32_t task);
/** @to cannot begin before @from has ended. */
void graph_edge(struct graph *g, uint32_t from, uint32_t to, uint8_t kind);
/** The node may begin with this block. */
void graph_enter(struct graph *g, uint32_t node, const struct peet_block *block);
/** It has executed so much of the function, in schema cycles. */
void graph_add_code(struct graph *g, uint32_t node, const struct peet_function *function, uint64_t instructions,
    uint64_t cycles);
void graph_end(struct graph *g, uint32_t node);
struct graph_object *graph_object(struct graph *g, uint64_t address, uint32_t type, uint64_t extra, int make);

/* ---- sync.c */
void graph_abstract(struct graph *g, const struct peet_abstract_event *event);
/** The context goes on: what it has waited for is over.  @event: with this event; NULL: with a block */
void graph_resume(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event);
struct graph_context *graph_context(struct graph *g, uint32_t number);
/** The node ends; the next one has an edge from it. */
void graph_next(struct graph *g, struct graph_context *c);

/* ---- tasks.c */
void graph_tasks_free(struct graph *g);
/** A note of TASK */
void graph_tasks(struct graph *g, struct graph_context *c, const uint64_t *args);
/** The ends of tasks that a barrier waits for when the context has come to it.  @out_ends: the caller's */
void graph_tasks_arrive(struct graph *g, struct graph_context *c, struct graph_list *out_ends);

/* ---- flow.c */
struct graph_flow *graph_flow_new(void);
void graph_flow_free(struct graph_flow *flow);
/** A node executes a block, perhaps many turns of it. */
void graph_flow_block(struct graph *g, uint32_t node, const struct peet_block_event *event);
/** A node has ended. */
void graph_flow_end(struct graph *g, uint32_t node);
/** After the nodes have numbers. */
void graph_flow_stats(const struct graph *g, const struct peet_env *env, struct peet_stats *node);

/* ---- counted.c */
struct graph_counted *graph_counted_new(void);
void graph_counted_free(struct graph_counted *counted);
extern const struct peet_direct_observer graph_observed;

/* ---- report.c */
void graph_task_name(const struct graph *g, uint32_t task, char *out, size_t bytes);
void graph_stats(struct graph *g, const struct peet_env *env, struct peet_stats *node);

#endif
