/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of loops with any strides.  In most turns nothing happens: all groups are in the lines of the turn before, and hit.  A turn that finds some of them
 * in other lines, or in two, is a step.  Steps come again and again, as far apart as before, once each group has gone through as many
 * lines as its stride makes whole: they are found out once and noted.  Then only groups that come to another line are looked for, and halves of groups as if
 * they were groups of this turn.  Stamps are written when a group leaves its line, and before anything is replaced.
 * Called by turns.c, for what even.c does not take.
 */
#include "halves.h"
#include "turns.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { STEPS = 64, LOOKS = 128 };
#define ALL_GROUPS UINT32_MAX

/* A group comes to a line: all of it, or one of its halves. */
struct look {
    uint64_t delta;              /* to the key of that line, from the one it came to before */
    const struct group_way *way;
    struct looped *group;
    uint64_t either, last;       /* as in the way */
    uint32_t bit;                /* of the group; */
    uint32_t sooner;             /* those of groups that do not move, and whose ways come before this look */
};

/* A turn in which some groups come to other lines. */
struct step {
    uint64_t turns;      /* to the next one */
    uint32_t moved, cut; /* groups that do, and those of them that are in two: a bit each */
    const struct look *looks, *end; /* in their order */
    int quick;           /* they are all that has to be looked for: what they replace is no line of this turn or the one before */
};

/* A loop's steps. */
struct course {
    uint64_t ends;       /* what comes behind this turn has come before */
    uint32_t nsteps, nlooks, next;
    struct step steps[STEPS];
    struct look looks[LOOKS];
};

/* A look, where it is among those of its step from @first on; its delta is the key for now. */
static void add_look(struct course *course, const struct look *first, const struct group_way *w, struct looped *group, uint32_t k, uint64_t key)
{
    struct look *at = &course->looks[course->nlooks++];
    for (; at > first && at[-1].way->first > w->first; at--)
        *at = at[-1];
    *at = (struct look){.delta = key, .way = w, .group = group, .either = w->either, .last = w->last, .bit = 1u << k};
}

/* The step that is in this turn: found out, and noted if there is room.  @lines: so many were used in the turn before */
ALWAYS const struct step *step_in(const struct looping *l, struct course *course, struct looped *at, uint32_t n, uint64_t turn, uint32_t lines)
{
    struct bus *const b = l->b;
    struct group_way *const ways = b->group_ways + l->plan->ways - 1;
    if (course->nsteps == STEPS || course->nlooks + 2 * n > LOOKS) {
        course->ends = UINT64_MAX;
        course->nsteps = course->nlooks = 0;
    }
    struct look *const looks = &course->looks[course->nlooks];
    struct step *const s = &course->steps[course->nsteps++];
    *s = (struct step){.turns = BUS_STAYS, .looks = looks, .quick = 1};
    for (uint32_t k = 0; k < n; k++) {
        if (at[k].next == turn) {
            const struct group_split *split = NULL;
            const uint64_t was = at[k].want;
            s->moved |= 1u << k;
            if (peet__bus_come(&at[k], b, turn)) {
                split = peet__bus_split(b, l->block, &ways[k], at[k].way->span,
                    b->line_bytes - ((uint32_t)peet__bus_begin_in(&at[k], turn) & (b->line_bytes - 1)));
                s->cut |= 1u << k;
                s->quick &= split && !split->nboth;
            }
            add_look(course, looks, split ? &split->halves[0] : &ways[k], &at[k], k, at[k].want);
            if (split)
                add_look(course, looks, &split->halves[1], &at[k], k, (at[k].want + KEY_OF(1)) & peet__bus_key_mask(b));
            at[k].want = was;
        }
        s->turns = at[k].next - turn < s->turns ? at[k].next - turn : s->turns;
    }
    s->end = &course->looks[course->nlooks];
    s->quick &= lines + (uint32_t)(s->end - looks) <= b->ways;
    for (struct look *look = looks; look < s->end; look++) {
        uint64_t was = look->group->want;
        for (const struct look *sooner = looks; sooner < look; sooner++) /* its other half */
            was = sooner->group == look->group ? was + sooner->delta : was;
        look->delta -= was;
        for (uint32_t k = 0; k < n && ways[k].first < look->way->first; k++)
            look->sooner |= 1u << k & ~s->moved;
    }
    return s;
}

