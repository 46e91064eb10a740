/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks taken without events, against decoding block by block, which knows no machine code: random walks over the
 * blocks of a real program's functions, with random words, range operations of libraries and notes among them.  A machine
 * that finds no line where it was last sees every look; it refuses some blocks, stops at random times, and says at the
 * end how often each block was executed.  One that finds lines is test_direct_lines.c's.
 *
 *     test_schema_direct PROGRAM...
 */
#include "walks.h"

enum { EVENT = 1 };

/** What happened, in order: a probe's line, or a block that came as an event. */
struct story {
    uint64_t log[LOG], times[BLOCKS];
    unsigned n;
    uint64_t instructions, time;
    uint64_t reads, writes; /* of ranges */
    unsigned ranges;        /* taken by range() */
    unsigned noted;         /* performed by noted() */
};
static struct story told, expected;

static void tell(struct story *s, uint64_t word)
{
    CU_ASSERT_FATAL(s->n < LOG);
    s->log[s->n++] = word;
}

static struct peet_direct_miss miss(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    CU_ASSERT(site < BLOCKS * 4);
    CU_ASSERT(site % 4 != 0 || run->time < run->limit); /* the block's first */
    tell(&told, line);
    return (struct peet_direct_miss){0, wait_of(line)};
}

static int other(struct peet_direct_run *run, uint32_t id)
{
    CU_ASSERT(run->time < run->limit);
    for (uint32_t k = 0; k < nlooks(known[id]); k++) {
        tell(&told, run->addresses[k] >> SHIFT);
        run->time += wait_of(run->addresses[k] >> SHIFT);
    }
    return 0;
}

/* A block without probes. */
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
    *out = (struct peet_direct_table){
        .hint_mask = 0, .line_shift = SHIFT, .miss = miss, .other = other, .range = self != NULL ? range : NULL};
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
 * Somebody who looks on, once by events alone and once with machine code: he must see the same executions.  A guard
 * that does not hold may be put right, an execution that is due be let go; both are decided by nothing but the block
 * and the value, so that it does not matter who asks first.
 */
enum { REFERENCE, DIRECT, GUARDS = 3, PLACES = 64 };

struct watcher {
    struct peet_direct_watch *watch;
    /* executions; of those that code has taken, so many are among them; all of them together up to which none is due */
    uint64_t past, caught_up, until;
};

static struct watcher watchers[2][BLOCKS];
static struct peet_direct_watch *all_watches[1 << 18];
static unsigned nall_watches;
static struct {
    uint64_t log[LOG], passed[BLOCKS], tally[PLACES];
    unsigned n;
} seen[2];
static int watching, hears; /* hears: of marks, */
static unsigned nheard;     /* so often */

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

/* Of values of a guard that holds, 2^MARKS_SHIFT have a mark in common. */
enum { MARKS_SHIFT = 9, MARKS = 1 << (16 + 8 + 3 - MARKS_SHIFT) };
static uint8_t marks[MARKS];

static void hold(struct peet_direct_guard *g, uint64_t value, uint64_t how)
{
    const uint64_t room = (uint64_t)1 << (16 + how % 8);
    g->base = value - (room >> 1 << g->shift);
    g->span = room;
    if (g->marks_shift != 0) {
        g->marks = marks;
        g->marks_base = g->base;
    }
}

