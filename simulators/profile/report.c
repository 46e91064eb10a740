/* SPDX-License-Identifier: Apache-2.0 */
/* The results of a profile, as they stand in stats.json below "profile"; the keys are described in docs/REPORTS.md. */
#include "profile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const plain[FIRST_MISS] = {
    "instructions", "reads", "writes", "cycles", "waited_cycles", "stall_cycles"};
static const char *const causes[PROFILE_CAUSES] = {
    "unknown", "cold", "capacity", "conflict", "upgrade", "true_sharing", "false_sharing", "instruction"};

/** "l1d": a level's name as it stands in keys. */
static const char *level_key(const struct profile *p, uint32_t level, char out[24])
{
    size_t n = 0;

    for (const char *c = p->levels[level].name; *c && n < 23; c++)
        out[n++] = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
    out[n] = '\0';
    return out;
}

/** All that is not 0, and in any case the first four.  @prefix: "" or "inclusive_" */
static void put(const struct profile *p, const struct peet_env *env, struct peet_stats *o, const struct cost *cost,
    const char *prefix)
{
    char key[96], name[24];

    for (uint32_t i = 0; i < FIRST_MISS; i++)
        if (cost->of[i] || i <= CYCLES) {
            snprintf(key, sizeof key, "%s%s", prefix, plain[i]);
            env->stats_u64(env, o, key, cost->of[i]);
        }
    for (uint32_t l = 0; l < p->nlevels; l++) {
        const uint64_t *of = &cost->of[FIRST_MISS + l * PROFILE_CAUSES];
        uint64_t all = 0;

        for (uint32_t k = 0; k < PROFILE_CAUSES; k++)
            all += of[k];
        if (!all)
            continue;
        snprintf(key, sizeof key, "%s%s_misses", prefix, level_key(p, l, name));
        env->stats_u64(env, o, key, all);
        for (uint32_t k = 0; k < PROFILE_CAUSES; k++)
            if (of[k]) {
                snprintf(key, sizeof key, "%s%s_%s_misses", prefix, name, causes[k]);
                env->stats_u64(env, o, key, of[k]);
            }
    }
}

static void put_routine(const struct profile *p, const struct peet_env *env, struct peet_stats *o, uint32_t id)
{
    const struct peet_function *f = id < p->nroutines ? p->routines[id].function : NULL;

    env->stats_u64(env, o, "id", id);
    env->stats_string(env, o, "name", f ? f->name : "");
    env->stats_string(env, o, "file", f ? f->file : "");
    env->stats_u64(env, o, "line", f ? f->line : 0);
    env->stats_string(env, o, "image", f && f->image ? f->image : "");
}

/** What functions cost themselves: the sum over their paths.  The caller frees it; NULL: no memory */
static struct cost *selves(const struct profile *p, const struct profile_derived *d)
{
    struct cost *list = calloc(p->nroutines + 1, sizeof *list);

    for (uint32_t i = 0; list && i < d->npaths; i++)
        if (d->paths[i].routine != NOTHING)
            cost_add_all(p, &list[d->paths[i].routine], &d->paths[i].self);
    return list;
}

/* -------------------------------------------------------------------------------------------- functions */

static const char outside[] = "(outside functions)";

static int is_none(const struct cost *cost)
{
    const struct cost none = {0};

    return memcmp(cost, &none, sizeof none) == 0;
}

/** What contexts cost where they are in no function, as one more function. */
static void put_outside(const struct profile *p, const struct peet_env *env, struct peet_stats *list,
    const struct cost *cost)
{
    struct peet_stats *o;

    if (is_none(cost))
        return;
    o = env->stats_object(env, list, NULL);
    env->stats_u64(env, o, "id", p->nroutines);
    env->stats_string(env, o, "name", outside);
    env->stats_string(env, o, "file", "");
    env->stats_u64(env, o, "line", 0);
    env->stats_string(env, o, "image", "");
    env->stats_u64(env, o, "calls", 0);
    put(p, env, o, cost, "");
    put(p, env, o, cost, "inclusive_");
    env->stats_u64(env, o, "callgrind_inclusive_instructions", cost->of[INSTRUCTIONS]);
}

