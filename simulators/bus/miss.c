/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe that fails, with one processor whose blocks go by groups (groups.c).  Nearly always it is a miss, and a miss
 * is one transaction: a fill, and perhaps the write-back of the line that leaves.
 *
 * If misses are told apart, nothing here searches the cache for a line that is not there: the line's record says in
 * which frame it is, or that it is in none (stackdist.h).  uniprocessor.c does the same in its general form.  Called by
 * peet's machine code, and by loops.c.
 */
#include "miss.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* What is known of the geometry when this is compiled. */
struct shape {
    uint32_t ways; /* 0: any */
    int classify;
    int plain;   /* sets are a power of two */
    int vectors; /* AVX2 is there */
    int watched; /* what is filled is told (report.c), and a line that is there is left to peet__bus_go_watched() */
};

/* The bus for a fill, as peet__bus_calendar_request_uniprocessor(); counted later.  @behind: for how long a write-back
 * follows at once.  Returns: for how long the fill's owner waits */
ALWAYS uint64_t transfer(struct bus *b, uint64_t requested, uint64_t cycles, uint64_t behind)
{
    struct calendar *const cal = &b->calendar;
    const uint64_t until = cal->final_until, start = requested > until ? requested : until;
    peet_sim_windows_go_on(&cal->windows, cal->open_from, until);
    cal->open_from = start;
    cal->final_until = start + cycles + behind;
    b->filled.waited += start - requested;
    return start + cycles - requested;
}

/* The frame with this line, of those from keys[0], used[first] on; NO_FRAME.  The keys of invalid ways are line 0's,
 * but those were never used. */
static __attribute__((noinline)) uint32_t frame_in_set(const uint64_t *keys, const uint64_t *used, uint32_t first,
    uint32_t ways, uint64_t line)
{
    for (uint32_t way = 0; way < ways; way++)
        if (KEY_LINE(keys[way]) == line && used[first + way])
            return first + way;
    return NO_FRAME;
}

/* The same, where nearly always there is none. */
ALWAYS uint32_t hardly(const uint64_t *keys, const uint64_t *used, uint32_t first, uint32_t ways, uint64_t line,
    int vectors)
{
    keys += first;
    if (vectors) {
        typedef uint64_t four __attribute__((vector_size(32), aligned(8)));
        four any = {0};
        for (uint32_t way = 0; way < ways; way += 4)
            any |= (four)((*(const four *)(keys + way) | PERMISSION) == (KEY_OF(line) | PERMISSION));
        return LIKELY(!__builtin_reduce_or(any)) ? NO_FRAME : frame_in_set(keys, used, first, ways, line);
    }
    uint64_t none = 1; /* without surprises */
    for (uint32_t way = 0; way < ways; way++)
        none &= KEY_LINE(keys[way]) != line;
    return LIKELY(none) ? NO_FRAME : frame_in_set(keys, used, first, ways, line);
}

/* A hit in a frame that has no permission; called before the frame is used. */
ALWAYS void note_hit(struct bus *b, uint32_t i)
{
    if (b->classify)
        peet__bus_stackdist_hit(&b->caches->stackdist, b->caches->used[i]);
}

/* A use of a line that is there, but lacks permission or needs the bus.  Returns: for how long it waits */
static uint64_t use_without_permission(struct bus *b, uint64_t line, const struct line_access *w, uint32_t i, int write,
    uint64_t at, uint64_t stamp)
{
    struct cache *const c = b->caches;
    struct frame *const f = &c->frames[i];
    const struct bus_processor_row *const row = &b->protocol->processor[f->state][write];
    c->stamp = stamp + w->first; /* no other reference's */
    if (row->op != OP_NONE)
        return peet__bus_touch_uniprocessor(b, c, line, w->bytes, write ? TOUCH_WRITE : TOUCH_READ, at);
    note_hit(b, i);
    f->state = row->alone;
    c->keys[i] = KEY_OF(line) | b->permission[row->alone];
    c->used[i] = c->stamp + 1;
    return 0;
}

