/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisations as edges.  A request ends the context's node; the next one begins when the context has its next
 * event, whether it had to wait or not, and has edges from what the request needed.  See graph.h.
 */
#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct graph_context *graph_context(struct graph *g, uint32_t number)
{
    struct graph_context *c;

    if (graph_grow(g, &g->contexts, &g->ncontexts, (size_t)number + 1, sizeof(*g->contexts)))
        return NULL;
    c = &g->contexts[number];
    if (!c->known) { /* the main program, or a thread */
        uint32_t parent = GRAPH_NONE, fork = GRAPH_NONE, nth = 0;

        if (number < g->nchildren && g->children[number].known) {
            parent = g->children[number].task;
            fork = g->children[number].fork;
            nth = g->children[number].nth;
        }
        *c = (struct graph_context){.known = 1, .wait = PEET_ABSTRACT_NONE, .loop = GRAPH_NONE};
        c->task = graph_task(g, parent == GRAPH_NONE ? TASK_MAIN : TASK_THREAD, parent, fork, nth, 0);
        c->node = c->task == GRAPH_NONE ? GRAPH_NONE : graph_begin(g, c->task);
        graph_edge(g, fork, c->node, EDGE_FORK);
    }
    return c;
}

void graph_next(struct graph *g, struct graph_context *c)
{
    uint32_t before = c->node;

    graph_end(g, before);
    c->node = graph_begin(g, c->task);
    graph_edge(g, before, c->node, EDGE_PROGRAM);
}

/** One more node that an object remembers (semaphores' posts). */
static void remember(struct graph *g, struct graph_object *o, uint32_t node)
{
    if (o && graph_grow(g, &o->posts, &o->room, (size_t)o->nposts + 1, sizeof(*o->posts)) == 0)
        o->posts[o->nposts++] = node;
}

enum { LOCKS = 100, BARRIERS, CONDITIONS, SEMAPHORES, ONCES, POSTS, ROUNDS };

/** A barrier's round is over when somebody goes on: its node comes after all arrivals, before all that follows. */
static void close_round(struct graph *g, struct graph_object *o)
{
    uint32_t all;

    if (o->round != GRAPH_NONE)
        return;
    all = graph_begin(g, GRAPH_NONE);
    for (uint32_t i = 0; i < o->nposts; i++)
        graph_edge(g, o->posts[i], all, EDGE_BARRIER);
    graph_end(g, all);
    o->round = all;
    o->nposts = 0;
}

/** The context has the lock: behind who had it before, and if it has it alone, behind all readers since. */
static void locked(struct graph *g, struct graph_context *c, struct graph_object *o, int reads)
{
    graph_edge(g, o->last, c->node, EDGE_ORDER);
    if (reads)
        return;
    for (uint32_t i = 0; i < o->nposts; i++)
        graph_edge(g, o->posts[i], c->node, EDGE_ORDER);
    o->nposts = 0;
}

static void lock_resumed(struct graph *g, struct graph_context *c, uint32_t type, uint64_t address,
    const struct peet_abstract_event *grant)
{
    struct graph_object *o = graph_object(g, address, LOCKS, 0, 1);

    if (o && (grant ? peet_sim_lock_granted(&o->lock, grant, type, &c->lock) : c->lock.had))
        locked(g, c, o, peet_sim_lock_reads(type));
}

/** Take what a semaphore has to give. */
static void take(struct graph *g, struct graph_context *c, struct graph_object *o)
{
    if (o->tokens)
        o->tokens--;
    else if (o->head < o->nposts)
        graph_edge(g, o->posts[o->head++], c->node, EDGE_SIGNAL);
}

static uint64_t available(const struct graph_object *o)
{
    return o->tokens + (o->nposts - o->head) - o->given;
}

/* A wait that was not granted has failed. */
static void semaphore_resumed(struct graph *g, struct graph_context *c, const struct peet_abstract_event *grant)
{
    struct graph_object *o = c->had ? NULL : graph_object(g, c->object, SEMAPHORES, 0, 0);

    if (!o)
        return;
    o->waiting -= o->waiting > 0;
    if (!grant || grant->args[3])
        return;
    o->given -= o->given > 0;
    take(g, c, o);
}