static void put_functions(const struct profile *p, const struct profile_derived *d, const struct peet_env *env,
    struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "functions");
    struct cost *self = selves(p, d), *called = calloc(p->nroutines + 1, sizeof *called);

    for (uint32_t i = 0; called && i < p->narcs; i++)
        if (p->arcs[i].caller != NOTHING)
            cost_add_all(p, &called[p->arcs[i].caller], &p->arcs[i].inclusive);
    if (!self || !called)
        env->fail(env, "out of memory");
    for (uint32_t i = 0; self && called && i < p->nroutines; i++) {
        struct peet_stats *o;

        if (!p->routines[i].function)
            continue;
        o = env->stats_object(env, list, NULL);
        put_routine(p, env, o, i);
        env->stats_u64(env, o, "calls", p->routines[i].calls);
        put(p, env, o, &self[i], "");
        put(p, env, o, &p->routines[i].inclusive, "inclusive_");
        env->stats_u64(env, o, "callgrind_inclusive_instructions",
            self[i].of[INSTRUCTIONS] + called[i].of[INSTRUCTIONS]);
    }
    put_outside(p, env, list, &d->paths[0].self);
    free(self);
    free(called);
}

/* ------------------------------------------------------------------------------------------------ lines */

struct line {
    const struct peet_function *function;
    uint32_t line;
    struct cost cost;
};

static int by_line(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int files = strcmp(x->function->file, y->function->file);

    if (files)
        return files;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return peet_function_order(x->function, y->function);
}

/** One instruction's reads and writes of each execution; what belongs to no reference (Valgrind's own) is the first
 * instruction's. */
static void insn_counts(const struct profile *p, const struct place *place, struct peet_counts *out)
{
    const struct peet_block *b = place->block;
    struct peet_counts rest = place->each;

    for (uint32_t i = 0; i < b->ninsns; i++)
        out[i] = (struct peet_counts){1, 0, 0};
    for (uint32_t i = 0; i < b->nrefs; i++) {
        struct peet_counts one = {0, 0, 0};
        const struct peet_ref *ref = &b->refs[i];

        if ((ref->flags & PEET_REF_RANGE) ||
            ((ref->flags & PEET_REF_CONDITIONAL) && !peet__count_always(b, ref, p->convention)))
            continue;
        peet__count_ref(b, ref, p->convention, 1, &one);
        out[ref->insn].reads += one.reads;
        out[ref->insn].writes += one.writes;
        rest.reads -= one.reads;
        rest.writes -= one.writes;
    }
    out[0].reads += rest.reads;
    out[0].writes += rest.writes;
}

/** A block's instructions, as lines of one entry each.  Cycles are shared out evenly over the instructions. */
static size_t put_place(const struct profile *p, const struct place *place, struct line *out,
    struct peet_counts *counts)
{
    const struct peet_block *b = place->block;
    uint64_t cycles = place->cycles;
    uint32_t varying = 0;

    if (!b->insns || !b->ninsns)
        return 0;
    insn_counts(p, place, counts);
    for (uint32_t i = 0; i < b->nrefs; i++)
        if (b->refs[i].flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL))
            varying = b->refs[i].insn;
    for (uint32_t i = 0; i < b->ninsns; i++) {
        struct cost *cost = &out[i].cost;

        out[i].function = b->function;
        out[i].line = b->insns[i].line;
        memset(cost, 0, sizeof *cost);
        if (place->insns)
            *cost = place->insns[i];
        cost->of[INSTRUCTIONS] = place->executions + (i == varying ? place->varying.instructions : 0);
        cost->of[READS] = counts[i].reads * place->executions + (i == varying ? place->varying.reads : 0);
        cost->of[WRITES] = counts[i].writes * place->executions + (i == varying ? place->varying.writes : 0);
        cost->of[CYCLES] = i + 1 == b->ninsns ? cycles : place->cycles / b->ninsns;
        cost->of[WAITED] = i + 1 == b->ninsns ? place->waited : 0;
        cycles -= cost->of[CYCLES];
    }
    return b->ninsns;
}

static int happened(const struct place *place)
{
    return place && (place->executions || place->insns);
}

