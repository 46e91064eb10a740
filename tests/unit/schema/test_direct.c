/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks taken without events, against decoding block by block, which knows no machine code: random walks over the blocks of a
 * real program's functions, with random words, and range operations of libraries among them.  A machine that finds no line where it was
 * last sees every look; it refuses some blocks, stops at random times, and says at the end how often each block was executed.
 * Another one finds most lines, and learns which looks often lie in two, and how.
 *
 *     test_schema_direct PROGRAM...
 */
#include "program.h"
#include "../simulators/run_suite.h"

#include <peet/counting.h>
#include <peet/direct.h>
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

enum { WORDS = 4000, ROUNDS = 40, LOG = 1 << 16, BLOCKS = 1 << 14, SHIFT = 6, EVENT = 1 };

static char **paths;
static int npaths;
static uint64_t seed = 88172645463325252u;
static uint64_t reach = 1 << 20; /* of most addresses */

static uint64_t number(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % n;
}

/** What happened, in order: a look's line, or a block that came as an event. */
struct story {
    uint64_t log[LOG], times[BLOCKS];
    unsigned n;
    uint64_t instructions, time;
    uint64_t reads, writes; /* of ranges */
    unsigned ranges;        /* taken by range() */
};
static struct story told, expected;

static void tell(struct story *s, uint64_t word)
{
    CU_ASSERT_FATAL(s->n < LOG);
    s->log[s->n++] = word;
}

/* The machine: up to three looks of each block, some of which may lie in two lines. */

static uint32_t nlooks(const struct peet_block *block)
{
    return block->nvalues < 3 ? block->nvalues : 3;
}

static int refused(const struct peet_block *block)
{
    return block->id % 5 == 0 || !(block->flags & PEET_BLOCK_SIMPLE);
}

/* What a line that is looked for takes. */
static uint64_t wait_of(uint64_t line)
{
    return line % 8 == 0 ? line % 512 : 0;
}

static struct peet_direct_miss miss(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    CU_ASSERT(site < BLOCKS * 4);
    CU_ASSERT(site % 4 != 0 || run->time < run->limit); /* the block's first */
    tell(&told, line);
    return (struct peet_direct_miss){0, wait_of(line)};
}

static const struct peet_block *known[BLOCKS];

static int other(struct peet_direct_run *run, uint32_t id)
{
    CU_ASSERT(run->time < run->limit);
    for (uint32_t k = 0; k < nlooks(known[id]); k++) {
        tell(&told, run->addresses[k] >> SHIFT);
        run->time += wait_of(run->addresses[k] >> SHIFT);
    }
    return 0;
}

static uint64_t time_of(const struct peet_block *block)
{
    return block->id % 3 == 0 ? (uint64_t)block->ninsns << 33 : block->id % 13 == 4 ? 0 : block->ninsns;
}

/* A block without looks. */
static void whole(struct story *s, const struct peet_block *block, const uint64_t *values)
{
    tell(s, (uint64_t)block->id << 1 | (uint64_t)EVENT << 62);
    for (uint32_t k = 0; k < block->nvalues && !(block->flags & PEET_BLOCK_SIMPLE); k++)
        tell(s, values[k]);
}

static void range(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values)
{
    whole(&told, block, values);
    told.ranges++;
    run->time += time_of(block);
}

static int table(void *self, struct peet_direct_table *out)
{
    *out = (struct peet_direct_table){.hint_mask = 0, .line_shift = SHIFT, .miss = miss, .other = other, .range = self != NULL ? range : NULL};
    return 0;
}

static int ask(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_block *out)
{
    (void)self, (void)values;
    CU_ASSERT_FATAL(block->id < BLOCKS);
    known[block->id] = block;
    if (refused(block))
        return -1;
    *out = (struct peet_direct_block){.time = time_of(block), .stamps = block->nrefs, .nlooks = (uint16_t)nlooks(block), .whole = block->id % 4 == 1};
    for (uint32_t k = 0; k < out->nlooks; k++)
        out->looks[k] = (struct peet_direct_look){.value = (uint16_t)k, .before = (uint16_t)(8 * k), .span = block->id % 2 ? 40 : 1,
            .last = (uint16_t)(k + 1), .later = k & 1, .either = block->id % 7 == 0, .site = block->id * 4 + k};
    return 0;
}

