/* SPDX-License-Identifier: Apache-2.0 */
/* The slow part of stackdist.h: checkpoints, questions, the order, and rebasing before stamps exceed the 32 bits of
 * records. */
#include "bus.h"
#include <stdlib.h>

#define NO_ORDER INT64_MIN

/* ASKS_MOST: an order takes as long as some dozens of questions. It is made if there are more questions than that while
 * about half of the shadow's lines come in. */
enum { LOG_PER_LINE = 3, LOG_MORE = 64, CHECKPOINTS_PER_SHADOW = 8, CHECKPOINT_LEAST = 16, ASKS_MOST = 24 };

static inline uint32_t checkpoint_every(const struct bus *b)
{
    return b->lines / CHECKPOINTS_PER_SHADOW > CHECKPOINT_LEAST ? b->lines / CHECKPOINTS_PER_SHADOW : CHECKPOINT_LEAST;
}

/* The beginning's is STACKDIST_OLD; a new base leaves no checkpoint that is older. */
static inline uint32_t stamp_of_checkpoint(const struct bus_stackdist *r, uint32_t k)
{
    return peet__bus_stackdist_stamp(r, r->checkpoints[k].stamp);
}

static inline int64_t came_in(const struct bus_stackdist *r)
{
    return r->nlogged - r->offset;
}

/* How many of used[] are after @stamp, and how many of at[] are after @since. */
static inline __attribute__((always_inline)) uint32_t count_after(const uint64_t *used, uint32_t nused, uint64_t stamp,
    const uint32_t *at, uint32_t nat, uint32_t since)
{
    uint64_t frames = 0;
    uint32_t eviction_log = 0;
    for (uint32_t i = 0; i < nused; i++)
        frames += used[i] > stamp;
    for (uint32_t i = 0; i < nat; i++)
        eviction_log += at[i] > since;
    return (uint32_t)frames + eviction_log;
}

