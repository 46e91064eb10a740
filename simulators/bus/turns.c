/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops.  Of each group of the loop's block (plan.c) it is known which turn finds it in another line, or in two.  Up to the first such
 * turn all turns hit, and they are taken at once; in that turn only the groups that have come to other lines are looked for: the lines of all
 * others were used in the turn before, and are where they were.  If the turn does not only hit, it is taken by itself: way by way (groups.c; if
 * several groups lie in two lines, halves.c), or reference by reference (fast.c).  Called by module.c and direct.c.
 */
#include "halves.h"
#include "turns.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { LOOP_GROUPS = 32 };

/* The group of a way, if there are ways. */
static const struct group *group_of(const struct bus *b, const struct plan *p, uint32_t k)
{
    return &(p->known - 1 == PLAN_MANY ? b->groups + p->more : p->first)[p->ways ? b->group_ways[p->ways - 1 + k].group : k];
}

/* A group of a line's bytes or less is in two lines in some turns, unless all its places are multiples of a power of two. */
static struct loop_way loop_way_of(const struct bus *b, const struct group *g, int64_t stride)
{
    const uint64_t step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    const uint32_t shift = step & (b->line_bytes - 1) ? (uint32_t)__builtin_ctzll(step) : b->line_shift;
    struct loop_way w = {.stride = stride, .value = g->value, .span = g->span, .either = g->either, .last = g->stamp,
        .shift = (uint8_t)shift, .inverse = 1, .period = 1, .stays = step ? 0 : BUS_STAYS, .room = (int32_t)b->line_bytes - g->span};
    w.delta = KEY_OF(step >= b->line_bytes || !step ? (uint64_t)(stride >> b->line_shift) : stride < 0 ? UINT64_MAX : 1);
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

__attribute__((noinline)) const struct loop_way *peet__bus_loop_way_new(struct bus *b, const struct plan *p, uint32_t k, const int64_t *strides)
{
    struct group_way *const w = &b->group_ways[p->ways - 1 + k];
    const struct group *const g = group_of(b, p, k);
    if (w->loop || (w->loop = malloc(sizeof *w->loop)))
        *w->loop = loop_way_of(b, g, strides[g->value]);
    return w->loop;
}

/* A group on its way through the turns. */
struct looped {
    uint64_t want;          /* key of its line */
    uint64_t next;          /* the turn that finds it in another line, or in two */
    uint64_t delta;         /* to the key of the next line; */
    uint64_t period;        /* it is in each for so many turns, and never in two.  0: that must be found out: */
    uint64_t begin;         /* where it is in the first turn */
    uint64_t stride;
    uint64_t inverse;       /* as in struct loop_way */
    uint64_t stays;         /* it does not move: so many turns more */
    int32_t room;           /* that the group leaves in a line */
    uint32_t flip, base;    /* how far it may still move in its line is (offset ^ flip) + base */
    uint32_t frame;         /* where its line is */
    uint8_t either, last;   /* as in the group and the way */
};

ALWAYS uint64_t begin_in(const struct looped *l, uint64_t turn)
{
    return l->begin + l->stride * turn;
}

/* It has come to other bytes.  Returns: whether they lie in two lines */
ALWAYS int come(struct looped *l, const struct bus *b, const uint32_t *hints, uint64_t turn)
{
    const uint64_t begin = begin_in(l, turn), line = begin >> b->line_shift;
    const uint32_t offset = (uint32_t)begin & (b->line_bytes - 1);
    l->want = KEY_OF(line) | QUICK;
    l->frame = hints[line & b->hint_mask];
    if (UNLIKELY((int32_t)offset > l->room)) {
        l->next = turn + 1;
        return 1;
    }
    l->next = turn + 1 + (((offset ^ l->flip) + l->base) * l->inverse >> 32) + l->stays; /* exact: both are small */
    return 0;
}

/* The same, nearly always with nothing to be found out. */
ALWAYS int come_along(struct looped *l, const struct bus *b, const uint32_t *hints, uint64_t turn)
{
    if (UNLIKELY(!l->period))
        return come(l, b, hints, turn);
    l->want = peet__bus_key_behind(b, l->want, l->delta);
    l->next += l->period;
    l->frame = hints[KEY_LINE(l->want) & b->hint_mask];
    return 0;
}

/* A group begins its way, @begin in turn 0, in this turn.  Returns: as come() */
ALWAYS int set_out(struct looped *l, const struct bus *b, const struct cache *c, const struct loop_way *w, uint64_t begin, uint64_t turn)
{
    l->begin = begin;
    l->stride = (uint64_t)w->stride;
    l->inverse = w->inverse;
    l->stays = w->stays;
    l->room = w->room;
    l->flip = w->flip;
    l->base = w->base;
    l->period = (uint64_t)((uint32_t)begin_in(l, turn) & (w->unit - 1)) + w->span <= w->unit ? w->period : 0;
    l->delta = w->delta;
    l->either = w->either;
    l->last = w->last;
    return come(l, b, c->hints, turn);
}

ALWAYS uint64_t odd_of(const struct cache *c, const struct looped *l)
{
    return (c->keys[l->frame] | l->either) ^ l->want;
}

/* The values of a turn whose groups begin there. */
static void values_in(const struct looping *l, uint64_t turn, const uint64_t *begins, uint64_t *values)
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
            values[l->block->refs[m->ref].value] = begins[k] + m->offset;
        }
}

