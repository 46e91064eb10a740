/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops.  While no group of the loop's block (plan.c) leaves its line, and all of them hit without consequences, turns
 * are all the same: they are taken at once.  The turn after that, in which some groups have come to other lines, is looked at in whole.
 * If it does not only hit, it is taken by itself: way by way (groups.c), or reference by reference (fast.c).  Called by module.c.
 */
#include "bus.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { LOOP_GROUPS = 32 };

/* A group on its way through the turns. */
struct looped {
    uint64_t want;          /* key of its line */
    uint64_t until;         /* the turn that finds it in another line, or in two */
    uint32_t frame;         /* where its line was last */
    uint8_t either, last;   /* as in the group and the way */
    uint16_t span;
    uint64_t begin;         /* where it is in the first turn */
    int64_t stride;
    uint32_t step, inverse; /* stride without sign, 0 if it is longer than a line; a 2^32th of it, rounded up */
};

ALWAYS uint64_t begin_in(const struct looped *l, uint64_t turn)
{
    return l->begin + (uint64_t)l->stride * turn;
}

static void looped_init(struct looped *l, const struct bus *b, const struct group *g, uint64_t begin, int64_t stride)
{
    const uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    *l = (struct looped){.begin = begin, .stride = stride, .either = g->either, .last = g->stamp, .span = g->span};
    l->step = step <= b->line_bytes ? (uint32_t)step : 0;
    l->inverse = l->step <= 1 ? 0 : l->step & (l->step - 1) ? UINT32_MAX / l->step + 1 : 1u << (32 - __builtin_ctz(l->step));
}

/* It has come to other bytes.  Returns: whether they lie in two lines */
ALWAYS int come(struct looped *l, const struct bus *b, const struct cache *c, uint64_t turn)
{
    const uint64_t begin = begin_in(l, turn), line = begin >> b->line_shift;
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1);
    l->until = turn + 1;
    l->want = KEY_OF(line) | QUICK;
    if (UNLIKELY(offset + l->span > b->line_bytes))
        return 1;
    const uint32_t room = l->stride > 0 ? b->line_bytes - l->span - offset : offset;
    if (l->inverse) /* exact: both are small */
        l->until += (uint64_t)room * l->inverse >> 32;
    else if (l->step == 1)
        l->until += room;
    else if (!l->stride)
        l->until = UINT64_MAX;
    l->frame = c->hints[line & b->hint_mask];
    return 0;
}

/* So many turns have happened, all hits; @stamp: before the last of them. */
ALWAYS void use_turns(const struct bus *b, struct cache *c, const struct looped *at, uint32_t n, uint64_t stamp)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t used = stamp + at[k].last;
        c->used[at[k].frame] = used > c->used[at[k].frame] ? used : c->used[at[k].frame];
        if (c->plru)
            peet__bus_plru_used(b, c, at[k].frame);
    }
}

/* The turn does not only hit: way by way.  @halves: some groups lie in two lines.  Returns: 0, or -1: it must go another way */
ALWAYS int go_by_ways(struct bus *b, struct turn *t, const struct plan *p, struct looped *at, uint32_t n, uint64_t turn, int halves)
{
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    struct cache *const c = t->c;
    if (UNLIKELY(halves) || UNLIKELY(n > b->ways)) {
        uint64_t begins[LOOP_GROUPS];
        for (uint32_t k = 0; k < n; k++)
            begins[k] = begin_in(&at[k], turn);
        return peet__bus_halves_go(b, t, p, t->block, begins);
    }
    for (uint32_t k = 0; k < n; k++) {
        struct looped *const l = &at[k];
        const uint64_t used = t->stamp + l->last;
        if ((c->keys[l->frame] | l->either) != l->want)
            l->frame = b->go_slowly(b, t, begin_in(l, turn), KEY_LINE(l->want), &ways[k]);
        c->used[l->frame] = used > c->used[l->frame] ? used : c->used[l->frame];
    }
    return 0;
}

