/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory and snooping bus agree: random streams, one level of caches, the same order of references.  Processor by
 * processor the same misses, upgrades, invalidations and replacements, and for the same reasons; two simulators that
 * share no line of protocol.
 */
#include "memrig.h"
#include "rig.h"
#include "run_suite.h"

struct shape {
    const char *x86_protocol, *bus_protocol;
    unsigned cores;
    uint64_t bytes, line, ways;
    unsigned shared, own; /* lines */
};

static const struct shape shapes[] = {
    {"mesi", "illinois", 2, 1024, 16, 1, 40, 60},
    {"mesi", "illinois", 4, 2048, 64, 2, 30, 40},
    {"mesi", "illinois", 16, 4096, 32, 4, 200, 100},
    {"mesi", "illinois", 7, 1536, 64, 3, 30, 0},
    {"mesi", "illinois", 3, 32768, 128, 8, 100, 300},
    {"moesi", "moesi", 4, 2048, 64, 2, 30, 40},
    {"moesi", "moesi", 12, 4096, 32, 4, 100, 100},
    {"mesi", "illinois", 64, 2048, 64, 4, 50, 10},
};

static void one(const struct shape *s, const char *extra)
{
    char bytes[32], line[32], ways[32], settings[300];
    static struct rig bus;
    struct memrig x86;
    uint64_t seed = 31 + s->cores, causes[MISS_KINDS] = {0}, misses = 0;

    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)s->bytes);
    snprintf(line, sizeof line, "%llu", (unsigned long long)s->line);
    snprintf(ways, sizeof ways, "%llu", (unsigned long long)s->ways);
    CU_ASSERT_FATAL(!rig_open(&bus, s->cores, 1, "protocol", s->bus_protocol, "cache", bytes, "line", line, "ways",
        ways, "replacement", "lru", "fetch", "off", "classify", "on", NULL));
    snprintf(settings, sizeof settings,
        "levels=l1 translation=off latency=off l1d_prefetch=none l1_replacement=lru protocol=%s l1d_bytes=%s "
        "line_bytes=%s l1d_ways=%s classify=on %s",
        s->x86_protocol, bytes, line, ways, extra);
    memrig_init(&x86);
    memrig_set(&x86, settings);
    x86.env.reports = ~0u;
    CU_ASSERT_FATAL(!memrig_open(&x86, s->cores));
    for (unsigned i = 0; i < 60000; i++) {
        unsigned core = (unsigned)memrig_random(&seed, s->cores), what = (unsigned)memrig_random(&seed, 10);
        uint64_t address = s->own && memrig_random(&seed, 2)
            ? 0x1000000ull * (core + 1) + memrig_random(&seed, s->own * s->line / 4) * 4
            : 0x100000 + memrig_random(&seed, s->shared * s->line / 4) * 4;

        if (what < 6) {
            rig_read(&bus, core, address, 4);
            memrig_access(&x86, core, address, 4, X86_LOAD, i);
        } else if (what < 9) {
            rig_write(&bus, core, address, 4);
            memrig_access(&x86, core, address, 4, X86_STORE, i);
        } else {
            struct rig_ref ref = {PEET_REF_MODIFY, address, 4, PEET_REF_ATOMIC, 0};

            rig_block(&bus, core, &ref, 1, 0);
            memrig_access(&x86, core, address, 4, X86_MODIFY, i);
        }
    }
    CU_ASSERT(x86_memory_check(x86.memory));
    for (unsigned c = 0; c < s->cores; c++) {
        const struct cache_stats *a = &bus.bus->caches[c].stats;
        const struct x86_level_stats *b = &x86.memory->cores[c].l1d.stats;

        CU_ASSERT_EQUAL(a->read_misses + a->write_misses, b->read_misses + b->write_misses);
        CU_ASSERT_EQUAL(a->read_misses, b->read_misses);
        CU_ASSERT_EQUAL(a->upgrades, b->upgrades);
        CU_ASSERT_EQUAL(a->invalidations_received, b->invalidations);
        CU_ASSERT_EQUAL(a->evictions, b->evictions);
        CU_ASSERT_EQUAL(a->kinds[MISS_COLD], b->causes[PEET_MISS_COLD]);
        CU_ASSERT_EQUAL(a->kinds[MISS_CAPACITY], b->causes[PEET_MISS_CAPACITY]);
        CU_ASSERT_EQUAL(a->kinds[MISS_CONFLICT], b->causes[PEET_MISS_CONFLICT]);
        CU_ASSERT_EQUAL(a->kinds[MISS_TRUE_SHARING], b->causes[PEET_MISS_TRUE_SHARING]);
        misses += a->read_misses + a->write_misses;
        for (unsigned k = 0; k < MISS_KINDS; k++)
            causes[k] += a->kinds[k];
    }
    CU_ASSERT_EQUAL(causes[MISS_COLD], x86.misses[1][PEET_MISS_COLD]);
    CU_ASSERT_EQUAL(causes[MISS_TRUE_SHARING], x86.misses[1][PEET_MISS_TRUE_SHARING]);
    CU_ASSERT_EQUAL(causes[MISS_FALSE_SHARING], x86.misses[1][PEET_MISS_FALSE_SHARING]);
    CU_ASSERT_EQUAL(causes[MISS_CAPACITY], x86.misses[1][PEET_MISS_CAPACITY]);
    CU_ASSERT_EQUAL(causes[MISS_CONFLICT], x86.misses[1][PEET_MISS_CONFLICT]);
    CU_ASSERT(misses > 3000);
    CU_ASSERT(causes[MISS_FALSE_SHARING] > 100);
    CU_ASSERT(!bus.failures && !x86.failures);
    memrig_close(&x86);
    rig_close(&bus);
}

static void test_agree(void)
{
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        one(&shapes[i], "");
}

/* A second and third level behind it, large enough, and nothing changes for the first. */
static void test_levels_behind(void)
{
    for (unsigned i = 0; i < 4; i++) {
        one(&shapes[i], "levels=l1l3 l3_slice_bytes=1048576 l3_policy=inclusive");
        one(&shapes[i], "levels=l1l3 l3_slice_bytes=4096 l3_ways=4 l3_policy=noninclusive");
        one(&shapes[i], "levels=l1l3 l3_slice_bytes=4096 l3_ways=4 l3_policy=exclusive");
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"one level", test_agree}, {"with levels behind", test_levels_behind}, CU_TEST_INFO_NULL};

    return run_suite("x86: directory and bus agree", tests);
}
