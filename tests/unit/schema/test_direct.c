/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks taken without events, against decoding block by block, which knows no machine code: random walks over the blocks of a
 * real program's functions, with random words, and range operations of libraries among them.  A machine that finds no line where it was
 * last sees every look; it refuses some blocks, stops at random times, and says at the end how often each block was executed.
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

static uint32_t miss(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    (void)run;
    CU_ASSERT(site < BLOCKS * 4);
    tell(&told, line);
    return 0;
}

static const struct peet_block *known[BLOCKS];

static int other(struct peet_direct_run *run, uint32_t id)
{
    for (uint32_t k = 0; k < nlooks(known[id]); k++)
        tell(&told, run->addresses[k] >> SHIFT);
    return 0;
}

static uint64_t time_of(const struct peet_block *block)
{
    return block->id % 3 == 0 ? (uint64_t)block->ninsns << 33 : block->ninsns;
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

/* A block as an event: what the machine code would have told of it, or that it came. */
static void by_event(struct story *s, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;
    CU_ASSERT_FATAL(block->id < BLOCKS);
    s->times[block->id]++;
    s->instructions += block->ninsns;
    s->time += time_of(block);
    if (strcmp(block->function->image, "peet") == 0) {
        struct peet_counts counts = {0};
        peet_count_dynamic(block, event->values, PEET_COUNT_CALLGRIND, &counts);
        CU_ASSERT_EQUAL(counts.instructions, 0);
        s->reads += counts.reads;
        s->writes += counts.writes;
    }
    if (refused(block))
        whole(s, block, event->values);
    else
        for (uint32_t k = 0; k < nlooks(block); k++)
            tell(s, (event->values[k] - 8 * k) >> SHIFT);
}

static void sink(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)arg;
    by_event(&told, event);
    run->time += time_of(event->block);
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
    at[2] = number(1 << 20), at[3] = number(1 << 20);
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
            *at++ = number(4) ? 0x10000 + number(1 << 20) : number(UINT64_MAX);
    }
    return at;
}

static uint64_t compare(struct peet_program *p, const uint64_t *words, const uint64_t *end)
{
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
    for (;;) {
        run.limit = number(2) ? UINT64_MAX : run.time + 1 + number(200);
        run.instructions = 0;
        if (peet_decode_direct(many, &at, end, &run, sink, NULL, NULL)) {
            told.instructions += run.instructions;
            direct++;
            continue;
        }
        const int kind = peet_decode_next(many, &at, end, 1, &event, &error);
        if (kind <= 0)
            break;
        if (kind == PEET_EVENT_BLOCK) {
            by_event(&told, &event.block);
            run.time += time_of(event.block.block);
        } else {
            const uint64_t before = told.time;
            by_abstract(p, &told, &event.abstract);
            run.time += told.time - before;
        }
    }
    peet_program_direct_executed(p, executed, &told);
    CU_ASSERT_EQUAL(told.n, expected.n);
    CU_ASSERT_EQUAL(told.instructions, expected.instructions);
    CU_ASSERT_EQUAL(told.reads, expected.reads);
    CU_ASSERT_EQUAL(told.writes, expected.writes);
    CU_ASSERT_EQUAL(run.time, expected.time);
    CU_ASSERT(memcmp(told.log, expected.log, expected.n * sizeof *told.log) == 0);
    CU_ASSERT(memcmp(told.times, expected.times, sizeof told.times) == 0);
    peet_decode_state_free(one);
    peet_decode_state_free(many);
    return direct;
}

static void test_walks(void)
{
    static uint64_t words[WORDS];
    uint64_t looks = 0, runs = 0, ranges = 0;
    unsigned code = 0;
    for (int i = 0; i < 2 * npaths; i++) {
        void *const self = i & 1 ? &told : NULL; /* it has range() */
        struct peet_program *p;
        struct peet_error error = {0};
        memset(known, 0, sizeof known);
        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i / 2], 0x10000000, &error) > 0);
#ifdef __x86_64__
        CU_ASSERT_FATAL(peet_program_set_direct(p, &machine, self) == 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t *end = walk(p, words, words + WORDS);
            runs += compare(p, words, end);
            looks += expected.n;
            ranges += told.ranges;
        }
#else
        CU_ASSERT_FATAL(peet_program_set_direct(p, &machine, self) == PEET_ENOTFOUND);
#endif
        for (unsigned k = 0; k < p->nfunctions; k++)
            code += p->functions[k]->direct != NULL;
        peet_program_free(p);
    }
#ifdef __x86_64__
    CU_ASSERT(looks > 10000 && code > 0 && ranges > 10000);
#endif
    printf("%llu looks and events, %llu runs, %llu ranges, %u functions with machine code ", (unsigned long long)looks, (unsigned long long)runs,
        (unsigned long long)ranges, code);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = { { "random walks", test_walks }, CU_TEST_INFO_NULL };

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: blocks without events", tests);
}
