/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops with any strides.
 *
 *   1. In most iterations nothing happens: all groups are in the lines of the iteration before, and hit.
 *   2. An iteration in which a group comes to another line, or lies in two, is a *step* of the loop's line-crossing
 *      schedule (`course`).
 *   3. Steps recur at the same distances, once each group has gone through as many lines as its stride makes whole.  So
 *      a course is worked out once and kept.
 *   4. In a step, only the groups that come to another line are probed.  A group in two lines is probed as two.
 *   5. A stamp is written when a group leaves its line, and before anything is replaced.
 *
 * Called by turns.c, for loops that even.c does not take.
 */
#include "halves.h"
#include "turns.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { STEPS = 64, LOOKS = 128 };
#define ALL_GROUPS UINT32_MAX

/* A group on its way. */
struct going {
    uint64_t want;   /* key of its line */
    uint64_t *used;  /* where its line is: the stamp of that frame */
    uint64_t last;   /* as in the way */
    uint64_t unused; /* a power of two is quicker to count by */
};

/* A group comes to a line: all of it, or one of its halves. */
struct look {
    uint64_t delta;               /* to the key of that line, from the one it came to before */
    const struct group_way *half; /* NULL: all of it */
    uint64_t either, last;        /* as in the way */
    uint32_t at;                  /* its group: so many bytes behind the first one's struct going */
    uint32_t group, bit;
    /* those of groups that do not move, and whose ways come before this look: a bit each */
    uint32_t sooner;
};

/* A turn in which some groups come to other lines. */
struct step {
    const struct step *following; /* NULL: not known yet */
    uint64_t turns, stamps, time; /* to that one; what they take if they hit */
    uint32_t moved, cut;          /* groups that do, and those of them that are in two: a bit each */
    uint32_t settled;             /* those whose stamps are what they are to be before the next step */
    /* looks are all that has to be looked for: what they replace is no line of this turn or the one before */
    int quick;
    const struct look *looks, *end; /* in their order */
};

/* A loop's steps, from the first turn on.  They are kept: the loop often begins again in the same places of lines. */
struct course {
    uint32_t nsteps, nlooks;
    /* what comes behind this turn has come before, but for the first step; UINT64_MAX: there are too many, and none is
     * kept */
    uint64_t ends;
    /* as seen from the latest step: the turn that finds a group in another line, or in two */
    uint64_t next[LOOP_GROUPS];
    uint32_t offsets[LOOP_GROUPS]; /* where groups begin in their lines */
    struct step steps[STEPS];
    struct look looks[LOOKS];
};

void peet__bus_courses_forget(struct loop_way *first)
{
    for (uint32_t i = 0; i < LOOP_COURSES; i++)
        if (first->courses[i])
            first->courses[i]->nsteps = 0;
}

void peet__bus_courses_free(struct loop_way *first)
{
    for (uint32_t i = 0; first && i < LOOP_COURSES; i++)
        free(first->courses[i]);
}

static const struct group_way *way_of_look(const struct group_way *ways, const struct look *look)
{
    return look->half ? look->half : &ways[look->group];
}

/* A look, where it is among those of its step from @first on; its delta is the key for now. */
static void add_look(struct course *course, const struct look *first, const struct group_way *ways,
    const struct group_way *half, uint32_t k, uint64_t key)
{
    struct look *at = &course->looks[course->nlooks++];
    const struct group_way *const w = half ? half : &ways[k];
    for (; at > first && way_of_look(ways, at - 1)->first > w->first; at--)
        *at = at[-1];
    *at = (struct look){.delta = key,
        .half = half,
        .at = (uint32_t)(k * sizeof(struct going)),
        .group = k,
        .either = w->either,
        .last = w->last,
        .bit = 1u << k};
}

/* The step in turn @turn behind @from, where the course begins: found out, and noted.  @at: where groups were; @lines:
 * so many were used in the turn before */
