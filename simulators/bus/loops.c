/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops: an event of many iterations of one block.
 *
 * For each group of the block (template.c) it is known which iteration finds the group in another line, or in two.  All
 * iterations before the first of these hit, and are taken at once.  In that iteration only the groups that have come to
 * other lines are probed: the lines of the others were used one iteration ago, and are where they were.
 *
 * This file has what all loops share, and loops of blocks that do not go by groups (groups.c).  uniform.c has loops
 * with uniform strides, schedule.c the others.  Called by module.c and direct.c.
 */
#include "ahead.h"
#include "straddle.h"
#include "loops.h"
#include <stdlib.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The group of an access, if there are accesses. */
static const struct group *group_of(const struct bus *b, const struct block_template *p, uint32_t k)
{
    return &peet__bus_groups_of(b, p)[p->accesses ? b->line_accesses[p->accesses - 1 + k].group : k];
}

/* A group of a line's bytes or less is in two lines in some iterations, unless all its places are multiples of a power
 * of two. */
static struct loop_access loop_access_of(const struct bus *b, const struct group *g, int64_t stride)
{
    const uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    const uint32_t shift = step & (b->line_bytes - 1) ? (uint32_t)__builtin_ctzll(step) : b->line_shift;
    struct loop_access w = {.stride = stride,
        .value = g->value,
        .span = g->span,
        .permission_mask = g->permission_mask,
        .last = g->stamp,
        .shift = (uint8_t)shift,
        .inverse = 1,
        .period = 1,
        .stays = step ? 0 : BUS_STAYS,
        .room = (int32_t)b->line_bytes - g->span};
    w.delta = KEY_OF(step >= b->line_bytes || !step ? (uint64_t)(stride >> b->line_shift)
            : stride < 0                            ? UINT64_MAX
                                                    : 1);
    w.flip = stride < 0 ? 0 : UINT32_MAX;
    w.base = stride < 0 ? 0 : (uint32_t)w.room + 1;
    if (shift == b->line_shift) {
        w.unit = b->line_bytes;
    } else if (step == 1u << shift) {
        w.unit = (uint32_t)step;
        w.period = (uint16_t)(b->line_bytes >> shift);
        w.inverse = 1ull << (32 - shift);
    } else if (step < b->line_bytes) {
        w.inverse = ((1ull << 32) + step - 1) / step;
    }
    return w;
}

__attribute__((noinline)) const struct loop_access *peet__bus_loop_access_new(struct bus *b,
    const struct block_template *p, uint32_t k, const int64_t *strides)
{
    struct line_access *const first = &b->line_accesses[p->accesses - 1], *const w = first + k;
    const struct group *const g = group_of(b, p, k);
    if (w->loop || (w->loop = calloc(1, sizeof *w->loop))) {
        struct loop_access new = loop_access_of(b, g, strides[g->value]);
        memcpy(new.schedules, w->loop->schedules, sizeof new.schedules);
        *w->loop = new;
        peet__bus_schedules_forget(first->loop);
    }
    return w->loop;
}

/* The values of an iteration whose groups begin there. */
static void values_in(const struct looping *l, uint64_t iteration, const uint64_t *begins, uint64_t *values)
{
    if (l->values) {
        for (uint32_t i = 0; i < l->block->nvalues; i++)
            values[i] = l->values[i] + (uint64_t)l->strides[i] * iteration;
        return;
    }
    const struct line_access *const accesses =
        l->b->line_accesses + l->template->accesses - 1; /* there: addresses came by groups */
    for (uint32_t k = 0; k < l->n; k++)
        for (uint32_t i = 0; i < accesses[k].nmembers; i++) {
            const struct group_member *const m = &l->b->group_members[accesses[k].members + i];
            values[l->block->refs[m->ref].value] = begins[k] + m->offset;
        }
}

/* The iteration does not only hit; nothing has happened.  Returns: its time, in CPI_ONE */
static __attribute__((noinline)) uint64_t iteration_exactly(struct looping *l, uint64_t iteration,
    const uint64_t *begins, uint64_t time)
{
    uint64_t values[TEMPLATE_REFS];
    values_in(l, iteration, begins, values);
    return peet__bus_exactly(l->b, l->hw, &(struct peet_block_event){l->block, values, l->hw, 1, NULL}, l->now, time,
        &l->stalled);
}

__attribute__((noinline)) uint64_t peet__bus_straddling_iteration(struct looping *l, uint64_t iteration,
    const uint64_t *begins, uint64_t time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    struct execution t = {
        .c = c, .start = l->now + time / CPI_ONE, .rest = time % CPI_ONE, .block = l->block, .stamp = c->stamp};
    if (UNLIKELY(peet__bus_take_straddling(b, &t, l->template, l->block, begins)))
        return iteration_exactly(l, iteration, begins, time);
    c->stamp = t.stamp + l->template->nrefs + t.more_stamps;
    l->stalled += t.stalled;
    return l->template->cost + t.more_time + t.stalled * CPI_ONE;
}