static void barrier_resumed(struct graph *g, struct graph_context *c)
{
    struct graph_object *o = graph_object(g, c->object, BARRIERS, 0, 0);

    if (o && o->tokens == c->argument)
        o->tokens++;                                        /* who comes next is in another round */
    o = graph_object(g, c->object, ROUNDS, c->argument, 0); /* looking for an object may move them all */
    if (!o)
        return;
    close_round(g, o);
    graph_edge(g, o->round, c->node, EDGE_BARRIER);
}

static void joined(struct graph *g, struct graph_context *c)
{
    const uint32_t number = c->object < g->ncontexts ? (uint32_t)c->object : GRAPH_NONE;

    if (number != GRAPH_NONE && g->contexts[number].known && g->tasks[g->contexts[number].task].over)
        graph_edge(g, g->tasks[g->contexts[number].task].last, c->node, EDGE_JOIN);
    for (uint32_t i = 0; c->object == PEET_NEVER && i < g->ntasks; i++)
        if (g->tasks[i].over)
            graph_edge(g, g->tasks[i].last, c->node, EDGE_JOIN);
}

static void signalled(struct graph *g, struct graph_context *c, uint32_t type, uint64_t extra)
{
    const struct graph_object *o = graph_object(g, c->object, type, extra, 0);

    if (o)
        graph_edge(g, o->last, c->node, EDGE_SIGNAL);
}

void graph_resume(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event)
{
    const struct peet_abstract_event *grant = event && event->type == PEET_ABSTRACT_SYNC_GRANT ? event : NULL;
    const uint32_t wait = c->wait;

    c->wait = PEET_ABSTRACT_NONE;
    if (peet_sim_lock_asks(wait)) {
        lock_resumed(g, c, wait, c->object, grant);
        return;
    }
    switch (wait) {
    case PEET_ABSTRACT_COND_WAIT:
        if (grant && !grant->args[3])
            signalled(g, c, CONDITIONS, 0);
        lock_resumed(g, c, wait, c->argument, grant);
        break;
    case PEET_ABSTRACT_BARRIER_WAIT:
        if (!grant || (uint32_t)grant->args[3] != EINTR) /* else it has come, and asks again */
            barrier_resumed(g, c);
        break;
    case PEET_ABSTRACT_THREAD_JOIN:
        joined(g, c);
        break;
    case PEET_ABSTRACT_SEM_WAIT:
        semaphore_resumed(g, c, grant);
        break;
    case PEET_ABSTRACT_ONCE_BEGIN:
        signalled(g, c, ONCES, 0);
        break;
    case PEET_ABSTRACT_WAIT:
        signalled(g, c, POSTS, c->argument);
        break;
    }
}

/* --------------------------------------------------------------------------------------- parallel loops */

static void fork_loop(struct graph *g, struct graph_context *c, const uint64_t *args)
{
    struct graph_loop *l;
    uint32_t fork = c->node;

    graph_next(g, c);
    if (graph_grow(g, &g->loops, &g->loops_room, (size_t)g->nloops + 1, sizeof(*g->loops)))
        return;
    l = &g->loops[g->nloops++];
    *l = (struct graph_loop){.lo = (int64_t)args[0],
        .hi = (int64_t)args[1],
        .task = c->task,
        .fork = fork,
        .nth = g->tasks[c->task].nloops++,
        .open = 1};
}

/** An iteration does not say of which loop it is: the latest one that still lacks so many, and has this number. */
static uint32_t loop_of(const struct graph *g, int64_t iteration)
{
    for (uint32_t i = g->nloops; i-- > 0;) {
        const struct graph_loop *l = &g->loops[i];

        if (l->open && iteration >= l->lo && iteration < l->hi && l->started < (uint64_t)(l->hi - l->lo))
            return i;
    }
    return GRAPH_NONE;
}

static void start_iteration(struct graph *g, uint32_t number, int64_t iteration)
{
    uint32_t loop = loop_of(g, iteration), task;
    struct graph_context *c;

    if (graph_grow(g, &g->contexts, &g->ncontexts, (size_t)number + 1, sizeof(*g->contexts)))
        return;
    if (loop == GRAPH_NONE) {
        graph_context(g, number);
        return;
    }
    g->loops[loop].started++;
    task = graph_task(g, TASK_ITERATION, g->loops[loop].task, g->loops[loop].fork, g->loops[loop].nth, iteration);
    c = &g->contexts[number];
    *c = (struct graph_context){.known = 1, .wait = PEET_ABSTRACT_NONE, .task = task, .loop = loop};
    c->node = task == GRAPH_NONE ? GRAPH_NONE : graph_begin(g, task);
    graph_edge(g, g->loops[loop].fork, c->node, EDGE_FORK);
}