ALWAYS const struct step *step_in(const struct looping *l, struct course *course, const struct going *at, uint32_t n,
    uint64_t from, uint64_t turn, uint32_t lines)
{
    struct bus *const b = l->b;
    const struct plan *const p = l->plan;
    struct group_way *const ways = b->group_ways + p->ways - 1;
    if (turn > course->ends)
        return course->steps[course->nsteps - 1].following = &course->steps[1];
    if (course->nsteps == STEPS || course->nlooks + 2 * n > LOOKS) {
        course->ends = UINT64_MAX;
        course->nsteps = course->nlooks = 0;
    }
    struct look *const looks = &course->looks[course->nlooks];
    struct step *const s = &course->steps[course->nsteps++];
    *s = (struct step){.turns = BUS_STAYS, .looks = looks, .quick = 1};
    if (course->nsteps > 1)
        s[-1].following = s;
    for (uint32_t k = 0; k < n; k++) {
        if (course->next[k] == turn) {
            const struct loop_way *const w = ways[k].loop;
            struct looped moving = {
                .begin = l->begins[k] + (uint64_t)w->stride * from, .stride = (uint64_t)w->stride, .way = w};
            const struct group_split *split = NULL;
            s->moved |= 1u << k;
            if (peet__bus_come(&moving, b, turn)) {
                split = peet__bus_split(b, l->block, &ways[k], w->span,
                    b->line_bytes - ((uint32_t)peet__bus_begin_in(&moving, turn) & (b->line_bytes - 1)));
                s->cut |= 1u << k;
                s->quick &= split && !split->nboth;
            }
            course->next[k] = moving.next;
            add_look(course, looks, ways, split ? &split->halves[0] : NULL, k, moving.want);
            if (split)
                add_look(course, looks, ways, &split->halves[1], k, (moving.want + KEY_OF(1)) & peet__bus_key_mask(b));
        }
        s->turns = course->next[k] - turn < s->turns ? course->next[k] - turn : s->turns;
    }
    s->end = &course->looks[course->nlooks];
    s->quick &= lines + (uint32_t)(s->end - looks) <= b->ways;
    s->stamps = s->turns * p->nrefs;
    s->time = s->turns * p->cost;
    s->settled = s->turns == 1 ? s->moved : s->cut;
    for (struct look *look = looks; look < s->end; look++) {
        uint64_t was = at[look->group].want;
        for (const struct look *sooner = looks; sooner < look; sooner++) /* its other half */
            was = sooner->group == look->group ? was + sooner->delta : was;
        look->delta -= was;
        for (uint32_t k = 0; k < n && ways[k].first < way_of_look(ways, look)->first; k++)
            look->sooner |= 1u << k & ~s->moved;
    }
    return s;
}

typedef const struct step *find_step(const struct looping *l, struct course *course, const struct going *at,
    uint64_t from, uint64_t turn, uint32_t lines);

/* The course of a loop from turn @from on, which is known as far as it went before if it began like this.  Returns:
 * NULL without memory */
ALWAYS struct course *course_from(const struct looping *l, struct going *at, uint32_t n, uint64_t from)
{
    const struct bus *const b = l->b;
    const struct group_way *const ways = b->group_ways + l->plan->ways - 1;
    uint32_t offsets[LOOP_GROUPS], name = 0, other = 0;
    uint64_t cycle = 1;
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_way *const w = ways[k].loop;
        const uint64_t begin = l->begins[k] + (uint64_t)w->stride * from;
        at[k].want = KEY_OF(begin >> b->line_shift) | QUICK;
        at[k].last = w->last;
        offsets[k] = (uint32_t)begin & (b->line_bytes - 1);
        name = name * 31 + offsets[k];
        cycle = b->line_bytes >> w->shift > cycle ? b->line_bytes >> w->shift : cycle;
    }
    struct course **const place = &ways->loop->courses[name * 0x9e3779b1u >> 29], *course = *place;
    if (UNLIKELY(!course) && !(course = *place = calloc(1, sizeof *course)))
        return NULL;
    for (uint32_t k = 0; k < n; k++)
        other |= course->offsets[k] ^ offsets[k];
    if (other || !course->nsteps || course->ends == UINT64_MAX) {
        course->nsteps = course->nlooks = 0;
        course->ends = cycle;
        for (uint32_t k = 0; k < n; k++) {
            course->offsets[k] = offsets[k];
            course->next[k] = 0;
        }
    }
    return course;
}
_Static_assert(LOOP_COURSES == 8, "three bits of a name");

