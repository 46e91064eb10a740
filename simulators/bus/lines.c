/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of a loop that only hit, line by line.  As long as everything hits, a loop's groups have nothing to do with each other: of each line
 * that a group goes through, all that is left is the stamp of the last turn that found it there.  So each group goes through its
 * lines by itself, one look for each, and only how far all of them come together has to be known before anything is written.
 * Called by direct.c; turns that do not only hit, and strides that are not worth it, are for turns.c.
 */
#include "lines.h"

enum { LINES = 16 }; /* of each group at once: what lies behind a miss was looked at for nothing */

/* A group on its way. */
struct lined {
    int64_t line_step;     /* to the next line, in lines; 0: it stays in one */
    uint32_t ahead, shift; /* bytes of the first line that it goes by; of the stride, if that is less than a line */
    uint32_t n;            /* lines looked at */
    uint32_t frames[LINES];
};

/* The turn that is the first behind the group's line @k. */
static inline uint64_t turn_behind(const struct bus *b, const struct lined *l, uint64_t k)
{
    if (!l->line_step)
        return UINT64_MAX;
    if (l->shift == UINT32_MAX)
        return k + 1;
    return (((k << b->line_shift) + l->ahead) >> l->shift) + 1;
}

/* Returns: whether the group can be taken this way: it never lies in two lines, and the turns in a line are easily said */
static inline int lined_init(struct lined *l, const struct bus *b, uint64_t begin, uint32_t span, int64_t stride)
{
    const uint64_t mask = b->line_bytes - 1, step = stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
    const uint32_t offset = (uint32_t)(begin & mask);
    l->shift = UINT32_MAX;
    l->line_step = stride >> b->line_shift;
    if (!(step & mask)) /* nowhere, or whole lines on */
        return offset + span <= b->line_bytes;
    if (step & (step - 1) || step > mask || (offset & (step - 1)) + span > step)
        return 0;
    l->shift = (uint32_t)__builtin_ctzll(step);
    l->line_step = stride < 0 ? -1 : 1;
    l->ahead = stride < 0 ? offset : (uint32_t)mask - offset;
    return 1;
}

uint64_t peet__bus_lines(struct bus *b, struct cache *c, const struct plan *p, const uint64_t *begins, const int64_t *strides, uint64_t turns, uint64_t stamp)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    struct lined at[PEET_DIRECT_LOOKS];
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const struct group *const g = &groups[ways[k].group];
        struct lined *const l = &at[k];
        uint64_t line = begins[k] >> b->line_shift, from = 0;
        if (!lined_init(l, b, begins[k], g->span, strides[g->value]))
            return 0;
        for (l->n = 0; from < turns; l->n++, line += (uint64_t)l->line_step) {
            const uint32_t i = c->hints[line & b->hint_mask];
            if (l->n == LINES || (c->keys[i] | ways[k].either) != (KEY_OF(line) | QUICK)) {
                turns = from;
                break;
            }
            l->frames[l->n] = i;
            from = turn_behind(b, l, l->n);
        }
        if (!turns)
            return 0;
    }
    for (uint32_t k = 0; k < p->ngroups; k++) {
        uint64_t from = 0;
        for (uint32_t j = 0; from < turns; j++) {
            uint64_t *const used = &c->used[at[k].frames[j]];
            from = turn_behind(b, &at[k], j);
            const uint64_t last = stamp + ((from < turns ? from : turns) - 1) * p->nrefs + ways[k].last;
            *used = last > *used ? last : *used;
        }
    }
    return turns;
}