/* go_round() where an iteration that does not only hit is taken as any block is; @together: groups are all there is */
static uint64_t go_exactly(struct looping *l, int together, uint64_t iterations, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct block_template *const p = l->template;
    struct loop_access accesses[LOOP_GROUPS];
    struct looped all[LOOP_GROUPS];
    uint32_t frames[LOOP_GROUPS];
    const uint32_t n = together ? l->n : 0;
    uint64_t done = 0, time = *inout_time;
    uint32_t straddling = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct group *const g = group_of(b, p, k);
        accesses[k] = loop_access_of(b, g, l->strides[g->value]);
        all[k] = (struct looped){.begin = l->begins[k],
            .stride = (uint64_t)accesses[k].stride,
            .access = &accesses[k],
            .last = accesses[k].last};
        straddling += (uint32_t)peet__bus_come(&all[k], b, 0);
    }
    for (;;) {
        uint64_t missing = !together || straddling, until = iterations;
        for (uint32_t k = 0; k < n; k++) {
            frames[k] = c->predictor[peet__bus_hint(b, KEY_LINE(all[k].want))];
            missing |= (c->keys[frames[k]] | accesses[k].permission_mask) ^ all[k].want;
            until = all[k].next < until ? all[k].next : until;
        }
        if (missing) {
            uint64_t begins[LOOP_GROUPS];
            for (uint32_t k = 0; k < n; k++)
                begins[k] = peet__bus_begin_in(&all[k], done);
            time += p->accesses && together ? peet__bus_straddling_iteration(l, done, begins, time)
                                            : iteration_exactly(l, done, begins, time);
            done++;
        } else {
            done += peet__bus_iterations_hit(p, until - done, limit, &c->stamp, &time);
            for (uint32_t k = 0; k < n; k++) {
                peet__bus_use_last(c, frames[k], c->stamp - p->nrefs + all[k].last);
                if (c->plru)
                    peet__bus_plru_used(b, c, frames[k]);
            }
        }
        if (done >= iterations || time >= limit || b->dead)
            break;
        straddling = 0;
        for (uint32_t k = 0; k < n; k++)
            if (all[k].next == done)
                straddling += (uint32_t)peet__bus_come(&all[k], b, done);
    }
    *inout_time = time;
    return done;
}

/* At most @iterations iterations, up to the first that reaches the limit.  Returns: how many */
ALWAYS uint64_t go_round(struct looping *l, uint64_t iterations, uint64_t limit, uint64_t *inout_time)
{
    const int together = l->template->known - 1 != TEMPLATE_GENERAL && l->n <= LOOP_GROUPS;
    uint64_t done = 0;
    if (UNLIKELY(!together || !l->template->accesses || l->n > l->b->ways))
        return go_exactly(l, together, iterations, limit, inout_time);
    if (l->n <= PEET_DIRECT_LOOKS)
        done = peet__bus_uniform(l, iterations, limit, inout_time);
    if (LIKELY(done == iterations) || (done && *inout_time >= limit) || UNLIKELY(l->b->dead))
        return done;
    return peet__bus_by_schedule(l, done, iterations, limit, inout_time);
}

void peet__bus_iterations(struct bus *b, unsigned hw, const struct block_template *p, const struct peet_block *block,
    const uint64_t *begins, const int64_t *strides, uint64_t iterations, uint64_t now, uint64_t *inout_time,
    uint64_t *inout_stalled)
{
    struct looping l = {.b = b,
        .hw = hw,
        .template = p,
        .block = block,
        .begins = begins,
        .strides = strides,
        .n = p->ngroups,
        .now = now};
    go_round(&l, iterations, UINT64_MAX, inout_time);
    *inout_stalled += l.stalled;
}

uint64_t peet__bus_loop(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    const struct peet_block *const block = event->block;
    uint64_t time = b->hw[hw].cpi_rest;
    *out_turns = 1;
    /* rare: the mapper comes again for the others */
    if (block->nvalues > TEMPLATE_REFS || (b->ahead && b->ahead->runs_ahead)) {
        struct peet_block_event one = *event;
        one.turns = 1;
        return b->walk(b, hw, &one, 1, now, until, &(size_t){0});
    }
    if ((block->id >= b->ntemplates || !b->templates[block->id].known) && peet__bus_template(b, block, event->values)) {
        peet__bus_no_memory(b);
        return 0;
    }
    const struct block_template *const p = &b->templates[block->id];
    const uint64_t limit = peet__bus_limit_of(now, until);
    /* one iteration, as most are while other processors are due or a follower is given what the machine took: a block
     * needs less than a loop before it begins */
    if (event->turns == 1 || time + p->cost >= limit)
        return b->walk(b, hw, event, 1, now, until, &(size_t){0});
    uint64_t begins[LOOP_GROUPS];
    struct looping l = {.b = b,
        .hw = hw,
        .template = p,
        .block = block,
        .begins = begins,
        .values = event->values,
        .strides = event->strides,
        .n = p->ngroups,
        .now = now};
    for (uint32_t k = 0; k < l.n && l.n <= LOOP_GROUPS && p->known - 1 != TEMPLATE_GENERAL; k++) {
        const struct group *const g = group_of(b, p, k);
        begins[k] = event->values[g->value] - g->before;
    }
    const uint64_t done = go_round(&l, event->turns, limit, &time);
    peet__bus_account(b, hw, now, time, (uint64_t)(block->reads + block->modifies) * done,
        (uint64_t)(block->writes + block->modifies) * done, l.stalled);
    *out_turns = done;
    return time / CPI_ONE - l.stalled;
}