/* A loop that is under way: what it goes round, and where. */
struct looping {
    struct bus *b;
    unsigned hw;
    const struct plan *plan;
    const struct peet_block *block;
    const uint64_t *values;  /* of the first turn; NULL: groups say where everything is */
    const int64_t *strides;
    uint32_t n;              /* groups in @at */
    int together;            /* they are all there is */
    struct looped at[LOOP_GROUPS];
};

/* The turn's values. */
static void values_in(const struct looping *l, uint64_t turn, uint64_t *values)
{
    if (l->values) {
        for (uint32_t i = 0; i < l->block->nvalues; i++)
            values[i] = l->values[i] + (uint64_t)l->strides[i] * turn;
        return;
    }
    const struct group_way *const ways = l->b->group_ways + l->plan->ways - 1; /* there: addresses came by groups */
    for (uint32_t k = 0; k < l->n; k++)
        for (uint32_t i = 0; i < ways[k].nmembers; i++) {
            const struct group_member *const m = &l->b->group_members[ways[k].members + i];
            values[l->block->refs[m->ref].value] = begin_in(&l->at[k], turn) + m->offset;
        }
}

/* The turn does not only hit.  Returns: its time, in CPI_ONE */
ALWAYS uint64_t one_turn(struct looping *l, uint32_t n, uint64_t turn, int halves, uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    if (LIKELY(l->together && l->plan->ways)) {
        struct turn t = {.c = c, .start = now + time / CPI_ONE, .rest = time % CPI_ONE, .block = l->block, .stamp = c->stamp};
        if (LIKELY(!go_by_ways(b, &t, l->plan, l->at, n, turn, halves))) {
            c->stamp = t.stamp + l->plan->nrefs + t.more_stamps;
            *inout_stalled += t.stalled;
            return l->plan->cost + t.more_time + t.stalled * CPI_ONE;
        }
    }
    uint64_t values[PLAN_REFS];
    values_in(l, turn, values);
    return peet__bus_exactly(b, l->hw, &(struct peet_block_event){l->block, values, l->hw, 1, NULL}, now, time, inout_stalled);
}

/* Where all groups are in this turn.  @out_until: up to which turn they stay in their lines; @out_halves: some lie in two.  Returns: whether
 * they all hit */
ALWAYS int look_at_all(struct bus *b, struct cache *c, struct looped *at, uint32_t n, uint64_t turn, uint64_t turns, uint64_t *out_until, int *out_halves)
{
    uint64_t until = turns, odd = 0;
    int halves = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct looped *const l = &at[k];
        if (l->until == turn)
            halves |= come(l, b, c, turn);
        if (UNLIKELY((c->keys[l->frame] | l->either) != l->want)) { /* it may have moved */
            l->frame = c->hints[KEY_LINE(l->want) & b->hint_mask];
            odd |= (c->keys[l->frame] | l->either) ^ l->want;
        }
        until = l->until < until ? l->until : until;
    }
    *out_halves = halves;
    *out_until = until;
    return !odd && !halves;
}

/* Do they all hit, where they were in the turn before? */
ALWAYS int look_again(const struct cache *c, const struct looped *at, uint32_t n)
{
    uint64_t odd = 0;
    for (uint32_t k = 0; k < n; k++)
        odd |= (c->keys[at[k].frame] | at[k].either) ^ at[k].want;
    return !odd;
}

