/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns.c, even.c and course.c share: a loop that is under way, and what happens to a line in a turn.
 */
#ifndef PEET_BUS_TURNS_H
#define PEET_BUS_TURNS_H

#include "bus.h"

#define BUS_STAYS (1ull << 62) /* more turns than there are */
enum { LOOP_GROUPS = 32, LOOP_COURSES = 8 };

/** A loop that is under way: what it goes round, and where. */
struct looping {
    struct bus *b;
    unsigned hw;
    const struct plan *plan;
    const struct peet_block *block;
    const uint64_t *begins; /* of the groups in the first turn, by their ways (without ways: by groups) */
    const uint64_t *values; /* that turn's; NULL: there are ways */
    const int64_t *strides; /* by value */
    uint32_t n;             /* groups */
    uint64_t now, stalled;  /* since then times are; for how long turns have waited */
};

/** A way in a loop: what is the same whenever its group moves by this stride. */
struct loop_way {
    int64_t stride;
    uint64_t delta;   /* to the key of the next line */
    uint64_t inverse; /* a 2^32th of the stride without its sign, rounded up; 1 if it is longer than a line, or 0 */
    uint64_t stays;   /* it does not move: so many turns more */
    /* a group that lies within so many bytes, which divide a line, does so in each turn, and is never in two lines; 0:
     * none */
    uint32_t unit;
    int32_t room;         /* that the group leaves in a line */
    uint32_t flip, base;  /* how far it may still move in its line is (offset ^ flip) + base */
    uint16_t value, span; /* of the group */
    uint16_t period;      /* if it has a unit, it stays in each line for so many turns */
    uint8_t shift;        /* of the stride, if that is what units are; of a line */
    uint8_t either, last; /* of the group */
    uint8_t missed;       /* of a block's first way: the latest such loop did not only hit */
    /* of a block's first way: where such loops went (course.c), each where its groups begin in their lines; NULL:
     * nowhere yet */
    struct course *courses[LOOP_COURSES];
};

/** The slow half of peet__bus_loop_way(): it goes by another stride than the last time.  Returns: NULL without memory
 */
const struct loop_way *peet__bus_loop_way_new(struct bus *b, const struct plan *p, uint32_t k, const int64_t *strides);
/** Way @k of a plan in a loop. */
static inline __attribute__((always_inline)) const struct loop_way *peet__bus_loop_way(struct bus *b,
    const struct plan *p, uint32_t k, const int64_t *strides)
{
    const struct loop_way *const w = b->group_ways[p->ways - 1 + k].loop;
    return __builtin_expect(w && strides[w->value] == w->stride, 1) ? w : peet__bus_loop_way_new(b, p, k, strides);
}

/** The bits of keys: the key of a line further on is a sum, and lines begin again behind the last one. */
static inline __attribute__((always_inline)) uint64_t peet__bus_key_mask(const struct bus *b)
{
    return KEY_OF(UINT64_MAX >> b->line_shift) | QUICK;
}

/** A turn used the line in this frame; @last: by this stamp. */
static inline __attribute__((always_inline)) void peet__bus_use_last(struct cache *c, uint32_t frame, uint64_t last)
{
    c->used[frame] = last > c->used[frame] ? last : c->used[frame];
}

/** A group on its way through the turns. */
struct looped {
    uint64_t want;          /* key of its line */
    uint64_t next;          /* the turn that finds it in another line, or in two */
    uint64_t begin, stride; /* where it is in the first turn, and how it moves */
    const struct loop_way *way;
    uint64_t last; /* as in the way */
};

static inline __attribute__((always_inline)) uint64_t peet__bus_begin_in(const struct looped *l, uint64_t turn)
{
    return l->begin + l->stride * turn;
}