static void put_lines(const struct profile *p, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "lines");
    size_t n = 0, kept = 0, most = 1;
    struct line *lines;
    struct peet_counts *counts;

    for (uint32_t i = 0; i < p->nplaces; i++)
        if (happened(p->places[i])) {
            n += p->places[i]->block->ninsns;
            most = p->places[i]->block->ninsns > most ? p->places[i]->block->ninsns : most;
        }
    lines = malloc((n + 1) * sizeof *lines);
    counts = malloc(most * sizeof *counts);
    if (!lines || !counts) {
        env->fail(env, "out of memory for %zu lines", n);
        n = 0;
    }
    n = n ? 0 : n;
    for (uint32_t i = 0; lines && counts && i < p->nplaces; i++)
        if (happened(p->places[i]))
            n += put_place(p, p->places[i], lines + n, counts);
    if (n)
        qsort(lines, n, sizeof *lines, by_line);
    for (size_t i = 1; i < n; i++)
        if (by_line(&lines[kept], &lines[i]) == 0)
            cost_add_all(p, &lines[kept].cost, &lines[i].cost);
        else
            lines[++kept] = lines[i];
    for (size_t i = 0; n && i <= kept; i++) {
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_string(env, o, "file", lines[i].function->file);
        env->stats_u64(env, o, "line", lines[i].line);
        env->stats_string(env, o, "function", lines[i].function->name);
        env->stats_u64(env, o, "function_id", lines[i].function->id);
        put(p, env, o, &lines[i].cost, "");
    }
    if (!is_none(&p->nowhere)) {
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_string(env, o, "file", "");
        env->stats_u64(env, o, "line", 0);
        env->stats_string(env, o, "function", outside);
        put(p, env, o, &p->nowhere, "");
    }
    free(lines);
    free(counts);
}

/* ------------------------------------------------------------------------------------------ calls, paths */

static uint32_t site_line(const struct peet_block *site)
{
    return site && site->insns && site->ninsns ? site->insns[site->ninsns - 1].line : 0;
}

static void put_calls(const struct profile *p, const struct profile_derived *d, const struct peet_env *env,
    struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "calls");

    for (uint32_t i = 0; i < p->narcs; i++) {
        const struct arc *a = &p->arcs[d->arcs[i]];
        const struct peet_function *from = a->caller != NOTHING ? p->routines[a->caller].function : NULL,
                                   *to = p->routines[a->callee].function;
        struct peet_stats *o = env->stats_object(env, list, NULL);

        env->stats_string(env, o, "caller", from ? from->name : "");
        if (from)
            env->stats_u64(env, o, "caller_id", a->caller);
        env->stats_string(env, o, "file", from ? from->file : "");
        env->stats_u64(env, o, "line", site_line(a->site));
        env->stats_string(env, o, "callee", to ? to->name : "");
        env->stats_u64(env, o, "callee_id", a->callee);
        env->stats_u64(env, o, "calls", a->calls);
        put(p, env, o, &a->inclusive, "inclusive_");
    }
}

/** Children come after their parents, so one pass from the end adds up the subtrees. */
static void put_paths(const struct profile *p, const struct profile_derived *d, const struct peet_env *env,
    struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "paths");
    struct cost *all = malloc((d->npaths + 1) * sizeof *all);

    if (!all) {
        env->fail(env, "out of memory for %u paths", d->npaths);
        return;
    }
    for (uint32_t i = 0; i < d->npaths; i++)
        all[i] = d->paths[i].self;
    for (uint32_t i = d->npaths; i-- > 1;)
        cost_add_all(p, &all[d->paths[i].parent], &all[i]);
    for (uint32_t i = 0; i < d->npaths; i++) {
        const struct profile_path *n = &d->paths[i];
        struct peet_stats *o = env->stats_object(env, list, NULL);
        const struct peet_function *f = n->routine != NOTHING ? p->routines[n->routine].function : NULL;

        env->stats_u64(env, o, "id", i);
        if (i) {
            env->stats_u64(env, o, "parent", n->parent);
            env->stats_u64(env, o, "function_id", n->routine);
            env->stats_u64(env, o, "line", site_line(p->arcs[n->arc].site));
        }
        env->stats_string(env, o, "function", f ? f->name : "(all)");
        env->stats_u64(env, o, "calls", n->calls);
        put(p, env, o, &n->self, "");
        put(p, env, o, &all[i], "inclusive_");
    }
    free(all);
}

