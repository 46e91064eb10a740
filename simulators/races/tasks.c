/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP's tasks.  A task begins after what its creator had done when it made it, and after the tasks that it depends
 * on.  Its end comes before what a taskwait, the end of a taskgroup or a barrier lets go on.
 */
#include "races.h"

#include <stdlib.h>

struct races_known_task {
    uint64_t number;
    struct races_strand *strand;
    UT_hash_handle hh;
};

static struct races_strand *find(const struct races *r, uint64_t number)
{
    struct races_known_task *t;
    HASH_FIND(hh, r->tasks, &number, sizeof number, t);
    return t ? t->strand : NULL;
}

static void forget(struct races *r, struct races_strand *s)
{
    struct races_known_task *const t = s->known;
    if (!t)
        return;
    s->known = NULL;
    HASH_DEL(r->tasks, t);
    free(t);
    races_strand_drop(r, s);
}

void races_tasks_waited(struct races *r, struct races_strand *s)
{
    while (s->tasks) {
        struct races_strand *const task = s->tasks;
        s->tasks = task->next;
        forget(r, task);
    }
}

void races_tasks_free(struct races *r)
{
    struct races_known_task *t, *next;
    HASH_ITER(hh, r->tasks, t, next)
    forget(r, t->strand);
    for (uint32_t i = 0; i < r->ngroups; i++)
        races_clocks_free(&r->groups[i].ended);
    free(r->groups);
}

static void create(struct races *r, struct races_context *c, uint64_t number)
{
    struct races_known_task *const t = calloc(1, sizeof *t);
    if (!t || !(t->strand = races_strand_new(r, RACES_TASK, number, c->now, NULL))) {
        free(t);
        races_no_memory(r);
        return;
    }
    t->number = number;
    t->strand->group = t->strand->member_of = c->now->group;
    t->strand->known = t;
    HASH_ADD(hh, r->tasks, number, sizeof t->number, t);
}

static void start(struct races *r, struct races_context *c, struct races_strand *s)
{
    for (uint32_t i = 0; i < s->nafter; i++) {
        races_acquire(r, s, &s->after[i]->clocks);
        races_strand_drop(r, s->after[i]);
    }
    s->nafter = 0;
    if (s == c->now || s->below)
        return;
    s->below = c->now;
    races_strand_hold(s->below);
    c->now = s;
}

/* The context goes on with what the task was executed on top of. */
static void leave(struct races *r, struct races_context *c, struct races_strand *s)
{
    struct races_strand *const below = s->below;
    if (!below || c->now != s)
        return;
    s->below = NULL;
    c->now = below;
    races_strand_drop(r, below);
}

/* Whoever waits for the task, in whichever way, knows what these clocks say. */
static void publish_end(struct races *r, struct races_strand *below, struct races_strand *s,
    const struct races_clocks *clocks)
{
    if (s->parent) {
        races_join(r, &s->parent->children, clocks);
        races_join(r, &s->parent->ended, clocks);
    }
    if (s->member_of)
        races_join(r, &r->groups[s->member_of].ended, clocks);
    races_join(r, &below->ended, clocks);
}

static void end(struct races *r, struct races_context *c, struct races_strand *s)
{
    publish_end(r, s->below ? s->below : c->base, s, &s->clocks);
    races_forget_range(r, &s->stack);
    races_tasks_waited(r, s);
    races_strand_over(r, s);
    leave(r, c, s);
    if (!s->kept || !s->parent) {
        forget(r, s);
        return;
    }
    s->next = s->parent->tasks;
    s->parent->tasks = s;
}

/* @later: 0: who says it */
static void order(struct races *r, struct races_context *c, uint64_t later, uint64_t earlier)
{
    struct races_strand *const s = later ? find(r, later) : c->now, *const e = find(r, earlier);
    if (s && !earlier)
        s->kept = 1;
    if (!s || !e)
        return;
    if (s == c->now) {
        races_acquire(r, s, &e->clocks);
        return;
    }
    if (races_grow(r, &s->after, &s->after_room, (uint64_t)s->nafter + 1, sizeof(struct races_strand *)))
        return;
    races_strand_hold(e);
    s->after[s->nafter++] = e;
}

static void begin_group(struct races *r, struct races_context *c)
{
    const uint32_t n = r->ngroups ? r->ngroups : 1;
    if (races_grow(r, &r->groups, &r->groups_room, n + 1ull, sizeof *r->groups))
        return;
    r->groups[n].outer = c->now->group;
    c->now->group = n;
    r->ngroups = n + 1;
}

static void wait(struct races *r, struct races_context *c, uint64_t what)
{
    struct races_group *g;
    if (what == PEET_TASKS_CHILDREN) {
        races_acquire(r, c->now, &c->now->children);
        races_tasks_waited(r, c->now);
    } else if (what == PEET_TASKS_EXECUTED) {
        races_acquire(r, c->now, &c->now->ended);
    } else if (c->now->group) {
        g = &r->groups[c->now->group];
        races_acquire(r, c->now, &g->ended);
        races_clocks_free(&g->ended);
        c->now->group = g->outer;
    }
}

void races_task(struct races *r, struct races_context *c, const uint64_t *args)
{
    struct races_strand *const s = find(r, args[1]);
    struct races_clocks clocks = {0};
    switch (args[0]) {
    case PEET_TASK_CREATE:
        create(r, c, args[1]);
        break;
    case PEET_TASK_START:
        if (s)
            start(r, c, s);
        break;
    case PEET_TASK_SUSPEND:
        if (s)
            leave(r, c, s);
        break;
    case PEET_TASK_END:
        if (s)
            end(r, c, s);
        break;
    case PEET_TASK_ORDER:
    case PEET_TASK_TURN: /* what has been executed in turn, under a lock or by one thread alone, does not race */
        order(r, c, args[1], args[2]);
        break;
    case PEET_TASK_WAIT:
        wait(r, c, args[2]);
        break;
    case PEET_TASK_FULFIL:
        if (!s)
            break;
        races_release(r, c->now, &clocks);
        races_join(r, &s->clocks, &clocks);
        publish_end(r, c->now, s, &clocks);
        races_clocks_free(&clocks);
        break;
    case PEET_TASK_MEMORY:
        races_forget(r, args[1], args[2]);
        break;
    case PEET_TASK_GROUP:
        begin_group(r, c);
        break;
    case PEET_TASK_WAKE:
        c->wakes = args[1];
        break;
    case PEET_TASK_PASSED: {
        const struct races_object *const o = races_object(r, args[1], RACES_ONCE, 0, 0);
        if (o)
            races_acquire(r, c->now, &o->released);
        break;
    }
    }
}
