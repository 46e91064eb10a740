/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges: rows of elements in lines, taken by arithmetic, and as peet takes a library's operations by itself (range()
 * of <peet/direct.h>, and those records that need no more than looks), must give the same times and statistics as with
 * the checker on, which takes every element by itself and looks at every line.
 */
#include <stdio.h>
#include <string.h>
#include "jit/direct.h"
#include <peet/raw.h>
#include "rig.h"
#include "run_suite.h"

enum { REFS = 4, BLOCKS = 24, EVENTS = 1200 / (TEST_SHARE > 4 ? 4 : TEST_SHARE) };

struct shape {
    unsigned hws;
    const char *cache, *line, *ways, *replacement, *cpi, *hit;
};

static const struct shape shapes[] = {
    {1, "2KiB", "64", "8", "lru", "1", "1"},
    {1, "1KiB", "16", "1", "lru", "0.3", "2"},
    {1, "8KiB", "64", "4", "lru", "0.7", "3"},
    {1, "768", "4", "3", "lru", "1", "0"},
    {1, "2KiB", "64", "4", "plru", "1.7", "1"},
    {1, "768", "32", "2", "fifo", "0", "0"},
    {1, "2KiB", "64", "0", "lru", "1", "1"},
    {2, "2KiB", "64", "8", "lru", "1.3", "1"},
    {3, "1KiB", "32", "4", "plru", "1", "1"},
};
static const char *const protocols[][2] = {{"write-once", "protocol"}, {"synapse", "protocol"},
    {"berkeley", "protocol"}, {"illinois", "protocol"}, {"dragon", "protocol"}, {"through", "no"}, {"through", "yes"}};

struct template {
    struct peet_block block;
    struct peet_ref refs[REFS];
};

/* Some are plain blocks, others ranges of any size of element, or of conditional references. */
static void make_templates(struct template *t, uint64_t *seed, unsigned sizes)
{
    for (unsigned i = 0; i < BLOCKS; i++, t++) {
        const unsigned n = 1 + (unsigned)rig_random(seed, REFS), flags = (unsigned)rig_random(seed, 4);
        *t = (struct template){
            .block = {.id = i + 1, .ninsns = n, .nrefs = n, .refs = t->refs, .flags = flags ? 0 : PEET_BLOCK_SIMPLE}};
        for (unsigned j = 0; j < n; j++) {
            static const uint16_t bytes[] = {1, 8, 2, 4, 3, 16};
            t->refs[j] = (struct peet_ref){.insn = j,
                .size_bytes = bytes[rig_random(seed, sizes)],
                .value = (uint16_t)t->block.nvalues,
                .kind = rig_random(seed, 2) ? PEET_REF_LOAD : PEET_REF_STORE,
                .flags = (uint16_t)(!flags                  ? 0
                        : sizes > 4 && !rig_random(seed, 4) ? PEET_REF_CONDITIONAL
                                                            : PEET_REF_RANGE)};
            t->block.nvalues += flags ? 2 : 1;
            if (!flags) {
                t->block.reads += t->refs[j].kind == PEET_REF_LOAD;
                t->block.writes += t->refs[j].kind == PEET_REF_STORE;
            }
        }
    }
}

static void make_values(const struct template *t, uint64_t *seed, unsigned hw, uint64_t *values)
{
    const uint64_t own = 0x100000 * (hw + 1);
    for (unsigned j = 0; j < t->block.nrefs; j++) {
        uint64_t *v = &values[t->refs[j].value];
        v[0] = rig_random(seed, 4) ? own + rig_random(seed, rig_random(seed, 3) ? 500 : 6000)
                                   : 0x1000 + rig_random(seed, 300);
        if (!t->block.flags)
            v[1] = rig_random(seed, 3) ? rig_random(seed, 9) : rig_random(seed, 200);
    }
}

static void open_two(struct rig *fast, struct rig *slow, const struct shape *s, const char *const *protocol,
    const char *classify)
{
    struct rig *rigs[] = {fast, slow};
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(rig_open(rigs[i], s->hws, 5, "protocol", protocol[0], "allocate", protocol[1], "cache",
                            s->cache, "line", s->line, "ways", s->ways, "replacement", s->replacement, "cpi", s->cpi,
                            "hit_cycles", s->hit, "classify", classify, "window_cycles", "100", "check",
                            i ? "on" : "off", NULL) == 0);
}

