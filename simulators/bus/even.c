/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops with strides that are easy: no group leaves its line, or each stays in each of its lines for as many turns, and never is in two.
 * Groups that come to other lines together, which is usual, need one look each per line and nothing else; a turn that does not only hit is
 * taken way by way, as in turns.c, which calls this.
 */
#include "turns.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { FEW = 16 }; /* turns that are not worth the while */

/* All turns, if no group leaves its line, and all hit.  Returns: whether it was so */
ALWAYS int go_in_place(struct looping *l, const struct loop_way *const *ways, uint32_t n, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    const struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    uint32_t frames[PEET_DIRECT_LOOKS];
    if (peet__bus_turns_within(p, turns, *inout_time, limit) != turns)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_way *const w = ways[k];
        const uint64_t begin = l->begins[k], end = begin + (uint64_t)w->stride * (turns - 1), line = begin >> b->line_shift;
        if (((begin ^ (end + w->span - 1u)) | (end ^ (begin + w->span - 1u))) >> b->line_shift)
            return 0;
        frames[k] = c->hints[line & b->hint_mask];
        if ((c->keys[frames[k]] | w->either) != (KEY_OF(line) | QUICK))
            return 0;
    }
    c->stamp += turns * p->nrefs;
    for (uint32_t k = 0; k < n; k++)
        peet__bus_use_last(c, frames[k], c->stamp - p->nrefs + ways[k]->last);
    *inout_time += turns * p->cost;
    return 1;
}

/* A group that stays in each line for so many turns, and never is in two. */
struct even {
    uint64_t want, delta;   /* as in struct looped */
    uint64_t next, period;
    uint64_t begin, stride;
    uint32_t frame;
    uint8_t either, last;
};

/* Returns: whether it does, from turn @turn on */
ALWAYS int even_of(struct even *a, const struct bus *b, const struct loop_way *w, uint64_t begin, uint64_t turn)
{
    const uint64_t now = begin + (uint64_t)w->stride * turn;
    const uint32_t offset = (uint32_t)now & (b->line_bytes - 1), at = offset >> w->shift;
    a->want = KEY_OF(now >> b->line_shift) | QUICK;
    a->delta = w->delta;
    a->either = w->either;
    a->last = w->last;
    a->begin = begin;
    a->stride = (uint64_t)w->stride;
    a->period = w->period + w->stays;
    a->next = turn + (w->stride < 0 ? at + 1 : a->period - at);
    return (offset & (w->unit - 1)) + w->span <= w->unit;
}

/* Do they come to other lines together, those that do?  Then all do in the turn *out_next. */
ALWAYS int in_step(const struct even *at, uint32_t n, uint64_t *out_next, uint64_t *out_period)
{
    uint64_t next = BUS_STAYS, period = BUS_STAYS;
    int odd = 0;
    for (uint32_t k = 0; k < n; k++) {
        odd |= at[k].period < BUS_STAYS && period < BUS_STAYS && (at[k].next != next || at[k].period != period);
        next = at[k].period < BUS_STAYS ? at[k].next : next;
        period = at[k].period < BUS_STAYS ? at[k].period : period;
    }
    *out_next = next;
    *out_period = period;
    return !odd;
}

/* Turns of even groups as long as they only hit: each goes through its lines by itself, one look for each; only how far all of them come together has
 * to be known before anything is written.  Returns: the turn that does not only hit, or what is reached */
static __attribute__((noinline)) uint64_t go_apart(const struct looping *l, const struct even *at, uint32_t n, uint64_t from, uint64_t turns)
{
    enum { LINES = 16 }; /* of each group at once: what lies behind a miss was looked at for nothing */
    const struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    uint32_t frames[PEET_DIRECT_LOOKS][LINES];
    const uint64_t nrefs = l->plan->nrefs, stamp = c->stamp;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t begin = from, want = at[k].want, next = at[k].next;
        for (uint32_t i = 0; begin < turns; i++) {
            const uint32_t frame = c->hints[KEY_LINE(want) & b->hint_mask];
            if (i == LINES || (c->keys[frame] | at[k].either) != want) {
                turns = begin;
                break;
            }
            frames[k][i] = frame;
            want = peet__bus_key_behind(b, want, at[k].delta);
            begin = next;
            next += at[k].period;
        }
    }
    for (uint32_t k = 0; from < turns && k < n; k++) {
        uint64_t next = at[k].next, begin = from;
        for (uint32_t i = 0; begin < turns; i++) {
            peet__bus_use_last(c, frames[k][i], stamp + ((next < turns ? next : turns) - from - 1) * nrefs + at[k].last);
            begin = next;
            next += at[k].period;
        }
    }
    c->stamp += (turns - from) * nrefs;
    return turns;
}

