/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of misses against the definitions, evaluated by brute force: for every cache a set-associative and a
 * fully associative LRU list, and for every grain the time at which each processor wrote it last.
 */
#include <stdio.h>
#include <string.h>
#include "rig.h"
#include "run_suite.h"

enum { LINES = 256, GRAINS = 8, LINE_BYTES = 32, HWS = 5, FRAMES = 32 };

struct list { /* most recent first */
    int n, line[FRAMES];
};

struct model {
    unsigned sets, ways;
    int invalidating, synapse;
    uint64_t time;
    struct list set[HWS][FRAMES], full[HWS];
    int seen[HWS][LINES], lost[HWS][LINES], owner[LINES]; /* owner + 1 */
    uint64_t lost_at[HWS][LINES], wrote_at[LINES][GRAINS][HWS];
    uint64_t kinds[HWS][MISS_KINDS];
};

static int list_find(const struct list *l, int line)
{
    for (int i = 0; i < l->n; i++)
        if (l->line[i] == line)
            return i;
    return -1;
}

static void list_remove(struct list *l, int line)
{
    int i = list_find(l, line);
    if (i < 0)
        return;
    memmove(l->line + i, l->line + i + 1, (size_t)(l->n - i - 1) * sizeof *l->line);
    l->n--;
}

static void list_use(struct list *l, int line, int most)
{
    list_remove(l, line);
    if (l->n == most)
        l->n--;
    memmove(l->line + 1, l->line, (size_t)l->n * sizeof *l->line);
    l->line[0] = line;
    l->n++;
}

static void lose(struct model *m, int hw, int line)
{
    struct list *set = &m->set[hw][(unsigned)line % m->sets];
    if (list_find(set, line) < 0)
        return;
    list_remove(set, line);
    m->lost[hw][line] = 1;
    m->lost_at[hw][line] = m->time;
}

static void model_touch(struct model *m, int hw, int line, int first, int last, int write)
{
    struct list *set = &m->set[hw][(unsigned)line % m->sets];
    m->time++;
    if (list_find(set, line) < 0) {
        enum bus_miss kind = MISS_CAPACITY;
        if (!m->seen[hw][line]) {
            kind = MISS_COLD;
        } else if (m->lost[hw][line]) {
            kind = MISS_FALSE_SHARING;
            for (int g = first; g <= last; g++)
                for (int other = 0; other < HWS; other++)
                    if (other != hw && m->wrote_at[line][g][other] >= m->lost_at[hw][line])
                        kind = MISS_TRUE_SHARING;
        } else if (list_find(&m->full[hw], line) >= 0) {
            kind = MISS_CONFLICT;
        }
        m->kinds[hw][kind]++;
        m->seen[hw][line] = 1;
        m->lost[hw][line] = 0;
        if (m->synapse && m->owner[line] && m->owner[line] != hw + 1) {
            lose(m, m->owner[line] - 1, line);
            m->owner[line] = 0;
        }
    }
    if (set->n == (int)m->ways && list_find(set, line) < 0 && m->owner[set->line[set->n - 1]] == hw + 1)
        m->owner[set->line[set->n - 1]] = 0;
    list_use(set, line, (int)m->ways);
    list_use(&m->full[hw], line, FRAMES);
    if (!write)
        return;
    for (int other = 0; other < HWS; other++)
        if (other != hw && m->invalidating)
            lose(m, other, line);
    m->owner[line] = hw + 1;
    for (int g = first; g <= last; g++)
        m->wrote_at[line][g][hw] = m->time;
}

