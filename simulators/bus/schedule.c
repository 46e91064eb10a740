/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops with any strides.
 *
 *   1. In most iterations nothing happens: all groups are in the lines of the iteration before, and hit.
 *   2. An iteration in which a group comes to another line, or lies in two, is a *crossing* of the loop's line-crossing
 *      schedule (`schedule`).
 *   3. Crossings recur at the same distances, once each group has gone through as many lines as its stride makes whole.
 *      So a schedule is worked out once and kept.
 *   4. In a crossing, only the groups that come to another line are probed.  A group in two lines is probed as two.
 *   5. A stamp is written when a group leaves its line, and before anything is replaced.
 *
 * Called by loops.c, for loops that uniform.c does not take.
 */
#include "straddle.h"
#include "loops.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { CROSSINGS = 64, PROBES = 128 };
#define ALL_GROUPS UINT32_MAX

/* Where a group is: the cursor of the schedule. */
struct cursor {
    uint64_t want;   /* key of its line */
    uint64_t *used;  /* where its line is: the stamp of that frame */
    uint64_t last;   /* as in the line access */
    uint64_t unused; /* a power of two is quicker to count by */
};

/* A group comes to a line: all of it, or the part of a split group that lies in that line. */
struct probe {
    uint64_t delta;                       /* to the key of that line, from the one it came to before */
    const struct line_access *split_line; /* NULL: all of it */
    uint64_t permission_mask, last;       /* as in the line access */
    uint32_t at;                          /* its group: so many bytes after the first one's struct cursor */
    uint32_t group, bit;
    /* those of groups that do not move, and whose accesses come before this probe: a bit each */
    uint32_t earlier;
};

/* An iteration in which some groups come to other lines. */
struct crossing {
    const struct crossing *following;  /* NULL: not known yet */
    uint64_t iterations, stamps, time; /* to that one; what they take if they hit */
    uint32_t crossing_groups, split;   /* groups that do, and those of them that are in two: a bit each */
    uint32_t flushed;                  /* those whose stamps are what they are to be before the next crossing */
    /* only `probes` have to be probed: no line of this iteration or of the one before is replaced */
    int probes_suffice;
    const struct probe *probes, *end; /* in their order */
};

/* A loop's crossings, from the first iteration on.  They are kept: the loop often begins again in the same places of
 * lines. */
struct schedule {
    uint32_t ncrossings, nprobes;
    /* Crossings repeat from crossings[1] after this iteration. UINT64_MAX: there are too many, and none is kept */
    uint64_t ends;
    /* as seen from the latest crossing: the iteration that finds a group in another line, or in two */
    uint64_t next[LOOP_GROUPS];
    uint32_t offsets[LOOP_GROUPS]; /* where groups begin in their lines */
    struct crossing crossings[CROSSINGS];
    struct probe probes[PROBES];
};

void peet__bus_schedules_forget(struct loop_access *first)
{
    for (uint32_t i = 0; i < LOOP_SCHEDULES; i++)
        if (first->schedules[i])
            first->schedules[i]->ncrossings = 0;
}

void peet__bus_schedules_free(struct loop_access *first)
{
    for (uint32_t i = 0; first && i < LOOP_SCHEDULES; i++)
        free(first->schedules[i]);
}

static const struct line_access *access_of_probe(const struct line_access *accesses, const struct probe *probe)
{
    return probe->split_line ? probe->split_line : &accesses[probe->group];
}

/* A probe, where it is among those of its crossing from @first on; its delta is the key for now. */
static void add_probe(struct schedule *schedule, const struct probe *first, const struct line_access *accesses,
    const struct line_access *split_line, uint32_t k, uint64_t key)
{
    struct probe *at = &schedule->probes[schedule->nprobes++];
    const struct line_access *const w = split_line ? split_line : &accesses[k];
    for (; at > first && access_of_probe(accesses, at - 1)->first > w->first; at--)
        *at = at[-1];
    *at = (struct probe){.delta = key,
        .split_line = split_line,
        .at = (uint32_t)(k * sizeof(struct cursor)),
        .group = k,
        .permission_mask = w->permission_mask,
        .last = w->last,
        .bit = 1u << k};
}

/* Works out the crossing in iteration @iteration after @from, where the schedule begins, and keeps it.  @at: where
 * groups were; @lines: so many were used in the iteration before */
