/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and returns of software contexts; the tree of paths and the arcs of the call graph.  See profile.h. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

/** The first time that the routine costs something in its group.  Returns: 0, or -1 after env->fail() */
static __attribute__((noinline)) int book_first(struct profile *p, struct group *g, uint32_t routine)
{
    g->used = 1;
    return profile_grow(p, &g->routines, &g->room, (size_t)routine + 1, sizeof(*g->routines));
}

static inline void book(struct profile *p, struct thread *c)
{
    struct group *g = &p->groups[c->group];
    const uint32_t routine = p->nodes[c->node].routine;

    cost_add(p, &p->nodes[c->node].self, &c->sum, &c->booked);
    if (routine != NOTHING && ((routine < g->room && g->used) || book_first(p, g, routine) == 0))
        cost_add(p, &g->routines[routine], &c->sum, &c->booked);
    cost_copy(p, &c->booked, &c->sum);
}

void profile_book(struct profile *p, struct thread *c)
{
    book(p, c);
}

static uint32_t hash(uint32_t caller, const struct peet_block *site, uint32_t callee)
{
    uint64_t x =
        ((uint64_t)caller << 32 | callee) * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)site * 0xc2b2ae3d27d4eb4fu;

    return (uint32_t)(x ^ x >> 29);
}

static int rehash(struct profile *p)
{
    uint32_t n = p->nchains ? 2 * p->nchains : 1024;
    uint32_t *chains = malloc(n * sizeof *chains);

    if (!chains)
        return p->nchains ? 0 : -1; /* long chains are slow, and no worse */
    memset(chains, 0xff, n * sizeof *chains);
    for (uint32_t i = 0; i < p->narcs; i++) {
        uint32_t *head = &chains[hash(p->arcs[i].caller, p->arcs[i].site, p->arcs[i].callee) % n];

        p->arcs[i].next = *head;
        *head = i;
    }
    free(p->chains);
    p->chains = chains;
    p->nchains = n;
    return 0;
}

static uint32_t arc_of(struct profile *p, uint32_t caller, const struct peet_block *site, uint32_t callee)
{
    uint32_t at;

    if (p->narcs >= p->nchains && rehash(p)) {
        p->env->fail(p->env, "out of memory for a profile");
        p->failed = 1;
        return NOTHING;
    }
    at = hash(caller, site, callee) % p->nchains;
    for (uint32_t i = p->chains[at]; i != NOTHING; i = p->arcs[i].next)
        if (p->arcs[i].caller == caller && p->arcs[i].site == site && p->arcs[i].callee == callee)
            return i;
    if (profile_grow(p, &p->arcs, &p->arcs_room, (size_t)p->narcs + 1, sizeof(*p->arcs)))
        return NOTHING;
    p->arcs[p->narcs] = (struct arc){.caller = caller, .callee = callee, .site = site, .next = p->chains[at]};
    p->chains[at] = p->narcs;
    return p->narcs++;
}

/** The node of a routine that a node's path has already, or a new child. */
static uint32_t node_below(struct profile *p, uint32_t parent, uint32_t routine, uint32_t arc)
{
    for (uint32_t i = parent; i != NOTHING; i = p->nodes[i].parent)
        if (p->nodes[i].routine == routine)
            return i;
    if (profile_grow(p, &p->nodes, &p->nodes_room, (size_t)p->nnodes + 1, sizeof(*p->nodes)))
        return NOTHING;
    p->nodes[p->nnodes] = (struct node){.parent = parent, .routine = routine, .arc = arc, .edges = NOTHING};
    return p->nnodes++;
}

static uint32_t find_edge(const struct profile *p, uint32_t node, const struct peet_block *site, uint32_t routine)
{
    uint32_t e = p->nodes[node].edges;

    while (e != NOTHING && (p->edges[e].routine != routine || p->edges[e].site != site))
        e = p->edges[e].next;
    return e;
}

/** The one that was taken comes first the next time. */
static uint32_t to_front(struct profile *p, uint32_t node, uint32_t e)
{
    uint32_t *link = &p->nodes[node].edges;

    while (*link != e)
        link = &p->edges[*link].next;
    *link = p->edges[e].next;
    p->edges[e].next = p->nodes[node].edges;
    p->nodes[node].edges = e;
    return e;
}

static uint32_t edge_new(struct profile *p, uint32_t node, const struct peet_block *site, uint32_t routine)
{
    uint32_t arc, below;

    arc = arc_of(p, p->nodes[node].routine, site, routine);
    if (arc == NOTHING || profile_grow(p, &p->edges, &p->edges_room, (size_t)p->nedges + 1, sizeof(*p->edges)))
        return NOTHING;
    below = node_below(p, node, routine, arc);
    if (below == NOTHING)
        return NOTHING;
    p->edges[p->nedges] = (struct edge){routine, below, arc, p->nodes[node].edges, site};
    p->nodes[node].edges = p->nedges;
    return p->nedges++;
}