/* A group used its line; @last: by this stamp. */
ALWAYS void use_line(const struct going *a, uint64_t last)
{
    *a->used = last > *a->used ? last : *a->used;
}

/* Stamps of the turn before, but for those that have them; of this turn, for those that have come in it without moving.
 */
ALWAYS void settle(const struct going *at, uint32_t n, uint64_t stamp, uint64_t nrefs, uint32_t settled,
    uint32_t sooner)
{
    const uint32_t not = settled & ~sooner;
    for (uint32_t k = 0; k < n; k++)
        if (!(not >> k & 1))
            use_line(&at[k], stamp - (sooner >> k & 1 ? 0 : nrefs) + at[k].last);
}

/* Where a group is in this turn. */
static inline uint64_t begin_of_group(const struct looping *l, uint32_t k, uint64_t turn)
{
    return l->begins[k] + (uint64_t)l->b->group_ways[l->plan->ways - 1 + k].loop->stride * turn;
}

/* Some groups do not hit: way by way.  What a fill replaces are lines that this turn has not used yet, perhaps one that
 * a later way used in the turn before.  Returns: whether some do not only hit even now */
static __attribute__((noinline)) int turn_by_ways(const struct looping *l, struct going *at, uint64_t turn,
    struct turn *t)
{
    const struct group_way *const ways = l->b->group_ways + l->plan->ways - 1;
    uint64_t odd = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const uint32_t frame = peet__bus_go_to(l->b, t, begin_of_group(l, k, turn), at[k].want,
            (uint32_t)(at[k].used - t->c->used), &ways[k]);
        at[k].used = &t->c->used[frame];
        odd |= (t->c->keys[frame] | ways[k].either) ^ at[k].want;
    }
    return odd != 0;
}

/* The turn, whatever happens.  Returns: whether it may be no better in the next one */
static __attribute__((noinline)) int turn_anyway(struct looping *l, struct going *at, uint64_t turn, struct turn *t,
    uint64_t *inout_time, uint32_t cut)
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
        begins[k] = begin_of_group(l, k, turn);
    t->c->stamp = t->stamp;
    *inout_time += peet__bus_turn_in_halves(l, turn, begins, *inout_time);
    t->stamp = t->c->stamp;
    return unsure;
}