/** The functions of a group: @costs and @there, by routine, are 0 before and after that. */
static void put_context(const struct profile *p, const struct profile_derived *d, uint32_t group,
    const struct peet_env *env, struct peet_stats *o, struct cost *costs, uint8_t *there)
{
    struct peet_stats *functions = env->stats_array(env, o, "functions");
    const struct cost *root = &d->self[p->groups[group].root];
    struct cost sum = {0};

    for (uint32_t i = d->first[group]; i != NOTHING; i = d->next[i]) {
        there[p->nodes[i].routine] = 1;
        cost_add_all(p, &costs[p->nodes[i].routine], &d->self[i]);
    }
    for (uint32_t i = 0; i < p->nroutines; i++) {
        struct peet_stats *one;

        if (!there[i])
            continue;
        there[i] = 0;
        if (is_none(&costs[i]))
            continue;
        one = env->stats_object(env, functions, NULL);
        env->stats_u64(env, one, "id", i);
        env->stats_string(env, one, "name", p->routines[i].function->name);
        put(p, env, one, &costs[i], "");
        cost_add_all(p, &sum, &costs[i]);
        costs[i] = (struct cost){0};
    }
    if (!is_none(root)) {
        struct peet_stats *one = env->stats_object(env, functions, NULL);

        env->stats_u64(env, one, "id", p->nroutines);
        env->stats_string(env, one, "name", outside);
        put(p, env, one, root, "");
        cost_add_all(p, &sum, root);
    }
    put(p, env, o, &sum, "");
}

static void put_contexts(const struct profile *p, const struct profile_derived *d, const struct peet_env *env,
    struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "contexts");
    struct cost *costs = calloc(p->nroutines + 1, sizeof *costs);
    uint8_t *there = calloc(p->nroutines + 1, 1);

    if (!costs || !there)
        env->fail(env, "out of memory");
    for (uint32_t g = 0; costs && there && g < p->ngroups; g++) {
        struct peet_stats *o;

        if (p->groups[g].root == NOTHING || (d->first[g] == NOTHING && is_none(&d->self[p->groups[g].root])))
            continue;
        o = env->stats_object(env, list, NULL);
        if (g + 1 < p->ngroups)
            env->stats_u64(env, o, "context", g);
        else
            env->stats_string(env, o, "context", "all the others");
        put_context(p, d, g, env, o, costs, there);
    }
    free(costs);
    free(there);
}

/** Which processor's cache gave lines to which other's. */
static void put_transfers(const struct profile *p, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *list = env->stats_array(env, node, "transfers");
    size_t n = env->hw_contexts;

    for (size_t i = 0; p->transfers && i < n * n; i++)
        if (p->transfers[i]) {
            struct peet_stats *o = env->stats_object(env, list, NULL);

            env->stats_u64(env, o, "from", i / n);
            env->stats_u64(env, o, "to", i % n);
            env->stats_u64(env, o, "lines", p->transfers[i]);
        }
}

void profile_stats(struct profile *p, const struct peet_env *env, struct peet_stats *node, int paths)
{
    struct cost sum = {0};
    struct profile_derived derived;
    struct peet_stats *list;

    if (profile_derive(p, &derived)) {
        profile_derived_free(&derived);
        return;
    }
    env->stats_string(env, node, "convention", p->convention == PEET_COUNT_PLAIN ? "plain" : "callgrind");
    list = env->stats_array(env, node, "levels");
    for (uint32_t l = 0; l < p->nlevels; l++)
        env->stats_string(env, list, NULL, p->levels[l].name);
    for (uint32_t i = 0; i < derived.npaths; i++)
        cost_add_all(p, &sum, &derived.paths[i].self);
    put(p, env, env->stats_object(env, node, "totals"), &sum, "");
    put_functions(p, &derived, env, node);
    put_lines(p, env, node);
    put_calls(p, &derived, env, node);
    if (paths)
        put_paths(p, &derived, env, node);
    put_contexts(p, &derived, env, node);
    put_transfers(p, env, node);
    profile_derived_free(&derived);
}
