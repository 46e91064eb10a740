/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What groups.c and halves.c share: the ways of a block's groups, and how all references of a way go to their line.
 */
#ifndef PEET_BUS_GROUPS_H
#define PEET_BUS_GROUPS_H

#include "bus.h"

/** What happens to a line if these references of the block go there, in their order. */
struct group_way peet__bus_way_of(const struct bus *b, const struct peet_block *block,
    const struct group_member *members, uint32_t n);

/** The way of one reference, an element of a range. */
static inline struct group_way peet__bus_way_of_element(int write, uint64_t at, unsigned bytes)
{
    return (struct group_way){.at = at,
        .bytes = (uint16_t)bytes,
        .last = 1,
        .either = write ? 0 : QUICK_WRITE,
        .writes = (uint8_t)write,
        .fill = write ? FILL_WRITE : FILL_READ};
}

/** Can it be taken as one? */
static inline int peet__bus_way_goes(const struct bus *b, const struct group_way *w)
{
    return w->writes || !w->writes_later || b->silent_write;
}

/** All references of the way go to the line. */
static inline __attribute__((always_inline)) void peet__bus_way_go(struct bus *b, struct turn *t, uint64_t begin,
    uint64_t line, const struct group_way *w)
{
    uint32_t i = t->c->hints[line & b->hint_mask];
    if ((t->c->keys[i] | w->either) != (KEY_OF(line) | QUICK))
        i = b->go_slowly(b, t, begin, line, w);
    if (t->stamp + w->last > t->c->used[i])
        t->c->used[i] = t->stamp + w->last;
}

#endif