static int is_marked(const struct peet_direct_guard *g, uint64_t value)
{
    return g->marks_shift != 0 && g->marks[(value - g->marks_base) >> g->marks_shift] != 0;
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
    watch->marked = how >> 31 & 1;
    for (uint32_t i = 0; marks[MARKS - 1] == 0 && i < MARKS; i++)
        marks[i] = i == MARKS - 1 || mixed(i, 6, 0) % 8 == 0;
    for (uint32_t g = 0; g < watch->nguards; g++) {
        watch->guards[g] = (struct peet_direct_guard){
            .value = (uint16_t)((how >> 8) * (g + 1) % block->nvalues), .shift = how >> (20 + g) & 1 ? 3 : 0};
        watch->guards[g].marks_shift = watch->marked ? MARKS_SHIFT : 0;
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

/* All guards hold: values with a mark are heard of. */
static void hear(int which, const struct watcher *w, const uint64_t *values)
{
    uint64_t heard = 0;
    for (uint32_t g = 0; hears && g < w->watch->nguards; g++)
        heard = is_marked(&w->watch->guards[g], values[w->watch->guards[g].value]) ? heard * 31 + g + 1 : heard;
    if (heard == 0)
        return;
    CU_ASSERT_FATAL(seen[which].n + 2 < LOG);
    seen[which].log[seen[which].n++] = heard << 56 | w->past;
    seen[which].log[seen[which].n++] = values[0];
    nheard++;
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
    if (keeps)
        hear(which, w, event->values);
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

static int moved(void *self, const struct peet_block *block, struct peet_direct_watch *w, uint32_t guard,
    uint64_t value)
{
    (void)self;
    CU_ASSERT(!holds(&w->guards[guard], value));
    return w->over || !put_right(block, &w->guards[guard], value) ? -1 : 0;
}

static void marked(void *self, unsigned hw, const struct peet_block *block, const uint64_t *values)
{
    const struct watcher *const w = watcher_of(DIRECT, block);
    const unsigned before = seen[DIRECT].n;
    (void)self, (void)hw;
    for (uint32_t g = 0; g < w->watch->nguards; g++)
        CU_ASSERT(holds(&w->watch->guards[g], values[w->watch->guards[g].value]));
    hear(DIRECT, w, values);
    CU_ASSERT(seen[DIRECT].n > before);
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

static const struct peet_direct_observer observer = {
    .watch = watch, .executed = unseen, .moved = moved, .due = due, .marked = marked};
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
    hears = watching && ops->marked != NULL;
    if (watching)
        CU_ASSERT_FATAL(peet_program_add_observer(p, &blind, NULL) == 0 &&
            peet_program_add_observer(p, ops, NULL) == 0);
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

/* A block as an event: what the machine code would have told of it, or that it came.  Returns: the time that it takes
 */
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
static void shown(void *arg, const struct peet_direct_run *run, const struct peet_block_event *event,
    uint32_t observers)
{
    (void)arg;
    CU_ASSERT(watching && observers == UINT32_MAX && event->strides == NULL && event->turns == 1);
    observe(DIRECT, event);
}

enum { NOTE = 2 };

static void note(struct story *s, uint32_t type, uint32_t nargs, const uint64_t *args)
{
    tell(s, (uint64_t)NOTE << 62 | (uint64_t)type << 16 | nargs);
    tell(s, s->time);
    for (uint32_t k = 0; k < nargs; k++)
        tell(s, args[k]);
}

/* Performs three of four.  None of them is the last record, and its time is that of the blocks before. */
static int noted(void *host, const struct peet_direct_run *run, uint32_t type, uint32_t nargs, const uint64_t *args)
{
    struct story *const s = host;
    CU_ASSERT(args + nargs < run->end);
    if (type == PEET_ABSTRACT_RANGE || (nargs != 0 && args[0] % 4 == 0))
        return 0;
    s->time = run->time;
    note(s, type, nargs, args);
    s->noted++;
    return 1;
}

/* A range operation: its event, if it has one.  A note. */
static void by_abstract(struct peet_program *p, struct story *s, const struct peet_abstract_event *event)
{
    uint64_t values[8];
    if (event->type != PEET_ABSTRACT_RANGE) {
        note(s, event->type, event->nargs, event->args);
        return;
    }
    const struct peet_block *const block = peet_program_synthetic(p, (unsigned)event->args[0]);
    CU_ASSERT_FATAL(event->type == PEET_ABSTRACT_RANGE && block != NULL);
    if (event->args[3] == 0)
        return;
    peet_synthetic_values((unsigned)event->args[0], event->args[1], event->args[2], event->args[3], values);
    by_event(s, &(struct peet_block_event){block, values, 3, 1, NULL});
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
            const uint64_t before = told.time = run.time;
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

static void test_walks(void)
{
    static uint64_t words[WORDS];
    enum { WAYS = 4 };
    uint64_t looks = 0, runs = 0, ranges = 0, notes = 0, shown = 0, taken = 0;
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
        with_notes = 1;
        if (i % 3 != 2) /* else nobody performs them */
            peet_program_direct_notes(p, noted, &told);
        begin_watching(p, i % WAYS == 2 ? &observer : i % WAYS == 3 ? &simple : NULL);
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t *end = walk(p, words, words + WORDS);
            runs += compare(p, words, end);
            looks += expected.n;
            ranges += told.ranges;
            notes += told.noted;
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
    CU_ASSERT(nheard > 1000);
    CU_ASSERT(looks > 10000 && code > 0 && ranges > 10000 && notes > 10000 && shown > 10000 && taken > 10000);
#endif
    printf(
        "%llu looks and events, %llu runs, %llu ranges, %llu notes, %u functions with machine code; an observer saw %llu, and not %llu ",
        (unsigned long long)looks, (unsigned long long)runs, (unsigned long long)ranges, (unsigned long long)notes,
        code, (unsigned long long)shown, (unsigned long long)taken);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"random walks", test_walks}, CU_TEST_INFO_NULL};

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: blocks without events", tests);
}
