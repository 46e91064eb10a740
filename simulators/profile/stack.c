/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and returns of software contexts; the tree of paths and the arcs of the call graph.  See profile.h. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

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
    p->nodes[p->nnodes] = (struct node){
        .parent = parent, .routine = routine, .arc = arc, .edges = NOTHING, .group = p->nodes[parent].group};
    return p->nnodes++;
}

static uint32_t find_edge(const struct profile *p, uint32_t node, const struct place *site, uint32_t routine)
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

static uint32_t edge_new(struct profile *p, uint32_t node, const struct place *site,
    const struct peet_function *function)
{
    const uint32_t routine = function->id;
    uint32_t arc, below;

    if (profile_routine(p, function))
        return NOTHING;
    arc = arc_of(p, p->nodes[node].routine, site ? site->block : NULL, routine);
    if (arc == NOTHING || profile_grow(p, &p->edges, &p->edges_room, (size_t)p->nedges + 1, sizeof(*p->edges)))
        return NOTHING;
    below = node_below(p, node, routine, arc);
    if (below == NOTHING)
        return NOTHING;
    p->edges[p->nedges] = (struct edge){
        .from = node, .node = below, .routine = routine, .arc = arc, .site = site, .next = p->nodes[node].edges};
    p->nodes[node].edges = p->nedges;
    return p->nedges++;
}

static __attribute__((noinline)) uint32_t other_edge(struct profile *p, uint32_t node, struct place *site,
    const struct peet_function *function)
{
    uint32_t e = find_edge(p, node, site, function->id);

    e = e != NOTHING ? to_front(p, node, e) : edge_new(p, node, site, function);
    if (site && e != NOTHING)
        site->edge = e;
    return e;
}

static inline uint32_t edge_of(struct profile *p, uint32_t node, struct place *site,
    const struct peet_function *function)
{
    const uint32_t last = site ? site->edge : 0;

    if (__builtin_expect(p->edges[last].from == node && p->edges[last].routine == function->id, 1))
        return last;
    return other_edge(p, node, site, function);
}

/** The measures that change with each block, added and subtracted at once. */
typedef uint64_t __attribute__((vector_size(RARE * sizeof(uint64_t)))) usual;

static inline __attribute__((always_inline)) usual usual_of(const uint64_t of[RARE])
{
    usual u;

    memcpy(&u, of, sizeof u);
    return u;
}

static inline __attribute__((always_inline)) void usual_set(uint64_t of[RARE], usual u)
{
    memcpy(of, &u, sizeof u);
}

/** A call by this edge begins, with room for its frame.  @sum: the context's */
static inline __attribute__((always_inline)) void begin_call(const struct profile *p, struct thread *c, uint32_t number,
    struct place *last, int tail, usual sum)
{
    struct edge *e = &p->edges[number];
    struct frame *f = &c->frames[c->nframes++];
    uint64_t *of = e->of[c->on[e->routine].depth++ != 0];

    f->last = last;
    f->edge = number;
    f->routine = e->routine;
    f->tail = (uint8_t)tail;
    f->back = 0;
    f->enter.of[CYCLES] = sum[CYCLES];
    if (__builtin_expect(f->enter.version != c->sum.version, 0))
        profile_cost_copy_rare(p, &f->enter, &c->sum);
    usual_set(of, usual_of(of) - sum);
    c->node = e->node;
}

/** To what a library does, which comes between calls from the same site. */
static inline uint32_t edge_to_library(struct profile *p, uint32_t node, const struct place *site, struct place *place)
{
    const struct peet_function *function = place->block->function;
    const struct edge *last = &p->edges[place->edge];
    uint32_t e;

    if (__builtin_expect(last->from == node && last->site == site && last->routine == function->id, 1))
        return place->edge;
    e = find_edge(p, node, site, function->id);
    if (e == NOTHING)
        e = edge_new(p, node, site, function);
    if (e != NOTHING)
        place->edge = e;
    return e;
}