/* The turn does not only hit; nothing has happened.  Returns: its time, in CPI_ONE */
static __attribute__((noinline)) uint64_t turn_exactly(struct looping *l, uint64_t turn, const uint64_t *begins, uint64_t time)
{
    uint64_t values[PLAN_REFS];
    values_in(l, turn, begins, values);
    return peet__bus_exactly(l->b, l->hw, &(struct peet_block_event){l->block, values, l->hw, 1, NULL}, l->now, time, &l->stalled);
}

/* The same if there are ways, but groups in two lines, or more groups than frames in a set. */
static __attribute__((noinline)) uint64_t turn_in_halves(struct looping *l, uint64_t turn, const uint64_t *begins, uint64_t time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    struct turn t = {.c = c, .start = l->now + time / CPI_ONE, .rest = time % CPI_ONE, .block = l->block, .stamp = c->stamp};
    if (UNLIKELY(peet__bus_halves_go(b, &t, l->plan, l->block, begins)))
        return turn_exactly(l, turn, begins, time);
    c->stamp = t.stamp + l->plan->nrefs + t.more_stamps;
    l->stalled += t.stalled;
    return l->plan->cost + t.more_time + t.stalled * CPI_ONE;
}

ALWAYS uint64_t nearest(const struct looped *at, uint32_t n, uint64_t turns)
{
    for (uint32_t k = 0; k < n; k++)
        turns = at[k].next < turns ? at[k].next : turns;
    return turns;
}

/* Some groups do not hit: way by way.  What a fill replaces are lines that this turn has not used yet, perhaps one that a later way used in the turn
 * before.  Returns: whether some do not only hit even now */
ALWAYS int turn_by_ways(struct looping *l, struct looped *at, uint32_t n, uint64_t turn, struct turn *t)
{
    const struct group_way *const ways = l->b->group_ways + l->plan->ways - 1;
    uint64_t odd = 0;
    for (uint32_t k = 0; k < n; k++) {
        at[k].frame = peet__bus_go_to(l->b, t, begin_in(&at[k], turn), at[k].want, at[k].frame, &ways[k]);
        odd |= odd_of(t->c, &at[k]);
    }
    return odd != 0;
}

/* The same in a turn where group @cut is in two lines, and no reference of it.  @odd: 0 if all others hit, and it in the first line */
ALWAYS void turn_with_cut(struct looping *l, struct looped *at, uint32_t n, uint64_t turn, struct turn *t, uint32_t cut,
    const struct group_way halves[2], uint64_t odd)
{
    const struct bus *const b = l->b;
    const struct group_way *const ways = b->group_ways + l->plan->ways - 1;
    struct cache *const c = t->c;
    const uint64_t begin = begin_in(&at[cut], turn), wants[2] = {at[cut].want, at[cut].want + KEY_OF(1)};
    const uint32_t frames[2] = {at[cut].frame, c->hints[KEY_LINE(wants[1]) & b->hint_mask]};
    if (!(odd | ((c->keys[frames[1]] | halves[1].either) ^ wants[1]))) {
        for (uint32_t k = 0; k < n; k++)
            if (k != cut)
                peet__bus_use_last(c, at[k].frame, t->stamp + at[k].last);
        peet__bus_use_last(c, frames[0], t->stamp + halves[0].last);
        peet__bus_use_last(c, frames[1], t->stamp + halves[1].last);
        return;
    }
    const int sooner = halves[1].first < halves[0].first;
    int waits = 1; /* the other half: until what comes before it is done */
    for (uint32_t k = 0; k < n; k++) {
        if (waits && k > cut && halves[!sooner].first < ways[k].first) {
            peet__bus_go_to(l->b, t, begin, wants[!sooner], frames[!sooner], &halves[!sooner]);
            waits = 0;
        }
        if (k == cut)
            peet__bus_go_to(l->b, t, begin, wants[sooner], frames[sooner], &halves[sooner]);
        else
            at[k].frame = peet__bus_go_to(l->b, t, begin_in(&at[k], turn), at[k].want, at[k].frame, &ways[k]);
    }
    if (waits)
        peet__bus_go_to(l->b, t, begin, wants[!sooner], frames[!sooner], &halves[!sooner]);
}