/* @n: a constant if groups are few, and @at nobody else's; @find_step: step_in() for as many */
ALWAYS uint64_t go_by_ways(struct looping *l, struct going *at, uint32_t n, find_step *find_step, uint64_t done,
    uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const uint32_t *const hints = c->hints;
    const uint64_t *const keys = c->keys;
    const struct plan *const p = l->plan;
    const struct group_way *const ways = b->group_ways + p->ways - 1;
    const uint64_t nrefs = p->nrefs, key_mask = peet__bus_key_mask(b), from = done;
    const uint32_t hint_mask = b->hint_mask;
    struct turn t = {.c = c, .block = l->block};
    struct course *const course = course_from(l, at, n, from);
    uint64_t time = *inout_time, stamp = c->stamp;
    uint32_t settled = ALL_GROUPS; /* their stamps are those of the turn before */
    int unsure = 0;                /* lines may not be where they were, or need more than a hit */
    if (UNLIKELY(!course)) {
        peet__bus_no_memory(b);
        return turns;
    }
    const struct step *s = course->nsteps ? course->steps : find_step(l, course, at, from, 0, 0);
    for (;;) { /* a step, and what comes up to the next one */
        const uint64_t until = done + s->turns, end = until < turns ? until : turns;
        if (LIKELY(s->quick && !unsure)) {
            uint64_t still = 0;
            const struct look *look = s->looks;
            const struct look *const looks_end = s->end;
            int waits = 0;
            do {
                struct going *const a = (struct going *)(void *)((char *)at + look->at);
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
                    frame = b->go_slowly(b, &t, UNLIKELY(b->watched) ? begin_of_group(l, look->group, done) : 0,
                        KEY_LINE(want), way_of_look(ways, look));
                    still |= (keys[frame] | look->either) ^ want;
                }
                a->used = &c->used[frame];
                use_line(a, stamp + look->last);
            } while (++look < looks_end);
            if (waits) {
                time += t.stalled * CPI_ONE;
                l->stalled += t.stalled;
                unsure = still != 0;
            }
            settled = s->settled;
            if (LIKELY(!unsure && until <= turns && limit == UINT64_MAX)) { /* nothing can come between */
                stamp += s->stamps;
                time += s->time;
                done = until;
                if (done == turns || UNLIKELY(b->dead))
                    break;
                goto next;
            }
            settled = s->moved;
            stamp += nrefs;
            time += p->cost;
            done++;
        } else {
            settle(at, n, stamp, nrefs, settled, 0);
            for (const struct look *look = s->looks; look < s->end; look++) {
                struct going *const a = &at[look->group];
                a->want = (a->want + look->delta) & key_mask;
                a->used = &c->used[hints[KEY_LINE(a->want) & hint_mask]];
            }
            t.stamp = stamp;
            unsure = turn_anyway(l, at, done, &t, &time, s->cut);
            stamp = t.stamp;
            settled = ALL_GROUPS;
            done++;
        }
        /* whose groups are in no two lines, else the next turn were a step */
        while (done < end && unsure && time < limit && LIKELY(!b->dead)) {
            settle(at, n, stamp, nrefs, settled, 0);
            t.stamp = stamp;
            unsure = turn_anyway(l, at, done, &t, &time, 0);
            stamp = t.stamp;
            settled = ALL_GROUPS;
            done++;
        }
        if (done < end && time < limit && LIKELY(!b->dead)) {
            done += peet__bus_turns_hit(p, end - done, limit, &stamp, &time);
            settled = s->cut;
        }
        if (done >= turns || time >= limit || UNLIKELY(b->dead))
            break;
    next:
        s = s->following ? s->following
                         : find_step(l, course, at, from, done - from, n + (uint32_t)__builtin_popcount(s->cut));
    }
    settle(at, n, stamp, nrefs, settled, 0);
    c->stamp = stamp;
    *inout_time = time;
    return done;
}

#define GO(name, most, n) \
    static __attribute__((noinline)) const struct step *step_##name(const struct looping *l, struct course *course, \
        const struct going *at, uint64_t from, uint64_t turn, uint32_t lines) \
    { \
        return step_in(l, course, at, n, from, turn, lines); \
    } \
    static __attribute__((noinline)) uint64_t go_##name(struct looping *l, uint64_t done, uint64_t turns, \
        uint64_t limit, uint64_t *inout_time) \
    { \
        struct going at[most]; \
        return go_by_ways(l, at, n, step_##name, done, turns, limit, inout_time); \
    }
GO(2, 2, 2)
GO(4, 4, 4)
GO(any, LOOP_GROUPS, l->n)

uint64_t peet__bus_course(struct looping *l, uint64_t done, uint64_t turns, uint64_t limit, uint64_t *inout_time)
{
    return l->n == 2 ? go_2(l, done, turns, limit, inout_time)
        : l->n == 4  ? go_4(l, done, turns, limit, inout_time)
                     : go_any(l, done, turns, limit, inout_time);
}