/* The line is in frame @i, which is not where it was last, or not to be used in this way without more ado. */
static __attribute__((noinline)) struct access_result found(struct bus *b, uint64_t line, const struct line_access *w,
    uint32_t i, uint64_t requested, uint64_t stamp)
{
    const uint64_t *const key = &b->caches->keys[i];
    struct access_result t = {0, i};
    b->caches->predictor[line & b->predictor_mask] = i;
    if ((*key | w->permission_mask) == (KEY_OF(line) | PERMISSION))
        return t;
    struct frame *const f = &b->caches->frames[i];
    uint64_t *const used = &b->caches->used[i];
    /* perhaps of another group of this block in the same line, whose last reference comes later */
    const uint64_t before = *used;
    const uint8_t next = b->silent[w->fill][f->state];
    if (LIKELY(next != BUS_INVALID)) {
        note_hit(b, i);
        f->state = next;
        b->caches->keys[i] = KEY_OF(line) | b->permission[next];
        *used = stamp + w->first + 1;
    } else {
        t.stalled = use_without_permission(b, line, w, i, w->writes, requested, stamp);
        if (w->writes_after && !(*key & PERMISSION_WRITE))
            t.stalled += use_without_permission(b, line, w, i, 1, requested, stamp);
    }
    *used = before > *used ? before : *used;
    return t;
}

ALWAYS uint32_t set_of(const struct bus *b, uint64_t line, struct shape s)
{
    return s.plain ? (uint32_t)line & b->set_mask : peet__bus_set_of(b, line);
}

/* When a probe asks, and its block's stamp: of an execution, in machine code, or as said.  Looked up where they are
 * needed, so that less has to be kept. */
struct request {
    struct execution *execution;
    uint64_t begin /* watched: of the group */;
    const struct bus_direct *direct;
};

ALWAYS uint64_t request_time(struct request by, const struct line_access *w)
{
    return by.execution ? peet__bus_request_time(by.execution, w)
                        : by.direct->run.now + (by.direct->run.time + w->at) / CPI_ONE;
}

ALWAYS uint64_t stamp_of(struct request by)
{
    return by.execution ? by.execution->stamp : by.direct->run.stamp;
}

/* The line is in frame @i. */
ALWAYS struct access_result there_is(struct bus *b, uint64_t line, const struct line_access *w, uint32_t i,
    struct request by, struct shape s)
{
    if (s.watched)
        return (struct access_result){0, peet__bus_go_watched(b, by.execution, by.begin, line, w)};
    return found(b, line, w, i, request_time(by, w), stamp_of(by));
}

/* What observers are told of a miss.  @evicted: the key that was in the frame, in this state */
ALWAYS void report_fill(struct bus *b, const struct line_access *w, struct request by, enum bus_miss kind,
    uint8_t state, uint64_t evicted, uint64_t requested, uint64_t stalled)
{
    *peet__bus_next_report(b) = (struct peet_memory_event){.type = PEET_MEMORY_FILL,
        .level = 1,
        .cause = peet__bus_causes[kind],
        .flags = (uint8_t)((w->writes ? PEET_MEMORY_STORE : 0) | (state != BUS_INVALID ? PEET_MEMORY_FILL_GONE : 0) |
            (b->dirty[state] ? PEET_MEMORY_DIRTY : 0)),
        .other = PEET_MEMORY_NOBODY,
        .size_bytes = w->bytes,
        .address = by.begin + w->offset,
        .by = KEY_LINE(evicted) << b->line_shift,
        .cycles = stalled,
        .now = requested,
        .block = by.execution->block,
        .ref = w->ref};
}

/* What kind of miss it is, of a line with this record; MISS_KINDS: none, the line is in frame @out_there. */
ALWAYS enum bus_miss kind_of(struct bus *b, struct cache *c, uint32_t at, uint64_t stamp, uint32_t *out_there)
{
    if (UNLIKELY(at >= c->stackdist.cutoff) && at & STACKDIST_FRAME) {
        *out_there = at & ~STACKDIST_FRAME;
        return MISS_KINDS;
    }
    const enum bus_miss kind = peet__bus_kind_uniprocessor(b, c, at, stamp);
    if (UNLIKELY(kind != MISS_CAPACITY))
        b->filled.kinds[kind]++;
    return kind;
}