static void close_two(struct rig *fast, struct rig *slow)
{
    rig_finish(fast);
    rig_finish(slow);
    CU_ASSERT(json_equal(fast->stats, slow->stats));
    CU_ASSERT_EQUAL(fast->failures + slow->failures, 0);
    rig_close(fast);
    rig_close(slow);
}

static void compare(const struct shape *s, const char *const *protocol, const char *classify)
{
    static struct template templates[BLOCKS];
    struct rig fast, slow;
    uint64_t seed = 815 + s->hws;
    open_two(&fast, &slow, s, protocol, classify);
    make_templates(templates, &seed, 6);
    for (unsigned i = 0; i < EVENTS; i++) {
        const struct template *t = &templates[rig_random(&seed, BLOCKS)];
        uint64_t values[2 * REFS];
        unsigned hw = 0;
        for (unsigned h = 1; h < s->hws; h++)
            hw = fast.clock[h] < fast.clock[hw] ? h : hw;
        make_values(t, &seed, hw, values);
        const struct peet_block_event event = {&t->block, values, hw, 1, NULL};
        rig_event(&fast, hw, &event);
        rig_event(&slow, hw, &event);
        if (memcmp(fast.clock, slow.clock, sizeof fast.clock)) {
            printf("%s, %u processors, cache %s line %s ways %s %s: different at event %u\n", protocol[0], s->hws,
                s->cache, s->line, s->ways, s->replacement, i);
            CU_FAIL("different");
            break;
        }
    }
    close_two(&fast, &slow);
}

static void test_elements(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < sizeof protocols / sizeof *protocols; p++) {
            compare(&shapes[i], protocols[p], "on");
            compare(&shapes[i], protocols[p], "off");
        }
}

/* Returns: how many ranges were taken by range() */
static unsigned compare_direct(const struct shape *s, const char *const *protocol, const char *classify)
{
    const struct peet_direct *const direct = peet_module.direct;
    static struct template templates[BLOCKS];
    struct peet_direct_table table = {0};
    struct rig fast, slow;
    uint64_t seed = 4712;
    unsigned ranges = 0;
    open_two(&fast, &slow, s, protocol, classify);
    make_templates(templates, &seed, 4);
    if (direct->table(fast.bus, &table) == 0) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(table.range);
        for (unsigned done = 0; done < EVENTS;) {
            struct peet_direct_run *run = direct->begin(fast.bus, 0, fast.clock[0], UINT64_MAX);
            run->table = &table;
            fast.running = 1;
            fast.current = 0;
            fast.not_ready = 0;
            for (uint64_t n = 1 + rig_random(&seed, 40); n--; done++) {
                const struct template *t = &templates[rig_random(&seed, BLOCKS)];
                uint64_t values[2 * REFS];
                make_values(t, &seed, 0, values);
                const struct peet_block_event event = {&t->block, values, 0, 1, NULL};
                rig_event(&slow, 0, &event);
                if (t->block.flags)
                    direct->event(fast.bus, 0, run, &event);
                else
                    table.range(run, &t->block, values), ranges++;
            }
            fast.clock[0] += direct->end(fast.bus, 0);
            fast.clock[0] = fast.not_ready > fast.clock[0] ? fast.not_ready : fast.clock[0];
            fast.running = 0;
            CU_ASSERT_EQUAL_FATAL(fast.clock[0], slow.clock[0]);
        }
    }
    close_two(&fast, &slow);
    return ranges;
}

static void test_direct(void)
{
    unsigned ranges = 0;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < sizeof protocols / sizeof *protocols; p++)
            if (shapes[i].hws == 1) {
                ranges += compare_direct(&shapes[i], protocols[p], "on");
                ranges += compare_direct(&shapes[i], protocols[p], "off");
            }
    CU_ASSERT(ranges > 10 * EVENTS);
}