/** It has come to other bytes.  Returns: whether they lie in two lines */
static inline __attribute__((always_inline)) int peet__bus_come(struct looped *l, const struct bus *b, uint64_t turn)
{
    const struct loop_way *const w = l->way;
    const uint64_t begin = peet__bus_begin_in(l, turn);
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1);
    l->want = KEY_OF(begin >> b->line_shift) | QUICK;
    l->next = turn + 1;
    if ((int32_t)offset > w->room)
        return 1;
    l->next += (((offset ^ w->flip) + w->base) * w->inverse >> 32) + w->stays; /* exact: both are small */
    return 0;
}

/** So many turns only hit.  Returns: how many of them come before the limit, or are the first to reach it */
static inline __attribute__((always_inline)) uint64_t peet__bus_turns_within(const struct plan *p, uint64_t more,
    uint64_t time, uint64_t limit)
{
    if (limit != UINT64_MAX && __builtin_expect(time >= limit || p->cost * more >= limit - time, 0)) {
        const uint64_t left = limit <= time ? 1 : p->cost ? (limit - time - 1) / p->cost + 1 : UINT64_MAX;
        return more > left ? left : more;
    }
    return more;
}

/** Up to @turns turns that only hit, as turns_within() has it: their stamps and their time.  Returns: how many */
static inline __attribute__((always_inline)) uint64_t peet__bus_turns_hit(const struct plan *p, uint64_t turns,
    uint64_t limit, uint64_t *inout_stamp, uint64_t *inout_time)
{
    const uint64_t more = peet__bus_turns_within(p, turns, *inout_time, limit);
    *inout_stamp += more * p->nrefs;
    *inout_time += more * p->cost;
    return more;
}

/** peet__bus_use_last() by the latest of such turns; @ordered: the last uses of the groups are in their order */
static inline __attribute__((always_inline)) void peet__bus_use_hit(struct cache *c, uint32_t frame, uint64_t last,
    int ordered)
{
    if (__builtin_expect(ordered, 1))
        c->used[frame] = last;
    else
        peet__bus_use_last(c, frame, last);
}

/** A turn that is taken by itself begins, */
static inline __attribute__((always_inline)) void peet__bus_turn_begins(const struct looping *l, struct turn *t,
    uint64_t time)
{
    t->start = l->now + time / CPI_ONE;
    t->rest = time % CPI_ONE;
    t->stalled = 0;
}
/** ... and is over.  Returns: its time, in CPI_ONE */
static inline __attribute__((always_inline)) uint64_t peet__bus_turn_ends(struct looping *l, struct turn *t)
{
    l->stalled += t->stalled;
    return l->plan->cost + t->stalled * CPI_ONE;
}

/** A way's line may be there or not.  Returns: its frame */
static inline __attribute__((always_inline)) uint32_t peet__bus_go_to(struct bus *b, struct turn *t, uint64_t begin,
    uint64_t want, uint32_t frame, const struct group_way *w)
{
    if ((t->c->keys[frame] | w->either) != want)
        frame = b->go_slowly(b, t, begin, KEY_LINE(want), w);
    peet__bus_use_last(t->c, frame, t->stamp + w->last);
    return frame;
}

/* turns.c */
/** A turn that does not only hit, of a loop that has ways, and groups in two lines, or more groups than frames in a
 * set; nothing has happened. Returns: its time, in CPI_ONE */
uint64_t peet__bus_turn_in_halves(struct looping *l, uint64_t turn, const uint64_t *begins, uint64_t time);

/* course.c */
/** A loop goes by other strides than the last time.  @first: of its block */
void peet__bus_courses_forget(struct loop_way *first);
void peet__bus_courses_free(struct loop_way *first);
/** peet__bus_course() - turns from @done on, of a loop whose lines all fit, and that has ways.  Returns: so many are
 * done then */
uint64_t peet__bus_course(struct looping *l, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time);

/* even.c */
/**
 * peet__bus_evenly() - turns of a loop whose lines all fit, and that has ways, no more than PEET_DIRECT_LOOKS, if its
 * strides are easy enough Returns: how many; if they are not all, and the limit is not reached, others have to go on
 * from there
 */
uint64_t peet__bus_evenly(struct looping *l, uint64_t turns, uint64_t limit, uint64_t *inout_time);

#endif
