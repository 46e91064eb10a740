/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What models allow, by axioms: every candidate execution (who reads from whom, in which order writes of a location take effect) is
 * held against them.  A second opinion on sc, tso and pso beside machine.c, and the bound for pc, wo and rc, which peet must stay within.
 *
 * All models: per location, program order and communication do not contradict each other; nothing comes between the two halves of a
 * locked operation.  Then the union of preserved program order (ordered()), reads from other processors, the order of writes
 * and "reads before" has no cycle.  pc has in addition a view for each processor: all writes and its own reads.
 */
#include "table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MOST = 24 };

struct event {
    const struct litmus_op *op;
    int thread, place; /* place in the thread, fences counted */
};

struct search {
    const struct litmus_test *t;
    enum litmus_model model;
    struct litmus_set *set;
    struct event events[EVENTS_MOST];
    int n;
    int reads[EVENTS_MOST], nreads, from[EVENTS_MOST]; /* from: event, -1: the initial value */
    int writes[LOCATIONS][EVENTS_MOST], nwrites[LOCATIONS]; /* in their order */
};

typedef uint32_t relation[EVENTS_MOST]; /* row: who comes after */

static int acyclic(const relation r, int n)
{
    uint32_t left = n == 32 ? ~0u : (1u << n) - 1, before;

    do {
        before = left;
        for (int i = 0; i < n; i++)
            if ((left >> i & 1) && !(r[i] & left))
                left &= ~(1u << i);
    } while (left != before);
    return !left;
}

static int fence_between(const struct search *s, const struct event *a, const struct event *b, enum litmus_kind kind)
{
    for (int i = a->place + 1; i < b->place; i++)
        if (s->t->ops[a->thread][i].kind == kind)
            return 1;
    return 0;
}

/** Does program order from a to b hold for everybody? */
static int ordered(const struct search *s, const struct event *a, const struct event *b)
{
    const struct litmus_op *x = a->op, *y = b->op;
    const int store_load = x->kind == OP_STORE && y->kind == OP_LOAD, stores = x->kind == OP_STORE && y->kind == OP_STORE;

    if (s->model == LITMUS_SC || litmus_locked(x) || litmus_locked(y) || fence_between(s, a, b, OP_MFENCE))
        return 1;
    if (stores && fence_between(s, a, b, OP_SFENCE))
        return 1;
    switch (s->model) {
    case LITMUS_TSO:
        return !store_load;
    case LITMUS_PSO:
        return !store_load && !(stores && x->location != y->location && y->order != 'r');
    case LITMUS_PC:
        return y->kind == OP_STORE || x->order == 'a' || x->order == 's' || y->order == 's';
    case LITMUS_WO:
        return x->order != ' ' || y->order != ' ';
    default:
        return x->order == 'a' || y->order == 'r' || x->order == 's' || y->order == 's';
    }
}

static int place_of(const struct search *s, int w)
{
    int l = s->events[w].op->location;

    for (int i = 0; i < s->nwrites[l]; i++)
        if (s->writes[l][i] == w)
            return i;
    return -1;
}

/** Reads-from and "reads before" of one read, order of writes: added to a relation.  @view: only reads of this thread, -1: all */
static void communicate(const struct search *s, relation r, int external, int view)
{
    for (int l = 0; l < LOCATIONS; l++)
        for (int i = 0; i + 1 < s->nwrites[l]; i++)
            r[s->writes[l][i]] |= 1u << s->writes[l][i + 1];
    for (int i = 0; i < s->nreads; i++) {
        int e = s->reads[i], w = s->from[e], l = s->events[e].op->location;

        if (view >= 0 && s->events[e].thread != view)
            continue;
        if (w >= 0 && !(external && s->events[w].thread == s->events[e].thread))
            r[w] |= 1u << e;
        for (int k = w >= 0 ? place_of(s, w) + 1 : 0; k < s->nwrites[l]; k++)
            if (s->writes[l][k] != e)
                r[e] |= 1u << s->writes[l][k];
    }
}

