/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops: many turns of a block through loop() must give the same times, statistics and states of the caches as the same
 * turns through block(), one after the other.  Random loops and single blocks on one to six processors, least clock
 * first; all protocols, geometries and replacement policies; each loop is interrupted by a random time.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { REFS = 6, MOST = 12, LOOPS = 250 / TEST_SHARE };

struct shape {
    unsigned hws;
    const char *cache, *line, *ways, *replacement, *fetch, *arbitration, *cpi, *hit;
};

static const struct shape shapes[] = {
    {1, "1KiB", "32", "2", "lru", "off", "fcfs", "1", "1"},
    {1, "1KiB", "16", "1", "lru", "off", "fcfs", "0.3", "2"},
    {1, "4KiB", "64", "8", "lru", "off", "fcfs", "0.7", "3"},
    {1, "2KiB", "64", "4", "plru", "off", "fcfs", "1.7", "1"},
    {1, "768", "32", "2", "fifo", "off", "fcfs", "0", "0"},
    {1, "1KiB", "32", "4", "random", "off", "fcfs", "1", "1"},
    {1, "2KiB", "64", "0", "lru", "off", "fcfs", "1", "1"},
    {1, "1KiB", "32", "0", "fifo", "off", "fcfs", "1", "0"},
    {1, "1KiB", "32", "2", "lru", "split", "fcfs", "1", "1"},
    {1, "1KiB", "32", "2", "lru", "unified", "fcfs", "1", "1"},
    {2, "1KiB", "32", "2", "lru", "off", "fcfs", "1.3", "1"},
    {3, "1KiB", "512", "1", "lru", "off", "rr", "1", "1"},
    {4, "2KiB", "64", "4", "plru", "off", "fixed", "1", "1"},
    {4, "640", "4", "0", "fifo", "off", "rr", "1", "1"},
    {5, "1280", "4", "20", "random", "off", "fcfs", "0.5", "1"},
    {6, "2KiB", "128", "0", "lru", "off", "fcfs", "1", "1"},
    {6, "768", "16", "3", "lru", "unified", "rr", "1", "1"},
};
static const char *const protocols[][2] = {RIG_PROTOCOLS};
enum { NPROTOCOLS = sizeof protocols / sizeof *protocols };

/* As the mapper does it: the cost, then what was asked for. */
static uint64_t through_loop(struct rig *rig, unsigned hw, const struct peet_block_event *event, uint64_t until)
{
    uint64_t turns = 0;
    rig->running = 1;
    rig->current = hw;
    rig->not_ready = 0;
    rig->clock[hw] += peet_module.loop(rig->bus, hw, event, rig->clock[hw], until, &turns);
    rig->clock[hw] = rig->not_ready > rig->clock[hw] ? rig->not_ready : rig->clock[hw];
    rig->running = 0;
    return turns;
}

static uint64_t through_block(struct rig *rig, unsigned hw, const struct peet_block_event *event, uint64_t until)
{
    uint64_t values[2 * MOST], turns = 0;
    struct peet_block_event one = {event->block, values, event->context, 1, NULL};
    memcpy(values, event->values, event->block->nvalues * sizeof *values);
    do {
        rig_event(rig, hw, &one);
        turns++;
        for (uint32_t i = 0; i < event->block->nvalues; i++)
            values[i] += (uint64_t)event->strides[i];
    } while (turns < event->turns && rig->clock[hw] < until);
    return turns;
}

/* A random loop; some have ranges and conditions, and some references that are in two lines. */
static void make_loop(uint64_t *seed, unsigned hw, uint32_t id, struct peet_block *block, struct peet_ref *refs,
    uint64_t *values, int64_t *strides)
{
    static const int64_t steps[] = {0, 0, 1, 4, 8, 8, 8, 16, -8, -4, 24, 64, -100, 3, 1000};
    unsigned n = (unsigned)rig_random(seed, REFS + 1), plain = !rig_random(seed, 2), together = !rig_random(seed, 2);
    int64_t step = steps[rig_random(seed, 15)];
    *block = (struct peet_block){.id = id,
        .ninsns = n + 1 + (uint32_t)rig_random(seed, 5),
        .refs = refs,
        .nrefs = n,
        .flags = PEET_BLOCK_SIMPLE,
        .pc = 0x400000 + 16 * rig_random(seed, 100),
        .code_bytes = 1 + (uint32_t)rig_random(seed, 60)};
    for (unsigned j = 0; j < n; j++) {
        uint64_t shared = 0x1000 + rig_random(seed, 300), own = 0x100000 * (hw + 1) + rig_random(seed, 3000);
        unsigned size = plain ? 8 : 1u << rig_random(seed, 6), what = (unsigned)rig_random(seed, plain ? 40 : 8);
        refs[j] = (struct peet_ref){.insn = j,
            .size_bytes = (uint16_t)size,
            .value = (uint16_t)block->nvalues,
            .kind = (uint8_t)(what == 7 ? PEET_REF_PREFETCH : rig_random(seed, 3))};
        values[block->nvalues] = rig_random(seed, 3) ? own : shared;
        if (together && rig_random(seed, 2)) { /* as far from the first as ever */
            refs[j].group = 1;
            if (j)
                values[block->nvalues] = values[0] + rig_random(seed, 60);
        }
        if (plain)
            values[block->nvalues] &= ~7ull;
        strides[block->nvalues++] = together ? step : steps[rig_random(seed, 15)];
        if (!plain && !rig_random(seed, 12)) {
            refs[j].flags = rig_random(seed, 2) ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
            values[block->nvalues] = rig_random(seed, 6);
            strides[block->nvalues++] = 0;
            block->flags = 0;
            continue;
        }
        if (refs[j].kind == PEET_REF_MODIFY && !rig_random(seed, 3))
            refs[j].flags = PEET_REF_ATOMIC;
        block->reads += refs[j].kind == PEET_REF_LOAD;
        block->writes += refs[j].kind == PEET_REF_STORE;
        block->modifies += refs[j].kind == PEET_REF_MODIFY;
    }
}

