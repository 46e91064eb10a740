/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: what is the same each time that a block goes through a cache.  A plan is made when the block is first
 * executed.
 *
 * References of one block whose distance never changes (struct peet_ref, group) form a *group*: uniformly generated
 * references (Wolf and Lam, PLDI 1991).  Where a group fits into a line, one probe stands for all its references.
 * Called and read by blocks.c.
 */
#include "halves.h"
#include "turns.h"
#include <stdlib.h>
#include <string.h>

/* Room for the plan of this id. */
static int make_room(struct bus *b, uint32_t id)
{
    uint32_t n = b->nplans ? b->nplans : 256;
    struct plan *plans;
    if (id < b->nplans)
        return 0;
    while (n <= id)
        n *= 2;
    plans = aligned_alloc(64, n * sizeof *plans);
    if (!plans)
        return -1;
    if (b->nplans)
        memcpy(plans, b->plans, b->nplans * sizeof *plans);
    memset(plans + b->nplans, 0, (n - b->nplans) * sizeof *plans);
    free(b->plans);
    b->plans = plans;
    b->nplans = n;
    return 0;
}

int peet__bus_room_for(void **array, uint32_t *size, uint32_t used, uint32_t more, size_t bytes)
{
    uint32_t n = *size ? *size : 256;
    void *larger;
    if (used + more <= *size)
        return 0;
    while (n < used + more)
        n *= 2;
    larger = realloc(*array, n * bytes);
    if (!larger)
        return -1;
    *array = larger;
    *size = n;
    return 0;
}

/* Prefetches touch nothing. */
enum { NO_GROUP = UINT8_MAX };
_Static_assert(NO_GROUP >= PLAN_REFS, "no group's name");

/* Does the reference join the group? */
static int joins(const struct bus *b, const struct peet_block *block, uint32_t i, struct group *g, uint8_t name,
    const uint64_t *values)
{
    const struct peet_ref *ref = &block->refs[i];
    int64_t from = (int64_t)(values[ref->value] - (values[g->value] - g->before)), low = from < 0 ? from : 0,
            high = from + ref->size_bytes;
    if (!ref->group || ref->group != name || from < -(int64_t)b->line_bytes || from > (int64_t)b->line_bytes)
        return 0;
    high = high > g->span ? high : g->span;
    if (high - low > b->line_bytes / 2)
        return 0;
    g->before = (uint16_t)(g->before - low);
    g->span = (uint16_t)(high - low);
    g->stamp = (uint8_t)(i + 1);
    if (ref->kind != PEET_REF_LOAD)
        g->either = 0;
    return 1;
}

/* In the order of last use, which is what replacement looks at. */
static void sort_groups(struct group *groups, uint32_t n, uint8_t *group_of, uint32_t nrefs)
{
    uint8_t names[PLAN_REFS], place_of[PLAN_REFS];
    for (uint32_t k = 0; k < n; k++)
        names[k] = (uint8_t)k;
    for (uint32_t k = 1; k < n; k++)
        for (uint32_t j = k; j > 0 && groups[j].stamp < groups[j - 1].stamp; j--) {
            const struct group g = groups[j];
            const uint8_t name = names[j];
            groups[j] = groups[j - 1];
            groups[j - 1] = g;
            names[j] = names[j - 1];
            names[j - 1] = name;
        }
    for (uint32_t k = 0; k < n; k++)
        place_of[names[k]] = (uint8_t)k;
    for (uint32_t i = 0; i < nrefs; i++)
        if (group_of[i] != NO_GROUP)
            group_of[i] = place_of[group_of[i]];
}

int peet__bus_plan(struct bus *b, const struct peet_block *block, const uint64_t *values)
{
    struct group groups[PLAN_REFS];
    uint8_t names[PLAN_REFS], group_of[PLAN_REFS];
    uint32_t n = 0, touches = block->modifies;
    struct plan *p;
    if (make_room(b, block->id))
        return -1;
    peet__bus_made_forget(b, block->id);
    p = &b->plans[block->id];
    *p = (struct plan){.cost = b->cpi * block->ninsns,
        .nrefs = (uint16_t)block->nrefs,
        .known = PLAN_GENERAL + 1,
        .counts = (uint64_t)(block->writes + block->modifies) << 32 | (block->reads + block->modifies)};
    if (b->check || b->perfect_hits || b->fetch != FETCH_OFF || !(block->flags & PEET_BLOCK_SIMPLE) ||
        block->nrefs > PLAN_REFS)
        return 0;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];
        uint32_t k = 0;
        group_of[i] = NO_GROUP;
        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        if (!ref->size_bytes)
            return 0;
        touches++;
        while (k < n && !joins(b, block, i, &groups[k], names[k], values))
            k++;
        group_of[i] = (uint8_t)k;
        if (k < n)
            continue;
        names[n] = ref->group;
        groups[n++] = (struct group){
            ref->value, 0, ref->size_bytes, (uint8_t)(i + 1), ref->kind == PEET_REF_LOAD ? QUICK_WRITE : 0};
    }
    sort_groups(groups, n, group_of, block->nrefs);
    p->cost += (uint64_t)touches * b->hit_cycles * CPI_ONE;
    p->ngroups = (uint8_t)n;
    if (n <= PLAN_GROUPS) {
        memcpy(p->first, groups, n * sizeof *groups);
        p->known = (uint8_t)(n + 1);
    } else {
        if (peet__bus_room_for((void **)&b->groups, &b->groups_size, b->ngroups, n, sizeof *groups)) {
            p->known = 0;
            return -1;
        }
        memcpy(b->groups + b->ngroups, groups, n * sizeof *groups);
        p->more = b->ngroups;
        b->ngroups += n;
        p->known = PLAN_MANY + 1;
    }
    if (peet__bus_group_ways(b, p, block, groups, values, group_of)) {
        p->known = 0;
        return -1;
    }
    return 0;
}

void peet__bus_plans_fini(struct bus *b)
{
    free(b->plans);
    free(b->groups);
    for (uint32_t i = 0; i < b->ngroup_ways; i++) {
        free(b->group_ways[i].splits);
        peet__bus_courses_free(b->group_ways[i].loop);
        free(b->group_ways[i].loop);
    }
    free(b->group_ways);
    peet__bus_cuts_fini(b);
    free(b->group_members);
}
