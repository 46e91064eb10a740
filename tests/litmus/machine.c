/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The abstract machines of sc, x86-TSO (Owens, Sarkar, Sewell) and SPARC's PSO, walked state by state.  It knows nothing of peet:
 * what peet finds by exploration has to be what this says.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER = OPS_MOST };

struct state {
    signed char pc[THREADS_MOST], n[THREADS_MOST];
    struct entry {
        signed char location, value, release, fences; /* release: nothing before it may be left when it leaves; fences: sfences before it */
    } buffer[THREADS_MOST][BUFFER];
    signed char fences[THREADS_MOST];
    signed char regs[REGISTERS_MOST], memory[LOCATIONS];
};

struct walk {
    const struct litmus_test *t;
    enum litmus_model model;
    struct litmus_set *set;
    struct state *seen;
    size_t nseen, room, *table;
};

static size_t hash(const struct state *s)
{
    const unsigned char *at = (const unsigned char *)s;
    size_t h = 1469598103934665603u;

    for (size_t i = 0; i < sizeof *s; i++)
        h = (h ^ at[i]) * 1099511628211u;
    return h;
}

/** Returns: 1 if it is new */
static int note(struct walk *w, const struct state *s)
{
    size_t at;

    if (2 * (w->nseen + 1) > w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        w->seen = realloc(w->seen, w->room * sizeof *w->seen);
        free(w->table);
        w->table = calloc(w->room, sizeof *w->table);
        if (!w->seen || !w->table)
            abort();
        for (size_t i = 0; i < w->nseen; i++) {
            for (at = hash(&w->seen[i]) % w->room; w->table[at]; at = (at + 1) % w->room)
                ;
            w->table[at] = i + 1;
        }
    }
    for (at = hash(s) % w->room; w->table[at]; at = (at + 1) % w->room)
        if (!memcmp(&w->seen[w->table[at] - 1], s, sizeof *s))
            return 0;
    w->seen[w->nseen] = *s;
    w->table[at] = ++w->nseen;
    return 1;
}

/** May this entry of the buffer go to memory next? */
static int may_leave(const struct walk *w, const struct state *s, int p, int i)
{
    if (i == 0)
        return 1;
    if (w->model == LITMUS_TSO || s->buffer[p][i].release)
        return 0;
    for (int k = 0; k < i; k++)
        if (s->buffer[p][k].location == s->buffer[p][i].location || s->buffer[p][k].fences != s->buffer[p][i].fences)
            return 0;
    return 1;
}

static void walk(struct walk *w, const struct state *s);

static void leave(struct walk *w, struct state s, int p, int i)
{
    s.memory[s.buffer[p][i].location] = s.buffer[p][i].value;
    memmove(&s.buffer[p][i], &s.buffer[p][i + 1], (size_t)(BUFFER - 1 - i) * sizeof s.buffer[p][0]);
    memset(&s.buffer[p][BUFFER - 1], 0, sizeof s.buffer[p][0]);
    s.n[p]--;
    walk(w, &s);
}

static void step(struct walk *w, struct state s, int p)
{
    const struct litmus_op *o = &w->t->ops[p][s.pc[p]];
    int value = s.memory[o->location];

    if ((o->kind == OP_MFENCE || litmus_locked(o)) && s.n[p])
        return;
    s.pc[p]++;
    for (int k = 0; k < s.n[p]; k++)
        if (s.buffer[p][k].location == o->location)
            value = s.buffer[p][k].value;
    if (o->kind == OP_SFENCE)
        s.fences[p]++;
    if (o->reg >= 0)
        s.regs[o->reg] = (signed char)value;
    if (o->kind == OP_STORE && w->model != LITMUS_SC) {
        s.buffer[p][s.n[p]++] = (struct entry){ (signed char)o->location, (signed char)o->value, o->order == 'r', s.fences[p] };
    } else if (litmus_writes(o)) {
        s.memory[o->location] = (signed char)(o->kind == OP_ADD ? value + o->value : o->value);
    }
    walk(w, &s);
}

static void walk(struct walk *w, const struct state *s)
{
    int more = 0;

    if (!note(w, s))
        return;
    for (int p = 0; p < w->t->nthreads; p++) {
        for (int i = 0; i < s->n[p]; i++)
            if (may_leave(w, s, p, i))
                leave(w, *s, p, i);
        if (s->pc[p] < w->t->nops[p])
            step(w, *s, p);
        more |= s->n[p] || s->pc[p] < w->t->nops[p];
    }
    if (!more) {
        int regs[REGISTERS_MOST], memory[LOCATIONS];

        for (int r = 0; r < REGISTERS_MOST; r++)
            regs[r] = s->regs[r];
        for (int l = 0; l < LOCATIONS; l++)
            memory[l] = s->memory[l];
        litmus_add(w->set, w->t, regs, memory);
    }
}

void litmus_machine(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set)
{
    struct walk w = { .t = t, .model = model, .set = set };
    struct state *first = calloc(1, sizeof *first);

    if (!first)
        abort();
    walk(&w, first);
    free(first);
    free(w.seen);
    free(w.table);
}