static const struct peet_direct machine = {.table = table, .block = ask};

static void executed(void *arg, const struct peet_block *block, uint64_t times, uint64_t reads, uint64_t writes)
{
    struct story *const s = arg;
    s->times[block->id] += times;
    s->reads += reads;
    s->writes += writes;
}

/*
 * Somebody who looks on, once by events alone and once with machine code: he must see the same executions.  A guard that does not hold may be put right,
 * an execution that is due be let go; both are decided by nothing but the block and the value, so that it does not matter who asks first.
 */
enum { REFERENCE, DIRECT, GUARDS = 3, PLACES = 64 };

struct watcher {
    struct peet_direct_watch *watch;
    uint64_t past, caught_up, until; /* executions; of those that code has taken, so many are among them; all of them together up to which none is due */
};

static struct watcher watchers[2][BLOCKS];
static struct peet_direct_watch *all_watches[1 << 18];
static unsigned nall_watches;
static struct { uint64_t log[LOG], passed[BLOCKS], tally[PLACES]; unsigned n; } seen[2];
static int watching;

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 29;
}

static int is_watched(const struct peet_block *block)
{
    return block->flags & PEET_BLOCK_SIMPLE && block->nvalues != 0 && block->id % 3 != 0 && block->id % 11 != 5;
}

static void hold(struct peet_direct_guard *g, uint64_t value, uint64_t how)
{
    const uint64_t room = (uint64_t)1 << (16 + how % 8);
    g->base = value - (room >> 1 << g->shift);
    g->span = room;
}

static int holds(const struct peet_direct_guard *g, uint64_t value)
{
    const uint64_t x = value - g->base;
    return (x >> g->shift | x << (-g->shift & 63)) < g->span;
}

static void set_watch(int which, const struct peet_block *block, uint64_t how)
{
    struct watcher *const w = &watchers[which][block->id];
    struct peet_direct_watch *const watch = calloc(1, sizeof *watch + GUARDS * sizeof *watch->guards);
    CU_ASSERT_FATAL(watch != NULL && nall_watches < sizeof all_watches / sizeof *all_watches);
    all_watches[nall_watches++] = watch;
    if (w->watch != NULL) { /* the old one stays where it is */
        w->watch->over = 1;
        w->watch->until = 0;
    }
    watch->nguards = (uint32_t)(how % (GUARDS + 1));
    for (uint32_t g = 0; g < watch->nguards; g++) {
        watch->guards[g] = (struct peet_direct_guard){.value = (uint16_t)((how >> 8) * (g + 1) % block->nvalues), .shift = how >> (20 + g) & 1 ? 3 : 0};
        if (g == 0 && how >> 30 & 1) {
            watch->guards[g].tally = seen[which].tally;
            watch->guards[g].tally_mask = PLACES - 1;
        }
    }
    w->watch = watch;
}

static struct watcher *watcher_of(int which, const struct peet_block *block)
{
    struct watcher *const w = &watchers[which][block->id];
    if (w->watch == NULL)
        set_watch(which, block, mixed(block->id, 1, 0));
    if (w->watch->taken != NULL) {
        w->past += *w->watch->taken - w->caught_up;
        w->caught_up = *w->watch->taken;
    }
    return w;
}

/* Code may take executions until the next is due. */
static void arm(struct watcher *w)
{
    if (w->watch->taken != NULL)
        w->watch->until = *w->watch->taken + (w->until - w->past);
}

static int put_right(const struct peet_block *block, struct peet_direct_guard *g, uint64_t value)
{
    const uint64_t how = mixed(block->id, value >> 14, 2);
    if (how % 4 == 0)
        return 0;
    hold(g, value, how >> 8);
    return 1;
}

static int let_go(const struct peet_block *block, struct watcher *w)
{
    const uint64_t how = mixed(block->id, w->past, 3);
    if (how % 3 == 0)
        return 0;
    w->until = w->past + 1 + how / 8 % 5;
    return 1;
}