/* Turns of even groups in step. */
ALWAYS uint64_t go_in_step(struct looping *l, struct even *at, uint32_t n, uint64_t next, uint64_t period, uint64_t turns, uint64_t limit,
    uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    const uint32_t *const hints = c->hints;
    const uint64_t *const keys = c->keys;
    uint64_t done = 0, time = *inout_time;
    struct turn t = {.c = c, .block = l->block, .stamp = c->stamp};
    int ordered = 1; /* the last uses of the groups are in their order */
    for (uint32_t k = 1; k < n; k++)
        ordered &= at[k].last > at[k - 1].last;
    for (;;) {
        const uint64_t until = next < turns ? next : turns;
        int waits = 0, still = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t frame = hints[KEY_LINE(at[k].want) & b->hint_mask];
            if ((keys[frame] | at[k].either) != at[k].want) {
                if (!waits)
                    peet__bus_turn_begins(l, &t, time);
                waits = 1;
                frame = b->go_slowly(b, &t, at[k].begin + at[k].stride * done, KEY_LINE(at[k].want), &ways[k]);
                still |= (keys[frame] | at[k].either) != at[k].want;
            }
            peet__bus_use_hit(c, frame, t.stamp + at[k].last, ordered);
            at[k].frame = frame;
        }
        if (waits) {
            time += peet__bus_turn_ends(l, &t);
            done++;
        }
        if (done < until && LIKELY(!still) && time < limit && LIKELY(!b->dead)) {
            done += peet__bus_turns_hit(p, until - done, limit, &t.stamp, &time);
            for (uint32_t k = 0; k < n; k++)
                peet__bus_use_hit(c, at[k].frame, t.stamp - p->nrefs + at[k].last, ordered);
        }
        if (done >= turns || time >= limit || UNLIKELY(b->dead))
            break;
        if (done == next) {
            next += period;
            for (uint32_t k = 0; k < n; k++)
                at[k].want = peet__bus_key_behind(b, at[k].want, at[k].delta);
        }
    }
    c->stamp = t.stamp;
    *inout_time = time;
    return done;
}

/* peet__bus_evenly() for @n groups, a constant if they are few */
ALWAYS uint64_t go_evenly(struct looping *l, uint32_t n, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    const struct loop_way *ways[PEET_DIRECT_LOOKS];
    struct even at[PEET_DIRECT_LOOKS];
    uint64_t done = 0, until, next, period;
    int even = 1;
    for (uint32_t k = 0; k < n; k++)
        if (UNLIKELY(!(ways[k] = peet__bus_loop_way(l->b, l->plan, k, l->strides)))) {
            peet__bus_no_memory(l->b);
            return turns;
        }
    if (go_in_place(l, ways, n, turns, limit, inout_time))
        return turns;
    do {
        for (uint32_t k = 0; k < n; k++)
            even &= even_of(&at[k], l->b, ways[k], l->begins[k], done);
        if (!even)
            return 0;
        if (!done && in_step(at, n, &next, &period))
            return go_in_step(l, at, n, next, period, turns, limit, inout_time);
        if (limit != UINT64_MAX)
            return 0;
        struct even copies[PEET_DIRECT_LOOKS]; /* @at stays where it is quick */
        for (uint32_t k = 0; k < n; k++)
            copies[k] = at[k];
        until = done;
        done = go_apart(l, copies, n, until, turns);
        *inout_time += (done - until) * l->plan->cost;
    } while (done < turns && done - until >= FEW);
    return done;
}

/* Short loops are many: where turns.c is compiled with this, nothing is called. */
__attribute__((always_inline)) uint64_t peet__bus_evenly(struct looping *l, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    switch (l->n) {
    case 1:
        return go_evenly(l, 1, turns, limit, inout_time);
    case 2:
        return go_evenly(l, 2, turns, limit, inout_time);
    case 3:
        return go_evenly(l, 3, turns, limit, inout_time);
    default:
        return go_evenly(l, l->n, turns, limit, inout_time);
    }
}