static void finish_iteration(struct graph *g, struct graph_context *c)
{
    graph_end(g, c->node);
    g->tasks[c->task].over = 1;
    if (c->loop != GRAPH_NONE) {
        struct graph_loop *l = &g->loops[c->loop];

        if (graph_grow(g, &l->ends, &l->ends_room, (size_t)l->nends + 1, sizeof(*l->ends)) == 0)
            l->ends[l->nends++] = c->node;
    }
    c->known = 0;
}

/** The carrier's latest loop has been left. */
static void join_loop(struct graph *g, struct graph_context *c)
{
    for (uint32_t i = g->nloops; i-- > 0;) {
        struct graph_loop *l = &g->loops[i];

        if (!l->open || l->task != c->task)
            continue;
        graph_next(g, c);
        for (uint32_t k = 0; k < l->nends; k++)
            graph_edge(g, l->ends[k], c->node, EDGE_JOIN);
        free(l->ends);
        l->ends = NULL;
        l->nends = l->ends_room = 0;
        l->open = 0;
        while (g->nloops && !g->loops[g->nloops - 1].open)
            g->nloops--;
        return;
    }
}

/* --------------------------------------------------------------------------------------------- requests */

static void made(struct graph *g, struct graph_context *c, uint64_t number)
{
    uint32_t fork = c->node;

    graph_next(g, c);
    if (number >= UINT32_MAX || graph_grow(g, &g->children, &g->nchildren, number + 1, sizeof(*g->children)))
        return;
    g->children[number].task = c->task;
    g->children[number].fork = fork;
    g->children[number].nth = g->tasks[c->task].nthreads++;
    g->children[number].known = 1;
    if (number < g->ncontexts)
        g->contexts[number].known = 0;
}

/** What others wait for happens here: the node ends with it. */
static void release(struct graph *g, struct graph_context *c, uint64_t address, uint32_t type, uint64_t extra)
{
    struct graph_object *o = graph_object(g, address, type, extra, 1);

    if (o)
        o->last = c->node;
}

static void arrive(struct graph *g, struct graph_context *c, uint64_t address)
{
    struct graph_object *b = graph_object(g, address, BARRIERS, 0, 1), *o;
    struct graph_list ends;

    c->argument = b ? b->tokens : 0;
    o = graph_object(g, address, ROUNDS, c->argument, 1);
    remember(g, o, c->node);
    graph_tasks_arrive(g, c, &ends);
    for (uint32_t i = 0; i < ends.n; i++)
        remember(g, o, ends.at[i]);
    free(ends.at);
}

static void unlock(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event)
{
    struct graph_object *o = graph_object(g, peet_sim_lock_of(event), LOCKS, 0, 1);

    if (!o)
        return;
    switch (peet_sim_lock_left(&o->lock, event, &c->lock)) {
    case PEET_SIM_LOCK_KEPT:
        break;
    case PEET_SIM_LOCK_READER:
        remember(g, o, c->node);
        break;
    case PEET_SIM_LOCK_OWNER:
        o->last = c->node;
        break;
    }
}

/** Posts go to those who wait, first. */
static void post(struct graph *g, struct graph_context *c, const uint64_t *args)
{
    struct graph_object *o = graph_object(g, args[0], SEMAPHORES, 0, 1);

    for (uint64_t i = 0; o && i < args[1] && i < 1000000; i++) {
        remember(g, o, c->node);
        o->given += o->given < o->waiting;
    }
    graph_next(g, c);
}

/** A semaphore that only wakes threads for tasks: what orders them, tasks say. */
static int wakes(struct graph_context *c, uint64_t semaphore)
{
    const int same = c->wakes == semaphore;

    c->wakes = 0;
    return same;
}

/* Beginning a wait: the node ends, and what goes on has edges when it goes on. */
static void wait_for(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event,
    uint64_t argument)
{
    if (event->type != PEET_ABSTRACT_BARRIER_WAIT)
        c->argument = argument;
    c->object = event->args[0];
    graph_next(g, c);
    c->wait = event->type;
}