typedef const struct step *find_step(const struct looping *l, struct course *course, struct looped *at, uint64_t turn, uint32_t lines);

/* A group used its line; @last: by this stamp. */
ALWAYS void use_line(struct looped *a, uint64_t last)
{
    *a->used = last > *a->used ? last : *a->used;
}

/* Stamps of the turn before, but for those that have them; of this turn, for those that have come in it without moving. */
ALWAYS void settle(struct looped *at, uint32_t n, uint64_t stamp, uint64_t nrefs, uint32_t settled, uint32_t sooner)
{
    const uint32_t not = settled & ~sooner;
    for (uint32_t k = 0; k < n; k++)
        if (!(not >> k & 1))
            use_line(&at[k], stamp - (sooner >> k & 1 ? 0 : nrefs) + at[k].last);
}

/* Some groups do not hit: way by way.  What a fill replaces are lines that this turn has not used yet, perhaps one that a later way used in the turn
 * before.  Returns: whether some do not only hit even now */
static __attribute__((noinline)) int turn_by_ways(const struct looping *l, struct looped *at, uint64_t turn, struct turn *t)
{
    const struct group_way *const ways = l->b->group_ways + l->plan->ways - 1;
    uint64_t odd = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const uint32_t frame = peet__bus_go_to(l->b, t, peet__bus_begin_in(&at[k], turn), at[k].want, (uint32_t)(at[k].used - t->c->used), &ways[k]);
        at[k].used = &t->c->used[frame];
        odd |= (t->c->keys[frame] | ways[k].either) ^ at[k].want;
    }
    return odd != 0;
}

/* The turn, whatever happens.  Returns: whether it may be no better in the next one */
static __attribute__((noinline)) int turn_anyway(struct looping *l, struct looped *at, uint64_t turn, struct turn *t, uint64_t *inout_time, uint32_t cut)
{
    uint64_t begins[LOOP_GROUPS];
    int unsure = 1;
    if (!cut) {
        peet__bus_turn_begins(l, t, *inout_time);
        unsure = turn_by_ways(l, at, turn, t);
        *inout_time += peet__bus_turn_ends(l, t);
        t->stamp += l->plan->nrefs;
        return unsure;
    }
    for (uint32_t k = 0; k < l->n; k++)
        begins[k] = peet__bus_begin_in(&at[k], turn);
    t->c->stamp = t->stamp;
    *inout_time += peet__bus_turn_in_halves(l, turn, begins, *inout_time);
    t->stamp = t->c->stamp;
    return unsure;
}