/* Stencils: some groups of references a few bytes apart, each group read and perhaps written, all moving alike or each
 * in its own way, now in rows that follow each other and now anywhere.  Groups are cut by the ends of lines at all
 * places. */
static void make_stencil(uint64_t *seed, unsigned hw, uint32_t id, struct peet_block *block, struct peet_ref *refs,
    uint64_t *values, int64_t *strides)
{
    const unsigned ngroups = 1 + (unsigned)rig_random(seed, 5), alike = (unsigned)rig_random(seed, 4),
                   size = 1u << rig_random(seed, 5);
    const int64_t step = (int64_t)rig_random(seed, 401) - 200,
                  easy = (int64_t)(size << rig_random(seed, 2)) * (rig_random(seed, 4) ? 1 : -1);
    const uint64_t row = 64 * rig_random(seed, 20) + (rig_random(seed, 2) ? 16 : 0);
    *block = (struct peet_block){
        .id = id, .ninsns = MOST + 1, .refs = refs, .flags = PEET_BLOCK_SIMPLE, .pc = 0x400000, .code_bytes = 40};
    for (unsigned g = 0; g < ngroups; g++) {
        const uint64_t begin = 0x100000 * (hw + 1) +
            (rig_random(seed, 3) ? 0x2000 + g * row + size * rig_random(seed, 3) : rig_random(seed, 3000));
        const int64_t stride = alike == 0 ? (int64_t)rig_random(seed, 401) - 200 : alike == 1 ? step : easy;
        for (unsigned j = 1 + (unsigned)rig_random(seed, 4); j > 0 && block->nrefs < MOST; j--) {
            struct peet_ref *const ref = &refs[block->nrefs++];
            *ref = (struct peet_ref){.insn = block->nrefs,
                .size_bytes = (uint16_t)size,
                .value = (uint16_t)block->nvalues,
                .kind = (uint8_t)(rig_random(seed, 3) ? PEET_REF_LOAD : rig_random(seed, 3)),
                .group = (uint8_t)(g + 1)};
            values[block->nvalues] = begin + size * rig_random(seed, 3);
            strides[block->nvalues++] = stride;
            block->reads += ref->kind == PEET_REF_LOAD;
            block->writes += ref->kind == PEET_REF_STORE;
            block->modifies += ref->kind == PEET_REF_MODIFY;
        }
    }
}

static int same_frames(const struct bus *a, const struct bus *b)
{
    /* what is quick depends on when the shadow was asked for */
    const uint64_t unsure = a->uniprocessor && a->classify ? PERMISSION : 0;
    for (size_t i = 0; i < (size_t)a->ncaches * a->lines; i++) {
        const struct frame *f = &a->frames[i], *g = &b->frames[i];
        if ((a->keys[i] | unsure) != (b->keys[i] | unsure) ||
            a->caches[i / a->lines].used[i % a->lines] != b->caches[i / a->lines].used[i % a->lines] ||
            f->tracked != g->tracked || (f->tracked && a->written[i] != b->written[i]) || f->state != g->state ||
            f->place != g->place)
            return 0;
    }
    for (unsigned i = 0; i < a->ncaches; i++)
        if (a->caches[i].stamp != b->caches[i].stamp)
            return 0;
    return 1;
}

typedef void make(uint64_t *, unsigned, uint32_t, struct peet_block *, struct peet_ref *, uint64_t *, int64_t *);

