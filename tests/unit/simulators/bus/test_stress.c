/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processors at random, with the invariant checker on: every protocol, 2 to 16 caches, references of every
 * shape.  The same streams once more without the checker, that is through the fast path, must give the same
 * times and the same statistics.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

struct setup {
    const char *protocol, *allocate;
    unsigned hws;
    const char *cache, *line, *ways, *replacement, *fetch, *arbitration;
};

static const char *const protocols[][2] = {RIG_PROTOCOLS};
enum { NPROTOCOLS = sizeof protocols / sizeof *protocols, BLOCKS = 1200 / TEST_SHARE };

static const struct setup shapes[] = {
    {NULL, NULL, 2, "256", "16", "1", "lru", "off", "fcfs"},
    {NULL, NULL, 3, "512", "8", "2", "lru", "unified", "rr"},
    {NULL, NULL, 5, "1KiB", "64", "4", "fifo", "split", "fixed"},
    {NULL, NULL, 8, "2KiB", "32", "0", "lru", "off", "rr"},
    {NULL, NULL, 16, "1KiB", "16", "8", "lru", "off", "fcfs"},
    {NULL, NULL, 7, "768", "16", "2", "random", "off", "fixed"},
    {NULL, NULL, 16, "512", "512", "1", "lru", "off", "fcfs"},
    {NULL, NULL, 4, "1KiB", "16", "4", "plru", "split", "fcfs"},
    {NULL, NULL, 6, "640", "4", "0", "fifo", "off", "rr"},
    {NULL, NULL, 6, "1280", "4", "20", "random", "unified", "fcfs"},
};

/* Some private, some shared lines; least clock first, as peet's mapper does it. */
static void play(struct rig *rig, unsigned blocks, unsigned hws)
{
    uint64_t seed = 4711;
    for (unsigned i = 0; i < blocks && !rig->failures; i++) {
        unsigned hw = 0, n = 1 + (unsigned)rig_random(&seed, 6);
        struct rig_ref refs[8];
        for (unsigned h = 1; h < hws; h++)
            hw = rig->clock[h] < rig->clock[hw] ? h : hw;
        for (unsigned j = 0; j < n; j++) {
            static const enum peet_ref_kind kinds[] = {PEET_REF_LOAD, PEET_REF_LOAD, PEET_REF_LOAD, PEET_REF_STORE,
                PEET_REF_STORE, PEET_REF_MODIFY, PEET_REF_PREFETCH};
            uint64_t shared = 0x1000 + rig_random(&seed, 600), own = 0x100000 * (hw + 1) + rig_random(&seed, 3000);
            refs[j] = (struct rig_ref){
                kinds[rig_random(&seed, 7)], rig_random(&seed, 3) ? own : shared, 1u << rig_random(&seed, 7), 0, 0};
            if (!rig_random(&seed, 20)) {
                refs[j].flags = rig_random(&seed, 2) ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
                refs[j].count = rig_random(&seed, 20);
            } else if (refs[j].kind == PEET_REF_MODIFY && rig_random(&seed, 2)) {
                refs[j].flags = PEET_REF_ATOMIC;
            }
        }
        rig_block(rig, hw, refs, n, (unsigned)rig_random(&seed, 5));
    }
    rig_finish(rig);
}

static int open_setup(struct rig *rig, const struct setup *s, const char *classify, const char *check)
{
    return rig_open(rig, s->hws, 5, "protocol", s->protocol, "allocate", s->allocate, "cache", s->cache, "line",
        s->line, "ways", s->ways, "replacement", s->replacement, "fetch", s->fetch, "arbitration", s->arbitration,
        "cpi", "1.3", "classify", classify, "check", check, NULL);
}