ALWAYS const struct crossing *crossing_in(const struct looping *l, struct schedule *schedule, const struct cursor *at,
    uint32_t n, uint64_t from, uint64_t iteration, uint32_t lines)
{
    struct bus *const b = l->b;
    const struct block_template *const p = l->template;
    struct line_access *const accesses = b->line_accesses + p->accesses - 1;
    if (iteration > schedule->ends)
        return schedule->crossings[schedule->ncrossings - 1].following = &schedule->crossings[1];
    if (schedule->ncrossings == CROSSINGS || schedule->nprobes + 2 * n > PROBES) {
        schedule->ends = UINT64_MAX;
        schedule->ncrossings = schedule->nprobes = 0;
    }
    struct probe *const probes = &schedule->probes[schedule->nprobes];
    struct crossing *const s = &schedule->crossings[schedule->ncrossings++];
    *s = (struct crossing){.iterations = BUS_STAYS, .probes = probes, .probes_suffice = 1};
    if (schedule->ncrossings > 1)
        s[-1].following = s;
    for (uint32_t k = 0; k < n; k++) {
        if (schedule->next[k] == iteration) {
            const struct loop_access *const w = accesses[k].loop;
            struct looped moving = {
                .begin = l->begins[k] + (uint64_t)w->stride * from, .stride = (uint64_t)w->stride, .access = w};
            const struct group_split *lines_of = NULL;
            s->crossing_groups |= 1u << k;
            if (peet__bus_come(&moving, b, iteration)) {
                lines_of = peet__bus_split(b, l->block, &accesses[k], w->span,
                    b->line_bytes - ((uint32_t)peet__bus_begin_in(&moving, iteration) & (b->line_bytes - 1)));
                s->split |= 1u << k;
                s->probes_suffice &= lines_of && !lines_of->nstraddling;
            }
            schedule->next[k] = moving.next;
            add_probe(schedule, probes, accesses, lines_of ? &lines_of->lines[0] : NULL, k, moving.want);
            if (lines_of)
                add_probe(schedule, probes, accesses, &lines_of->lines[1], k,
                    (moving.want + KEY_OF(1)) & peet__bus_key_mask(b));
        }
        s->iterations = schedule->next[k] - iteration < s->iterations ? schedule->next[k] - iteration : s->iterations;
    }
    s->end = &schedule->probes[schedule->nprobes];
    s->probes_suffice &= lines + (uint32_t)(s->end - probes) <= b->ways;
    s->stamps = s->iterations * p->nrefs;
    s->time = s->iterations * p->cost;
    s->flushed = s->iterations == 1 ? s->crossing_groups : s->split;
    for (struct probe *probe = probes; probe < s->end; probe++) {
        uint64_t was = at[probe->group].want;
        for (const struct probe *earlier = probes; earlier < probe; earlier++) /* its other line */
            was = earlier->group == probe->group ? was + earlier->delta : was;
        probe->delta -= was;
        for (uint32_t k = 0; k < n && accesses[k].first < access_of_probe(accesses, probe)->first; k++)
            probe->earlier |= 1u << k & ~s->crossing_groups;
    }
    return s;
}

typedef const struct crossing *find_crossing(const struct looping *l, struct schedule *schedule,
    const struct cursor *at, uint64_t from, uint64_t iteration, uint32_t lines);

/* The schedule of a loop from iteration @from on, which is known as far as it went before if it began like this.
 * Returns: NULL without memory */
ALWAYS struct schedule *schedule_from(const struct looping *l, struct cursor *at, uint32_t n, uint64_t from)
{
    const struct bus *const b = l->b;
    const struct line_access *const accesses = b->line_accesses + l->template->accesses - 1;
    uint32_t offsets[LOOP_GROUPS], name = 0, other = 0;
    uint64_t cycle = 1;
    for (uint32_t k = 0; k < n; k++) {
        const struct loop_access *const w = accesses[k].loop;
        const uint64_t begin = l->begins[k] + (uint64_t)w->stride * from;
        at[k].want = KEY_OF(begin >> b->line_shift) | PERMISSION;
        at[k].last = w->last;
        offsets[k] = (uint32_t)begin & (b->line_bytes - 1);
        name = name * 31 + offsets[k];
        cycle = b->line_bytes >> w->shift > cycle ? b->line_bytes >> w->shift : cycle;
    }
    struct schedule **const place = &accesses->loop->schedules[name * 0x9e3779b1u >> 29], *schedule = *place;
    if (UNLIKELY(!schedule) && !(schedule = *place = calloc(1, sizeof *schedule)))
        return NULL;
    for (uint32_t k = 0; k < n; k++)
        other |= schedule->offsets[k] ^ offsets[k];
    if (other || !schedule->ncrossings || schedule->ends == UINT64_MAX) {
        schedule->ncrossings = schedule->nprobes = 0;
        schedule->ends = cycle;
        for (uint32_t k = 0; k < n; k++) {
            schedule->offsets[k] = offsets[k];
            schedule->next[k] = 0;
        }
    }
    return schedule;
}
_Static_assert(LOOP_SCHEDULES == 8, "three bits of a name");

