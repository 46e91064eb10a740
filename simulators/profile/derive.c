/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the edges of a profile: costs of functions, call sites, paths and contexts; see profile.h. */
#include "profile.h"

#include <stdlib.h>

static void add(const struct profile *p, struct cost *to, const struct edge *e, int inner)
{
    for (uint32_t i = 0; i < RARE; i++)
        to->of[i] += e->of[inner][i];
    for (uint32_t i = RARE; e->rare[inner] && i < p->measures; i++)
        to->of[i] += e->rare[inner][i - RARE];
}

static void subtract(const struct profile *p, struct cost *from, const struct edge *e)
{
    for (int inner = 0; inner < 2; inner++) {
        for (uint32_t i = 0; i < RARE; i++)
            from->of[i] -= e->of[inner][i];
        for (uint32_t i = RARE; e->rare[inner] && i < p->measures; i++)
            from->of[i] -= e->rare[inner][i - RARE];
    }
}

/** Functions and call sites, with all that they call. */
static void derive_inclusive(struct profile *p)
{
    for (uint32_t i = 0; i < p->nroutines; i++) {
        p->routines[i].calls = 0;
        p->routines[i].inclusive = (struct cost){0};
    }
    for (uint32_t i = 0; i < p->narcs; i++) {
        p->arcs[i].calls = 0;
        p->arcs[i].inclusive = (struct cost){0};
    }
    for (const struct edge *e = p->edges + 1; e < p->edges + p->nedges; e++) {
        struct arc *arc = &p->arcs[e->arc];

        p->routines[e->routine].calls += e->calls;
        arc->calls += e->calls;
        add(p, &p->routines[e->routine].inclusive, e, 0);
        add(p, &arc->inclusive, e, 0);
        add(p, &arc->inclusive, e, 1);
    }
}

/** What nodes cost themselves. */
static void derive_selves(const struct profile *p, struct cost *self, uint64_t *calls)
{
    for (uint32_t g = 0; g < p->ngroups; g++)
        if (p->groups[g].root != NOTHING)
            cost_add_all(p, &self[p->groups[g].root], &p->groups[g].came);
    for (const struct edge *e = p->edges + 1; e < p->edges + p->nedges; e++) {
        add(p, &self[e->node], e, 0);
        add(p, &self[e->node], e, 1);
        subtract(p, &self[e->from], e);
        calls[e->node] += e->calls;
    }
}

/** The path of a call below another path: it is among those that were found there, or new. */
static uint32_t path_below(struct profile_derived *d, uint32_t *first, uint32_t *next, uint32_t parent,
    const struct node *n)
{
    uint32_t i = first[parent];

    while (i && d->paths[i].arc != n->arc)
        i = next[i];
    if (i)
        return i;
    i = d->npaths++;
    d->paths[i] = (struct profile_path){.parent = parent, .routine = n->routine, .arc = n->arc};
    next[i] = first[parent];
    first[parent] = i;
    return i;
}

/** Nodes of all groups become paths; parents come first. */
static void derive_paths(const struct profile *p, struct profile_derived *d, const uint64_t *calls, uint32_t *scratch)
{
    uint32_t *path = scratch, *first = scratch + p->nnodes + 1, *next = first + p->nnodes + 1;

    d->paths[0] = (struct profile_path){.parent = NOTHING, .routine = NOTHING, .arc = NOTHING};
    d->npaths = 1;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        const struct node *n = &p->nodes[i];

        path[i] = n->parent == NOTHING ? 0 : path_below(d, first, next, path[n->parent], n);
        cost_add_all(p, &d->paths[path[i]].self, &d->self[i]);
        d->paths[path[i]].calls += calls[i];
    }
}

/** An arc by what it is, for the order in which arcs were found depends on which processor came first. */
struct arc_key {
    uint64_t caller, site, callee; /* site: 0: none */
    uint32_t arc;
};