ALWAYS struct access_result fill_line(struct bus *b, uint64_t line, const struct line_access *w, struct request by,
    struct shape s)
{
    struct cache *const c = b->caches;
    const uint32_t ways = s.ways ? s.ways : b->ways, first = set_of(b, line, s) * ways;
    const uint64_t stamp = stamp_of(by);
    enum bus_miss kind = MISS_KINDS;
    uint32_t there = NO_FRAME, i;
    uint32_t *record = NULL;
    if (s.classify) {
        __builtin_prefetch(&c->stackdist.records[first]); /* which of them is wanted, is known late */
        if (UNLIKELY(!(record = peet_sim_linemap_word(&b->lines_map, line)))) {
            peet__bus_no_memory(b);
            return (struct access_result){0, first};
        }
        if (UNLIKELY(stamp >= c->stackdist.until))
            peet__bus_stackdist_rebase(b, c, stamp);
        kind = kind_of(b, c, *record, stamp, &there);
    } else {
        /* nearly always a line that is there is where it was last */
        const uint32_t predicted = c->predictor[line & b->predictor_mask];
        there = (c->keys[predicted] | PERMISSION) == (KEY_OF(line) | PERMISSION) && c->used[predicted]
            ? predicted
            : hardly(c->keys, c->used, first, ways, line, s.vectors);
    }
    if (UNLIKELY(there != NO_FRAME))
        return there_is(b, line, w, there, by, s);

    uint64_t used;
    i = first + peet_sim_oldest_way(c->used + first, ways, &used);
    if (s.classify)
        peet__bus_stackdist_fill(&c->stackdist, i, used, record);
    struct frame *const f = &c->frames[i];
    const struct fill *const fill = &b->fill[w->fill];
    const uint64_t requested = request_time(by, w);
    const struct access_result result = {transfer(b, requested, fill->cycles, b->write_back_cycles[f->state]), i};
    if (s.watched)
        report_fill(b, w, by, kind, f->state, c->keys[i], requested, result.stalled);
    b->filled.fills[w->fill][f->state]++;
    f->state = fill->state;
    c->keys[i] = KEY_OF(line) | fill->permission;
    c->used[i] = stamp + w->first + 1;
    c->predictor[line & b->predictor_mask] = i;
    if (s.classify && UNLIKELY(c->stackdist.nlogged == c->stackdist.stop))
        peet__bus_stackdist_stop(b, c, stamp);
    return result;
}

ALWAYS uint32_t slowly(struct bus *b, struct execution *t, uint64_t begin, uint64_t line, const struct line_access *w,
    struct shape s)
{
    const struct access_result result = fill_line(b, line, w, (struct request){.execution = t, .begin = begin}, s);
    t->stalled += result.stalled;
    return result.frame;
}

ALWAYS struct peet_direct_miss miss(struct peet_direct_run *run, uint32_t site, uint64_t line, struct shape s)
{
    struct bus_direct *const d = run->machine;
    struct bus *const b = d->bus;
    const struct access_result result = fill_line(b, line, &b->line_accesses[site], (struct request){.direct = d}, s);
    return peet__bus_missed(d, result.frame, result.stalled);
}

