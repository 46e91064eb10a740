/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One processor: misses and write-backs against a brute-force cache written here from the definitions, for
 * random and strided streams through several geometries.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { MOST_LINES = 1024 };

/* A set is a row of ways.  LRU and FIFO keep the ways' tags in order of last use or filling; PLRU keeps places. */
struct model {
    unsigned line, ways, sets;
    char policy; /* l f p */
    uint64_t tag[MOST_LINES];
    int full[MOST_LINES], dirty[MOST_LINES];
    unsigned char tree[MOST_LINES][64]; /* per set: node -> side of the victim */
    uint64_t misses[2], write_backs, evictions;
};

static void plru_touch(unsigned char *tree, unsigned lo, unsigned n, unsigned node, unsigned way)
{
    if (n == 1)
        return;
    int right = way >= lo + n / 2;
    tree[node] = !right;
    plru_touch(tree, right ? lo + n / 2 : lo, n / 2, 2 * node + right, way);
}

static unsigned plru_choose(const unsigned char *tree, unsigned lo, unsigned n, unsigned node)
{
    if (n == 1)
        return lo;
    return plru_choose(tree, tree[node] ? lo + n / 2 : lo, n / 2, 2 * node + tree[node]);
}

/* Bring way @i of a set to the front of its row. */
static void to_front(struct model *m, unsigned set, unsigned i)
{
    unsigned at = set * m->ways;
    uint64_t tag = m->tag[at + i];
    int full = m->full[at + i], dirty = m->dirty[at + i];
    for (; i > 0; i--) {
        m->tag[at + i] = m->tag[at + i - 1];
        m->full[at + i] = m->full[at + i - 1];
        m->dirty[at + i] = m->dirty[at + i - 1];
    }
    m->tag[at] = tag;
    m->full[at] = full;
    m->dirty[at] = dirty;
}

static void model_touch(struct model *m, uint64_t address, int write)
{
    uint64_t line = address / m->line;
    unsigned set = (unsigned)(line % m->sets), at = set * m->ways, i;
    for (i = 0; i < m->ways; i++)
        if (m->full[at + i] && m->tag[at + i] == line)
            break;
    if (i == m->ways) {
        m->misses[write]++;
        if (m->policy == 'p') {
            for (i = 0; i < m->ways && m->full[at + i]; i++)
                ;
            if (i == m->ways)
                i = plru_choose(m->tree[set], 0, m->ways, 1);
        } else {
            i = m->ways - 1; /* the end of the row: free or oldest */
        }
        m->evictions += (uint64_t)m->full[at + i];
        m->write_backs += (uint64_t)(m->full[at + i] && m->dirty[at + i]);
        m->tag[at + i] = line;
        m->full[at + i] = 1;
        m->dirty[at + i] = write;
        if (m->policy == 'f') {
            to_front(m, set, i);
            return;
        }
    }
    m->dirty[at + i] |= write;
    if (m->policy == 'l')
        to_front(m, set, i);
    if (m->policy == 'p')
        plru_touch(m->tree[set], 0, m->ways, 1, i);
}

struct geometry {
    const char *cache, *line, *ways;
    unsigned bytes, line_bytes, nways;
};
static const struct geometry geometries[] = {
    {"1KiB", "16", "1", 1024, 16, 1},
    {"1KiB", "16", "2", 1024, 16, 2},
    {"2KiB", "8", "4", 2048, 8, 4},
    {"4KiB", "64", "8", 4096, 64, 8},
    {"1KiB", "32", "16", 1024, 32, 16},
    {"1KiB", "16", "0", 1024, 16, 64},  /* full */
    {"2KiB", "16", "32", 2048, 16, 32}, /* wide sets */
    {"768", "16", "2", 768, 16, 2},     /* 24 sets */
    {"1344", "16", "21", 1344, 16, 21}, /* 4 sets of 21 */
    {"16", "16", "1", 16, 16, 1},       /* one line */
    {"64", "4", "1", 64, 4, 1},
    {"64KiB", "512", "4", 65536, 512, 4},
};