static inline uint32_t edge_of(struct profile *p, uint32_t node, const struct peet_block *site, uint32_t routine)
{
    const uint32_t first = p->nodes[node].edges;
    uint32_t e;

    if (__builtin_expect(first != NOTHING && p->edges[first].routine == routine && p->edges[first].site == site, 1))
        return first;
    e = find_edge(p, node, site, routine);
    return e != NOTHING ? to_front(p, node, e) : edge_new(p, node, site, routine);
}

/** @calls: 1, or 0: another piece of a call that was counted before */
static inline void push(struct profile *p, struct thread *c, const struct peet_function *function,
    const struct peet_block *site, int tail, unsigned calls)
{
    struct routine *routine = function->id < p->nroutines && p->routines[function->id].function
        ? &p->routines[function->id]
        : profile_routine(p, function);
    uint32_t e;
    struct frame *f;

    if (!routine)
        return;
    book(p, c);
    e = edge_of(p, c->node, site, function->id);
    if (e == NOTHING || profile_grow(p, &c->frames, &c->frames_room, (size_t)c->nframes + 1, sizeof(*c->frames)) ||
        profile_grow(p, &c->depth, &c->depth_room, (size_t)function->id + 1, sizeof(*c->depth)))
        return;
    f = &c->frames[c->nframes++];
    cost_copy(p, &f->enter, &c->sum);
    f->last = c->last;
    f->node = c->node;
    f->routine = function->id;
    f->arc = p->edges[e].arc;
    f->tail = (uint8_t)tail;
    f->back = 0;
    c->depth[function->id]++;
    c->node = p->edges[e].node;
    p->nodes[c->node].calls += calls;
    p->arcs[f->arc].calls += calls;
    routine->calls += calls;
}

/** Jumps back end with the call of the function.  Of what has no moment within a block, cycles and misses, each of them
 * has all since that call. */
static __attribute__((noinline)) void add_back(struct profile *p, const struct thread *c, const struct frame *f)
{
    struct cost *to = &p->arcs[f->arc].inclusive;
    const struct frame *call = f;

    while (call->back && call > c->frames)
        call--;
    for (uint32_t i = 0; i < p->measures; i++)
        to->of[i] += f->times * c->sum.of[i] - (i < CYCLES ? f->enter.of[i] : f->times * call->enter.of[i]);
}

/** One call ends.  Returns: whether its caller's ends with it */
static inline int pop(struct profile *p, struct thread *c)
{
    struct frame *f = &c->frames[--c->nframes];

    book(p, c);
    if (__builtin_expect(f->back, 0))
        add_back(p, c, f);
    else
        cost_add(p, &p->arcs[f->arc].inclusive, &c->sum, &f->enter);
    if (--c->depth[f->routine] == 0)
        cost_add(p, &p->routines[f->routine].inclusive, &c->sum, &f->enter);
    c->node = f->node;
    c->last = f->last;
    return f->tail;
}

static uint32_t current(const struct thread *c)
{
    return c->nframes ? c->frames[c->nframes - 1].routine : NOTHING;
}

/** Control is in a function without having been called there: several frames were left at once, or the run is seen from
 * here on. */
static void resynchronise(struct profile *p, struct thread *c, const struct peet_function *function)
{
    uint32_t i = c->nframes;

    while (i && c->frames[i - 1].routine != function->id)
        i--;
    if (!i) {
        push(p, c, function, NULL, 0, 1);
        return;
    }
    while (c->nframes > i)
        pop(p, c);
}

/** The frame of the jumps back from a place, in the call of the function that goes on: one for all of them, however often
 * it jumps.  Returns: NULL after env->fail() */
static struct frame *back_frame(struct profile *p, struct thread *c, const struct peet_function *function,
    const struct peet_block *site)
{
    const uint32_t e = edge_of(p, c->node, site, function->id);
    struct frame *f;

    if (e == NOTHING)
        return NULL;
    for (uint32_t i = c->nframes; i-- > 0 && c->frames[i].back;)
        if (c->frames[i].arc == p->edges[e].arc)
            return &c->frames[i];
    if (profile_grow(p, &c->frames, &c->frames_room, (size_t)c->nframes + 1, sizeof(*c->frames)))
        return NULL;
    f = &c->frames[c->nframes++];
    *f = (struct frame){
        .last = c->last, .node = c->node, .routine = function->id, .arc = p->edges[e].arc, .tail = 1, .back = 1};
    c->depth[function->id]++;
    return f;
}

