/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks by the batch: blocks() and loop(), with references in groups, must give the same times and statistics as the
 * same blocks through block() with the checker on, which takes every reference by itself and looks at every line.  The
 * blocks are few and come again and again, so that what was worked out once is used.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { REFS = 12, BLOCKS = 40, BATCH = 20, BATCHES = 400 / TEST_SHARE };

struct shape {
    unsigned hws;
    const char *cache, *line, *ways, *replacement, *arbitration, *cpi, *hit;
};

static const struct shape shapes[] = {
    {1, "2KiB", "64", "8", "lru", "fcfs", "1", "1"},
    {1, "1KiB", "16", "1", "lru", "fcfs", "0.3", "2"},
    {1, "8KiB", "64", "4", "lru", "fcfs", "0.7", "3"},
    {1, "4KiB", "16", "16", "lru", "fcfs", "1", "1"},
    {1, "2KiB", "64", "4", "plru", "fcfs", "1.7", "1"},
    {1, "768", "32", "2", "fifo", "fcfs", "0", "0"},
    {1, "1KiB", "32", "4", "random", "fcfs", "1", "1"},
    {1, "2KiB", "64", "0", "lru", "fcfs", "1", "1"},
    {1, "1KiB", "32", "2", "lru", "fcfs", "1", "1"},
    {1, "1536", "64", "3", "lru", "fcfs", "1", "1"},
    {1, "1536", "16", "8", "lru", "fcfs", "1", "2"},
    {2, "2KiB", "64", "8", "lru", "fcfs", "1.3", "1"},
    {3, "1KiB", "512", "1", "lru", "rr", "1", "1"},
    {4, "2KiB", "64", "4", "plru", "fixed", "1", "1"},
    {4, "640", "4", "0", "fifo", "rr", "1", "1"},
    {6, "768", "16", "3", "lru", "fixed", "0.7", "3"},
};
static const char *const protocols[][2] = {RIG_PROTOCOLS};
enum { NPROTOCOLS = sizeof protocols / sizeof *protocols };

struct template {
    struct peet_block block;
    struct peet_ref refs[REFS];
    int64_t distance[REFS]; /* from the base of its group */
};

static void make_templates(struct template *t, uint64_t *seed)
{
    for (unsigned i = 0; i < BLOCKS; i++, t++) {
        unsigned n = (unsigned)rig_random(seed, rig_random(seed, 3) ? 5 : REFS + 1);
        *t = (struct template){.block = {.id = i + 1,
                                   .ninsns = n + (uint32_t)rig_random(seed, 4),
                                   .nrefs = n,
                                   .nvalues = n,
                                   .refs = t->refs,
                                   .flags = PEET_BLOCK_SIMPLE}};
        for (unsigned j = 0; j < n; j++) {
            t->refs[j] = (struct peet_ref){.insn = j,
                .size_bytes = (uint16_t)(1u << rig_random(seed, 5)),
                .value = (uint16_t)j,
                .kind = (uint8_t)rig_random(seed, rig_random(seed, 8) ? 3 : 4),
                .group = (uint8_t)rig_random(seed, 4)};
            t->distance[j] = (int64_t)rig_random(seed, 60) - 30;
            if (t->refs[j].kind == PEET_REF_MODIFY && !rig_random(seed, 3))
                t->refs[j].flags = PEET_REF_ATOMIC;
            t->block.reads += t->refs[j].kind == PEET_REF_LOAD;
            t->block.writes += t->refs[j].kind == PEET_REF_STORE;
            t->block.modifies += t->refs[j].kind == PEET_REF_MODIFY;
        }
    }
}

static void make_values(const struct template *t, uint64_t *seed, unsigned hw, uint64_t *values)
{
    uint64_t bases[4];
    for (unsigned g = 0; g < 4; g++)
        bases[g] = rig_random(seed, 3) ? 0x100000 * (hw + 1) + rig_random(seed, rig_random(seed, 3) ? 300 : 3000)
                                       : 0x1000 + rig_random(seed, 300);
    for (unsigned j = 0; j < t->block.nrefs; j++)
        values[j] = t->refs[j].group ? bases[t->refs[j].group] + (uint64_t)t->distance[j]
                                     : 0x100000 * (hw + 1) + rig_random(seed, 2000);
}

static void compare(const struct shape *s, const char *protocol, const char *allocate, const char *classify)
{
    struct rig fast, slow, *rigs[] = {&fast, &slow};
    static struct template templates[BLOCKS];
    uint64_t seed = 4711 + s->hws, batched = 0;
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(rig_open(rigs[i], s->hws, 5, "protocol", protocol, "allocate", allocate, "cache", s->cache,
                            "line", s->line, "ways", s->ways, "replacement", s->replacement, "arbitration",
                            s->arbitration, "cpi", s->cpi, "hit_cycles", s->hit, "classify", classify, "window_cycles",
                            "100", "check", i ? "on" : "off", NULL) == 0);
    make_templates(templates, &seed);
    for (unsigned i = 0; i < BATCHES; i++) {
        struct peet_block_event events[BATCH];
        uint64_t values[BATCH][REFS];
        size_t n = 1 + rig_random(&seed, BATCH), done;
        unsigned hw = 0;
        for (unsigned h = 1; h < s->hws; h++)
            hw = fast.clock[h] < fast.clock[hw] ? h : hw;
        for (size_t k = 0; k < n; k++) {
            const struct template *t = &templates[rig_random(&seed, BLOCKS)];
            make_values(t, &seed, hw, values[k]);
            events[k] = (struct peet_block_event){&t->block, values[k], hw, 1, NULL};
        }
        uint64_t until = rig_random(&seed, 2) ? fast.clock[hw] + rig_random(&seed, 300) : UINT64_MAX;
        for (unsigned h = 0; h < s->hws; h++) /* least clock first, ties by number */
            if (h != hw && fast.clock[h] + (hw < h) < until)
                until = fast.clock[h] + (hw < h);
        done = rig_blocks(&fast, hw, events, n, until);
        CU_ASSERT_FATAL(done > 0 && done <= n);
        for (size_t k = 0; k < done; k++) {
            CU_ASSERT(k == 0 || slow.clock[hw] < until);
            rig_event(&slow, hw, &events[k]);
        }
        CU_ASSERT(done == n || slow.clock[hw] >= until);
        batched += done > 1;
        if (memcmp(fast.clock, slow.clock, sizeof fast.clock)) {
            printf("%s, %u processors, cache %s line %s ways %s %s: different after batch %u\n", protocol, s->hws,
                s->cache, s->line, s->ways, s->replacement, i);
            CU_FAIL("different");
            break;
        }
    }
    CU_ASSERT(batched > BATCHES / 20);
    rig_finish(&fast);
    rig_finish(&slow);
    CU_ASSERT(json_equal(fast.stats, slow.stats));
    CU_ASSERT_EQUAL(fast.failures + slow.failures, 0);
    rig_close(&fast);
    rig_close(&slow);
}

static void test_batches(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            compare(&shapes[i], protocols[p][0], protocols[p][1], "on");
            compare(&shapes[i], protocols[p][0], protocols[p][1], "off");
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"blocks() and block()", test_batches}, CU_TEST_INFO_NULL};
    return run_suite("bus: batches", tests);
}