/* X(for loops and blocks, for machine code, for a watched bus, ways, classify, plain, vectors) */
#define SHAPES(X) \
    X(slowly_any, miss_any, watched_any, 0, 0, 0, 0) \
    X(slowly_any_kinds, miss_any_kinds, watched_any_kinds, 0, 1, 0, 0) \
    X(slowly_1, miss_1, watched_1, 1, 0, 1, 0) \
    X(slowly_1_kinds, miss_1_kinds, watched_1_kinds, 1, 1, 1, 0) \
    X(slowly_2, miss_2, watched_2, 2, 0, 1, 0) \
    X(slowly_2_kinds, miss_2_kinds, watched_2_kinds, 2, 1, 1, 0) \
    X(slowly_4, miss_4, watched_4, 4, 0, 1, 0) \
    X(slowly_4_kinds, miss_4_kinds, watched_4_kinds, 4, 1, 1, 0) \
    X(slowly_8, miss_8, watched_8, 8, 0, 1, 0) \
    X(slowly_8_kinds, miss_8_kinds, watched_8_kinds, 8, 1, 1, 0) \
    X(slowly_16, miss_16, watched_16, 16, 0, 1, 0) \
    X(slowly_16_kinds, miss_16_kinds, watched_16_kinds, 16, 1, 1, 0)
#define VECTOR_SHAPES(X) \
    X(slowly_4_vectors, miss_4_vectors, watched_4_vectors, 4, 0, 1, 1) \
    X(slowly_4_vectors_kinds, miss_4_vectors_kinds, watched_4_vectors_kinds, 4, 1, 1, 1) \
    X(slowly_8_vectors, miss_8_vectors, watched_8_vectors, 8, 0, 1, 1) \
    X(slowly_8_vectors_kinds, miss_8_vectors_kinds, watched_8_vectors_kinds, 8, 1, 1, 1) \
    X(slowly_16_vectors, miss_16_vectors, watched_16_vectors, 16, 0, 1, 1) \
    X(slowly_16_vectors_kinds, miss_16_vectors_kinds, watched_16_vectors_kinds, 16, 1, 1, 1)

#define FUNCTIONS(attributes, slowly_name, miss_name, watched_name, ...) \
    attributes static uint32_t slowly_name(struct bus *b, struct execution *t, uint64_t begin, uint64_t line, \
        const struct line_access *w) \
    { \
        return slowly(b, t, begin, line, w, (struct shape){__VA_ARGS__, 0}); \
    } \
    attributes static struct peet_direct_miss miss_name(struct peet_direct_run *run, uint32_t site, uint64_t line) \
    { \
        return miss(run, site, line, (struct shape){__VA_ARGS__, 0}); \
    } \
    attributes static uint32_t watched_name(struct bus *b, struct execution *t, uint64_t begin, uint64_t line, \
        const struct line_access *w) \
    { \
        return slowly(b, t, begin, line, w, (struct shape){__VA_ARGS__, 1}); \
    }
#define SCALAR(...) FUNCTIONS(, __VA_ARGS__)
SHAPES(SCALAR)
#ifdef __x86_64__
#define VECTORS(...) FUNCTIONS(__attribute__((target("avx2,bmi,bmi2"))), __VA_ARGS__)
VECTOR_SHAPES(VECTORS)
#endif

/* the best last */
static const struct compiled_shape {
    struct shape shape;
    bus_slowly *slowly;
    bus_miss *miss;
    bus_slowly *watched;
} shapes[] = {
#define ENTRY(slowly_name, miss_name, watched_name, ...) {{__VA_ARGS__, 0}, slowly_name, miss_name, watched_name},
    SHAPES(ENTRY)
#ifdef __x86_64__
        VECTOR_SHAPES(ENTRY)
#endif
};

static const struct compiled_shape *shape_for(const struct bus *b)
{
    const int plain = (b->sets & (b->sets - 1)) == 0;
    const struct compiled_shape *best = NULL;
    int vectors = 0;
#ifdef __x86_64__
    vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *const s = &shapes[i].shape;
        if (s->classify == b->classify && (!s->ways || s->ways == b->ways) && s->plain <= plain &&
            s->vectors <= vectors)
            best = &shapes[i];
    }
    return best;
}

bus_slowly *peet__bus_slowly_for(const struct bus *b)
{
    return b->perfect ? peet__bus_go_watched : b->watched ? shape_for(b)->watched : shape_for(b)->slowly;
}

bus_miss *peet__bus_miss_for(const struct bus *b)
{
    return shape_for(b)->miss;
}
