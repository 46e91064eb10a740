/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops with a uniform stride: each group either stays in its line, or stays in each of its lines for equally many
 * iterations and never lies in two.
 *
 * As long as everything hits, such a group needs one probe and one stamp for each of its lines, not for each iteration.
 * Groups that come to other lines in the same iteration (the usual case) are probed together.  Nothing is written
 * before all probes are known.  Called by turns.c.
 */
#include "turns.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { LINES = 8 }; /* of each group at once: what lies behind a miss was looked at for nothing */

/* In this turn the group begins there: does it stay in each line for so many turns, and is never in two?  *out_next:
 * the first turn in another line */
ALWAYS int is_even(const struct bus *b, const struct loop_way *w, uint64_t begin, uint64_t turn, uint64_t *out_next)
{
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1), at = offset >> w->shift;
    *out_next = turn + w->stays + (w->stride < 0 ? at + 1 : w->period - at);
    return (offset & (w->unit - 1)) + w->span <= w->unit;
}

/* Does it stay in one line, from turn @turn on? */
ALWAYS int is_in_one_line(const struct bus *b, const struct loop_way *w, uint64_t begin, uint64_t turn, uint64_t turns)
{
    const uint64_t end = begin + (uint64_t)w->stride * (turns - turn - 1);
    return !(((begin ^ (end + w->span - 1u)) | (end ^ (begin + w->span - 1u))) >> b->line_shift);
}

/* Turns from @from on, as many as there are at most, if all hit, and each group is even or stays where it is: each goes
 * through its lines by itself, one look for each.  Nothing is written before all is known.  Returns: the turn behind
 * them; @from: none */
ALWAYS uint64_t go_hitting(const struct looping *l, const struct loop_way *const *ways, uint32_t n, uint64_t from,
    uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    const struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    const uint32_t *const hints = c->hints;
    const uint64_t *const keys = c->keys;
    const uint64_t key_mask = peet__bus_key_mask(b);
    const uint32_t hint_mask = b->hint_mask;
    uint32_t frames[PEET_DIRECT_LOOKS][LINES];
    uint64_t nexts[PEET_DIRECT_LOOKS];
    for (uint32_t k = 0; k < n; k++) { /* the first turn in the second line */
        const struct loop_way *const w = ways[k];
        const uint64_t begin = l->begins[k] + (uint64_t)w->stride * from;
        if (is_even(b, w, begin, from, &nexts[k])) {
            if (UNLIKELY(nexts[k] + (LINES - 1) * w->period < turns))
                turns = nexts[k] + (LINES - 1) * w->period;
        } else {
            if (!is_in_one_line(b, w, begin, from, turns))
                return from;
            nexts[k] = turns;
        }
    }
    if (peet__bus_turns_within(p, turns - from, *inout_time, limit) != turns - from)
        return from;
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_way *const w = ways[k];
        uint64_t want = KEY_OF((l->begins[k] + (uint64_t)w->stride * from) >> b->line_shift) | QUICK, next = nexts[k];
        for (uint32_t i = 0;; i++, next += w->period) {
            const uint32_t frame = frames[k][i] = hints[KEY_LINE(want) & hint_mask];
            if ((keys[frame] | w->either) != want)
                return from;
            if (next >= turns)
                break;
            want = (want + w->delta) & key_mask;
        }
    }
    const uint64_t nrefs = p->nrefs, stamp = c->stamp += (turns - from) * nrefs;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t last = stamp - nrefs + ways[k]->last, period = ways[k]->period;
        uint64_t next = nexts[k];
        uint32_t i = 0;
        for (; next < turns; i++, next += period)
            peet__bus_use_last(c, frames[k][i], last - (turns - next) * nrefs);
        peet__bus_use_last(c, frames[k][i], last);
    }
    *inout_time += (turns - from) * p->cost;
    return turns;
}

/* A group that stays in each line for so many turns, and never is in two. */
struct even {
    uint64_t want, delta; /* as in struct looped */
    uint64_t next, period;
    uint64_t either, last, stride;
    uint32_t frame;
};