static void run(const char *protocol, const char *ways, unsigned nways, unsigned spread)
{
    static struct model m;
    struct rig rig;
    uint64_t seed = 12345 + nways + spread;
    memset(&m, 0, sizeof m);
    m.ways = nways;
    m.sets = FRAMES / nways;
    m.invalidating = strcmp(protocol, "dragon") && strcmp(protocol, "firefly");
    m.synapse = !strcmp(protocol, "synapse");
    CU_ASSERT_FATAL(rig_open(&rig, HWS, 1, "protocol", protocol, "cache", "1KiB", "line", "32", "ways", ways, NULL) ==
        0);
    for (int i = 0; i < 60000 / TEST_SHARE; i++) {
        int hw = (int)rig_random(&seed, HWS), write = !rig_random(&seed, 3);
        /* a part that all share, a part for each */
        uint64_t line =
            rig_random(&seed, 2) ? rig_random(&seed, 20) : 20 + (unsigned)hw * spread + rig_random(&seed, spread);
        uint64_t address = line * LINE_BYTES + rig_random(&seed, LINE_BYTES);
        unsigned size = 1u << rig_random(&seed, 4);
        for (uint64_t at = address, end = address + size; at < end;) {
            uint64_t stop = at / LINE_BYTES * LINE_BYTES + LINE_BYTES;
            stop = stop < end ? stop : end;
            model_touch(&m, hw, (int)(at / LINE_BYTES), (int)(at % LINE_BYTES / 4), (int)((stop - 1) % LINE_BYTES / 4),
                write);
            at = stop;
        }
        write ? rig_write(&rig, (unsigned)hw, address, size) : rig_read(&rig, (unsigned)hw, address, size);
    }
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig.failures, 0);
    for (unsigned hw = 0; hw < HWS; hw++) {
        static const char *const names[] = {"cold", "capacity", "conflict", "true_sharing", "false_sharing"};
        for (unsigned k = 0; k < MISS_KINDS; k++) {
            char path[100];
            snprintf(path, sizeof path, "caches.%u.misses_by_kind.%s", hw, names[k]);
            uint64_t value = rig_u64(&rig, path);
            if (value != m.kinds[hw][k])
                printf("%s ways=%s %s: %llu, expected %llu\n", protocol, ways, path, (unsigned long long)value,
                    (unsigned long long)m.kinds[hw][k]);
            CU_ASSERT_EQUAL(value, m.kinds[hw][k]);
        }
    }
    rig_close(&rig);
}

static void test_kinds(void)
{
    static const char *const protocols[] = {
        "berkeley", "illinois", "msi", "moesi", "write-once", "synapse", "firefly", "dragon"};
    for (unsigned i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        run(protocols[i], "1", 1, 40);
        run(protocols[i], "2", 2, 12);
        run(protocols[i], "4", 4, 40);
        run(protocols[i], "0", FRAMES, 30);
    }
}

/* By hand: two processors on two words of one line, and on one word. */
static void test_by_hand(void)
{
    struct rig rig;
    CU_ASSERT_FATAL(rig_open(&rig, 2, 1, "protocol", "berkeley", "cache", "1KiB", "line", "32", NULL) == 0);
    rig_read(&rig, 0, 0x100, 4);  /* cold */
    rig_write(&rig, 1, 0x104, 4); /* cold */
    rig_read(&rig, 0, 0x100, 4);  /* false: 0x104 was written */
    rig_write(&rig, 1, 0x104, 4);
    rig_write(&rig, 1, 0x100, 4); /* owned by now: without the bus */
    rig_read(&rig, 0, 0x100, 4);  /* true */
    rig_write(&rig, 0, 0x110, 4);
    rig_read(&rig, 1, 0x100, 8); /* false: only 0x110 was written */
    rig_finish(&rig);
    CU_ASSERT_EQUAL(rig_u64(&rig, "caches.0.misses_by_kind.cold"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "caches.1.misses_by_kind.cold"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "caches.0.misses_by_kind.false_sharing"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "caches.0.misses_by_kind.true_sharing"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "caches.1.misses_by_kind.false_sharing"), 1);
    CU_ASSERT_EQUAL(rig_u64(&rig, "totals.misses"), 5);
    rig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"by hand", test_by_hand}, {"against the definitions", test_kinds}, CU_TEST_INFO_NULL};
    return run_suite("bus: kinds of misses", tests);
}