static void observe(int which, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;
    struct watcher *w;
    int keeps = 1;
    if (!is_watched(block)) {
        seen[which].passed[block->id]++;
        return;
    }
    w = watcher_of(which, block);
    for (uint32_t g = 0; g < w->watch->nguards; g++) {
        struct peet_direct_guard *const guard = &w->watch->guards[g];
        keeps &= holds(guard, event->values[guard->value]) || put_right(block, guard, event->values[guard->value]);
    }
    if (keeps)
        keeps = w->past < w->until || let_go(block, w);
    if (!keeps) {
        const uint64_t how = mixed(block->id, w->past, 4);
        CU_ASSERT_FATAL(seen[which].n + 2 < LOG);
        seen[which].log[seen[which].n++] = (uint64_t)block->id << 40 | w->past;
        seen[which].log[seen[which].n++] = event->values[0];
        if (how % 64 == 0)
            set_watch(which, block, how);
        for (uint32_t g = 0; g < w->watch->nguards; g++)
            hold(&w->watch->guards[g], event->values[w->watch->guards[g].value], how >> 16);
        w->until = w->past + 1 + how / 64 % 9;
    }
    for (uint32_t g = 0; g < w->watch->nguards; g++)
        if (w->watch->guards[g].tally != NULL)
            w->watch->guards[g].tally[event->values[w->watch->guards[g].value] & w->watch->guards[g].tally_mask]++;
    w->past++;
    arm(w);
}

static int watch(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_watch **out)
{
    (void)self, (void)values;
    *out = is_watched(block) ? watcher_of(DIRECT, block)->watch : NULL;
    return block->flags & PEET_BLOCK_SIMPLE && block->id % 11 != 5 ? 0 : -1;
}

static void unseen(void *self, const struct peet_block *block, uint64_t times)
{
    (void)self;
    CU_ASSERT(!is_watched(block));
    seen[DIRECT].passed[block->id] += times;
}

static int moved(void *self, const struct peet_block *block, struct peet_direct_watch *w, uint32_t guard, uint64_t value)
{
    (void)self;
    CU_ASSERT(!holds(&w->guards[guard], value));
    return w->over || !put_right(block, &w->guards[guard], value) ? -1 : 0;
}

static int due(void *self, const struct peet_block_event *event, struct peet_direct_watch *w)
{
    struct watcher *const mine = watcher_of(DIRECT, event->block);
    (void)self;
    for (uint32_t g = 0; g < w->nguards; g++)
        CU_ASSERT(holds(&w->guards[g], event->values[w->guards[g].value]));
    if (w->over || (mine->past >= mine->until && !let_go(event->block, mine)))
        return -1;
    arm(mine);
    return 0;
}

static const struct peet_direct_observer observer = {.watch = watch, .executed = unseen, .moved = moved, .due = due};
static const struct peet_direct_observer simple = {.watch = watch, .executed = unseen};

static int none(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_watch **out)
{
    (void)self, (void)block, (void)values;
    *out = NULL;
    return 0;
}

static const struct peet_direct_observer blind = {.watch = none};

static void begin_watching(struct peet_program *p, const struct peet_direct_observer *ops)
{
    memset(watchers, 0, sizeof watchers);
    memset(seen, 0, sizeof seen);
    watching = ops != NULL;
    if (watching)
        CU_ASSERT_FATAL(peet_program_add_observer(p, &blind, NULL) == 0 && peet_program_add_observer(p, ops, NULL) == 0);
}

static void end_watching(void)
{
    while (nall_watches > 0)
        free(all_watches[--nall_watches]);
}

static void compare_seen(void)
{
    CU_ASSERT_EQUAL(seen[DIRECT].n, seen[REFERENCE].n);
    CU_ASSERT(memcmp(seen[DIRECT].log, seen[REFERENCE].log, seen[REFERENCE].n * sizeof *seen[0].log) == 0);
    CU_ASSERT(memcmp(seen[DIRECT].passed, seen[REFERENCE].passed, sizeof seen[0].passed) == 0);
    CU_ASSERT(memcmp(seen[DIRECT].tally, seen[REFERENCE].tally, sizeof seen[0].tally) == 0);
    for (uint32_t id = 0; id < BLOCKS; id++)
        for (int which = REFERENCE; which <= DIRECT; which++)
            if (watchers[which][id].watch != NULL && watchers[which][id].watch->taken != NULL) {
                watchers[which][id].past += *watchers[which][id].watch->taken - watchers[which][id].caught_up;
                watchers[which][id].caught_up = *watchers[which][id].watch->taken;
            }
    for (uint32_t id = 0; id < BLOCKS; id++)
        CU_ASSERT_EQUAL(watchers[DIRECT][id].past, watchers[REFERENCE][id].past);
}