/* The stream: mixtures of strides, random addresses, straddling references. */
static uint64_t next_address(uint64_t *seed, int kind, unsigned i, unsigned bytes)
{
    switch (kind) {
    case 0:
        return 0x10000 + rig_random(seed, 3 * bytes);
    case 1:
        return 0x7ffff000 + (uint64_t)i * 8 % (2 * bytes);
    case 2:
        return 0x20000 + (uint64_t)i * 72 % (5 * bytes);
    default: /* mostly near, sometimes far */
        return rig_random(seed, 8) ? 0x40000000 + rig_random(seed, bytes / 2 + 1) : rig_random(seed, 1ull << 44);
    }
}

static void run_against_model(const struct geometry *g, const char *policy, const char *protocol)
{
    for (int kind = 0; kind < 4; kind++) {
        static struct model m;
        struct rig rig;
        uint64_t seed = 88172645463325252u + (unsigned)kind;
        memset(&m, 0, sizeof m);
        m.line = g->line_bytes;
        m.ways = g->nways;
        m.sets = g->bytes / g->line_bytes / g->nways;
        m.policy = policy[0];
        CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "cache", g->cache, "line", g->line, "ways", g->ways, "replacement", policy,
                            "protocol", protocol, NULL) == 0);
        for (unsigned i = 0; i < 20000 / TEST_SHARE; i++) {
            struct rig_ref refs[3];
            unsigned n = 1 + (unsigned)rig_random(&seed, 3);
            for (unsigned j = 0; j < n; j++) {
                uint64_t address = next_address(&seed, kind, 3 * i + j, g->bytes);
                unsigned size = 1u << rig_random(&seed, 4);
                int modify = !rig_random(&seed, 10), write = !rig_random(&seed, 3);
                refs[j] = (struct rig_ref){modify ? PEET_REF_MODIFY
                        : write                   ? PEET_REF_STORE
                                                  : PEET_REF_LOAD,
                    address, size, 0, 0};
                uint64_t first = address / g->line_bytes, last = (address + size - 1) / g->line_bytes;
                for (uint64_t line = first; line <= last; line++) {
                    if (modify || !write)
                        model_touch(&m, line * g->line_bytes, 0);
                    if (modify || write)
                        model_touch(&m, line * g->line_bytes, 1);
                }
            }
            rig_block(&rig, 0, refs, n, 0);
        }
        rig_finish(&rig);
        CU_ASSERT_EQUAL(rig.failures, 0);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.read_misses"), m.misses[0]);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.write_misses"), m.misses[1]);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.evictions_lines"), m.evictions);
        if (strcmp(protocol, "write-once")) /* there the first write of a line leaves memory up to date */
            CU_ASSERT_EQUAL(rig_u64(&rig, "totals.write_backs_lines"), m.write_backs);
        rig_close(&rig);
    }
}

static void test_lru(void)
{
    for (unsigned i = 0; i < sizeof geometries / sizeof *geometries; i++)
        run_against_model(&geometries[i], "lru", i % 2 ? "berkeley" : "illinois");
}

static void test_fifo(void)
{
    for (unsigned i = 0; i < sizeof geometries / sizeof *geometries; i++)
        run_against_model(&geometries[i], "fifo", i % 2 ? "dragon" : "msi");
}

static void test_plru(void)
{
    for (unsigned i = 0; i < sizeof geometries / sizeof *geometries; i++)
        if (!(geometries[i].nways & (geometries[i].nways - 1)))
            run_against_model(&geometries[i], "plru", i % 2 ? "moesi" : "synapse");
}

static void test_every_protocol(void)
{
    static const char *const names[] = {
        "write-once", "synapse", "berkeley", "illinois", "mesi", "msi", "moesi", "firefly", "dragon"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        run_against_model(&geometries[1], "lru", names[i]);
}

/* Random replacement: the same seed gives the same misses, another seed others; a direct-mapped cache has no choice.
 * Cycling through more lines than there are frames never hits under LRU; under random replacement a line survives
 * each miss with probability 1 - 1/frames. */
static uint64_t cycle_misses(const char *policy, uint64_t seed, unsigned lines, unsigned rounds)
{
    struct rig rig;
    CU_ASSERT_FATAL(rig_open(&rig, 1, seed, "cache", "1KiB", "line", "16", "ways", "0", "replacement", policy, NULL) ==
        0);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < lines; i++)
            rig_read(&rig, 0, 0x1000 + 16 * i, 4);
    rig_finish(&rig);
    uint64_t misses = rig_u64(&rig, "totals.read_misses");
    rig_close(&rig);
    return misses;
}

