/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of recency.h: marks, questions, the order, and moments that would become too great. */
#include "bus.h"
#include <stdlib.h>

#define NOT_SETTLED INT64_MIN

/* An order is made if there are more questions than that within about half as many lines as the shadow has: it takes as
 * long as some dozens. */
enum { GONE_PER_LINE = 3, GONE_MORE = 64, MARKS_PER_SHADOW = 8, MARK_LEAST = 16, ASKS_MOST = 24 };

static inline uint32_t mark_every(const struct bus *b)
{
    return b->lines / MARKS_PER_SHADOW > MARK_LEAST ? b->lines / MARKS_PER_SHADOW : MARK_LEAST;
}

/* The beginning's is RECENCY_OLD; a new base leaves no mark that is older. */
static inline uint32_t moment_of_mark(const struct bus_recency *r, uint32_t k)
{
    return peet__bus_recency_moment(r, r->marks[k].stamp);
}

static inline int64_t came_in(const struct bus_recency *r)
{
    return r->ngone - r->offset;
}

/* Stamps after that one, and moments after that one. */
static inline __attribute__((always_inline)) uint32_t count_later(const uint64_t *used, uint32_t nused, uint64_t stamp,
    const uint32_t *at, uint32_t nat, uint32_t moment)
{
    uint64_t frames = 0;
    uint32_t gone = 0;
    for (uint32_t i = 0; i < nused; i++)
        frames += used[i] > stamp;
    for (uint32_t i = 0; i < nat; i++)
        gone += at[i] > moment;
    return (uint32_t)frames + gone;
}