/* Records of operations, as many at once as there are, against their blocks' events one by one.  @inout_hit: how often
 * some needed no range() */
static void compare_records(const struct shape *s, const char *const *protocol, const char *classify,
    unsigned *inout_hit)
{
    enum { WORDS = 1 + PEET__RANGE_ARGS, MOST = 40 };
    const struct peet_direct *const direct = peet_module.direct;
    struct peet_program *program = NULL;
    struct rig fast, slow;
    uint64_t seed = 99, records[MOST * WORDS + 1], values[8];
    open_two(&fast, &slow, s, protocol, classify);
    CU_ASSERT_FATAL(peet_program_new(&program) == 0);
    if (peet_program_set_direct(program, direct, fast.bus) == 0) {
        struct peet__direct *const d = program->direct;
        for (unsigned what = PEET_SYNTHETIC_MEMCPY; what < PEET_SYNTHETIC_COUNT; what++)
            for (unsigned more = 0; more <= PEET_SYNTHETIC_MORE; more += PEET_SYNTHETIC_MORE)
                peet__direct_range_known(d, what | more, peet_program_synthetic(program, what | more));
        for (unsigned done = 0; done < EVENTS;) {
            const unsigned n = 1 + (unsigned)rig_random(&seed, MOST);
            uint64_t *to = records, instructions = 0;
            struct peet_direct_run *run = direct->begin(fast.bus, 0, fast.clock[0], UINT64_MAX);
            for (unsigned k = 0; k < n; k++, to += WORDS) {
                const uint64_t near =
                    rig_random(&seed, 3) ? 0x100000 + rig_random(&seed, 700) : 0x100000 + rig_random(&seed, 9000);
                to[0] = PEET__RANGE_RECORD;
                to[1] = PEET_SYNTHETIC_MEMCPY + rig_random(&seed, PEET_SYNTHETIC_COUNT - PEET_SYNTHETIC_MEMCPY);
                to[1] |= rig_random(&seed, 3) ? 0 : PEET_SYNTHETIC_MORE;
                to[2] = near;
                to[3] = rig_random(&seed, 3) ? 0x200000 + rig_random(&seed, 1500) : near + rig_random(&seed, 20);
                to[4] = rig_random(&seed, 5) ? rig_random(&seed, 24) : rig_random(&seed, 300);
                if (rig_random(&seed, 2))
                    to[2] &= ~(uint64_t)7, to[3] &= ~(uint64_t)7;
            }
            *to = 0;
            run->table = &d->table;
            run->at = records;
            run->end = to;
            fast.running = 1;
            fast.current = 0;
            fast.not_ready = 0;
            instructions = peet__direct_range(run);
            CU_ASSERT_PTR_EQUAL_FATAL(run->at, to);
            *inout_hit += run->reads + run->writes != 0;
            fast.clock[0] += direct->end(fast.bus, 0);
            fast.clock[0] = fast.not_ready > fast.clock[0] ? fast.not_ready : fast.clock[0];
            fast.running = 0;
            for (const uint64_t *at = records; at != to; at += WORDS, done++) {
                if (!at[4])
                    continue;
                const struct peet_block_event event = {
                    peet_program_synthetic(program, (unsigned)at[1]), values, 0, 1, NULL};
                peet_synthetic_values((unsigned)at[1], at[2], at[3], at[4], values);
                rig_event(&slow, 0, &event);
                instructions -= event.block->ninsns;
            }
            CU_ASSERT_EQUAL(instructions, 0);
            CU_ASSERT_EQUAL_FATAL(fast.clock[0], slow.clock[0]);
        }
    }
    close_two(&fast, &slow);
    peet_program_free(program);
}

static void test_records(void)
{
    unsigned hit = 0;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < sizeof protocols / sizeof *protocols; p++)
            if (shapes[i].hws == 1) {
                compare_records(&shapes[i], protocols[p], "on", &hit);
                compare_records(&shapes[i], protocols[p], "off", &hit);
            }
    CU_ASSERT(hit > 500);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"rows of elements", test_elements}, {"range()", test_direct}, {"records", test_records}, CU_TEST_INFO_NULL};
    return run_suite("bus: ranges", tests);
}