static void test_random(void)
{
    enum { LINES = 128, FRAMES = 64, ROUNDS = 2000 };
    uint64_t a = cycle_misses("random", 1, LINES, ROUNDS), b = cycle_misses("random", 1, LINES, ROUNDS);
    uint64_t c = cycle_misses("random", 2, LINES, ROUNDS);
    CU_ASSERT_EQUAL(a, b);
    CU_ASSERT_NOT_EQUAL(a, c);
    CU_ASSERT_EQUAL(cycle_misses("lru", 1, LINES, 10), LINES * 10);
    /* A line survives each miss with 1 - 1/n; there are about LINES * m misses until its next use, m the miss ratio. */
    double m = 0.5;
    for (int i = 0; i < 1000; i++) {
        double survive = 1;
        for (double k = LINES * m; k >= 1; k -= 1)
            survive *= 1 - 1.0 / FRAMES;
        m = 0.9 * m + 0.1 * (1 - survive);
    }
    double measured = (double)a / (LINES * ROUNDS);
    CU_ASSERT_DOUBLE_EQUAL(measured, m, 0.02);
    printf("miss ratio %.4f, expected %.4f ", measured, m);
}

/* Write-through: every write is one word write on the bus, no line is ever written back. */
static void test_through(void)
{
    for (int allocate = 0; allocate < 2; allocate++) {
        struct rig rig;
        uint64_t seed = 7, writes = 0, read_misses = 0, write_misses = 0;
        int present[64] = {0}; /* direct-mapped, 64 frames: line held + 1 */
        CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "protocol", "through", "allocate", allocate ? "yes" : "no", "cache",
                            "1KiB", "line", "16", "ways", "1", NULL) == 0);
        for (unsigned i = 0; i < 20000 / TEST_SHARE; i++) {
            int line = (int)rig_random(&seed, 150), write = rig_random(&seed, 2) != 0;
            int hit = present[line % 64] == line + 1;
            writes += (uint64_t)write;
            read_misses += (uint64_t)(!hit && !write);
            write_misses += (uint64_t)(!hit && write);
            if (!write || allocate)
                present[line % 64] = line + 1;
            write ? rig_write(&rig, 0, 16u * (unsigned)line, 4) : rig_read(&rig, 0, 16u * (unsigned)line, 4);
        }
        rig_finish(&rig);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.read_misses"), read_misses);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.write_misses"), write_misses);
        CU_ASSERT_EQUAL(rig_u64(&rig, "memory.writes_words"), writes);
        CU_ASSERT_EQUAL(rig_u64(&rig, "bus.transactions.write_word"), writes);
        CU_ASSERT_EQUAL(rig_u64(&rig, "totals.write_backs_lines"), 0);
        CU_ASSERT_EQUAL(rig_u64(&rig, "memory.reads_lines"), read_misses + (allocate ? write_misses : 0));
        rig_close(&rig);
    }
}

/* Ranges, conditionals and prefetches. */
static void test_shapes(void)
{
    struct rig rig;
    CU_ASSERT_FATAL(rig_open(&rig, 1, 1, "cache", "1KiB", "line", "16", NULL) == 0);
    struct rig_ref refs[] = {
        {PEET_REF_STORE, 0x1004, 8, PEET_REF_RANGE, 10},        /* 80 bytes: lines 0x100..0x105; 5 elements straddle */
        {PEET_REF_LOAD, 0x2000, 4, PEET_REF_CONDITIONAL, 0},    /* did not happen */
        {PEET_REF_LOAD, 0x3000, 4, PEET_REF_CONDITIONAL, 0xff}, /* did, once */
        {PEET_REF_PREFETCH, 0x4000, 64, 0, 0},
        {PEET_REF_LOAD, 0x5000, 8, PEET_REF_RANGE, 0}, /* no element */
    };
    rig_block(&rig, 0, refs, 5, 0);
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.writes"), 10 + 5);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.write_misses"), 6);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.reads"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.read_misses"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.hits"), 15 + 1 - 7);
    rig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"LRU", test_lru}, {"FIFO", test_fifo}, {"tree PLRU", test_plru},
        {"every protocol", test_every_protocol}, {"random", test_random}, {"write-through", test_through},
        {"ranges, conditionals, prefetches", test_shapes}, CU_TEST_INFO_NULL};
    return run_suite("bus: one processor", tests);
}