static uint32_t count_plainly(const uint64_t *used, uint32_t nused, uint64_t stamp, const uint32_t *at, uint32_t nat,
    uint32_t since)
{
    return count_after(used, nused, stamp, at, nat, since);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint32_t count_vectors(const uint64_t *used, uint32_t nused, uint64_t stamp,
    const uint32_t *at, uint32_t nat, uint32_t since)
{
    return count_after(used, nused, stamp, at, nat, since);
}
#endif

static int lines_init(struct stackdist_lines *l, size_t n)
{
    l->at = malloc(n * sizeof *l->at);
    l->records = malloc(n * sizeof *l->records);
    return l->at && l->records ? 0 : -1;
}

int peet__bus_stackdist_init(struct bus *b, struct cache *c)
{
    struct bus_stackdist *const r = &c->stackdist;
    /* others may take all lines between two misses */
    const size_t n = b->lines, eviction_log = LOG_PER_LINE * n + LOG_MORE + n;
    r->log_size = LOG_PER_LINE * b->lines + LOG_MORE;
    r->cutoff = STACKDIST_FIRST;
    r->base = (uint64_t)-1; /* the first stamp is 1 */
    r->span = 1u << 30;     /* half of what a stamp has room for: stamps may be a little ahead */
    r->until = r->base + r->span;
    r->ncheckpoints = 1; /* the beginning */
    r->stop = checkpoint_every(b);
    r->ordered_at = NO_ORDER;
    r->count = count_plainly;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        r->count = count_vectors;
#endif
    r->sorted = malloc((n + eviction_log) * sizeof *r->sorted);
    r->records = malloc(n * sizeof *r->records);
    if (lines_init(&r->eviction_log, eviction_log) || lines_init(&r->some, n + eviction_log) || !r->sorted ||
        !r->records || (!b->scratch.stamps && peet_sim_oldest_scratch_init(&b->scratch, (uint32_t)(n + eviction_log))))
        return -1;
    for (size_t i = 0; i < n; i++)
        r->records[i] = &r->nobodys;
    return 0;
}

void peet__bus_stackdist_fini(struct cache *c)
{
    struct bus_stackdist *const r = &c->stackdist;
    free(r->eviction_log.at);
    free(r->eviction_log.records);
    free(r->some.at);
    free(r->some.records);
    free(r->sorted);
    free(r->records);
}

/* Was the line not used since that stamp? */
static inline int unused(const struct cache *c, const struct bus_stackdist *r, const uint32_t *record, uint32_t at)
{
    const uint32_t now = *record;
    return at == (now & STACKDIST_FRAME ? peet__bus_stackdist_stamp(r, c->used[now & ~STACKDIST_FRAME]) : now);
}

static inline void withdraw(struct cache *c, uint32_t frame)
{
    c->keys[frame] &= ~(uint64_t)PERMISSION;
    c->frames[frame].place = 0;
}

/* Forget, of the first @n that left, what need not be known any more: lines that came back, and those below the cutoff.
 * All, or those before the first checkpoint */
static void tidy(struct bus_stackdist *r, uint32_t n)
{
    const uint32_t was = r->nlogged;
    const int none = !r->count(NULL, 0, 0, r->eviction_log.at, n, r->cutoff - 1);
    uint32_t left = 0, checkpoint = 0;
    for (uint32_t i = none ? n : 0; i <= n; i++) {
        for (; checkpoint < r->ncheckpoints && r->checkpoints[checkpoint].nlogged <= i; checkpoint++)
            r->checkpoints[checkpoint].nlogged = left;
        if (i == n)
            break;
        uint32_t *const record = r->eviction_log.records[i], at = r->eviction_log.at[i];
        r->eviction_log.records[left] = record;
        r->eviction_log.at[left] = at;
        left += (at >= r->cutoff) & (*record == at) & (record != &r->nobodys);
    }
    for (; checkpoint < r->ncheckpoints; checkpoint++)
        r->checkpoints[checkpoint].nlogged -= n - left;
    memmove(r->eviction_log.records + left, r->eviction_log.records + n,
        (r->nlogged - n) * sizeof *r->eviction_log.records);
    memmove(r->eviction_log.at + left, r->eviction_log.at + n, (r->nlogged - n) * sizeof *r->eviction_log.at);
    r->nlogged -= n - left;
    r->offset -= n - left;
    r->again_before = n == was ? r->again : r->checkpoints[0].again;
}

/* All lines that may be in the shadow, sorted.  Frames that are certainly not in it lose their permission. Stamps may
 * exceed the 32 bits of records (before another base). Returns: how many */
static uint32_t sort(struct bus *b, struct cache *c)
{
    struct bus_stackdist *const r = &c->stackdist;
    uint64_t *const stamps = b->scratch.stamps, cutoff = r->base + r->cutoff, least = UINT64_MAX, most = 0;
    uint32_t n = 0;
    tidy(r, r->nlogged);
    for (uint32_t i = 0; i < b->lines; i++) {
        stamps[n] = c->used[i];
        r->some.at[n] = peet__bus_stackdist_stamp(r, c->used[i]);
        r->some.records[n] = r->records[i];
        if (c->used[i] >= cutoff) /* and not 0 */
            n++;
        else
            withdraw(c, i);
    }
    for (uint32_t i = 0; i < r->nlogged; i++)
        stamps[n + i] = r->base + r->eviction_log.at[i];
    memcpy(r->some.at + n, r->eviction_log.at, r->nlogged * sizeof *r->eviction_log.at);
    memcpy(r->some.records + n, r->eviction_log.records, r->nlogged * sizeof *r->eviction_log.records);
    n += r->nlogged;
    for (uint32_t k = 0; k < n; k++) {
        least = stamps[k] < least ? stamps[k] : least;
        most = stamps[k] > most ? stamps[k] : most;
    }
    if (n)
        peet__sim_oldest_sort(&b->scratch, n, least, most, r->sorted);
    return n;
}

static void note_checkpoint(struct bus_stackdist *r, uint32_t k, uint64_t stamp)
{
    r->checkpoints[k] =
        (struct stackdist_checkpoint){.stamp = stamp, .came = came_in(r), .again = r->again, .nlogged = r->nlogged};
}

/* Note the stamp if the latest checkpoint is long ago; forget checkpoints that are below the cutoff, and what left
 * before. */
static void set_checkpoint(struct bus *b, struct bus_stackdist *r, uint64_t stamp)
{
    uint32_t past = 0;
    if (came_in(r) - r->checkpoints[r->ncheckpoints - 1].came >= checkpoint_every(b)) {
        r->ncheckpoints += r->ncheckpoints < STACKDIST_CHECKPOINTS; /* else the latest is not needed */
        note_checkpoint(r, r->ncheckpoints - 1, stamp);
        r->asks -= (r->asks + 3) / 4;
    }
    while (past + 1 < r->ncheckpoints && stamp_of_checkpoint(r, past + 1) <= r->cutoff)
        past++;
    r->ncheckpoints -= past;
    memmove(r->checkpoints, r->checkpoints + past, r->ncheckpoints * sizeof *r->checkpoints);
    if (r->checkpoints[0].nlogged >= b->lines / 2 && stamp_of_checkpoint(r, 0) <= r->cutoff)
        tidy(r, r->checkpoints[0].nlogged);
}

/* When next to look. */
static void set_stop(struct bus *b, struct bus_stackdist *r)
{
    const uint32_t stop = r->nlogged + checkpoint_every(b);
    r->stop = stop < r->log_size ? stop : r->log_size;
}

static inline void goes(struct cache *c, const struct bus_stackdist *r, uint32_t k)
{
    const uint32_t now = *r->some.records[r->sorted[k]];
    if (now & STACKDIST_FRAME)
        withdraw(c, now & ~STACKDIST_FRAME);
}

/* The shadow as it is now, less lines that have their stamps in advance: others that come in will have lesser ones. */
static void make_order(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_stackdist *const r = &c->stackdist;
    const uint32_t now = peet__bus_stackdist_stamp(r, stamp);
    r->nsorted = sort(b, c);
    r->next = r->nsorted > b->lines ? r->nsorted - b->lines : 0;
    r->room = r->nsorted < b->lines ? b->lines - r->nsorted : 0;
    for (uint32_t k = 0; k < r->next; k++)
        goes(c, r, k);
    while (r->nsorted > r->next && r->some.at[r->sorted[r->nsorted - 1]] > now)
        r->nsorted--;
    if (!r->room)
        r->cutoff = r->nsorted > r->next ? r->some.at[r->sorted[r->next]] : now + 1;
    r->ordered_at = came_in(r);
    set_stop(b, r);
}

/* Lines came in since the order was settled: as many went.  Returns: 0, or -1: it is used up */
static int catch_up(struct cache *c, struct bus_stackdist *r)
{
    int64_t came = came_in(r) - r->ordered_at;
    const uint32_t in_room = came < r->room ? (uint32_t)came : r->room;
    r->room -= in_room;
    came -= in_room;
    if (r->room) {
        r->ordered_at = came_in(r);
        return 0;
    }
    for (; r->next < r->nsorted; r->next++) {
        const uint32_t slot = r->sorted[r->next];
        if (!unused(c, r, r->some.records[slot], r->some.at[slot]))
            continue;
        if (!came--) {
            r->cutoff = r->some.at[slot];
            r->ordered_at = came_in(r);
            return 0;
        }
        goes(c, r, r->next);
    }
    r->ordered_at = NO_ORDER;
    return -1;
}

/* Are there as many lines that were used later than that? */
static int as_many_since(const struct bus *b, const struct cache *c, uint32_t at)
{
    const struct bus_stackdist *const r = &c->stackdist;
    uint32_t after = r->count(c->used, b->lines, r->base + at, r->eviction_log.at, r->nlogged, at);
    if (after < b->lines) /* even with those that came back */
        return 0;
    if (after - b->lines >= r->again - r->again_before + r->empty) /* even without them */
        return 1;
    for (uint32_t i = 0; i < r->nlogged; i++)
        after -= (r->eviction_log.at[i] > at) &
            ((*r->eviction_log.records[i] != r->eviction_log.at[i]) | (r->eviction_log.records[i] == &r->nobodys));
    return after >= b->lines;
}

__attribute__((noinline)) int peet__bus_stackdist_ask(struct bus *b, struct cache *c, uint32_t at, uint64_t stamp)
{
    struct bus_stackdist *const r = &c->stackdist;
    if (r->ordered_at == NO_ORDER && ++r->asks <= ASKS_MOST) {
        if (!as_many_since(b, c, at))
            return 1;
        r->cutoff = at + 1;
        return 0;
    }
    if (r->ordered_at == NO_ORDER || catch_up(c, r))
        make_order(b, c, stamp);
    return at >= r->cutoff;
}

__attribute__((noinline)) void peet__bus_stackdist_stop(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_stackdist *const r = &c->stackdist;
    if (r->ordered_at != NO_ORDER && catch_up(c, r))
        r->asks = ASKS_MOST / 2;
    for (uint32_t k = r->ordered_at == NO_ORDER ? r->ncheckpoints : 0; k-- > 0;)
        if (came_in(r) - r->checkpoints[k].came >= b->lines) {
            r->cutoff = stamp_of_checkpoint(r, k) > r->cutoff ? stamp_of_checkpoint(r, k) : r->cutoff;
            break;
        }
    set_checkpoint(b, r, stamp);
    if (r->nlogged >= r->log_size) {
        tidy(r, r->nlogged);
        if (r->nlogged + b->lines > r->log_size) {
            make_order(b, c, stamp);
            tidy(r, r->nlogged); /* below the cutoff as it is now: no more than there are lines are left */
        }
    }
    set_stop(b, r);
}

static int forget(void *self, uint64_t line, void *record)
{
    uint32_t *const at = record;
    (void)self;
    (void)line;
    if (!(*at & STACKDIST_FRAME) && *at)
        *at = STACKDIST_OLD;
    return 0;
}

__attribute__((noinline)) void peet__bus_stackdist_rebase(struct bus *b, struct cache *c, uint64_t stamp)
{
    struct bus_stackdist *const r = &c->stackdist;
    tidy(r, r->nlogged);
    r->cutoff = STACKDIST_FIRST; /* frames that are not in the shadow are sorted, too */
    const uint32_t n = sort(b, c);
    r->base = stamp - n - STACKDIST_FIRST;
    r->until = stamp + r->span;
    r->empty = 0;
    for (uint32_t i = 0; i < b->lines; i++)
        r->empty += !c->used[i];
    peet_sim_linemap_each(c->words, forget, NULL);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *const record = r->some.records[r->sorted[k]];
        const uint32_t at = STACKDIST_FIRST + k;
        if (!(*record & STACKDIST_FRAME))
            *record = at;
        else if (c->used[*record & ~STACKDIST_FRAME] < stamp) /* loops give stamps in advance: those are right */
            c->used[*record & ~STACKDIST_FRAME] = r->base + at;
    }
    for (uint32_t i = 0; i < r->nlogged; i++)
        r->eviction_log.at[i] = *r->eviction_log.records[i];
    note_checkpoint(r, 0, stamp);
    r->ncheckpoints = 1;
    make_order(b, c, stamp);
}
