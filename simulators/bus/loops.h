/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loops.c, uniform.c and schedule.c share: a loop that is under way, and what happens to a line in an iteration.
 */
#ifndef PEET_BUS_LOOPS_H
#define PEET_BUS_LOOPS_H

#include "bus.h"

#define BUS_STAYS (1ull << 62) /* more iterations than there are */
enum { LOOP_GROUPS = 32, LOOP_SCHEDULES = 8 };

/** A loop that is under way: its block, and where the block's groups begin. */
struct looping {
    struct bus *b;
    unsigned hw;
    const struct block_template *template;
    const struct peet_block *block;
    const uint64_t *begins; /* of the groups in the first iteration, by their accesses (without accesses: by groups) */
    const uint64_t *values; /* that iteration's; NULL: there are accesses */
    const int64_t *strides; /* by value */
    uint32_t n;             /* groups */
    uint64_t now, stalled;  /* since then times are; for how long iterations have waited */
};

/** A line access in a loop: what is the same whenever its group moves by this stride. */
struct loop_access {
    int64_t stride;
    uint64_t delta;   /* to the key of the next line */
    uint64_t inverse; /* a 2^32th of the stride without its sign, rounded up; 1 if it is longer than a line, or 0 */
    uint64_t stays;   /* it does not move: so many iterations more */
    /* a group that lies within so many bytes, which divide a line, does so in each iteration, and is never in two
     * lines; 0: none */
    uint32_t unit;
    int32_t room;                  /* that the group leaves in a line */
    uint32_t flip, base;           /* how far it may still move in its line is (offset ^ flip) + base */
    uint16_t value, span;          /* of the group */
    uint16_t period;               /* if it has a unit, it stays in each line for so many iterations */
    uint8_t shift;                 /* of the stride, if that is what units are; of a line */
    uint8_t permission_mask, last; /* of the group */
    uint8_t missed;                /* of a block's first access: the latest such loop did not only hit */
    /* of a block's first access: where such loops went (schedule.c), each where its groups begin in their lines; NULL:
     * nowhere yet */
    struct schedule *schedules[LOOP_SCHEDULES];
};

/** The slow half of peet__bus_loop_access(): it goes by another stride than the last time.  Returns: NULL without
 * memory
 */
const struct loop_access *peet__bus_loop_access_new(struct bus *b, const struct block_template *p, uint32_t k,
    const int64_t *strides);
/** Line access @k of a template in a loop. */
static inline __attribute__((always_inline)) const struct loop_access *peet__bus_loop_access(struct bus *b,
    const struct block_template *p, uint32_t k, const int64_t *strides)
{
    const struct loop_access *const w = b->line_accesses[p->accesses - 1 + k].loop;
    return __builtin_expect(w && strides[w->value] == w->stride, 1) ? w : peet__bus_loop_access_new(b, p, k, strides);
}

/** The bits of keys: the key of a line further on is a sum, and lines begin again after the last one. */
static inline __attribute__((always_inline)) uint64_t peet__bus_key_mask(const struct bus *b)
{
    return KEY_OF(UINT64_MAX >> b->line_shift) | PERMISSION;
}

/** An iteration used the line in this frame; @last: by this stamp. */
static inline __attribute__((always_inline)) void peet__bus_use_last(struct cache *c, uint32_t frame, uint64_t last)
{
    c->used[frame] = last > c->used[frame] ? last : c->used[frame];
}

/** A group while the loop goes on. */
struct looped {
    uint64_t want;          /* key of its line */
    uint64_t next;          /* the iteration that finds it in another line, or in two */
    uint64_t begin, stride; /* where it is in the first iteration, and how it moves */
    const struct loop_access *access;
    uint64_t last; /* as in the line access */
};

static inline __attribute__((always_inline)) uint64_t peet__bus_begin_in(const struct looped *l, uint64_t iteration)
{
    return l->begin + l->stride * iteration;
}