/* go_round() for @n groups, a constant if they are few */
ALWAYS uint64_t go_round_with(struct looping *l, uint32_t n, uint64_t turns, uint64_t now, uint64_t limit, uint64_t *inout_time, uint64_t *inout_stalled)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    uint64_t done = 0, time = *inout_time;
    do {
        int halves = 0, hit;
        uint64_t until = turns, more;
        hit = l->together && look_at_all(b, c, l->at, n, done, turns, &until, &halves);
        if (!hit) {
            time += one_turn(l, n, done, halves, now, time, inout_stalled);
            done++;
            hit = l->together && !halves && time < limit && !b->dead && look_again(c, l->at, n);
        }
        more = until - done;
        if (hit && more) { /* no further than to the first that reaches the limit */
            if (limit != UINT64_MAX && UNLIKELY(time >= limit || p->cost * more >= limit - time)) {
                const uint64_t left = limit <= time ? 1 : p->cost ? (limit - time - 1) / p->cost + 1 : UINT64_MAX;
                more = more > left ? left : more;
            }
            use_turns(b, c, l->at, n, c->stamp + (more - 1) * p->nrefs);
            c->stamp += more * p->nrefs;
            time += p->cost * more;
            done += more;
        }
    } while (done < turns && time < limit && !b->dead);
    *inout_time = time;
    return done;
}

/* At most @turns turns, up to the first that reaches the limit.  Returns: how many */
static uint64_t go_round(struct looping *l, uint64_t turns, uint64_t now, uint64_t limit, uint64_t *inout_time, uint64_t *inout_stalled)
{
    switch (l->n) {
    case 1:
        return go_round_with(l, 1, turns, now, limit, inout_time, inout_stalled);
    case 2:
        return go_round_with(l, 2, turns, now, limit, inout_time, inout_stalled);
    case 3:
        return go_round_with(l, 3, turns, now, limit, inout_time, inout_stalled);
    case 4:
        return go_round_with(l, 4, turns, now, limit, inout_time, inout_stalled);
    default:
        return go_round_with(l, l->n, turns, now, limit, inout_time, inout_stalled);
    }
}

/* Room for the groups of a plan: those of groups.c in the order of their first references, else of their last ones. */
static void looping_init(struct looping *l, struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block,
    const uint64_t *addresses, const uint64_t *values, const int64_t *strides)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    const struct group_way *const ways = p->ways ? b->group_ways + p->ways - 1 : NULL;
    l->b = b;
    l->hw = hw;
    l->plan = p;
    l->block = block;
    l->values = values;
    l->strides = strides;
    l->n = p->ngroups;
    l->together = p->known - 1 != PLAN_GENERAL && p->ngroups <= LOOP_GROUPS;
    for (uint32_t k = 0; l->together && k < l->n; k++) {
        const uint32_t name = ways ? ways[k].group : k;
        const struct group *const g = &groups[name];
        looped_init(&l->at[k], b, g, (values ? values[g->value] : addresses[name]) - g->before, strides[g->value]);
    }
}

int peet__bus_turns(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block, const uint64_t *addresses,
    const int64_t *strides, uint64_t turns, uint64_t now, uint64_t limit, uint64_t *inout_time, uint64_t *inout_stalled)
{
    struct looping l;
    if (!p->ways || p->ngroups > LOOP_GROUPS)
        return -1;
    looping_init(&l, b, hw, p, block, addresses, NULL, strides);
    go_round(&l, turns, now, limit, inout_time, inout_stalled);
    return 0;
}

uint64_t peet__bus_loop(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until, uint64_t *out_turns)
{
    const struct peet_block *const block = event->block;
    uint64_t time = b->hw[hw].cpi_rest, stalled = 0;
    struct looping l;
    *out_turns = 1;
    if (block->nvalues > PLAN_REFS) { /* rare: the mapper comes again for the others */
        struct peet_block_event one = *event;
        one.turns = 1;
        return b->walk(b, hw, &one, 1, now, until, &(size_t){0});
    }
    if ((block->id >= b->nplans || !b->plans[block->id].known) && peet__bus_plan(b, block, event->values)) {
        peet__bus_no_memory(b);
        return 0;
    }
    looping_init(&l, b, hw, &b->plans[block->id], block, NULL, event->values, event->strides);
    const uint64_t done = go_round(&l, event->turns, now, peet__bus_limit_of(now, until), &time, &stalled);
    peet__bus_account(b, hw, now, time, (uint64_t)(block->reads + block->modifies) * done, (uint64_t)(block->writes + block->modifies) * done, stalled);
    *out_turns = done;
    return time / CPI_ONE - stalled;
}