/** Takes the edge.  @calls: 1, or 0: another piece of a call that was counted before */
static inline void push_by(struct profile *p, struct thread *c, uint32_t number, uint32_t routine, int tail,
    unsigned calls)
{
    if (number == NOTHING || profile_grow(p, &c->frames, &c->frames_room, (size_t)c->nframes + 1, sizeof(*c->frames)) ||
        profile_grow(p, &c->on, &c->on_room, (size_t)routine + 1, sizeof(*c->on)))
        return;
    begin_call(p, c, number, c->last, tail, usual_of(c->sum.of));
    p->edges[number].calls += calls;
}

static inline void push(struct profile *p, struct thread *c, const struct peet_function *function, struct place *site,
    int tail, unsigned calls)
{
    push_by(p, c, edge_of(p, c->node, site, function), function->id, tail, calls);
}

static uint64_t *rare_of(struct profile *p, struct edge *e, int inner)
{
    if (!e->rare[inner])
        e->rare[inner] = calloc(MEASURES - RARE, sizeof *e->rare[inner]);
    if (!e->rare[inner] && !p->failed) {
        p->env->fail(p->env, "out of memory for a profile");
        p->failed = 1;
    }
    return e->rare[inner];
}

/** What is rare, of a call that ends. */
static __attribute__((noinline)) void add_rare(struct profile *p, const struct thread *c, const struct frame *f,
    int inner)
{
    uint64_t *rare = rare_of(p, &p->edges[f->edge], inner);

    for (uint32_t i = RARE; rare && i < p->measures; i++)
        rare[i - RARE] += c->sum.of[i] - f->enter.of[i];
}

/** Jumps back end with the call of the function.  Of what has no moment within a block, cycles and misses, each of them
 * has all since that call. */
static __attribute__((noinline)) void add_back(struct profile *p, const struct thread *c, const struct frame *f)
{
    struct edge *e = &p->edges[f->edge];
    uint64_t *rare = rare_of(p, e, 1);
    const struct frame *call = f;

    while (call->back && call > c->frames)
        call--;
    for (uint32_t i = 0; rare && i < p->measures; i++)
        *(i < RARE ? &e->of[1][i] : &rare[i - RARE]) +=
            f->times * c->sum.of[i] - (i < CYCLES ? f->enter.of[i] : f->times * call->enter.of[i]);
}

/** The last call, which is no jump back, ends. */
static inline __attribute__((always_inline)) void end_call(struct profile *p, struct thread *c, usual sum)
{
    const struct frame *f = &c->frames[--c->nframes];
    struct edge *e = &p->edges[f->edge];
    const int inner = --c->on[f->routine].depth != 0;
    uint64_t *of = e->of[inner];

    usual_set(of, usual_of(of) + sum);
    c->node = e->from;
    if (__builtin_expect(f->enter.version != c->sum.version, 0))
        add_rare(p, c, f, inner);
}

/** One call ends.  Returns: whether its caller's ends with it */
static inline int pop(struct profile *p, struct thread *c)
{
    const struct frame *f = &c->frames[c->nframes - 1];

    if (__builtin_expect(f->back, 0)) {
        c->nframes--;
        c->on[f->routine].depth--;
        add_back(p, c, f);
        c->node = p->edges[f->edge].from;
    } else {
        end_call(p, c, usual_of(c->sum.of));
    }
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
    struct place *site)
{
    const uint32_t number = edge_of(p, c->node, site, function);
    struct frame *f;

    if (number == NOTHING)
        return NULL;
    for (uint32_t i = c->nframes; i-- > 0 && c->frames[i].back;)
        if (c->frames[i].edge == number)
            return &c->frames[i];
    if (profile_grow(p, &c->frames, &c->frames_room, (size_t)c->nframes + 1, sizeof(*c->frames)))
        return NULL;
    f = &c->frames[c->nframes++];
    *f = (struct frame){.last = c->last, .edge = number, .routine = function->id, .tail = 1, .back = 1};
    c->on[function->id].depth++;
    return f;
}