/* A group used its line; @last: by this stamp. */
ALWAYS void use_line(const struct cursor *a, uint64_t last)
{
    *a->used = last > *a->used ? last : *a->used;
}

/* Writes the stamps of the iteration before for groups that do not have them (not @flushed), and those of this
 * iteration for groups that were used in it without moving (@earlier).
 */
ALWAYS void flush(const struct cursor *at, uint32_t n, uint64_t stamp, uint64_t nrefs, uint32_t flushed,
    uint32_t earlier)
{
    const uint32_t not = flushed & ~earlier;
    for (uint32_t k = 0; k < n; k++)
        if (!(not >> k & 1))
            use_line(&at[k], stamp - (earlier >> k & 1 ? 0 : nrefs) + at[k].last);
}

/* Where a group is in this iteration. */
static inline uint64_t begin_of_group(const struct looping *l, uint32_t k, uint64_t iteration)
{
    return l->begins[k] + (uint64_t)l->b->line_accesses[l->template->accesses - 1 + k].loop->stride * iteration;
}

/* Some groups do not hit: access by access.  What a fill replaces are lines that this iteration has not used yet,
 * perhaps one that a later access used in the iteration before.  Returns: whether some do not only hit even now */
static __attribute__((noinline)) int iteration_by_accesses(const struct looping *l, struct cursor *at,
    uint64_t iteration, struct execution *t)
{
    const struct line_access *const accesses = l->b->line_accesses + l->template->accesses - 1;
    uint64_t missing = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        const uint32_t frame = peet__bus_go_to(l->b, t, begin_of_group(l, k, iteration), at[k].want,
            (uint32_t)(at[k].used - t->c->used), &accesses[k]);
        at[k].used = &t->c->used[frame];
        missing |= (t->c->keys[frame] | accesses[k].permission_mask) ^ at[k].want;
    }
    return missing != 0;
}

/* One iteration, whether it hits or not. Returns: whether the next one may miss, too */
static __attribute__((noinline)) int iteration_anyway(struct looping *l, struct cursor *at, uint64_t iteration,
    struct execution *t, uint64_t *inout_time, uint32_t split)
{
    uint64_t begins[LOOP_GROUPS];
    int unsure = 1;
    if (!split) {
        peet__bus_iteration_begins(l, t, *inout_time);
        unsure = iteration_by_accesses(l, at, iteration, t);
        *inout_time += peet__bus_iteration_ends(l, t);
        t->stamp += l->template->nrefs;
        return unsure;
    }
    for (uint32_t k = 0; k < l->n; k++)
        begins[k] = begin_of_group(l, k, iteration);
    t->c->stamp = t->stamp;
    *inout_time += peet__bus_straddling_iteration(l, iteration, begins, *inout_time);
    t->stamp = t->c->stamp;
    return unsure;
}