/** @turns: so many jumps; what the context has had at the first, and what is between two of them */
static void go_back(struct profile *p, struct thread *c, const struct peet_function *function,
    const struct peet_block *site, uint64_t turns, const struct peet_counts *before, const struct peet_counts *each)
{
    struct frame *f = turns ? back_frame(p, c, function, site) : NULL;
    const uint64_t pairs = turns % 2 ? (turns - 1) / 2 * turns : turns / 2 * (turns - 1);

    if (!f)
        return;
    f->times += turns;
    f->enter.of[INSTRUCTIONS] += turns * before->instructions + pairs * each->instructions;
    f->enter.of[READS] += turns * before->reads + pairs * each->reads;
    f->enter.of[WRITES] += turns * before->writes + pairs * each->writes;
    p->nodes[c->node].calls += turns;
    p->arcs[f->arc].calls += turns;
    p->routines[function->id].calls += turns;
}

void profile_back(struct profile *p, struct thread *c, const struct place *place, const struct peet_block *from,
    uint64_t turns)
{
    const struct peet_block *block = place->block;
    const struct peet_counts *each = &place->each;
    struct peet_counts now = {c->sum.of[INSTRUCTIONS], c->sum.of[READS], c->sum.of[WRITES]};

    if (!c->nframes || current(c) != block->function->id)
        return;
    /* not by way of the entry, which is a call by itself */
    if (from && from->function == block->function && !((from->flags & PEET_BLOCK_ENTRY) && !from->ninsns))
        go_back(p, c, block->function, from, 1, &now, each);
    now.instructions += each->instructions;
    now.reads += each->reads;
    now.writes += each->writes;
    go_back(p, c, block->function, block, turns - 1, &now, each);
}

/** The last call has returned, and another function is entered: by code that is not seen.  Was that code jumped to by the
 * function below, which so goes on?  Or did it call that function, which called the last one by a jump, so that both are
 * over?  It was jumped to if it calls what it has called before, or works on memory for the program, unless it was seen
 * to call the function below. */
static int goes_on_below(struct profile *p, const struct thread *c, const struct peet_block *block)
{
    const struct frame *f = c->nframes > 1 ? &c->frames[c->nframes - 1] : NULL;

    if (!f || !f->tail || p->routines[f[-1].routine].called_back)
        return 0;
    return profile_place(p, block)->library || find_edge(p, f->node, f->last, block->function->id) != NOTHING;
}

/** Is the context in another execution than the one of its last block, without a call?  That has returned, or has
 * jumped to code that is not seen and has returned. */
static int has_returned(const struct thread *c, const struct place *last, const struct peet_block *block, int entered)
{
    return last->returns ||
        (last->tails && !entered &&
            (block->function != c->last->function || block->pc != c->last->pc + c->last->code_bytes));
}

void profile_move(struct profile *p, struct thread *c, const struct peet_block *block)
{
    const struct place *last = c->last ? profile_place(p, c->last) : NULL;
    const int entered = (block->flags & PEET_BLOCK_ENTRY) || profile_place(p, block)->library;
    int returned = last && has_returned(c, last, block, entered), tail;

    while (returned && c->nframes && c->frames[c->nframes - 1].back)
        pop(p, c);
    if (returned && entered && goes_on_below(p, c, block)) {
        pop(p, c);
        returned = 0;
    } else if (returned) {
        while (c->nframes && pop(p, c))
            ;
    }
    if (entered) {
        last = c->last ? profile_place(p, c->last) : NULL;
        tail = last && last->jumps && !returned && !c->signal && c->nframes;
        c->signal = 0;
        if (tail && c->last->function == block->function && current(c) == block->function->id)
            profile_back(p, c, profile_place(p, block), c->last, 1);
        else
            push(p, c, block->function, c->last, tail, (block->flags & PEET_BLOCK_ENTRY) != 0);
        if (returned && c->nframes)
            p->routines[block->function->id].called_back = 1;
    } else if (current(c) != block->function->id) {
        resynchronise(p, c, block->function);
    }
}

void profile_call(struct profile *p, struct thread *c, const struct peet_function *function)
{
    push(p, c, function, c->last, 0, 1);
}

int profile_return(struct profile *p, struct thread *c, const struct peet_block *block)
{
    const struct frame *f = &c->frames[c->nframes - 1];

    if (c->nframes < 2 || f->tail || f[-1].routine != block->function->id || profile_place(p, block)->library)
        return 0;
    pop(p, c);
    return 1;
}

void profile_unwind(struct profile *p, struct thread *c)
{
    while (c->nframes)
        pop(p, c);
    profile_book(p, c);
}