/** @turns: so many jumps; what the context has had at the first, and what is between two of them */
static void go_back(struct profile *p, struct thread *c, const struct peet_function *function, struct place *site,
    uint64_t turns, const struct peet_counts *before, const struct peet_counts *each)
{
    struct frame *f = turns ? back_frame(p, c, function, site) : NULL;
    const uint64_t pairs = turns % 2 ? (turns - 1) / 2 * turns : turns / 2 * (turns - 1);

    if (!f)
        return;
    f->times += turns;
    f->enter.of[INSTRUCTIONS] += turns * before->instructions + pairs * each->instructions;
    f->enter.of[READS] += turns * before->reads + pairs * each->reads;
    f->enter.of[WRITES] += turns * before->writes + pairs * each->writes;
    p->edges[f->edge].calls += turns;
}

void profile_back(struct profile *p, struct thread *c, struct place *place, struct place *from, uint64_t turns)
{
    const struct peet_block *block = place->block, *before = from ? from->block : NULL;
    const struct peet_counts *each = &place->each;
    struct peet_counts now = {c->sum.of[INSTRUCTIONS], c->sum.of[READS], c->sum.of[WRITES]};

    if (!c->nframes || current(c) != place->routine)
        return;
    /* not by way of the entry, which is a call by itself */
    if (from && from->routine == place->routine && !((before->flags & PEET_BLOCK_ENTRY) && !before->ninsns))
        go_back(p, c, block->function, from, 1, &now, each);
    now.instructions += each->instructions;
    now.reads += each->reads;
    now.writes += each->writes;
    go_back(p, c, block->function, place, turns - 1, &now, each);
}

/** The last call has returned, and another function is entered: by code that is not seen.  Was that code jumped to by the
 * function below, which so goes on?  Or did it call that function, which called the last one by a jump, so that both are
 * over?  It was jumped to if it calls what it has called before, or works on memory for the program, unless it was seen
 * to call the function below. */
static int goes_on_below(const struct profile *p, const struct thread *c, const struct place *place)
{
    const struct frame *f = c->nframes > 1 ? &c->frames[c->nframes - 1] : NULL;

    if (!f || !f->tail || c->on[f[-1].routine].called_back)
        return 0;
    return place->library || find_edge(p, p->edges[f->edge].from, f->last, place->routine) != NOTHING;
}

/** Is the context in another execution than the one of its last block, without a call?  That has returned, or has
 * jumped to code that is not seen and has returned. */
static int has_returned(const struct place *last, const struct place *place, int entered)
{
    return last->returns ||
        (last->tails && !entered &&
            (place->routine != last->routine || place->block->pc != last->block->pc + last->block->code_bytes));
}

void profile_move(struct profile *p, struct thread *c, struct place *place)
{
    const struct place *last = c->last;
    const int entered = (place->block->flags & PEET_BLOCK_ENTRY) || place->library;
    int returned = last && has_returned(last, place, entered), tail;

    while (returned && c->nframes && c->frames[c->nframes - 1].back)
        pop(p, c);
    if (returned && entered && goes_on_below(p, c, place)) {
        pop(p, c);
        returned = 0;
    } else if (returned) {
        while (c->nframes && pop(p, c))
            ;
    }
    if (entered) {
        last = c->last;
        tail = last && last->jumps && !returned && !c->signal && c->nframes;
        c->signal = 0;
        if (tail && last->routine == place->routine && current(c) == place->routine)
            profile_back(p, c, place, c->last, 1);
        else
            push_by(p, c,
                place->library ? edge_to_library(p, c->node, c->last, place)
                               : edge_of(p, c->node, c->last, place->block->function),
                place->routine, tail, (place->block->flags & PEET_BLOCK_ENTRY) != 0);
        if (returned && c->nframes)
            c->on[place->routine].called_back = 1;
    } else if (current(c) != place->routine) {
        resynchronise(p, c, place->block->function);
    }
}

void profile_call(struct profile *p, struct thread *c, const struct place *place)
{
    push(p, c, place->block->function, c->last, 0, 1);
}

int profile_return(struct profile *p, struct thread *c, const struct place *place)
{
    const struct frame *f = &c->frames[c->nframes - 1];

    if (c->nframes < 2 || f->tail || f[-1].routine != place->routine || place->library)
        return 0;
    pop(p, c);
    return 1;
}

/** What a library does ends, and something else begins in it from the same site; or a function that it has called.
 * Returns: whether it is that */