/* @n: a constant if groups are few, and @at nobody else's; @find_crossing: crossing_in() for as many */
ALWAYS uint64_t run_schedule(struct looping *l, struct cursor *at, uint32_t n, find_crossing *find_crossing,
    uint64_t done, uint64_t iterations, uint64_t limit, uint64_t *inout_time)
{
    struct bus *const b = l->b;
    struct cache *const c = &b->caches[l->hw];
    const uint32_t *const predictor = c->predictor;
    const uint64_t *const keys = c->keys;
    const struct block_template *const p = l->template;
    const struct line_access *const accesses = b->line_accesses + p->accesses - 1;
    const uint64_t nrefs = p->nrefs, key_mask = peet__bus_key_mask(b), from = done;
    const uint32_t predictor_mask = b->predictor_mask;
    struct execution t = {.c = c, .block = l->block};
    struct schedule *const schedule = schedule_from(l, at, n, from);
    uint64_t time = *inout_time, stamp = c->stamp;
    uint32_t flushed = ALL_GROUPS; /* their stamps are those of the iteration before */
    int unsure = 0;                /* lines may not be where they were, or need more than a hit */
    if (UNLIKELY(!schedule)) {
        peet__bus_no_memory(b);
        return iterations;
    }
    const struct crossing *s = schedule->ncrossings ? schedule->crossings : find_crossing(l, schedule, at, from, 0, 0);
    for (;;) { /* a crossing, and what comes up to the next one */
        const uint64_t until = done + s->iterations, end = until < iterations ? until : iterations;
        if (LIKELY(s->probes_suffice && !unsure)) {
            uint64_t still = 0;
            const struct probe *probe = s->probes;
            const struct probe *const probes_end = s->end;
            int waits = 0;
            do {
                struct cursor *const a = (struct cursor *)(void *)((char *)at + probe->at);
                if (!(flushed & probe->bit))
                    use_line(a, stamp - nrefs + a->last);
                flushed |= probe->bit;
                const uint64_t want = a->want = (a->want + probe->delta) & key_mask;
                uint32_t frame = predictor[KEY_LINE(want) & predictor_mask];
                if ((keys[frame] | probe->permission_mask) != want) {
                    flush(at, n, stamp, nrefs, flushed, probe->earlier);
                    flushed = ALL_GROUPS;
                    if (!waits) {
                        t.stamp = stamp;
                        peet__bus_iteration_begins(l, &t, time);
                        waits = 1;
                    }
                    frame = b->go_slowly(b, &t, UNLIKELY(b->watched) ? begin_of_group(l, probe->group, done) : 0,
                        KEY_LINE(want), access_of_probe(accesses, probe));
                    still |= (keys[frame] | probe->permission_mask) ^ want;
                }
                a->used = &c->used[frame];
                use_line(a, stamp + probe->last);
            } while (++probe < probes_end);
            if (waits) {
                time += t.stalled * CPI_ONE;
                l->stalled += t.stalled;
                unsure = still != 0;
            }
            flushed = s->flushed;
            if (LIKELY(!unsure && until <= iterations && limit == UINT64_MAX)) { /* nothing can come between */
                stamp += s->stamps;
                time += s->time;
                done = until;
                if (done == iterations || UNLIKELY(b->dead))
                    break;
                goto next;
            }
            flushed = s->crossing_groups;
            stamp += nrefs;
            time += p->cost;
            done++;
        } else {
            flush(at, n, stamp, nrefs, flushed, 0);
            for (const struct probe *probe = s->probes; probe < s->end; probe++) {
                struct cursor *const a = &at[probe->group];
                a->want = (a->want + probe->delta) & key_mask;
                a->used = &c->used[predictor[KEY_LINE(a->want) & predictor_mask]];
            }
            t.stamp = stamp;
            unsure = iteration_anyway(l, at, done, &t, &time, s->split);
            stamp = t.stamp;
            flushed = ALL_GROUPS;
            done++;
        }
        /* whose groups are in no two lines, else the next iteration were a crossing */
        while (done < end && unsure && time < limit && LIKELY(!b->dead)) {
            flush(at, n, stamp, nrefs, flushed, 0);
            t.stamp = stamp;
            unsure = iteration_anyway(l, at, done, &t, &time, 0);
            stamp = t.stamp;
            flushed = ALL_GROUPS;
            done++;
        }
        if (done < end && time < limit && LIKELY(!b->dead)) {
            done += peet__bus_iterations_hit(p, end - done, limit, &stamp, &time);
            flushed = s->split;
        }
        if (done >= iterations || time >= limit || UNLIKELY(b->dead))
            break;
    next:
        s = s->following
            ? s->following
            : find_crossing(l, schedule, at, from, done - from, n + (uint32_t)__builtin_popcount(s->split));
    }
    flush(at, n, stamp, nrefs, flushed, 0);
    c->stamp = stamp;
    *inout_time = time;
    return done;
}

#define GO(find_name, go_name, most, n) \
    static __attribute__((noinline)) const struct crossing *find_name(const struct looping *l, \
        struct schedule *schedule, const struct cursor *at, uint64_t from, uint64_t iteration, uint32_t lines) \
    { \
        return crossing_in(l, schedule, at, n, from, iteration, lines); \
    } \
    static __attribute__((noinline)) uint64_t go_name(struct looping *l, uint64_t done, uint64_t iterations, \
        uint64_t limit, uint64_t *inout_time) \
    { \
        struct cursor at[most]; \
        return run_schedule(l, at, n, find_name, done, iterations, limit, inout_time); \
    }
GO(find_2, go_2, 2, 2)
GO(find_4, go_4, 4, 4)
GO(find_any, go_any, LOOP_GROUPS, l->n)

uint64_t peet__bus_by_schedule(struct looping *l, uint64_t done, uint64_t iterations, uint64_t limit,
    uint64_t *inout_time)
{
    return l->n == 2 ? go_2(l, done, iterations, limit, inout_time)
        : l->n == 4  ? go_4(l, done, iterations, limit, inout_time)
                     : go_any(l, done, iterations, limit, inout_time);
}