/* Returns: whether it is even, from turn @turn on, or stays in one line */
ALWAYS int even_of(struct even *a, const struct bus *b, const struct loop_way *w, uint64_t begin, uint64_t turn,
    uint64_t turns)
{
    const uint64_t now = begin + (uint64_t)w->stride * turn;
    a->want = KEY_OF(now >> b->line_shift) | QUICK;
    a->delta = w->delta;
    a->either = w->either;
    a->last = w->last;
    a->stride = (uint64_t)w->stride;
    a->period = w->period + w->stays;
    const int even = is_even(b, w, now, turn, &a->next);
    if (even && a->next < turns)
        return 1;
    a->period = BUS_STAYS;
    a->delta = 0;
    return even || is_in_one_line(b, w, now, turn, turns);
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

/* The lines have the stamps of turns to come, but these have not: those of the latest one, which began with this stamp.
 */
ALWAYS void use_now(struct cache *c, const struct even *at, uint32_t n, uint64_t stamp)
{
    for (uint32_t k = 0; k < n; k++)
        c->used[at[k].frame] = 0;
    for (uint32_t k = 0; k < n; k++)
        peet__bus_use_last(c, at[k].frame, stamp + at[k].last);
}

/*
 * Turns from @done on of even groups in step, and of those that stay where they are.  Each line gets, when a group
 * comes to it, the stamp of the last turn that will find the group there: until then it is in use, and is never what
 * has to make room, with that stamp as with those that it has in truth.  Stamps and times count from turn 0. Returns:
 * so many are done then; @done: they are not
 */
ALWAYS uint64_t go_in_step(struct looping *l, uint32_t n, uint64_t done, uint64_t turns, uint64_t limit,
    uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    const uint32_t *const hints = c->hints;
    const uint64_t *const keys = c->keys;
    uint64_t *const used = c->used;
    const uint64_t nrefs = p->nrefs, key_mask = peet__bus_key_mask(b), stamp = c->stamp - done * nrefs;
    const uint32_t hint_mask = b->hint_mask;
    struct even at[PEET_DIRECT_LOOKS];
    uint64_t time = *inout_time - done * p->cost, next, period;
    struct turn t = {.c = c, .block = l->block};
    int even = 1, ordered = 1; /* the last uses of the groups are in their order */
    for (uint32_t k = 0; k < n; k++) {
        even &= even_of(&at[k], b, ways[k].loop, l->begins[k], done, turns);
        ordered &= !k || at[k].last > at[k - 1].last;
    }
    ways->loop->missed = 0;
    if (!even || !in_step(at, n, &next, &period))
        return done;
    for (;;) {
        uint64_t until = next < turns ? next : turns;
        const uint64_t last = stamp + (until - 1) * nrefs;
        int waits = 0, still = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t frame = hints[KEY_LINE(at[k].want) & hint_mask];
            if ((keys[frame] | at[k].either) != at[k].want) {
                if (!waits) {
                    t.stamp = stamp + done * nrefs;
                    peet__bus_turn_begins(l, &t, time + done * p->cost);
                    waits = 1;
                }
                frame = b->go_slowly(b, &t, l->begins[k] + at[k].stride * done, KEY_LINE(at[k].want), &ways[k]);
                still |= (keys[frame] | at[k].either) != at[k].want;
            }
            at[k].frame = frame;
            used[frame] = LIKELY(ordered) || last + at[k].last > used[frame] ? last + at[k].last : used[frame];
        }
        if (waits) {
            ways->loop->missed = 1;
            time += t.stalled * CPI_ONE;
            l->stalled += t.stalled;
            /* two in one line: what took it slowly need not be its latest use */
            for (uint32_t k = 0; UNLIKELY(!ordered) && until > done + 1 && k < n; k++)
                peet__bus_use_last(c, at[k].frame, last + at[k].last);
        }
        if (UNLIKELY(still || b->dead) || limit != UINT64_MAX) {
            const uint64_t all = until;
            until =
                done + (still || b->dead ? 1 : peet__bus_turns_within(p, until - done, time + done * p->cost, limit));
            if (until < all)
                use_now(c, at, n, stamp + (until - 1) * nrefs);
        }
        done = until;
        if (done == turns || (limit != UINT64_MAX && time + done * p->cost >= limit) || UNLIKELY(b->dead))
            break;
        if (done == next) {
            next += period;
            for (uint32_t k = 0; k < n; k++)
                at[k].want = (at[k].want + at[k].delta) & key_mask;
        }
    }
    c->stamp = stamp + done * nrefs;
    *inout_time = time + done * p->cost;
    return done;
}

/* peet__bus_evenly() for @n groups, a constant if they are few */
#define EVENLY(name, n, most) \
    static __attribute__((noinline)) uint64_t in_step_##name(struct looping *l, uint64_t done, uint64_t turns, \
        uint64_t limit, uint64_t *inout_time) \
    { \
        return go_in_step(l, n, done, turns, most, inout_time); \
    } \
    ALWAYS uint64_t evenly_##name(struct looping *l, uint64_t turns, uint64_t limit, uint64_t *inout_time) \
    { \
        const struct loop_way *ways[PEET_DIRECT_LOOKS]; \
        uint64_t done = 0, from; \
        for (uint32_t k = 0; k < n; k++) \
            if (UNLIKELY(!(ways[k] = peet__bus_loop_way(l->b, l->plan, k, l->strides)))) { \
                peet__bus_no_memory(l->b); \
                return turns; \
            } \
        if (!ways[0]->missed) \
            do { \
                from = done; \
                done = go_hitting(l, ways, n, from, turns, limit, inout_time); \
                if (LIKELY(done == turns) || (done && *inout_time >= limit)) \
                    return done; \
            } while (done > from); \
        return in_step_##name(l, done, turns, limit, inout_time); \
    }
EVENLY(any, l->n, limit)
#define UNLIMITED(n) EVENLY(n, n, UINT64_MAX)
UNLIMITED(1)
UNLIMITED(2)
UNLIMITED(3)
/* Short loops are many: where turns.c is compiled with this, nothing is called. */
__attribute__((always_inline)) uint64_t peet__bus_evenly(struct looping *l, uint64_t turns, uint64_t limit,
    uint64_t *inout_time)
{
    return UNLIKELY(limit != UINT64_MAX) ? evenly_any(l, turns, limit, inout_time)
        : l->n == 2                      ? evenly_2(l, turns, limit, inout_time)
        : l->n == 1                      ? evenly_1(l, turns, limit, inout_time)
        : l->n == 3                      ? evenly_3(l, turns, limit, inout_time)
                                         : evenly_any(l, turns, limit, inout_time);
}