/* A block as an event: what the machine code would have told of it, or that it came.  Returns: the time that it takes */
static uint64_t by_event(struct story *s, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;
    CU_ASSERT_FATAL(block->id < BLOCKS);
    s->times[block->id]++;
    s->instructions += block->ninsns;
    uint64_t time = time_of(block);
    if (strcmp(block->function->image, "peet") == 0) {
        struct peet_counts counts = {0};
        peet_count_dynamic(block, event->values, PEET_COUNT_CALLGRIND, &counts);
        CU_ASSERT_EQUAL(counts.instructions, 0);
        s->reads += counts.reads;
        s->writes += counts.writes;
    }
    if (watching)
        observe(s == &told ? DIRECT : REFERENCE, event);
    if (refused(block))
        whole(s, block, event->values);
    else
        for (uint32_t k = 0; k < nlooks(block); k++) {
            tell(s, (event->values[k] - 8 * k) >> SHIFT);
            time += wait_of((event->values[k] - 8 * k) >> SHIFT);
        }
    s->time += time;
    return time;
}

static void sink(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)arg;
    CU_ASSERT(run->time < run->limit);
    run->time += by_event(&told, event);
}

/* A range operation that the machine has taken; there are no loops. */
static void shown(void *arg, const struct peet_block_event *event, uint32_t observers)
{
    (void)arg;
    CU_ASSERT(watching && observers == UINT32_MAX && event->strides == NULL && event->turns == 1);
    observe(DIRECT, event);
}

/* A range operation: its event, if it has one. */
static void by_abstract(struct peet_program *p, struct story *s, const struct peet_abstract_event *event)
{
    uint64_t values[8];
    const struct peet_block *const block = peet_program_synthetic(p, (unsigned)event->args[0]);
    CU_ASSERT_FATAL(event->type == PEET_ABSTRACT_RANGE && block != NULL);
    if (event->args[3] == 0)
        return;
    peet_synthetic_values((unsigned)event->args[0], event->args[1], event->args[2], event->args[3], values);
    by_event(s, &(struct peet_block_event){block, values, 3, 1, NULL});
}

static uint64_t *range_record(uint64_t *at)
{
    static const unsigned what[] = {PEET_SYNTHETIC_MEMCPY, PEET_SYNTHETIC_MEMSET, PEET_SYNTHETIC_STRCMP, PEET_SYNTHETIC_STRLEN, PEET_SYNTHETIC_QSORT};
    at[0] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_RANGE, 4);
    at[1] = what[number(5)] | (number(2) ? PEET_SYNTHETIC_MORE : 0);
    at[2] = 0x10000 + number(reach), at[3] = 0x10000 + number(reach);
    at[4] = number(4) ? number(40) : number(5000);
    return at + 5;
}

/* Records of one function, then of others: each begins with one that says where it is.  Returns: the end */
static uint64_t *walk(const struct peet_program *p, uint64_t *at, uint64_t *end)
{
    const struct peet__function *f = NULL;
    for (unsigned tries = 0; at < end - 300 && tries < 100000; tries++) {
        const int plain = f != NULL && number(12) != 0;
        while (number(8) == 0)
            at = range_record(at);
        if (!plain && number(3) == 0)
            f = NULL;
        if (f == NULL)
            f = p->functions[number(p->nfunctions)];
        if (f->nsegments == 0) { /* of library operations */
            f = NULL;
            continue;
        }
        const uint32_t k = (uint32_t)number(f->nsegments);
        const struct peet__block *const c = &f->code[k];
        if (c->loop || c->slot_words > 100 || !(plain ? c->recorded : c->sync)) {
            if (!plain)
                f = NULL;
            continue;
        }
        *at++ = plain ? 0xffffffff00000000u | (uint32_t)~k : f->start + f->sync_offset[k];
        for (uint32_t s = 0; s < c->slot_words; s++)
            *at++ = reach < 1 << 20 || number(4) ? 0x10000 + number(reach) : number(UINT64_MAX);
    }
    return at;
}

