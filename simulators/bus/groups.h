/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What groups.c and straddle.c share: the line accesses of a block's groups, and how all references of one are
 * executed.
 */
#ifndef PEET_BUS_GROUPS_H
#define PEET_BUS_GROUPS_H

#include "bus.h"

/** What happens to a line if these references of the block go there, in their order. */
struct line_access peet__bus_access_of(const struct bus *b, const struct peet_block *block,
    const struct group_member *members, uint32_t n);

/** The line access of one reference, an element of a range. */
static inline struct line_access peet__bus_access_of_element(int write, uint64_t at, unsigned bytes)
{
    return (struct line_access){.at = at,
        .bytes = (uint16_t)bytes,
        .last = 1,
        .permission_mask = write ? 0 : PERMISSION_WRITE,
        .writes = (uint8_t)write,
        .fill = write ? FILL_WRITE : FILL_READ};
}

/** Can it be taken as one? */
static inline int peet__bus_access_is_one(const struct bus *b, const struct line_access *w)
{
    return w->writes || !w->writes_after || b->silent_write;
}

/** Executes all references of the line access. */
static inline __attribute__((always_inline)) void peet__bus_take_access(struct bus *b, struct execution *t,
    uint64_t begin, uint64_t line, const struct line_access *w)
{
    uint32_t i = t->c->predictor[line & b->predictor_mask];
    if ((t->c->keys[i] | w->permission_mask) != (KEY_OF(line) | PERMISSION))
        i = b->go_slowly(b, t, begin, line, w);
    if (t->stamp + w->last > t->c->used[i])
        t->c->used[i] = t->stamp + w->last;
}

#endif