/* go_round() from turn @done on, where the lines of all groups fit; @n is a constant if they are few, and @at nobody else's */
ALWAYS uint64_t go_by_ways(struct looping *l, struct looped *at, uint32_t n, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    struct group_way *const ways = b->group_ways + p->ways - 1;
    uint64_t time = *inout_time;
    struct turn t = {.c = c, .block = l->block, .stamp = c->stamp};
    uint32_t cuts = 0, cut = 0; /* groups that are in two lines; the last one */
    int ordered = 1;            /* the last uses of the groups are in their order */
    for (uint32_t k = 0; k < n; k++) {
        if (set_out(&at[k], b, c, ways[k].loop, l->begins[k], done))
            cuts++, cut = k;
        ordered &= !k || at[k].last > at[k - 1].last;
    }
    for (;;) {
        uint64_t odd = 0;
        int still = 0;
        for (uint32_t k = 0; k < n; k++)
            odd |= odd_of(c, &at[k]);
        if (UNLIKELY(cuts)) {
            const struct group_split *const s = cuts == 1 && n < b->ways ? peet__bus_split(b, l->block, &ways[cut],
                b->line_bytes - (uint32_t)at[cut].room, b->line_bytes - ((uint32_t)begin_in(&at[cut], done) & (b->line_bytes - 1))) : NULL;
            if (LIKELY(s && !s->nboth)) {
                peet__bus_turn_begins(l, &t, time);
                turn_with_cut(l, at, n, done, &t, cut, s->halves, odd);
                time += peet__bus_turn_ends(l, &t);
            } else {
                uint64_t begins[LOOP_GROUPS];
                for (uint32_t k = 0; k < n; k++)
                    begins[k] = begin_in(&at[k], done);
                c->stamp = t.stamp;
                time += turn_in_halves(l, done, begins, time);
                t.stamp = c->stamp;
            }
            done++;
        } else {
            if (odd) {
                peet__bus_turn_begins(l, &t, time);
                still = turn_by_ways(l, at, n, done, &t);
                time += peet__bus_turn_ends(l, &t);
                done++;
            }
            const uint64_t until = nearest(at, n, turns);
            if (done < until && LIKELY(!still) && time < limit && LIKELY(!b->dead)) {
                done += peet__bus_turns_hit(p, until - done, limit, &t.stamp, &time);
                for (uint32_t k = 0; k < n; k++)
                    peet__bus_use_hit(c, at[k].frame, t.stamp - p->nrefs + at[k].last, ordered);
            }
        }
        if (done >= turns || time >= limit || UNLIKELY(b->dead))
            break;
        cuts = 0;
        for (uint32_t k = 0; k < n; k++)
            if (at[k].next == done && come_along(&at[k], b, c->hints, done))
                cuts++, cut = k;
    }
    c->stamp = t.stamp;
    *inout_time = time;
    return done;
}