static uint64_t compare(struct peet_program *p, const uint64_t *words, const uint64_t *end)
{
    static uint64_t copy[WORDS];
    static const uint64_t keys[1];
    static uint64_t used[1];
    static const uint32_t hints[1];
    struct peet_decode_state *one, *many;
    const uint64_t *at = words;
    uint64_t direct = 0;
    struct peet_event event;
    struct peet_error error = {0};
    struct peet_direct_run run = {.hints = hints, .keys = keys, .used = used};
    memset(&told, 0, sizeof told);
    memset(&expected, 0, sizeof expected);
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &one) == 0);
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &many) == 0);
    for (int kind; (kind = peet_decode_next(one, &at, end, 1, &event, &error)) > 0;)
        if (kind == PEET_EVENT_BLOCK)
            by_event(&expected, &event.block);
        else
            by_abstract(p, &expected, &event.abstract);
    CU_ASSERT(at == end);
    at = words;
    memcpy(copy, words, sizeof copy);
    for (;;) {
        run.limit = number(2) ? UINT64_MAX : run.time + 1 + number(200);
        run.instructions = 0;
        if (peet_decode_direct(many, &at, end, &run, sink, shown, NULL)) {
            told.instructions += run.instructions;
            direct++;
            continue;
        }
        const int kind = peet_decode_next(many, &at, end, 1, &event, &error);
        if (kind <= 0)
            break;
        if (kind == PEET_EVENT_BLOCK) {
            run.time += by_event(&told, &event.block);
        } else {
            const uint64_t before = told.time;
            by_abstract(p, &told, &event.abstract);
            run.time += told.time - before;
        }
    }
    CU_ASSERT(memcmp(copy, words, sizeof copy) == 0); /* the word at the end, too */
    peet_program_direct_executed(p, executed, &told);
    CU_ASSERT_EQUAL(told.n, expected.n);
    CU_ASSERT_EQUAL(told.instructions, expected.instructions);
    CU_ASSERT_EQUAL(told.reads, expected.reads);
    CU_ASSERT_EQUAL(told.writes, expected.writes);
    CU_ASSERT_EQUAL(run.time, expected.time);
    CU_ASSERT(memcmp(told.log, expected.log, expected.n * sizeof *told.log) == 0);
    CU_ASSERT(memcmp(told.times, expected.times, sizeof told.times) == 0);
    if (watching)
        compare_seen();
    peet_decode_state_free(one);
    peet_decode_state_free(many);
    return direct;
}

/* Lines that are found: each has one frame that can be its own.  What the code does with a block's looks is what is done here for its event. */

enum { FRAMES = 64, LINE = 1 << SHIFT, SPANS = 6 };
struct lines { uint64_t keys[FRAMES], used[FRAMES], misses, stamp, time, reads, writes; };
static struct lines lines[2]; /* REFERENCE, DIRECT */
static uint8_t cut_lasts[SPANS][3][LINE][2], is_often[BLOCKS];
static int nothers[BLOCKS];
static unsigned nothers_all, noften, ncuts;
static uint64_t ntaken; /* cuts with looks that are not easy, by code */
static uint64_t cut_names[SPANS][3 * LINE];
static uint64_t latest_addresses[3]; /* that other() was called with */

static uint32_t span_kind(const struct peet_block *block, uint32_t k)
{
    return (block->id + k) % SPANS;
}

/* Looks that are not easy take longer. */
enum { MORE_TIME = 5, MORE_STAMPS = 2 };
static int is_cut(const struct peet_direct_look *look, uint64_t begin)
{
    return begin % LINE + look->span > LINE;
}
static int is_easy(uint64_t begin)
{
    return begin % 8 != 5;
}

/* Of a block of this kind, in bits of each look's own; some places have none. */
static void make_cut_names(void)
{
    for (uint32_t kind = 0; kind < SPANS; kind++)
        for (unsigned k = 0; k < 3; k++)
            for (unsigned offset = 0; offset < LINE; offset++)
                cut_names[kind][k * LINE + offset] = offset + (1u << (kind + k) % SPANS) <= LINE ? 0 : offset % 16 == 14 ? UINT64_MAX : (offset + 1ull) << 21 * k;
}

static void make_cut_lasts(void)
{
    for (uint32_t kind = 0; kind < SPANS; kind++)
        for (unsigned k = 0; k < 3; k++)
            for (unsigned offset = 0; offset < LINE; offset++) {
                const int cut = offset + (1u << kind) > LINE, easy = is_easy(offset);
                cut_lasts[kind][k][offset][0] = (uint8_t)(!cut ? k + 1 : easy ? 1 + offset % (k + 1) : 0);
                cut_lasts[kind][k][offset][1] = (uint8_t)(!cut ? k + 1 : easy ? k + 1 - offset % (k + 1) : 0);
            }
}

