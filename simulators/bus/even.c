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

struct bus_stride peet__bus_stride_of_any(struct bus *b, uint64_t step)
{
    struct bus_stride s = {.inverse = 1, .period = 1};
    if (!(step & (b->line_bytes - 1))) {
        s.unit = b->line_bytes;
        s.shift = (uint8_t)b->line_shift;
    } else if (step < b->line_bytes) {
        s.inverse = ((1ull << 32) + step - 1) / step;
        s.unit = step & (step - 1) ? 0 : (uint32_t)step;
        s.period = b->line_bytes / (uint32_t)step;
        s.shift = (uint8_t)__builtin_ctzll(step);
    }
    if (step < BUS_STRIDES)
        b->strides[step] = s;
    return s;
}

/* All turns, if no group leaves its line, and all hit.  Returns: whether it was so */
ALWAYS int go_in_place(struct looping *l, uint32_t n, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    const struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    uint32_t frames[PEET_DIRECT_LOOKS];
    if (peet__bus_turns_within(p, turns, *inout_time, limit) != turns)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t begin;
        const struct group *const g = peet__bus_group_of_way(l, k, &begin);
        const uint64_t end = begin + (uint64_t)l->strides[g->value] * (turns - 1), line = begin >> b->line_shift;
        if (((begin ^ (end + g->span - 1u)) | (end ^ (begin + g->span - 1u))) >> b->line_shift)
            return 0;
        frames[k] = c->hints[line & b->hint_mask];
        if ((c->keys[frames[k]] | g->either) != (KEY_OF(line) | QUICK))
            return 0;
    }
    c->stamp += turns * p->nrefs;
    for (uint32_t k = 0; k < n; k++)
        peet__bus_use_last(c, frames[k], c->stamp - p->nrefs + b->group_ways[p->ways - 1 + k].last);
    *inout_time += turns * p->cost;
    return 1;
}

/* A group that stays in each line for so many turns, and never is in two. */
struct even {
    uint64_t want, delta;   /* as in struct looped */
    uint64_t next, period;
    uint32_t frame;
    uint8_t either, last;
};

/* Returns: whether it does, from turn @turn on */
ALWAYS int even_of(struct even *a, struct bus *b, const struct group *g, uint64_t begin, int64_t stride, uint64_t turn)
{
    const uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    const struct bus_stride s = peet__bus_stride_of(b, step);
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1), at = offset >> s.shift;
    a->want = KEY_OF(begin >> b->line_shift) | QUICK;
    a->delta = KEY_OF(step >= b->line_bytes || !step ? (uint64_t)(stride >> b->line_shift) : stride < 0 ? UINT64_MAX : 1);
    a->either = g->either;
    a->last = g->stamp;
    a->period = step ? s.period : BUS_STAYS;
    a->next = turn + (stride < 0 ? at + 1 : a->period - at);
    return (offset & (s.unit - 1)) + g->span <= s.unit;
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
    uint64_t done = 0, time = *inout_time, begin;
    struct turn t = {.c = c, .block = l->block, .stamp = c->stamp};
    int ordered = 1; /* the last uses of the groups are in their order */
    for (uint32_t k = 1; k < n; k++)
        ordered &= at[k].last > at[k - 1].last;
    for (;;) {
        uint64_t odd = 0, until = next < turns ? next : turns;
        int still = 0;
        for (uint32_t k = 0; k < n; k++) {
            at[k].frame = hints[KEY_LINE(at[k].want) & b->hint_mask];
            odd |= (keys[at[k].frame] | at[k].either) ^ at[k].want;
        }
        if (odd) {
            peet__bus_turn_begins(l, &t, time);
            for (uint32_t k = 0; k < n; k++) {
                const struct group *const g = peet__bus_group_of_way(l, k, &begin);
                at[k].frame = peet__bus_go_to(b, &t, begin + (uint64_t)l->strides[g->value] * done, at[k].want, at[k].frame, &ways[k]);
                still |= (keys[at[k].frame] | at[k].either) != at[k].want;
            }
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
    struct even at[PEET_DIRECT_LOOKS];
    uint64_t done = 0, until, next, period, begin;
    int even = 1;
    if (go_in_place(l, n, turns, limit, inout_time))
        return turns;
    do {
        for (uint32_t k = 0; k < n; k++) {
            const struct group *const g = peet__bus_group_of_way(l, k, &begin);
            const int64_t stride = l->strides[g->value];
            even &= even_of(&at[k], l->b, g, begin + (uint64_t)stride * done, stride, done);
        }
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