/** It has come to other bytes.  Returns: whether they lie in two lines */
static inline __attribute__((always_inline)) int peet__bus_come(struct looped *l, const struct bus *b,
    uint64_t iteration)
{
    const struct loop_access *const w = l->access;
    const uint64_t begin = peet__bus_begin_in(l, iteration);
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1);
    l->want = KEY_OF(begin >> b->line_shift) | PERMISSION;
    l->next = iteration + 1;
    if ((int32_t)offset > w->room)
        return 1;
    l->next += (((offset ^ w->flip) + w->base) * w->inverse >> 32) + w->stays; /* exact: both are small */
    return 0;
}

/** So many iterations only hit.  Returns: how many of them come before the limit, or are the first to reach it */
static inline __attribute__((always_inline)) uint64_t peet__bus_iterations_within(const struct block_template *p,
    uint64_t more, uint64_t time, uint64_t limit)
{
    if (limit != UINT64_MAX && __builtin_expect(time >= limit || p->cost * more >= limit - time, 0)) {
        const uint64_t left = limit <= time ? 1 : p->cost ? (limit - time - 1) / p->cost + 1 : UINT64_MAX;
        return more > left ? left : more;
    }
    return more;
}

/** Up to @iterations iterations that only hit, as peet__bus_iterations_within() has it: their stamps and their time.
 * Returns: how many */
static inline __attribute__((always_inline)) uint64_t peet__bus_iterations_hit(const struct block_template *p,
    uint64_t iterations, uint64_t limit, uint64_t *inout_stamp, uint64_t *inout_time)
{
    const uint64_t more = peet__bus_iterations_within(p, iterations, *inout_time, limit);
    *inout_stamp += more * p->nrefs;
    *inout_time += more * p->cost;
    return more;
}

/** An iteration that is taken by itself begins, */
static inline __attribute__((always_inline)) void peet__bus_iteration_begins(const struct looping *l,
    struct execution *t, uint64_t time)
{
    t->start = l->now + time / CPI_ONE;
    t->rest = time % CPI_ONE;
    t->stalled = 0;
}
/** ... and is over.  Returns: its time, in CPI_ONE */
static inline __attribute__((always_inline)) uint64_t peet__bus_iteration_ends(struct looping *l, struct execution *t)
{
    l->stalled += t->stalled;
    return l->template->cost + t->stalled * CPI_ONE;
}

/** An access's line may be there or not.  Returns: its frame */
static inline __attribute__((always_inline)) uint32_t peet__bus_go_to(struct bus *b, struct execution *t,
    uint64_t begin, uint64_t want, uint32_t frame, const struct line_access *w)
{
    if ((t->c->keys[frame] | w->permission_mask) != want)
        frame = b->go_slowly(b, t, begin, KEY_LINE(want), w);
    peet__bus_use_last(t->c, frame, t->stamp + w->last);
    return frame;
}

/* loops.c */
/** An iteration that does not only hit, of a loop that has accesses, and groups in two lines, or more groups than
 * frames in a set; nothing has happened. Returns: its time, in CPI_ONE */
uint64_t peet__bus_straddling_iteration(struct looping *l, uint64_t iteration, const uint64_t *begins, uint64_t time);

/* schedule.c */
/** A loop goes by other strides than the last time.  @first: of its block */
void peet__bus_schedules_forget(struct loop_access *first);
void peet__bus_schedules_free(struct loop_access *first);
/** peet__bus_by_schedule() - iterations from @done on, of a loop whose lines all fit, and that has accesses.  Returns:
 * so many are done then */
uint64_t peet__bus_by_schedule(struct looping *l, uint64_t done, uint64_t iterations, uint64_t limit,
    uint64_t *inout_time);

/* uniform.c */
/**
 * peet__bus_uniform() - iterations of a loop whose lines all fit, and that has accesses, no more than
 * PEET_DIRECT_LOOKS, if its strides are uniform. Returns: how many; if that is not all, and the limit is not reached,
 * the others are left to peet__bus_by_schedule()
 */
uint64_t peet__bus_uniform(struct looping *l, uint64_t iterations, uint64_t limit, uint64_t *inout_time);

#endif