static int ask_lines(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_block *out)
{
    int cuts = 0;
    if (ask(self, block, values, out) != 0)
        return -1;
    for (uint32_t k = 0; k < out->nlooks; k++) {
        out->looks[k].span = (uint16_t)(1u << span_kind(block, k));
        out->looks[k].later = k > 0;
        if (is_often[block->id] && out->looks[k].span > 1 && block->id % 3 != k)
            out->looks[k].cuts = cut_lasts[span_kind(block, k)][k];
        cuts |= out->looks[k].cuts != NULL;
    }
    out->whole |= cuts;
    return 0;
}

static void use_line(struct lines *s, const struct peet_direct_look *look, uint64_t line, uint32_t last)
{
    uint64_t *const key = &s->keys[line % FRAMES], *const used = &s->used[line % FRAMES];
    if ((*key | look->either) != (line << 2 | 3)) {
        *key = line << 2 | (look->either ? 2 : 3);
        s->time += wait_of(line);
        s->misses++;
    }
    *used = s->stamp + last > *used ? s->stamp + last : *used;
}

static void use_look(struct lines *s, const struct peet_block *block, const struct peet_direct_look *look, uint32_t k, uint64_t begin)
{
    const uint64_t first = begin >> SHIFT, second = (begin + look->span - 1) >> SHIFT;
    const uint8_t *const lasts = cut_lasts[span_kind(block, k)][k][begin % LINE];
    use_line(s, look, first, lasts[0] ? lasts[0] : look->last);
    if (second != first)
        use_line(s, look, second, lasts[1] ? lasts[1] : look->last);
}

/* @apart: how far looks begin before these addresses */
static void take_more(struct lines *s, const struct peet_direct_block *d, const uint64_t *addresses, uint64_t apart)
{
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const uint64_t begin = addresses[k] - apart * k;
        if (!is_cut(&d->looks[k], begin) || is_easy(begin))
            continue;
        s->time += MORE_TIME;
        s->stamp += MORE_STAMPS;
    }
}

static void event_in_lines(struct lines *s, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;
    struct peet_direct_block d = {0};
    if (ask_lines(NULL, block, NULL, &d) != 0)
        d.nlooks = 0;
    else
        for (uint32_t k = 0; k < d.nlooks; k++)
            use_look(s, block, &d.looks[k], k, event->values[k] - 8 * k);
    if (d.nlooks != 0)
        take_more(s, &d, event->values, 8);
    s->stamp += block->nrefs;
    s->time += time_of(block);
}

static struct peet_direct_miss miss_lines(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    CU_ASSERT(site % 4 != 0 || run->time < run->limit);
    lines[DIRECT].keys[line % FRAMES] = line << 2 | (site / 4 % 7 == 0 ? 2 : 3);
    lines[DIRECT].misses++;
    return (struct peet_direct_miss){line % FRAMES, wait_of(line)};
}

static int other_lines(struct peet_direct_run *run, uint32_t id)
{
    struct peet_direct_block d;
    CU_ASSERT(run->time < run->limit);
    CU_ASSERT_FATAL(ask_lines(NULL, known[id], NULL, &d) == 0);
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    memcpy(latest_addresses, run->addresses, sizeof latest_addresses);
    for (uint32_t k = 0; k < d.nlooks; k++)
        use_look(&lines[DIRECT], known[id], &d.looks[k], k, run->addresses[k]);
    take_more(&lines[DIRECT], &d, run->addresses, 0);
    run->stamp = lines[DIRECT].stamp;
    run->time = lines[DIRECT].time;
    nothers_all++;
    return ++nothers[id] % 4 == 0 ? nothers[id] : nothers[id] % 4 == 2 ? PEET_DIRECT_CUT : 0;
}