/** A semaphore that has something to give does so at once. */
static void ask_semaphore(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event)
{
    struct graph_object *o = graph_object(g, event->args[0], SEMAPHORES, 0, 1);
    const int tries = event->type == PEET_ABSTRACT_SEM_TRYWAIT;

    c->had = o && available(o) > 0;
    if (tries && !c->had)
        return;
    wait_for(g, c, event, 0);
    if (c->had)
        take(g, c, o);
    else if (o)
        o->waiting++;
}

static void ask_lock(struct graph *g, struct graph_context *c, const struct peet_abstract_event *event)
{
    struct graph_object *o = graph_object(g, peet_sim_lock_of(event), LOCKS, 0, 1);

    if (o)
        peet_sim_lock_asked(&o->lock, event, &c->lock);
    wait_for(g, c, event, 0);
}

static void begin_object(struct graph *g, const uint64_t *args)
{
    struct graph_object *o = args[1] == PEET_SYNC_SEMAPHORE         ? graph_object(g, args[0], SEMAPHORES, 0, 1)
        : args[1] == PEET_SYNC_MUTEX || args[1] == PEET_SYNC_RWLOCK ? graph_object(g, args[0], LOCKS, 0, 0)
                                                                    : NULL;

    if (!o)
        return;
    o->lock = (struct peet_sim_lock){0};
    o->head = o->nposts = o->waiting = o->given = 0;
    o->tokens = args[1] == PEET_SYNC_SEMAPHORE ? args[2] : 0;
}

void graph_abstract(struct graph *g, const struct peet_abstract_event *event)
{
    struct graph_context *c;

    if (event->type == PEET_ABSTRACT_DOALL_START) {
        start_iteration(g, event->context, (int64_t)event->args[0]);
        return;
    }
    c = graph_context(g, event->context);
    if (!c || g->failed)
        return;
    if (c->wait != PEET_ABSTRACT_NONE)
        graph_resume(g, c, event);
    switch (event->type) {
    case PEET_ABSTRACT_DOALL_FORK:
        fork_loop(g, c, event->args);
        break;
    case PEET_ABSTRACT_DOALL_FINISH:
        finish_iteration(g, c);
        break;
    case PEET_ABSTRACT_DOALL_JOIN:
        join_loop(g, c);
        break;
    case PEET_ABSTRACT_THREAD_CREATE:
        made(g, c, event->args[5]);
        break;
    case PEET_ABSTRACT_CONTEXT_EXIT:
        graph_end(g, c->node);
        g->tasks[c->task].over = 1;
        c->node = GRAPH_NONE;
        break;
    case PEET_ABSTRACT_MUTEX_UNLOCK:
    case PEET_ABSTRACT_RWLOCK_UNLOCK:
        unlock(g, c, event);
        graph_next(g, c);
        break;
    case PEET_ABSTRACT_COND_SIGNAL:
    case PEET_ABSTRACT_COND_BROADCAST:
        release(g, c, event->args[0], CONDITIONS, 0);
        graph_next(g, c);
        break;
    case PEET_ABSTRACT_SEM_POST:
        if (!wakes(c, event->args[0]))
            post(g, c, event->args);
        break;
    case PEET_ABSTRACT_SYNC_INIT:
        begin_object(g, event->args);
        break;
    case PEET_ABSTRACT_ONCE_END:
        release(g, c, event->args[0], ONCES, 0);
        graph_next(g, c);
        break;
    case PEET_ABSTRACT_POST:
        release(g, c, event->args[0], POSTS, event->args[1]);
        graph_next(g, c);
        break;
    case PEET_ABSTRACT_COND_WAIT:
        unlock(g, c, event);
        wait_for(g, c, event, event->args[1]);
        break;
    case PEET_ABSTRACT_BARRIER_WAIT:
        arrive(g, c, event->args[0]);
        wait_for(g, c, event, 0);
        break;
    case PEET_ABSTRACT_WAIT:
        wait_for(g, c, event, event->args[1]);
        break;
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
        ask_lock(g, c, event);
        break;
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_TRYWAIT:
        if (!wakes(c, event->args[0]))
            ask_semaphore(g, c, event);
        break;
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_ONCE_BEGIN:
        wait_for(g, c, event, 0);
        break;
    case PEET_ABSTRACT_TASK:
        graph_tasks(g, c, event->args);
        break;
    }
}