static int coherent(const struct search *s)
{
    relation r = { 0 };

    for (int i = 0; i < s->n; i++)
        for (int k = i + 1; k < s->n; k++)
            if (s->events[i].thread == s->events[k].thread && s->events[i].op->location == s->events[k].op->location)
                r[i] |= 1u << k;
    communicate(s, r, 0, -1);
    if (!acyclic(r, s->n))
        return 0;
    for (int i = 0; i < s->nreads; i++) {
        int e = s->reads[i];

        if (litmus_locked(s->events[e].op) && place_of(s, e) != (s->from[e] >= 0 ? place_of(s, s->from[e]) + 1 : 0))
            return 0;
    }
    return 1;
}

/** pc: does every processor see an order of all writes and its own reads, in which those of each processor are in program order? */
static int views(const struct search *s)
{
    for (int p = 0; p < s->t->nthreads; p++) {
        relation r = { 0 };

        for (int i = 0; i < s->n; i++)
            for (int k = i + 1; k < s->n; k++) {
                const struct event *a = &s->events[i], *b = &s->events[k];
                int own = a->thread == p, in = (own || litmus_writes(a->op)) && (own || litmus_writes(b->op));

                if (a->thread == b->thread && in && !(a->op->kind == OP_STORE && b->op->kind == OP_LOAD && !ordered(s, a, b)))
                    r[i] |= 1u << k;
            }
        communicate(s, r, 1, p);
        if (!acyclic(r, s->n))
            return 0;
    }
    return 1;
}

static void judge(struct search *s)
{
    relation r = { 0 };
    int values[EVENTS_MOST] = { 0 }, read[EVENTS_MOST] = { 0 }, regs[REGISTERS_MOST] = { 0 }, memory[LOCATIONS] = { 0 };

    if (!coherent(s))
        return;
    for (int i = 0; i < s->n; i++)
        for (int k = i + 1; k < s->n; k++)
            if (s->events[i].thread == s->events[k].thread && ordered(s, &s->events[i], &s->events[k]))
                r[i] |= 1u << k;
    communicate(s, r, 1, -1);
    if (!acyclic(r, s->n) || (s->model == LITMUS_PC && !views(s)))
        return;
    for (int round = 0; round <= s->n; round++)
        for (int i = 0; i < s->n; i++) {
            const struct litmus_op *o = s->events[i].op;

            if (litmus_reads(o))
                read[i] = s->from[i] >= 0 ? values[s->from[i]] : 0;
            values[i] = o->kind == OP_ADD ? read[i] + o->value : o->value;
        }
    for (int i = 0; i < s->n; i++)
        if (s->events[i].op->reg >= 0)
            regs[s->events[i].op->reg] = read[i];
    for (int l = 0; l < LOCATIONS; l++)
        if (s->nwrites[l])
            memory[l] = values[s->writes[l][s->nwrites[l] - 1]];
    litmus_add(s->set, s->t, regs, memory);
}

static void orders(struct search *s, int location, int fixed)
{
    int n;

    if (location == LOCATIONS) {
        judge(s);
        return;
    }
    n = s->nwrites[location];
    if (fixed >= n) {
        orders(s, location + 1, 0);
        return;
    }
    for (int i = fixed; i < n; i++) {
        int *w = s->writes[location], one = w[i];

        w[i] = w[fixed];
        w[fixed] = one;
        orders(s, location, fixed + 1);
        w[fixed] = w[i];
        w[i] = one;
    }
}

static void sources(struct search *s, int read)
{
    int e, l;

    if (read == s->nreads) {
        orders(s, 0, 0);
        return;
    }
    e = s->reads[read];
    l = s->events[e].op->location;
    s->from[e] = -1;
    sources(s, read + 1);
    for (int w = 0; w < s->n; w++)
        if (w != e && litmus_writes(s->events[w].op) && s->events[w].op->location == l) {
            s->from[e] = w;
            sources(s, read + 1);
        }
}

void litmus_axioms(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set)
{
    struct search *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->t = t;
    s->model = model;
    s->set = set;
    for (int p = 0; p < t->nthreads; p++)
        for (int i = 0; i < t->nops[p]; i++) {
            const struct litmus_op *o = &t->ops[p][i];

            if (!litmus_reads(o) && !litmus_writes(o))
                continue;
            if (s->n == EVENTS_MOST)
                abort();
            s->events[s->n] = (struct event){ o, p, i };
            if (litmus_reads(o))
                s->reads[s->nreads++] = s->n;
            if (litmus_writes(o))
                s->writes[o->location][s->nwrites[o->location]++] = s->n;
            s->n++;
        }
    sources(s, 0);
    free(s);
}
