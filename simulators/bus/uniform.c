/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops with a uniform stride: each group either stays in its line, or stays in each of its lines for equally many
 * iterations and never lies in two.
 *
 * As long as everything hits, such a group needs one probe and one stamp for each of its lines, not for each iteration.
 * Groups that come to other lines in the same iteration (the usual case) are probed together.  Nothing is written
 * before all probes have hit.  Called by loops.c.
 */
#include "loops.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { LINES = 8 }; /* of each group at once: lines after a miss were probed in vain */

/* In this iteration the group begins there: does it stay in each line for so many iterations, and is never in two?
 * *out_next: the first iteration in another line */
ALWAYS int is_uniform(const struct bus *b, const struct loop_access *w, uint64_t begin, uint64_t iteration,
    uint64_t *out_next)
{
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1), at = offset >> w->shift;
    *out_next = iteration + w->stays + (w->stride < 0 ? at + 1 : w->period - at);
    return (offset & (w->unit - 1)) + w->span <= w->unit;
}

/* Does it stay in one line, from iteration @iteration on? */
ALWAYS int is_in_one_line(const struct bus *b, const struct loop_access *w, uint64_t begin, uint64_t iteration,
    uint64_t iterations)
{
    const uint64_t end = begin + (uint64_t)w->stride * (iterations - iteration - 1);
    return !(((begin ^ (end + w->span - 1u)) | (end ^ (begin + w->span - 1u))) >> b->line_shift);
}

/* Iterations from @from on, at most all, if all hit and each group has a uniform stride or stays in its line. Each
 * group's lines are probed one after the other. Nothing is written before all probes have hit. Returns: the iteration
 * after them; @from: none */
ALWAYS uint64_t go_hitting(const struct looping *l, const struct loop_access *const *accesses, uint32_t n,
    uint64_t from, uint64_t iterations, uint64_t limit, uint64_t *inout_time)
{
    const struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct block_template *const p = l->template;
    const uint32_t *const predictor = c->predictor;
    const uint64_t *const keys = c->keys;
    const uint64_t key_mask = peet__bus_key_mask(b);
    const uint32_t predictor_mask = b->predictor_mask;
    uint32_t frames[PEET_DIRECT_LOOKS][LINES];
    uint64_t nexts[PEET_DIRECT_LOOKS];
    for (uint32_t k = 0; k < n; k++) { /* the first iteration in the second line */
        const struct loop_access *const w = accesses[k];
        const uint64_t begin = l->begins[k] + (uint64_t)w->stride * from;
        if (is_uniform(b, w, begin, from, &nexts[k])) {
            if (UNLIKELY(nexts[k] + (LINES - 1) * w->period < iterations))
                iterations = nexts[k] + (LINES - 1) * w->period;
        } else {
            if (!is_in_one_line(b, w, begin, from, iterations))
                return from;
            nexts[k] = iterations;
        }
    }
    if (peet__bus_iterations_within(p, iterations - from, *inout_time, limit) != iterations - from)
        return from;
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_access *const w = accesses[k];
        uint64_t want = KEY_OF((l->begins[k] + (uint64_t)w->stride * from) >> b->line_shift) | PERMISSION,
                 next = nexts[k];
        for (uint32_t i = 0;; i++, next += w->period) {
            const uint32_t frame = frames[k][i] = predictor[KEY_LINE(want) & predictor_mask];
            if ((keys[frame] | w->permission_mask) != want)
                return from;
            if (next >= iterations)
                break;
            want = (want + w->delta) & key_mask;
        }
    }
    const uint64_t nrefs = p->nrefs, stamp = c->stamp += (iterations - from) * nrefs;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t last = stamp - nrefs + accesses[k]->last, period = accesses[k]->period;
        uint64_t next = nexts[k];
        uint32_t i = 0;
        for (; next < iterations; i++, next += period)
            peet__bus_use_last(c, frames[k][i], last - (iterations - next) * nrefs);
        peet__bus_use_last(c, frames[k][i], last);
    }
    *inout_time += (iterations - from) * p->cost;
    return iterations;
}