static int cut_lines(void *self, const struct peet_block *block, struct peet_direct_cut *out)
{
    struct peet_direct_block d;
    CU_ASSERT_FATAL(ask_lines(self, block, NULL, &d) == 0);
    *out = (struct peet_direct_cut){.names = cut_names[block->id % SPANS]};
    for (uint32_t k = 0; k < d.nlooks; k++) {
        const struct peet_direct_look *const look = &d.looks[k];
        const uint64_t begin = latest_addresses[k];
        const uint8_t *const lasts = cut_lasts[span_kind(block, k)][k][begin % LINE];
        const int cut = is_cut(look, begin), both = cut && !is_easy(begin);
        for (int second = 0; second <= cut; second++)
            out->lines[out->nlines++] = (struct peet_direct_line){.look = (uint8_t)k, .second = (uint8_t)second, .either = look->either, .later = 1,
                .last = lasts[second] ? lasts[second] : look->last, .site = block->id * 4 + 3};
        out->time += both ? MORE_TIME : 0;
        out->stamps += both ? MORE_STAMPS : 0;
        out->taken = both ? &ntaken : out->taken;
        out->name |= look->span > 1 ? out->names[k * LINE + begin % LINE] : 0;
    }
    ncuts++;
    return out->name == UINT64_MAX ? -1 : 0;
}

enum { INSN_TIME = 5, TOUCH_TIME = 3 };
static unsigned nranges, nranges_all;

/* Each element for itself, in its first byte's line. */
static void range_in_lines(struct lines *s, const struct peet_block *block, const uint64_t *values)
{
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const ref = &block->refs[i];
        for (uint64_t k = 0; k < values[ref->value + 1]; k++) {
            const struct peet_direct_look look = {.either = ref->kind == PEET_REF_LOAD};
            use_line(s, &look, (values[ref->value] + k * ref->size_bytes) >> SHIFT, 1);
            s->stamp++;
            s->time += TOUCH_TIME;
            *(ref->kind == PEET_REF_LOAD ? &s->reads : &s->writes) += 1;
        }
    }
    s->time += INSN_TIME * block->ninsns;
}

static void range_lines(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values)
{
    struct lines *const s = &lines[DIRECT];
    s->stamp = run->stamp;
    s->time = run->time;
    range_in_lines(s, block, values);
    run->stamp = s->stamp;
    run->time = s->time;
    nranges_all++;
}

static int table_lines(void *self, struct peet_direct_table *out)
{
    (void)self;
    *out = (struct peet_direct_table){.hint_mask = FRAMES - 1, .line_shift = SHIFT, .miss = miss_lines, .other = other_lines,
        .range = range_lines, .range_looks = 1, .insn_time = INSN_TIME, .touch_time = TOUCH_TIME,
        .range_misses = 1, .range_sites = {{0, 1}, {4, 5}}}; /* as miss_lines() takes them */
    return 0;
}

static int often(void *self, const struct peet_block *block)
{
    (void)self;
    noften += !is_often[block->id];
    is_often[block->id] = 1;
    return 0;
}

static void sink_lines(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)arg;
    if (strcmp(event->block->function->image, "peet") == 0) {
        range_lines(run, event->block, event->values);
        return;
    }
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    event_in_lines(&lines[DIRECT], event);
    run->stamp = lines[DIRECT].stamp;
    run->time = lines[DIRECT].time;
}

static void compare_lines(struct peet_program *p, const uint64_t *words, const uint64_t *end, struct peet_direct_run *run)
{
    struct peet_decode_state *one, *many;
    const uint64_t *at = words;
    struct peet_event event;
    struct peet_error error = {0};
    int kind;
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &one) == 0);
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &many) == 0);
    while ((kind = peet_decode_next(one, &at, end, 1, &event, &error)) > 0)
        if (kind == PEET_EVENT_BLOCK) {
            event_in_lines(&lines[REFERENCE], &event.block);
        } else if (event.abstract.args[3] != 0) {
            const uint64_t *const args = event.abstract.args;
            uint64_t values[8];
            peet_synthetic_values((unsigned)args[0], args[1], args[2], args[3], values);
            range_in_lines(&lines[REFERENCE], peet_program_synthetic(p, (unsigned)args[0]), values);
            nranges++;
        }
    at = words;
    do {
        do
            run->limit = number(2) ? UINT64_MAX : run->time + 1 + number(200);
        while (peet_decode_direct(many, &at, end, run, sink_lines, NULL, NULL));
        kind = peet_decode_next(many, &at, end, 1, &event, &error);
        if (kind == PEET_EVENT_BLOCK)
            sink_lines(NULL, run, &event.block);
        CU_ASSERT(kind != PEET_EVENT_ABSTRACT || event.abstract.args[3] == 0);
    } while (kind > 0);
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    lines[DIRECT].reads += run->reads;
    lines[DIRECT].writes += run->writes;
    run->reads = run->writes = 0;
    CU_ASSERT(memcmp(&lines[DIRECT], &lines[REFERENCE], sizeof lines[0]) == 0);
    peet_decode_state_free(one);
    peet_decode_state_free(many);
}