static void compare(const struct shape *s, const char *protocol, const char *allocate, const char *classify, make *make)
{
    struct rig loops, blocks, *rigs[] = {&loops, &blocks};
    uint64_t seed = 99 + s->hws, many = 0;
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(rig_open(rigs[i], s->hws, 5, "protocol", protocol, "allocate", allocate, "cache", s->cache,
                            "line", s->line, "ways", s->ways, "replacement", s->replacement, "fetch", s->fetch,
                            "arbitration", s->arbitration, "cpi", s->cpi, "hit_cycles", s->hit, "classify", classify,
                            "window_cycles", "100", NULL) == 0);
    for (unsigned i = 0; i < LOOPS; i++) {
        struct peet_block block;
        struct peet_ref refs[MOST];
        uint64_t values[2 * MOST];
        int64_t strides[2 * MOST];
        unsigned hw = 0;
        for (unsigned h = 1; h < s->hws; h++)
            hw = loops.clock[h] < loops.clock[hw] ? h : hw;
        make(&seed, hw, i + 1, &block, refs, values, strides);
        struct peet_block_event event = {
            &block, values, hw, 1 + rig_random(&seed, rig_random(&seed, 2) ? 5 : 300), strides};
        uint64_t until = rig_random(&seed, 3) ? loops.clock[hw] + rig_random(&seed, 1000) : UINT64_MAX;
        uint64_t turns = through_loop(&loops, hw, &event, until);
        CU_ASSERT_EQUAL(turns, through_block(&blocks, hw, &event, until));
        many += turns > 3;
        if (memcmp(loops.clock, blocks.clock, sizeof loops.clock) || !same_frames(loops.bus, blocks.bus)) {
            printf("%s, %u processors, cache %s line %s ways %s %s fetch %s: different after loop %u\n", protocol,
                s->hws, s->cache, s->line, s->ways, s->replacement, s->fetch, i);
            CU_FAIL("different");
            break;
        }
    }
    CU_ASSERT(many > LOOPS / 10);
    rig_finish(&loops);
    rig_finish(&blocks);
    CU_ASSERT(json_equal(loops.stats, blocks.stats));
    CU_ASSERT_EQUAL(loops.failures + blocks.failures, 0);
    rig_close(&loops);
    rig_close(&blocks);
}

static void test_loops(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            compare(&shapes[i], protocols[p][0], protocols[p][1], "on", make_loop);
            compare(&shapes[i], protocols[p][0], protocols[p][1], "off", make_loop);
        }
}

static void test_stencils(void)
{
    static const struct shape more[] = {
        {1, "4KiB", "64", "8", "lru", "off", "fcfs", "1", "1"},
        {1, "8KiB", "64", "16", "lru", "off", "fcfs", "0.3", "2"},
        {1, "2KiB", "32", "4", "lru", "off", "fcfs", "1", "1"},
        {1, "3KiB", "64", "6", "lru", "off", "fcfs", "1", "1"},
        {1, "512", "64", "8", "lru", "off", "fcfs", "1", "1"},
        {1, "1KiB", "16", "2", "lru", "off", "fcfs", "1", "0"},
        {1, "768", "16", "3", "lru", "off", "fcfs", "1", "1"},
        {1, "16KiB", "256", "8", "lru", "off", "fcfs", "1", "1"},
        {1, "128", "64", "2", "lru", "off", "fcfs", "1", "1"}, /* a line that is needed may have to go */
        {1, "256", "64", "4", "lru", "off", "fcfs", "1", "1"},
    };
    for (unsigned i = 0; i < sizeof more / sizeof *more; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++)
            compare(&more[i], protocols[p][0], protocols[p][1], p & 1 ? "on" : "off", make_stencil);
    for (unsigned p = 0; p < NPROTOCOLS; p++)
        compare(&more[p % 2], protocols[p][0], protocols[p][1], "on", make_stencil);
}

/* One processor's own code (uniprocessor.c) against the general one, which the checker brings back. */
static void test_sole(void)
{
    for (unsigned i = 0; shapes[i].hws == 1; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            const struct shape *s = &shapes[i];
            struct rig rigs[2];
            for (int j = 0; j < 2; j++) {
                uint64_t seed = 7 + p;
                CU_ASSERT_FATAL(rig_open(&rigs[j], 1, 5, "protocol", protocols[p][0], "allocate", protocols[p][1],
                                    "cache", s->cache, "line", s->line, "ways", s->ways, "replacement", s->replacement,
                                    "fetch", s->fetch, "cpi", s->cpi, "hit_cycles", s->hit, "check", j ? "on" : "off",
                                    "window_cycles", "100", NULL) == 0);
                if (j) /* and the calendar as for many */
                    rigs[j].bus->calendar.uniprocessor = 0;
                for (unsigned n = 0; n < LOOPS; n++) {
                    struct peet_block block;
                    struct peet_ref refs[REFS];
                    uint64_t values[2 * REFS];
                    int64_t strides[2 * REFS];
                    make_loop(&seed, 0, n + 1, &block, refs, values, strides);
                    struct peet_block_event event = {&block, values, 0, 1 + rig_random(&seed, 40), strides};
                    through_block(&rigs[j], 0, &event, UINT64_MAX);
                }
                rig_finish(&rigs[j]);
                CU_ASSERT_EQUAL(rigs[j].failures, 0);
            }
            CU_ASSERT_EQUAL(rigs[0].clock[0], rigs[1].clock[0]);
            CU_ASSERT(json_equal(rigs[0].stats, rigs[1].stats));
            rig_close(&rigs[0]);
            rig_close(&rigs[1]);
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"loop() and block()", test_loops}, {"stencils", test_stencils},
        {"one processor", test_sole}, CU_TEST_INFO_NULL};
    return run_suite("bus: loops", tests);
}