/* A group that stays in each line for so many iterations, and never is in two. */
struct uniform_access {
    uint64_t want, delta; /* as in struct looped */
    uint64_t next, period;
    uint64_t permission_mask, last, stride;
    uint32_t frame;
};

/* Returns: whether it is uniform, from iteration @iteration on, or stays in one line */
ALWAYS int uniform_of(struct uniform_access *a, const struct bus *b, const struct loop_access *w, uint64_t begin,
    uint64_t iteration, uint64_t iterations)
{
    const uint64_t now = begin + (uint64_t)w->stride * iteration;
    a->want = KEY_OF(now >> b->line_shift) | PERMISSION;
    a->delta = w->delta;
    a->permission_mask = w->permission_mask;
    a->last = w->last;
    a->stride = (uint64_t)w->stride;
    a->period = w->period + w->stays;
    const int uniform = is_uniform(b, w, now, iteration, &a->next);
    if (uniform && a->next < iterations)
        return 1;
    a->period = BUS_STAYS;
    a->delta = 0;
    return uniform || is_in_one_line(b, w, now, iteration, iterations);
}

/* Do they come to other lines together, those that do?  Then all do in the iteration *out_next. */
ALWAYS int cross_together(const struct uniform_access *at, uint32_t n, uint64_t *out_next, uint64_t *out_period)
{
    uint64_t next = BUS_STAYS, period = BUS_STAYS;
    int apart = 0;
    for (uint32_t k = 0; k < n; k++) {
        apart |= at[k].period < BUS_STAYS && period < BUS_STAYS && (at[k].next != next || at[k].period != period);
        next = at[k].period < BUS_STAYS ? at[k].next : next;
        period = at[k].period < BUS_STAYS ? at[k].period : period;
    }
    *out_next = next;
    *out_period = period;
    return !apart;
}

/* The lines have the stamps of iterations to come, but these have not: those of the latest one, which began with this
 * stamp.
 */
ALWAYS void use_now(struct cache *c, const struct uniform_access *at, uint32_t n, uint64_t stamp)
{
    for (uint32_t k = 0; k < n; k++)
        c->used[at[k].frame] = 0;
    for (uint32_t k = 0; k < n; k++)
        peet__bus_use_last(c, at[k].frame, stamp + at[k].last);
}

/*
 * Iterations from @done on, of groups with uniform strides that come to other lines in the same iterations, and of
 * groups that stay in their lines.  Each line gets, when a group comes to it, the stamp of the last iteration that will
 * find the group there: until then it is in use, and is never what has to make room, with that stamp as with those that
 * it has in truth.  Stamps and times count from iteration 0. Returns: so many are done then; @done: they are not
 */