static int step_on(struct profile *p, struct thread *c, const struct place *last, const struct place *place, usual sum)
{
    struct frame *f = &c->frames[c->nframes - 1];
    struct place *site = f->last;
    const uint32_t now = f->edge, next = place->library ? place->edge : site ? site->edge : 0;
    const struct edge *e = &p->edges[next];

    if (f->tail || f->back || f->routine != last->routine || !site || site->returns || e->from != p->edges[now].from ||
        e->site != site || e->routine != place->routine || place->routine >= c->on_room)
        return 0;
    p->edges[next].calls += place->block->flags & PEET_BLOCK_ENTRY ? 1 : 0;
    c->on[place->routine].called_back = 1;
    if (next == now && f->enter.version == c->sum.version) { /* the end adds what the beginning takes */
        f->enter.of[CYCLES] = sum[CYCLES];
    } else {
        end_call(p, c, sum);
        begin_call(p, c, next, site, 0, sum);
    }
    return 1;
}

/** After a call.  @next: the edge, perhaps */
static inline __attribute__((always_inline)) int step_in(const struct profile *p, struct thread *c, struct place *last,
    const struct place *place, uint32_t next, usual sum)
{
    struct edge *e = &p->edges[next];

    if (e->from != c->node || e->site != last || e->routine != place->routine || c->nframes == c->frames_room ||
        place->routine >= c->on_room)
        return 0;
    begin_call(p, c, next, last, 0, sum);
    return 1;
}

/** profile_step() without what libraries do. */
static inline __attribute__((always_inline)) int step_simply(struct profile *p, struct thread *c, struct place *last,
    const struct place *place, const uint64_t base[RARE], const uint64_t sums[RARE])
{
    const unsigned ways = (last->ways & FROM) | (place->ways & TO);
    const usual sum = usual_of(base) + usual_of(sums);

    if (c->signal)
        return 0;
    if (ways == (CALLS | ENTERS)) {
        struct edge *e = &p->edges[last->edge];

        if (!c->nframes || !step_in(p, c, last, place, last->edge, sum))
            return 0;
        e->calls++;
        return 1;
    }
    if (ways == (RETURNS | CONTINUES) && c->nframes > 1) {
        const struct frame *f = &c->frames[c->nframes - 1];

        if (f->tail || f->back || f[-1].routine != place->routine)
            return 0;
        end_call(p, c, sum);
        return 1;
    }
    return 0;
}

int profile_step(struct profile *p, struct thread *c, struct place *last, const struct place *place,
    const uint64_t base[RARE], const uint64_t sums[RARE])
{
    const usual sum = usual_of(base) + usual_of(sums);

    if (c->signal || !c->nframes)
        return 0;
    switch ((last->ways & FROM) | (place->ways & TO)) {
    case CALLS | LIBRARY:
        if (!step_in(p, c, last, place, place->edge, sum))
            return 0;
        p->edges[place->edge].calls += place->block->flags & PEET_BLOCK_ENTRY ? 1 : 0;
        return 1;
    case RETURNS | ENTERS:
    case RETURNS | LIBRARY:
        return step_on(p, c, last, place, sum);
    default:
        return step_simply(p, c, last, place, base, sums);
    }
}

void profile_shown_alone(void *self, const struct peet_direct_counted *counted, const struct peet_block *previous,
    const struct peet_block_event *event, unsigned hw)
{
    struct profile *p = self;
    const struct place *place = (const void *)((const char *)counted - offsetof(struct place, counted));

    if (__builtin_expect(!previous || !p->running ||
                !step_simply(p, p->running, p->places[previous->id], place, p->base, p->sums.of),
            0))
        profile_shown_otherwise(self, counted, previous, event, hw);
}

void profile_unwind(struct profile *p, struct thread *c)
{
    struct cost *came = &p->groups[c->group].came;

    while (c->nframes)
        pop(p, c);
    for (uint32_t i = 0; i < p->measures; i++) {
        came->of[i] += c->sum.of[i] - c->booked.of[i];
        c->booked.of[i] = c->sum.of[i];
    }
}