static uint32_t count_plainly(const uint64_t *used, uint32_t nused, uint64_t stamp, const uint32_t *at, uint32_t nat,
    uint32_t moment)
{
    return count_later(used, nused, stamp, at, nat, moment);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint32_t count_vectors(const uint64_t *used, uint32_t nused, uint64_t stamp,
    const uint32_t *at, uint32_t nat, uint32_t moment)
{
    return count_later(used, nused, stamp, at, nat, moment);
}
#endif

static int lines_init(struct recency_lines *l, size_t n)
{
    l->at = malloc(n * sizeof *l->at);
    l->records = malloc(n * sizeof *l->records);
    return l->at && l->records ? 0 : -1;
}

int peet__bus_recency_init(struct bus *b, struct cache *c)
{
    struct bus_recency *const r = &c->recency;
    /* others may take all lines between two misses */
    const size_t n = b->lines, gone = GONE_PER_LINE * n + GONE_MORE + n;
    r->gone_size = GONE_PER_LINE * b->lines + GONE_MORE;
    r->floor = RECENCY_FIRST;
    r->base = (uint64_t)-1; /* the first stamp is 1 */
    r->span = 1u << 30;     /* half of what a moment has room for: stamps may be a little ahead */
    r->until = r->base + r->span;
    r->nmarks = 1; /* the beginning */
    r->stop = mark_every(b);
    r->settled = NOT_SETTLED;
    r->count = count_plainly;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        r->count = count_vectors;
#endif
    r->sorted = malloc((n + gone) * sizeof *r->sorted);
    r->records = malloc(n * sizeof *r->records);
    if (lines_init(&r->gone, gone) || lines_init(&r->some, n + gone) || !r->sorted || !r->records ||
        (!b->scratch.stamps && peet_sim_oldest_scratch_init(&b->scratch, (uint32_t)(n + gone))))
        return -1;
    for (size_t i = 0; i < n; i++)
        r->records[i] = &r->nobodys;
    return 0;
}

void peet__bus_recency_fini(struct cache *c)
{
    struct bus_recency *const r = &c->recency;
    free(r->gone.at);
    free(r->gone.records);
    free(r->some.at);
    free(r->some.records);
    free(r->sorted);
    free(r->records);
}

/* Was the line not used since that moment? */
static inline int unused(const struct cache *c, const struct bus_recency *r, const uint32_t *record, uint32_t at)
{
    const uint32_t now = *record;
    return at == (now & RECENCY_FRAME ? peet__bus_recency_moment(r, c->used[now & ~RECENCY_FRAME]) : now);
}

static inline void not_quick(struct cache *c, uint32_t frame)
{
    c->keys[frame] &= ~(uint64_t)QUICK;
    c->frames[frame].place = 0;
}

/* Forget, of the first @n that left, what need not be known any more: lines that came back, and those below the floor.
 * All, or those before the first mark */
static void tidy(struct bus_recency *r, uint32_t n)
{
    const uint32_t was = r->ngone;
    const int none = !r->count(NULL, 0, 0, r->gone.at, n, r->floor - 1);
    uint32_t left = 0, mark = 0;
    for (uint32_t i = none ? n : 0; i <= n; i++) {
        for (; mark < r->nmarks && r->marks[mark].ngone <= i; mark++)
            r->marks[mark].ngone = left;
        if (i == n)
            break;
        uint32_t *const record = r->gone.records[i], at = r->gone.at[i];
        r->gone.records[left] = record;
        r->gone.at[left] = at;
        left += (at >= r->floor) & (*record == at) & (record != &r->nobodys);
    }
    for (; mark < r->nmarks; mark++)
        r->marks[mark].ngone -= n - left;
    memmove(r->gone.records + left, r->gone.records + n, (r->ngone - n) * sizeof *r->gone.records);
    memmove(r->gone.at + left, r->gone.at + n, (r->ngone - n) * sizeof *r->gone.at);
    r->ngone -= n - left;
    r->offset -= n - left;
    r->again_before = n == was ? r->again : r->marks[0].again;
}

/* All lines that may be in the shadow, sorted.  Frames that are not in it for sure will not be quick.  Stamps may be
 * too late for moments (before another base). Returns: how many */
static uint32_t sort(struct bus *b, struct cache *c)
{
    struct bus_recency *const r = &c->recency;
    uint64_t *const stamps = b->scratch.stamps, floor = r->base + r->floor, least = UINT64_MAX, most = 0;
    uint32_t n = 0;
    tidy(r, r->ngone);
    for (uint32_t i = 0; i < b->lines; i++) {
        stamps[n] = c->used[i];
        r->some.at[n] = peet__bus_recency_moment(r, c->used[i]);
        r->some.records[n] = r->records[i];
        if (c->used[i] >= floor) /* and not 0 */
            n++;
        else
            not_quick(c, i);
    }
    for (uint32_t i = 0; i < r->ngone; i++)
        stamps[n + i] = r->base + r->gone.at[i];
    memcpy(r->some.at + n, r->gone.at, r->ngone * sizeof *r->gone.at);
    memcpy(r->some.records + n, r->gone.records, r->ngone * sizeof *r->gone.records);
    n += r->ngone;
    for (uint32_t k = 0; k < n; k++) {
        least = stamps[k] < least ? stamps[k] : least;
        most = stamps[k] > most ? stamps[k] : most;
    }
    if (n)
        peet__sim_oldest_sort(&b->scratch, n, least, most, r->sorted);
    return n;
}

static void note_mark(struct bus_recency *r, uint32_t k, uint64_t stamp)
{
    r->marks[k] = (struct recency_mark){.stamp = stamp, .came = came_in(r), .again = r->again, .ngone = r->ngone};
}

/* Note the moment if the latest mark is long ago; forget marks that are below the floor, and what left before. */
static void set_mark(struct bus *b, struct bus_recency *r, uint64_t stamp)
{
    uint32_t past = 0;
    if (came_in(r) - r->marks[r->nmarks - 1].came >= mark_every(b)) {
        r->nmarks += r->nmarks < RECENCY_MARKS; /* else the latest is not needed */
        note_mark(r, r->nmarks - 1, stamp);
        r->asks -= (r->asks + 3) / 4;
    }
    while (past + 1 < r->nmarks && moment_of_mark(r, past + 1) <= r->floor)
        past++;
    r->nmarks -= past;
    memmove(r->marks, r->marks + past, r->nmarks * sizeof *r->marks);
    if (r->marks[0].ngone >= b->lines / 2 && moment_of_mark(r, 0) <= r->floor)
        tidy(r, r->marks[0].ngone);
}

/* When next to look. */
static void set_stop(struct bus *b, struct bus_recency *r)
{
    const uint32_t stop = r->ngone + mark_every(b);
    r->stop = stop < r->gone_size ? stop : r->gone_size;
}

static inline void goes(struct cache *c, const struct bus_recency *r, uint32_t k)
{
    const uint32_t now = *r->some.records[r->sorted[k]];
    if (now & RECENCY_FRAME)
        not_quick(c, now & ~RECENCY_FRAME);
}

/* The shadow as it is now, less lines that have their stamps in advance: others that come in will have lesser ones. */
static void make_order(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_recency *const r = &c->recency;
    const uint32_t now = peet__bus_recency_moment(r, stamp);
    r->nsorted = sort(b, c);
    r->next = r->nsorted > b->lines ? r->nsorted - b->lines : 0;
    r->room = r->nsorted < b->lines ? b->lines - r->nsorted : 0;
    for (uint32_t k = 0; k < r->next; k++)
        goes(c, r, k);
    while (r->nsorted > r->next && r->some.at[r->sorted[r->nsorted - 1]] > now)
        r->nsorted--;
    if (!r->room)
        r->floor = r->nsorted > r->next ? r->some.at[r->sorted[r->next]] : now + 1;
    r->settled = came_in(r);
    set_stop(b, r);
}

/* Lines came in since the order was settled: as many went.  Returns: 0, or -1: it is used up */
static int catch_up(struct cache *c, struct bus_recency *r)
{
    int64_t came = came_in(r) - r->settled;
    const uint32_t in_room = came < r->room ? (uint32_t)came : r->room;
    r->room -= in_room;
    came -= in_room;
    if (r->room) {
        r->settled = came_in(r);
        return 0;
    }
    for (; r->next < r->nsorted; r->next++) {
        const uint32_t slot = r->sorted[r->next];
        if (!unused(c, r, r->some.records[slot], r->some.at[slot]))
            continue;
        if (!came--) {
            r->floor = r->some.at[slot];
            r->settled = came_in(r);
            return 0;
        }
        goes(c, r, r->next);
    }
    r->settled = NOT_SETTLED;
    return -1;
}

/* Are there as many lines that were used later than that? */
static int as_many_since(const struct bus *b, const struct cache *c, uint32_t at)
{
    const struct bus_recency *const r = &c->recency;
    uint32_t later = r->count(c->used, b->lines, r->base + at, r->gone.at, r->ngone, at);
    if (later < b->lines) /* even with those that came back */
        return 0;
    if (later - b->lines >= r->again - r->again_before + r->empty) /* even without them */
        return 1;
    for (uint32_t i = 0; i < r->ngone; i++)
        later -= (r->gone.at[i] > at) & ((*r->gone.records[i] != r->gone.at[i]) | (r->gone.records[i] == &r->nobodys));
    return later >= b->lines;
}

__attribute__((noinline)) int peet__bus_recency_ask(struct bus *b, struct cache *c, uint32_t at, uint64_t stamp)
{
    struct bus_recency *const r = &c->recency;
    if (r->settled == NOT_SETTLED && ++r->asks <= ASKS_MOST) {
        if (!as_many_since(b, c, at))
            return 1;
        r->floor = at + 1;
        return 0;
    }
    if (r->settled == NOT_SETTLED || catch_up(c, r))
        make_order(b, c, stamp);
    return at >= r->floor;
}

__attribute__((noinline)) void peet__bus_recency_stop(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_recency *const r = &c->recency;
    if (r->settled != NOT_SETTLED && catch_up(c, r))
        r->asks = ASKS_MOST / 2;
    for (uint32_t k = r->settled == NOT_SETTLED ? r->nmarks : 0; k-- > 0;)
        if (came_in(r) - r->marks[k].came >= b->lines) {
            r->floor = moment_of_mark(r, k) > r->floor ? moment_of_mark(r, k) : r->floor;
            break;
        }
    set_mark(b, r, stamp);
    if (r->ngone >= r->gone_size) {
        tidy(r, r->ngone);
        if (r->ngone + b->lines > r->gone_size) {
            make_order(b, c, stamp);
            tidy(r, r->ngone); /* below the floor as it is now: no more than there are lines are left */
        }
    }
    set_stop(b, r);
}

static int forget(void *self, uint64_t line, void *record)
{
    uint32_t *const at = record;
    (void)self;
    (void)line;
    if (!(*at & RECENCY_FRAME) && *at)
        *at = RECENCY_OLD;
    return 0;
}

__attribute__((noinline)) void peet__bus_recency_rebase(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_recency *const r = &c->recency;
    tidy(r, r->ngone);
    r->floor = RECENCY_FIRST; /* frames that are not in the shadow are sorted, too */
    const uint32_t n = sort(b, c);
    r->base = stamp - n - RECENCY_FIRST;
    r->until = stamp + r->span;
    r->empty = 0;
    for (uint32_t i = 0; i < b->lines; i++)
        r->empty += !c->used[i];
    peet_sim_linemap_each(c->words, forget, NULL);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *const record = r->some.records[r->sorted[k]];
        const uint32_t at = RECENCY_FIRST + k;
        if (!(*record & RECENCY_FRAME))
            *record = at;
        else if (c->used[*record & ~RECENCY_FRAME] < stamp) /* loops give stamps in advance: those are right */
            c->used[*record & ~RECENCY_FRAME] = r->base + at;
    }
    for (uint32_t i = 0; i < r->ngone; i++)
        r->gone.at[i] = *r->gone.records[i];
    note_mark(r, 0, stamp);
    r->nmarks = 1;
    make_order(b, c, stamp);
}