/* go_round() where a turn that does not only hit is taken as any block is; @together: groups are all there is */
static uint64_t go_exactly(struct looping *l, int together, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const struct plan *const p = l->plan;
    struct looped all[LOOP_GROUPS];
    const uint32_t n = together ? l->n : 0;
    uint64_t done = 0, time = *inout_time;
    uint32_t cuts = 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct group *const g = group_of(b, p, k);
        const struct loop_way w = loop_way_of(b, g, l->strides[g->value]);
        cuts += (uint32_t)set_out(&all[k], b, c, &w, l->begins[k], 0);
    }
    for (;;) {
        uint64_t odd = !together || cuts;
        for (uint32_t k = 0; k < n; k++) {
            if (odd_of(c, &all[k])) /* the line may have moved */
                all[k].frame = c->hints[KEY_LINE(all[k].want) & b->hint_mask];
            odd |= odd_of(c, &all[k]);
        }
        if (odd) {
            uint64_t begins[LOOP_GROUPS];
            for (uint32_t k = 0; k < n; k++)
                begins[k] = begin_in(&all[k], done);
            time += p->ways && together ? turn_in_halves(l, done, begins, time) : turn_exactly(l, done, begins, time);
            done++;
        } else {
            done += peet__bus_turns_hit(p, nearest(all, n, turns) - done, limit, &c->stamp, &time);
            for (uint32_t k = 0; k < n; k++) {
                peet__bus_use_last(c, all[k].frame, c->stamp - p->nrefs + all[k].last);
                if (c->plru)
                    peet__bus_plru_used(b, c, all[k].frame);
            }
        }
        if (done >= turns || time >= limit || b->dead)
            break;
        cuts = 0;
        for (uint32_t k = 0; k < n; k++)
            if (all[k].next == done)
                cuts += (uint32_t)come_along(&all[k], b, c->hints, done);
    }
    *inout_time = time;
    return done;
}

#define GO(name, most, n) \
    static __attribute__((noinline)) uint64_t go_##name(struct looping *l, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time) \
    { \
        struct looped at[most]; \
        return go_by_ways(l, at, n, done, turns, limit, inout_time); \
    }
GO(2, 2, 2)
GO(4, 4, 4)
GO(any, LOOP_GROUPS, l->n)

/* At most @turns turns, up to the first that reaches the limit.  Returns: how many */
ALWAYS uint64_t go_round(struct looping *l, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    const int together = l->plan->known - 1 != PLAN_GENERAL && l->n <= LOOP_GROUPS;
    uint64_t done = 0;
    if (UNLIKELY(!together || !l->plan->ways || l->n > l->b->ways))
        return go_exactly(l, together, turns, limit, inout_time);
    if (l->n <= PEET_DIRECT_LOOKS)
        done = peet__bus_evenly(l, turns, limit, inout_time);
    if (LIKELY(done == turns) || (done && *inout_time >= limit) || UNLIKELY(l->b->dead))
        return done;
    return l->n == 2 ? go_2(l, done, turns, limit, inout_time) : l->n == 4 ? go_4(l, done, turns, limit, inout_time)
        : go_any(l, done, turns, limit, inout_time);
}

void peet__bus_turns(struct bus *b, unsigned hw, const struct plan *p, const struct peet_block *block, const uint64_t *begins,
    const int64_t *strides, uint64_t turns, uint64_t now, uint64_t *inout_time, uint64_t *inout_stalled)
{
    struct looping l = {.b = b, .hw = hw, .plan = p, .block = block, .begins = begins, .strides = strides, .n = p->ngroups, .now = now};
    go_round(&l, turns, UINT64_MAX, inout_time);
    *inout_stalled += l.stalled;
}

uint64_t peet__bus_loop(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until, uint64_t *out_turns)
{
    const struct peet_block *const block = event->block;
    uint64_t time = b->hw[hw].cpi_rest;
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
    const struct plan *const p = &b->plans[block->id];
    uint64_t begins[LOOP_GROUPS];
    struct looping l = {.b = b, .hw = hw, .plan = p, .block = block, .begins = begins, .values = event->values, .strides = event->strides,
        .n = p->ngroups, .now = now};
    for (uint32_t k = 0; k < l.n && l.n <= LOOP_GROUPS && p->known - 1 != PLAN_GENERAL; k++) {
        const struct group *const g = group_of(b, p, k);
        begins[k] = event->values[g->value] - g->before;
    }
    const uint64_t done = go_round(&l, event->turns, peet__bus_limit_of(now, until), &time);
    peet__bus_account(b, hw, now, time, (uint64_t)(block->reads + block->modifies) * done, (uint64_t)(block->writes + block->modifies) * done, l.stalled);
    *out_turns = done;
    return time / CPI_ONE - l.stalled;
}