/* @n: a constant if groups are few, and @at nobody else's; @find_step: step_in() for as many */
ALWAYS uint64_t go_by_ways(struct looping *l, struct looped *at, uint32_t n, find_step *find_step, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const uint32_t *const hints = c->hints;
    const uint64_t *const keys = c->keys;
    const struct plan *const p = l->plan;
    const uint64_t nrefs = p->nrefs, key_mask = peet__bus_key_mask(b);
    const uint32_t hint_mask = b->hint_mask;
    struct turn t = {.c = c, .block = l->block};
    struct course course;
    uint64_t time = *inout_time, stamp = c->stamp, cycle = 1;
    uint32_t settled = ALL_GROUPS; /* their stamps are those of the turn before */
    int unsure = 0;                /* lines may not be where they were, or need more than a hit */
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_way *const w = b->group_ways[p->ways - 1 + k].loop;
        at[k] = (struct looped){.next = done, .begin = l->begins[k], .stride = (uint64_t)w->stride, .way = w, .last = w->last};
        cycle = b->line_bytes >> w->shift > cycle ? b->line_bytes >> w->shift : cycle;
    }
    course.ends = done + cycle;
    course.nsteps = course.nlooks = course.next = 0;
    const struct step *s = find_step(l, &course, at, done, 0);
    course.nsteps = course.nlooks = 0; /* it does not come again: not all groups move then */
    uint64_t until = done + s->turns;
    uint32_t cut = s->cut;
    for (;;) {
        int waits = 0;
        if (LIKELY(s && s->quick && !unsure)) {
            uint64_t still = 0;
            const struct look *look = s->looks;
            const struct look *const end = s->end;
            do {
                struct looped *const a = look->group;
                if (!(settled & look->bit))
                    use_line(a, stamp - nrefs + a->last);
                settled |= look->bit;
                const uint64_t want = a->want = (a->want + look->delta) & key_mask;
                uint32_t frame = hints[KEY_LINE(want) & hint_mask];
                if ((keys[frame] | look->either) != want) {
                    settle(at, n, stamp, nrefs, settled, look->sooner);
                    settled = ALL_GROUPS;
                    if (!waits) {
                        t.stamp = stamp;
                        peet__bus_turn_begins(l, &t, time);
                        waits = 1;
                    }
                    frame = b->go_slowly(b, &t, peet__bus_begin_in(a, done), KEY_LINE(want), look->way);
                    still |= (keys[frame] | look->either) ^ want;
                }
                a->used = &c->used[frame];
                use_line(a, stamp + look->last);
            } while (++look < end);
            settled = cut;
            if (waits) {
                stamp += nrefs;
                time += peet__bus_turn_ends(l, &t);
                settled = s->moved;
                unsure = still != 0;
                done++;
            }
        } else {
            settle(at, n, stamp, nrefs, settled, 0);
            for (const struct look *look = s ? s->looks : NULL; s && look < s->end; look++) {
                struct looped *const a = look->group;
                a->want = (a->want + look->delta) & key_mask;
                a->used = &c->used[hints[KEY_LINE(a->want) & hint_mask]];
            }
            t.stamp = stamp;
            unsure = turn_anyway(l, at, done, &t, &time, s ? cut : 0);
            stamp = t.stamp;
            settled = ALL_GROUPS;
            waits = 1;
            done++;
        }
        const uint64_t end = until < turns ? until : turns;
        if (done < end && LIKELY(!waits || (!unsure && time < limit && !b->dead))) {
            done += peet__bus_turns_hit(p, end - done, limit, &stamp, &time);
            settled = cut;
        }
        if (done >= turns || time >= limit || UNLIKELY(b->dead))
            break;
        s = NULL;
        if (UNLIKELY(done < until))
            continue;
        if (LIKELY(done > course.ends)) {
            s = &course.steps[course.next];
            course.next = course.next + 1 < course.nsteps ? course.next + 1 : 0;
        } else {
            s = find_step(l, &course, at, done, n + (uint32_t)__builtin_popcount(cut));
        }
        cut = s->cut;
        until = done + s->turns;
    }
    settle(at, n, stamp, nrefs, settled, 0);
    c->stamp = stamp;
    *inout_time = time;
    return done;
}

#define GO(name, most, n) \
    static __attribute__((noinline)) const struct step *step_##name(const struct looping *l, struct course *course, struct looped *at, uint64_t turn, \
        uint32_t lines) \
    { \
        return step_in(l, course, at, n, turn, lines); \
    } \
    static __attribute__((noinline)) uint64_t go_##name(struct looping *l, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time) \
    { \
        struct looped at[most]; \
        return go_by_ways(l, at, n, step_##name, done, turns, limit, inout_time); \
    }
GO(2, 2, 2)
GO(4, 4, 4)
GO(any, LOOP_GROUPS, l->n)

uint64_t peet__bus_course(struct looping *l, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    return l->n == 2 ? go_2(l, done, turns, limit, inout_time) : l->n == 4 ? go_4(l, done, turns, limit, inout_time)
        : go_any(l, done, turns, limit, inout_time);
}
