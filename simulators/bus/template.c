/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block templates: what is the same in each execution of a block. A template is made when the block is first executed.
 *
 * References of one block whose distance never changes (struct peet_ref, group) form a *group*: uniformly generated
 * references (Wolf and Lam, PLDI 1991).  Where a group fits into a line, one probe stands for all its references.
 * Called and read by blocks.c.
 */
#include "straddle.h"
#include "loops.h"
#include <stdlib.h>
#include <string.h>

/* Room for the template of this id. */
static int make_room(struct bus *b, uint32_t id)
{
    uint32_t n = b->ntemplates ? b->ntemplates : 256;
    struct block_template *templates;
    if (id < b->ntemplates)
        return 0;
    while (n <= id)
        n *= 2;
    templates = aligned_alloc(64, n * sizeof *templates);
    if (!templates)
        return -1;
    if (b->ntemplates)
        memcpy(templates, b->templates, b->ntemplates * sizeof *templates);
    memset(templates + b->ntemplates, 0, (n - b->ntemplates) * sizeof *templates);
    free(b->templates);
    b->templates = templates;
    b->ntemplates = n;
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
_Static_assert(NO_GROUP >= TEMPLATE_REFS, "no group's name");

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
        g->permission_mask = 0;
    return 1;
}

/* In the order of last use, which is what replacement looks at. */
static void sort_groups(struct group *groups, uint32_t n, uint8_t *group_of, uint32_t nrefs)
{
    uint8_t names[TEMPLATE_REFS], place_of[TEMPLATE_REFS];
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

int peet__bus_template(struct bus *b, const struct peet_block *block, const uint64_t *values)
{
    struct group groups[TEMPLATE_REFS];
    uint8_t names[TEMPLATE_REFS], group_of[TEMPLATE_REFS];
    uint32_t n = 0, touches = block->modifies;
    struct block_template *p;
    if (make_room(b, block->id))
        return -1;
    p = &b->templates[block->id];
    *p = (struct block_template){.cost = b->cpi * block->ninsns,
        .nrefs = (uint16_t)block->nrefs,
        .known = TEMPLATE_GENERAL + 1,
        .counts = (uint64_t)(block->writes + block->modifies) << 32 | (block->reads + block->modifies)};
    if (b->check || b->perfect_hits || b->fetch != FETCH_OFF || !(block->flags & PEET_BLOCK_SIMPLE) ||
        block->nrefs > TEMPLATE_REFS)
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
            ref->value, 0, ref->size_bytes, (uint8_t)(i + 1), ref->kind == PEET_REF_LOAD ? PERMISSION_WRITE : 0};
    }
    sort_groups(groups, n, group_of, block->nrefs);
    p->cost += (uint64_t)touches * b->hit_cycles * CPI_ONE;
    p->ngroups = (uint8_t)n;
    if (n <= TEMPLATE_GROUPS) {
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
        p->known = TEMPLATE_MANY + 1;
    }
    if (peet__bus_line_accesses(b, p, block, groups, values, group_of)) {
        p->known = 0;
        return -1;
    }
    return 0;
}

void peet__bus_templates_fini(struct bus *b)
{
    free(b->templates);
    free(b->groups);
    for (uint32_t i = 0; i < b->nline_accesses; i++) {
        free(b->line_accesses[i].splits);
        peet__bus_schedules_free(b->line_accesses[i].loop);
        free(b->line_accesses[i].loop);
    }
    free(b->line_accesses);
    peet__bus_straddles_fini(b);
    free(b->group_members);
}