static void test_invariants(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            struct setup s = shapes[i];
            struct rig rig;
            s.protocol = protocols[p][0];
            s.allocate = protocols[p][1];
            CU_ASSERT_FATAL(open_setup(&rig, &s, "on", "on") == 0);
            play(&rig, BLOCKS, s.hws);
            if (rig.failures)
                printf("%s, %u caches, shape %u: %s\n", s.protocol, s.hws, i, rig.failure);
            CU_ASSERT_EQUAL(rig.failures, 0);
            CU_ASSERT_EQUAL(rig.bus->checker->violations, 0);
            CU_ASSERT(rig.bus->checker->checks > BLOCKS);
            uint64_t misses = rig_u64(&rig, "totals.misses"), sum = 0;
            const char *key;
            json_t *value;
            json_object_foreach(rig_node(&rig, "totals.misses_by_kind"), key, value) sum +=
                (uint64_t)json_integer_value(value);
            CU_ASSERT_EQUAL(misses, sum);
            CU_ASSERT_EQUAL(rig_u64(&rig, "totals.invalidations_sent_lines"),
                rig_u64(&rig, "totals.invalidations_received_lines"));
            CU_ASSERT_EQUAL(rig_u64(&rig, "totals.updates_sent_lines"), rig_u64(&rig, "totals.updates_received_lines"));
            CU_ASSERT_EQUAL(rig_u64(&rig, "totals.supplied_lines"), rig_u64(&rig, "memory.cache_to_cache_lines"));
            CU_ASSERT_EQUAL(rig_u64(&rig, "bus.transactions.read") + rig_u64(&rig, "bus.transactions.read_exclusive"),
                rig_u64(&rig, "memory.cache_to_cache_lines") + rig_u64(&rig, "memory.reads_lines"));
            const char *const ops[] = {
                "read", "read_exclusive", "invalidate", "write_word", "update", "write_back", "refused"};
            for (unsigned op = sum = 0; op < sizeof ops / sizeof *ops; op++)
                sum += (uint64_t)json_integer_value(json_object_get(rig_node(&rig, "bus.transactions"), ops[op]));
            CU_ASSERT_EQUAL(rig_u64(&rig, "bus.transactions.total"), sum);
            CU_ASSERT_EQUAL(rig_u64(&rig, "bus.transactions.write_back"),
                rig_u64(&rig, "totals.write_backs_lines") + rig_u64(&rig, "totals.refused_write_backs_lines"));
            rig_close(&rig);
        }
}

static void test_same_without(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned p = 0; p < NPROTOCOLS; p++) {
            struct setup s = shapes[i];
            struct rig with, without, plain;
            s.protocol = protocols[p][0];
            s.allocate = protocols[p][1];
            CU_ASSERT_FATAL(open_setup(&with, &s, "on", "on") == 0 && open_setup(&without, &s, "on", "off") == 0 &&
                open_setup(&plain, &s, "off", "off") == 0);
            play(&with, BLOCKS, s.hws);
            play(&without, BLOCKS, s.hws);
            play(&plain, BLOCKS, s.hws);
            CU_ASSERT(json_equal(with.stats, without.stats));
            CU_ASSERT_EQUAL(memcmp(with.clock, plain.clock, sizeof with.clock), 0);
            CU_ASSERT_EQUAL(rig_u64(&with, "totals.misses"), rig_u64(&plain, "totals.misses"));
            CU_ASSERT(json_equal(rig_node(&with, "bus"), rig_node(&plain, "bus")));
            rig_close(&with);
            rig_close(&without);
            rig_close(&plain);
        }
}

/* More caches than there are bits in a word. */
static void test_many(void)
{
    struct rig rig;
    CU_ASSERT_FATAL(rig_open(&rig, RIG_HWS, 1, "cache", "256", "line", "16", "fetch", "split", "check", "on", NULL) ==
        0);
    play(&rig, 20000, RIG_HWS);
    CU_ASSERT_EQUAL(rig.failures, 0);
    rig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"invariants", test_invariants}, {"the same without the checker", test_same_without},
        {"many caches", test_many}, CU_TEST_INFO_NULL};
    return run_suite("bus: many processors", tests);
}
