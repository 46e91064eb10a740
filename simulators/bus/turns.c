/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops.  Of each group of the loop's block (plan.c) it is known which turn finds it in another line, or in two.  Up to the first such
 * turn all turns hit, and they are taken at once; in that turn only the groups that have come to other lines are looked for: the lines of all
 * others were used in the turn before, and are where they were.  If the turn does not only hit, it is taken by itself: way by way (groups.c; if
 * some groups lie in two lines, halves.c), or reference by reference (fast.c).  Called by module.c and direct.c.
 */
#include "halves.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { LOOP_GROUPS = 32 };

/* A group on its way through the turns. */
struct looped {
    uint64_t want;          /* key of its line */
    uint64_t next;          /* the turn that finds it in another line, or in two */
    uint64_t begin;         /* where it is in the first turn */
    uint64_t stride;
    uint64_t inverse;       /* a 2^32th of the stride without sign, rounded up; 1 if that is longer than a line */
    uint64_t stays;         /* it does not move: so many turns more */
    int64_t room;           /* that the group leaves in a line */
    uint32_t flip, base;    /* how far it may still move in its line is (offset ^ flip) + base */
    uint32_t frame;         /* where its line is */
    uint8_t either, last;   /* as in the group and the way */
};

/* A loop that is under way: what it goes round, and where. */
struct looping {
    struct bus *b;
    unsigned hw;
    const struct plan *plan;
    const struct peet_block *block;
    const uint64_t *values;  /* of the first turn; NULL: groups say where everything is */
    const int64_t *strides;
    uint32_t n;              /* groups in @at */
    uint8_t together;        /* they are all there is */
    uint8_t ordered;         /* the last uses of groups are in their order */
    uint8_t again;           /* lines may have moved: all groups are looked for */
    struct looped at[LOOP_GROUPS];
};

ALWAYS uint64_t begin_in(const struct looped *l, uint64_t turn)
{
    return l->begin + l->stride * turn;
}

/* In units of which a group's room in a line is counted (come()): too short for a turn more, if strides are longer than a line, or 0. */
ALWAYS uint64_t inverse_of(struct bus *b, uint64_t step)
{
    if (LIKELY(step < BUS_INVERSES) && LIKELY(b->inverses[step]))
        return b->inverses[step];
    const uint64_t inverse = step > b->line_bytes || !step ? 1 : ((1ull << 32) + step - 1) / step;
    if (step < BUS_INVERSES)
        b->inverses[step] = inverse;
    return inverse;
}

ALWAYS void looped_init(struct looped *l, struct bus *b, const struct group *g, uint64_t begin, int64_t stride)
{
    const uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    l->next = 0;
    l->begin = begin;
    l->stride = (uint64_t)stride;
    l->inverse = inverse_of(b, step);
    l->stays = step ? 0 : UINT64_MAX / 4;
    l->room = (int64_t)b->line_bytes - g->span;
    l->flip = stride < 0 ? 0 : UINT32_MAX;
    l->base = stride < 0 ? 0 : (uint32_t)l->room + 1;
    l->either = g->either;
    l->last = g->stamp;
}

/* It has come to other bytes.  Returns: whether they lie in two lines */
ALWAYS int come(struct looped *l, const struct bus *b, const uint32_t *hints, uint64_t turn)
{
    const uint64_t begin = begin_in(l, turn), line = begin >> b->line_shift;
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1);
    l->want = KEY_OF(line) | QUICK;
    l->frame = hints[line & b->hint_mask];
    if (UNLIKELY(offset > l->room)) {
        l->next = turn + 1;
        return 1;
    }
    l->next = turn + 1 + (((offset ^ l->flip) + l->base) * l->inverse >> 32) + l->stays; /* exact: both are small */
    return 0;
}

ALWAYS uint64_t odd_of(const struct cache *c, const struct looped *l)
{
    return (c->keys[l->frame] | l->either) ^ l->want;
}

/* So many turns have happened, all hits; @stamp: before the last of them. */
ALWAYS void use_turns(const struct bus *b, struct cache *c, const struct looping *l, uint32_t n, uint64_t stamp)
{
    uint64_t *const all = c->used;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t *const used = &all[l->at[k].frame];
        const uint64_t last = stamp + l->at[k].last;
        *used = LIKELY(l->ordered) || last > *used ? last : *used;
        if (UNLIKELY(c->plru))
            peet__bus_plru_used(b, c, l->at[k].frame);
    }
}

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

/* The turn does not only hit; nothing has happened.  All groups will be looked for again.  Returns: its time, in CPI_ONE */
static __attribute__((noinline)) uint64_t turn_exactly(struct looping *l, uint64_t turn, uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    uint64_t values[PLAN_REFS];
    l->again = 1;
    values_in(l, turn, values);
    return peet__bus_exactly(l->b, l->hw, &(struct peet_block_event){l->block, values, l->hw, 1, NULL}, now, time, inout_stalled);
}