static int by_key(const void *x, const void *y)
{
    const struct arc_key *a = x, *b = y;

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/** Returns: 0, or -1 without memory */
static int sort_arcs(const struct profile *p, uint32_t *out)
{
    struct arc_key *keys = malloc((p->narcs + 1) * sizeof *keys);

    if (!keys)
        return -1;
    for (uint32_t i = 0; i < p->narcs; i++) {
        const struct arc *a = &p->arcs[i];

        keys[i] = (struct arc_key){a->caller, a->site ? a->site->id + 1ull : 0, a->callee, i};
    }
    qsort(keys, p->narcs, sizeof *keys, by_key);
    for (uint32_t i = 0; i < p->narcs; i++)
        out[i] = keys[i].arc;
    free(keys);
    return 0;
}

/** The paths below one, in the order of their arcs: lists that begin with first[parent]; 0: no more.  @of_arc: scratch */
static void list_children(const struct profile *p, const struct profile_derived *d, uint32_t *first, uint32_t *next,
    uint32_t *of_arc, uint32_t *same)
{
    for (uint32_t i = 1; i < d->npaths; i++) {
        same[i] = of_arc[d->paths[i].arc];
        of_arc[d->paths[i].arc] = i;
    }
    for (uint32_t k = p->narcs; k-- > 0;)
        for (uint32_t i = of_arc[d->arcs[k]]; i; i = same[i]) {
            next[i] = first[d->paths[i].parent];
            first[d->paths[i].parent] = i;
        }
}

/** Paths get the order that follows from what they are.  Returns: 0, or -1 without memory */
static int sort_paths(const struct profile *p, struct profile_derived *d)
{
    const size_t n = d->npaths;
    uint32_t *lists = calloc(4 * n + p->narcs + 1, sizeof *lists);
    uint32_t *first = lists, *next = lists + n, *number = lists + 2 * n;
    struct profile_path *sorted = malloc(n * sizeof *sorted);
    uint32_t found = 0;

    if (!lists || !sorted) {
        free(lists);
        free(sorted);
        return -1;
    }
    list_children(p, d, first, next, lists + 4 * n, lists + 3 * n);
    for (uint32_t i = 0;;) {
        sorted[found] = d->paths[i];
        if (i)
            sorted[found].parent = number[d->paths[i].parent];
        number[i] = found++;
        if (first[i]) {
            i = first[i];
            continue;
        }
        while (i && !next[i])
            i = d->paths[i].parent;
        if (!i)
            break;
        i = next[i];
    }
    free(lists);
    free(d->paths);
    d->paths = sorted;
    return 0;
}

/** The nodes of each group. */
static void chain_groups(const struct profile *p, struct profile_derived *d)
{
    for (uint32_t g = 0; g < p->ngroups; g++)
        d->first[g] = NOTHING;
    for (uint32_t i = p->nnodes; i-- > 0;)
        if (p->nodes[i].routine != NOTHING) {
            d->next[i] = d->first[p->nodes[i].group];
            d->first[p->nodes[i].group] = i;
        }
}

int profile_derive(struct profile *p, struct profile_derived *out)
{
    uint64_t *calls = calloc(p->nnodes + 1, sizeof *calls);
    uint32_t *scratch = calloc(3 * ((size_t)p->nnodes + 1), sizeof *scratch);
    int failed;

    *out = (struct profile_derived){.paths = calloc(p->nnodes + 1, sizeof *out->paths),
        .self = calloc(p->nnodes + 1, sizeof *out->self),
        .first = calloc(p->ngroups, sizeof *out->first),
        .next = calloc(p->nnodes + 1, sizeof *out->next),
        .arcs = calloc(p->narcs + 1, sizeof *out->arcs)};
    failed = !calls || !scratch || !out->paths || !out->self || !out->first || !out->next || !out->arcs ||
        sort_arcs(p, out->arcs);
    if (failed) {
        p->env->fail(p->env, "out of memory for %u call paths", p->nnodes);
    } else {
        derive_inclusive(p);
        derive_selves(p, out->self, calls);
        derive_paths(p, out, calls, scratch);
        chain_groups(p, out);
        if (sort_paths(p, out)) {
            p->env->fail(p->env, "out of memory for %u call paths", p->nnodes);
            failed = 1;
        }
    }
    free(calls);
    free(scratch);
    return failed ? -1 : 0;
}

void profile_derived_free(struct profile_derived *d)
{
    free(d->paths);
    free(d->self);
    free(d->first);
    free(d->next);
    free(d->arcs);
}