static void test_lines(void)
{
#ifdef __x86_64__
    static const struct peet_direct with_lines = {.table = table_lines, .block = ask_lines, .often = often, .cut = cut_lines};
    static uint64_t words[WORDS];
    static uint32_t hints[FRAMES];
    for (uint32_t i = 0; i < FRAMES; i++)
        hints[i] = i;
    make_cut_lasts();
    make_cut_names();
    watching = 0;
    for (int i = 0; i < npaths; i++) {
        struct peet_direct_run run = {.hints = hints, .keys = lines[DIRECT].keys, .used = lines[DIRECT].used};
        struct peet_program *p;
        struct peet_error error = {0};
        memset(known, 0, sizeof known);
        memset(lines, 0, sizeof lines);
        memset(is_often, 0, sizeof is_often);
        memset(nothers, 0, sizeof nothers);
        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i], 0x10000000, &error) > 0);
        CU_ASSERT_FATAL(peet_program_set_direct(p, &with_lines, NULL) == 0);
        for (unsigned round = 0; round < 2 * ROUNDS; round++) {
            reach = 1ull << (6 + round % 8);
            compare_lines(p, words, walk(p, words, words + WORDS), &run);
        }
        peet_program_free(p);
    }
    reach = 1 << 20;
    CU_ASSERT(nothers_all > 10000 && noften > 50 && ncuts > 1000 && ntaken > 1000 && nranges_all > 1000 && nranges - nranges_all > 1000);
    printf("%u blocks in two lines or not found, of %u that was said, %u cuts, by which %lu were taken; %u ranges, %u of them the machine's ", nothers_all, noften, ncuts, (unsigned long)ntaken,
        nranges, nranges_all);
#endif
}

static void test_walks(void)
{
    static uint64_t words[WORDS];
    enum { WAYS = 4 };
    uint64_t looks = 0, runs = 0, ranges = 0, shown = 0, taken = 0;
    unsigned code = 0;
    for (int i = 0; i < WAYS * npaths; i++) {
        void *const self = i & 1 ? &told : NULL; /* it has range() */
        struct peet_program *p;
        struct peet_error error = {0};
        memset(known, 0, sizeof known);
        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i / WAYS], 0x10000000, &error) > 0);
#ifdef __x86_64__
        CU_ASSERT_FATAL(peet_program_set_direct(p, &machine, self) == 0);
        begin_watching(p, i % WAYS == 2 ? &observer : i % WAYS == 3 ? &simple : NULL);
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t *end = walk(p, words, words + WORDS);
            runs += compare(p, words, end);
            looks += expected.n;
            ranges += told.ranges;
            shown += seen[DIRECT].n / 2;
            seen[DIRECT].n = seen[REFERENCE].n = 0;
        }
        for (uint32_t id = 0; id < BLOCKS; id++)
            taken += watchers[DIRECT][id].caught_up;
#else
        CU_ASSERT_FATAL(peet_program_set_direct(p, &machine, self) == PEET_ENOTFOUND);
#endif
        for (unsigned k = 0; k < p->nfunctions; k++)
            code += p->functions[k]->direct != NULL;
        peet_program_free(p);
        end_watching();
    }
#ifdef __x86_64__
    CU_ASSERT(looks > 10000 && code > 0 && ranges > 10000 && shown > 10000 && taken > 10000);
#endif
    printf("%llu looks and events, %llu runs, %llu ranges, %u functions with machine code; an observer saw %llu, and not %llu ", (unsigned long long)looks,
        (unsigned long long)runs, (unsigned long long)ranges, code, (unsigned long long)shown, (unsigned long long)taken);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = { { "random walks", test_walks }, { "lines that are found", test_lines }, CU_TEST_INFO_NULL };

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: blocks without events", tests);
}