/* The same if there are ways, but groups in two lines, or more groups than frames in a set. */
static __attribute__((noinline)) uint64_t turn_in_halves(struct looping *l, uint64_t turn, uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    struct turn t = {.c = c, .start = now + time / CPI_ONE, .rest = time % CPI_ONE, .block = l->block, .stamp = c->stamp};
    uint64_t begins[LOOP_GROUPS];
    for (uint32_t k = 0; k < l->n; k++)
        begins[k] = begin_in(&l->at[k], turn);
    const int how = peet__bus_halves_go(b, &t, l->plan, l->block, begins);
    if (UNLIKELY(how < 0))
        return turn_exactly(l, turn, now, time, inout_stalled);
    l->again = !how;
    c->stamp = t.stamp + l->plan->nrefs + t.more_stamps;
    *inout_stalled += t.stalled;
    return l->plan->cost + t.more_time + t.stalled * CPI_ONE;
}

/* The same if the lines of all groups fit: way by way.  What a fill replaces are lines that this turn has not used yet, perhaps one that a later
 * way used in the turn before. */
ALWAYS uint64_t turn_by_ways(struct looping *l, uint32_t n, uint64_t turn, uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct group_way *const ways = b->group_ways + l->plan->ways - 1;
    struct turn t = {.c = c, .start = now + time / CPI_ONE, .rest = time % CPI_ONE, .block = l->block, .stamp = c->stamp};
    for (uint32_t k = 0; k < n; k++) {
        struct looped *const at = &l->at[k];
        const uint64_t last = t.stamp + at->last;
        if (odd_of(c, at)) {
            at->frame = b->go_slowly(b, &t, begin_in(at, turn), KEY_LINE(at->want), &ways[k]);
            at->next = UNLIKELY(odd_of(c, at)) ? turn + 1 : at->next; /* no plain hit even now */
        }
        c->used[at->frame] = last > c->used[at->frame] ? last : c->used[at->frame];
    }
    c->stamp = t.stamp + l->plan->nrefs;
    *inout_stalled += t.stalled;
    return l->plan->cost + t.stalled * CPI_ONE;
}

/* A turn finds groups in other lines.  Returns: whether they all hit */
ALWAYS int arrive(struct looping *l, uint32_t n, uint64_t turn, int *out_halves)
{
    const struct bus *const b = l->b;
    const struct cache *const c = &b->caches[l->hw];
    uint64_t odd = 0;
    int halves = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct looped *const at = &l->at[k];
        if (at->next == turn) {
            halves |= come(at, b, c->hints, turn);
            odd |= odd_of(c, at);
        } else if (UNLIKELY(l->again)) {
            at->frame = odd_of(c, at) ? c->hints[KEY_LINE(at->want) & b->hint_mask] : at->frame;
            odd |= odd_of(c, at);
        }
    }
    l->again = 0;
    *out_halves = halves;
    return !odd && !halves;
}

ALWAYS uint64_t nearest(const struct looping *l, uint32_t n, uint64_t turns)
{
    for (uint32_t k = 0; k < n; k++)
        turns = l->at[k].next < turns ? l->at[k].next : turns;
    return turns;
}

/* go_round() for @n groups, a constant if they are few */
ALWAYS uint64_t go_round_with(struct looping *l, uint32_t n, uint64_t turns, uint64_t now, uint64_t limit, uint64_t *inout_time, uint64_t *inout_stalled)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    uint64_t done = 0, time = *inout_time;
    do {
        int halves = 0;
        if (UNLIKELY(!l->together) || !arrive(l, n, done, &halves)) {
            if (LIKELY(l->together && p->ways))
                time += UNLIKELY(halves) || UNLIKELY(n > b->ways) ? turn_in_halves(l, done, now, time, inout_stalled)
                    : turn_by_ways(l, n, done, now, time, inout_stalled);
            else
                time += turn_exactly(l, done, now, time, inout_stalled);
            done++;
            if (l->again || time >= limit || b->dead)
                continue;
        }
        uint64_t more = nearest(l, n, turns) - done;
        if (more) { /* no further than to the first that reaches the limit */
            if (limit != UINT64_MAX && UNLIKELY(time >= limit || p->cost * more >= limit - time)) {
                const uint64_t left = limit <= time ? 1 : p->cost ? (limit - time - 1) / p->cost + 1 : UINT64_MAX;
                more = more > left ? left : more;
            }
            use_turns(b, c, l, n, c->stamp + (more - 1) * p->nrefs);
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
ALWAYS void looping_init(struct looping *l, struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block,
    const uint64_t *begins, const uint64_t *values, const int64_t *strides)
{
    const struct group *const groups = p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first;
    const struct group_way *const ways = p->ways ? b->group_ways + p->ways - 1 : NULL;
    uint8_t latest = 0;
    l->b = b;
    l->hw = hw;
    l->plan = p;
    l->block = block;
    l->values = values;
    l->strides = strides;
    l->n = p->ngroups;
    l->together = p->known - 1 != PLAN_GENERAL && p->ngroups <= LOOP_GROUPS;
    l->ordered = 1;
    l->again = 0;
    for (uint32_t k = 0; l->together && k < l->n; k++) {
        const struct group *const g = &groups[ways ? ways[k].group : k];
        looped_init(&l->at[k], b, g, values ? values[g->value] - g->before : begins[k], strides[g->value]);
        l->ordered &= g->stamp > latest;
        latest = g->stamp;
    }
}

void peet__bus_turns(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block, const uint64_t *begins,
    const int64_t *strides, uint64_t turns, uint64_t now, uint64_t *inout_time, uint64_t *inout_stalled)
{
    struct looping l;
    looping_init(&l, b, hw, p, block, begins, NULL, strides);
    go_round(&l, turns, now, UINT64_MAX, inout_time, inout_stalled);
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