ALWAYS uint64_t go_together(struct looping *l, uint32_t n, uint64_t done, uint64_t iterations, uint64_t limit,
    uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct block_template *const p = l->template;
    const struct line_access *const accesses = b->line_accesses + p->accesses - 1;
    const uint32_t *const predictor = c->predictor;
    const uint64_t *const keys = c->keys;
    uint64_t *const used = c->used;
    const uint64_t nrefs = p->nrefs, key_mask = peet__bus_key_mask(b), stamp = c->stamp - done * nrefs;
    const uint32_t predictor_mask = b->predictor_mask;
    struct uniform_access at[PEET_DIRECT_LOOKS];
    uint64_t time = *inout_time - done * p->cost, next, period;
    struct execution t = {.c = c, .block = l->block};
    int uniform = 1, ordered = 1; /* the last uses of the groups are in their order */
    for (uint32_t k = 0; k < n; k++) {
        uniform &= uniform_of(&at[k], b, accesses[k].loop, l->begins[k], done, iterations);
        ordered &= !k || at[k].last > at[k - 1].last;
    }
    accesses->loop->missed = 0;
    if (!uniform || !cross_together(at, n, &next, &period))
        return done;
    for (;;) {
        uint64_t until = next < iterations ? next : iterations;
        const uint64_t last = stamp + (until - 1) * nrefs;
        int waits = 0, still = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t frame = predictor[KEY_LINE(at[k].want) & predictor_mask];
            if ((keys[frame] | at[k].permission_mask) != at[k].want) {
                if (!waits) {
                    t.stamp = stamp + done * nrefs;
                    peet__bus_iteration_begins(l, &t, time + done * p->cost);
                    waits = 1;
                }
                frame = b->go_slowly(b, &t, l->begins[k] + at[k].stride * done, KEY_LINE(at[k].want), &accesses[k]);
                still |= (keys[frame] | at[k].permission_mask) != at[k].want;
            }
            at[k].frame = frame;
            used[frame] = LIKELY(ordered) || last + at[k].last > used[frame] ? last + at[k].last : used[frame];
        }
        if (waits) {
            accesses->loop->missed = 1;
            time += t.stalled * CPI_ONE;
            l->stalled += t.stalled;
            /* two in one line: what took it slowly need not be its latest use */
            for (uint32_t k = 0; UNLIKELY(!ordered) && until > done + 1 && k < n; k++)
                peet__bus_use_last(c, at[k].frame, last + at[k].last);
        }
        if (UNLIKELY(still || b->dead) || limit != UINT64_MAX) {
            const uint64_t all = until;
            until = done +
                (still || b->dead ? 1 : peet__bus_iterations_within(p, until - done, time + done * p->cost, limit));
            if (until < all)
                use_now(c, at, n, stamp + (until - 1) * nrefs);
        }
        done = until;
        if (done == iterations || (limit != UINT64_MAX && time + done * p->cost >= limit) || UNLIKELY(b->dead))
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

/* peet__bus_uniform() for @n groups, a constant if they are few */
#define UNIFORM(uniform_name, together_name, n, most) \
    static __attribute__((noinline)) uint64_t together_name(struct looping *l, uint64_t done, uint64_t iterations, \
        uint64_t limit, uint64_t *inout_time) \
    { \
        return go_together(l, n, done, iterations, most, inout_time); \
    } \
    ALWAYS uint64_t uniform_name(struct looping *l, uint64_t iterations, uint64_t limit, uint64_t *inout_time) \
    { \
        const struct loop_access *accesses[PEET_DIRECT_LOOKS]; \
        uint64_t done = 0, from; \
        for (uint32_t k = 0; k < n; k++) \
            if (UNLIKELY(!(accesses[k] = peet__bus_loop_access(l->b, l->template, k, l->strides)))) { \
                peet__bus_no_memory(l->b); \
                return iterations; \
            } \
        if (!accesses[0]->missed) \
            do { \
                from = done; \
                done = go_hitting(l, accesses, n, from, iterations, limit, inout_time); \
                if (LIKELY(done == iterations) || (done && *inout_time >= limit)) \
                    return done; \
            } while (done > from); \
        return together_name(l, done, iterations, limit, inout_time); \
    }
UNIFORM(uniform_any, together_any, l->n, limit)
UNIFORM(uniform_1, together_1, 1, UINT64_MAX)
UNIFORM(uniform_2, together_2, 2, UINT64_MAX)
UNIFORM(uniform_3, together_3, 3, UINT64_MAX)
/* Short loops are many: where loops.c is compiled with this, nothing is called. */
__attribute__((always_inline)) uint64_t peet__bus_uniform(struct looping *l, uint64_t iterations, uint64_t limit,
    uint64_t *inout_time)
{
    return UNLIKELY(limit != UINT64_MAX) ? uniform_any(l, iterations, limit, inout_time)
        : l->n == 2                      ? uniform_2(l, iterations, limit, inout_time)
        : l->n == 1                      ? uniform_1(l, iterations, limit, inout_time)
        : l->n == 3                      ? uniform_3(l, iterations, limit, inout_time)
                                         : uniform_any(l, iterations, limit, inout_time);
}
