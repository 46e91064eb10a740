/* SPDX-License-Identifier: Apache-2.0 */
/* simulators/common: the oldest of n against a search, windows against an array, the line map against itself far apart.
 */
#include <string.h>
#include "common/linemap.h"
#include "common/oldest.h"
#include "common/random.h"
#include "common/windows.h"
#include "rig.h"
#include "run_suite.h"

static uint64_t stamp_of(const void *stamps, uint32_t slot)
{
    return ((const uint64_t *)stamps)[slot];
}

static void test_oldest(void)
{
    for (unsigned n = 1; n <= 700; n = 3 * n + 1) {
        struct peet_sim_oldest q;
        struct peet_sim_oldest_scratch scratch;
        uint64_t stamps[800], now = 0, seed = n;
        CU_ASSERT_FATAL(!peet_sim_oldest_init(&q, n) && !peet_sim_oldest_scratch_init(&scratch, n));
        for (unsigned i = 0; i < n; i++)
            stamps[i] = now += 1 + rig_random(&seed, 1000000);
        for (unsigned i = 0; i < 20000; i++) {
            for (uint64_t uses = rig_random(&seed, 4); uses > 0; uses--)
                stamps[rig_random(&seed, n)] = ++now;
            unsigned oldest = 0;
            for (unsigned j = 1; j < n; j++)
                oldest = stamps[j] < stamps[oldest] ? j : oldest;
            uint32_t taken = peet_sim_oldest_take(&q, &scratch, stamp_of, stamps, now);
            CU_ASSERT_EQUAL(taken, oldest);
            stamps[taken] = ++now;
        }
        peet_sim_oldest_fini(&q);
        peet_sim_oldest_scratch_fini(&scratch);
    }
}

static void test_windows(void)
{
    static struct peet_sim_windows w;
    static unsigned char busy[1 << 20];
    uint64_t seed = 5, time = 0, sum = 0, total = 0;
    peet_sim_windows_init(&w, 10);
    for (;;) {
        uint64_t from = time + rig_random(&seed, 300), to = from + rig_random(&seed, 200);
        if (to > sizeof busy)
            break;
        if (rig_random(&seed, 2))
            peet_sim_windows_add(&w, from, to);
        else
            peet_sim_windows_go_on(&w, from, to);
        memset(busy + from, 1, to - from);
        total += to - from;
        time = to;
    }
    CU_ASSERT(w.width_cycles * PEET_SIM_WINDOWS_MAX >= time);
    CU_ASSERT(w.width_cycles * PEET_SIM_WINDOWS_MAX < 4 * time);
    CU_ASSERT_EQUAL(w.width_cycles % 10, 0);
    for (unsigned i = 0; i < w.used; i++) {
        uint64_t expected = 0;
        for (uint64_t t = i * w.width_cycles; t < (i + 1) * w.width_cycles && t < sizeof busy; t++)
            expected += busy[t];
        CU_ASSERT_EQUAL(w.busy_cycles[i], expected);
        sum += w.busy_cycles[i];
    }
    CU_ASSERT_EQUAL(sum, total);
}

struct visited {
    uint64_t found, strange;
};

static int visit(void *self, uint64_t line, void *of)
{
    struct visited *v = self;
    const uint64_t *record = of;
    if (record[0])
        *(record[0] == line + 1 && record[2] == ~line ? &v->found : &v->strange) += 1;
    return 0;
}

static int stop(void *self, uint64_t line, void *of)
{
    return ++*(int *)self == 5 ? 42 : 0;
}

static void test_linemap(void)
{
    struct visited visited = {0, 0};
    int stops = 0;
    uint64_t distinct = 0;
    struct peet_sim_linemap map;
    uint64_t seed = 1, lines[3000];
    peet_sim_linemap_init(&map, 24);
    for (unsigned i = 0; i < 3000; i++) {
        lines[i] = rig_random(&seed, 2) ? rig_random(&seed, 5000) * 7 : seed >> 2;
        uint64_t *record = peet_sim_linemap_get(&map, lines[i]);
        CU_ASSERT_FATAL(record && (record[0] == 0 || record[0] == lines[i] + 1));
        distinct += record[0] == 0;
        record[0] = lines[i] + 1;
        record[2] = ~lines[i];
    }
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t *record = peet_sim_linemap_get(&map, lines[i]);
        CU_ASSERT_EQUAL(record[0], lines[i] + 1);
        CU_ASSERT_EQUAL(record[1], 0);
        CU_ASSERT_EQUAL(record[2], ~lines[i]);
    }
    CU_ASSERT_EQUAL(peet_sim_linemap_each(&map, visit, &visited), 0);
    CU_ASSERT_EQUAL(visited.found, distinct);
    CU_ASSERT_EQUAL(visited.strange, 0);
    CU_ASSERT_EQUAL(peet_sim_linemap_each(&map, stop, &stops), 42);
    CU_ASSERT_EQUAL(stops, 5);
    peet_sim_linemap_fini(&map);
}

/* Records that are words, as the other way finds them. */
static void test_linemap_words(void)
{
    static struct peet_sim_linemap map;
    for (unsigned shift = 2; shift <= 3; shift++) {
        uint64_t seed = shift;
        peet_sim_linemap_init(&map, (size_t)1 << shift);
        for (unsigned i = 0; i < 3000; i++) {
            const uint64_t line = rig_random(&seed, 2) ? rig_random(&seed, 50000)
                : rig_random(&seed, 2)                 ? seed >> 2
                                                       : rig_random(&seed, 64) << 23;
            void *const record =
                shift == 3 ? (void *)peet_sim_linemap_long(&map, line) : (void *)peet_sim_linemap_word(&map, line);
            CU_ASSERT_PTR_NOT_NULL_FATAL(record);
            CU_ASSERT_PTR_EQUAL(record, peet_sim_linemap_get(&map, line));
            CU_ASSERT_PTR_EQUAL(record,
                shift == 3 ? (void *)peet_sim_linemap_long(&map, line) : (void *)peet_sim_linemap_word(&map, line));
        }
        peet_sim_linemap_fini(&map);
    }
}

static void test_random(void)
{
    uint64_t a = 1, b = 1, counts[10] = {0};
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t x = peet_sim_random_below(&a, 10);
        CU_ASSERT_EQUAL_FATAL(x, peet_sim_random_below(&b, 10));
        counts[x]++;
    }
    for (unsigned i = 0; i < 10; i++)
        CU_ASSERT(counts[i] > 9500 && counts[i] < 10500);
}

/** Chunks whose places in the memo are the same, or half of it apart, in all orders. */
static void test_linemap_places(void)
{
    enum { CHUNKS = 6, HALF = 1 << (PEET_SIM_LINEMAP_MEMO_BITS - 1), TURNS = 5000 };
    struct peet_sim_linemap map;
    uint64_t *records[CHUNKS] = {NULL}, line[CHUNKS], seed = 9;

    peet_sim_linemap_init(&map, sizeof(uint64_t) * 2);
    /* at the place of chunk 0 and half of the memo away, in turn */
    for (uint64_t i = 0, chunk = 0; i < CHUNKS; chunk++)
        if (peet__sim_linemap_memo(chunk) == (i % 2 ? HALF : 0)) {
            line[i] = (chunk << map.chunk_bits) + i;
            i++;
        }
    for (unsigned i = 0; i < TURNS; i++) {
        uint64_t which = rig_random(&seed, 1 + i / (TURNS / CHUNKS) % CHUNKS), *r;

        r = peet_sim_linemap_get(&map, line[which]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(r);
        if (!records[which])
            *(records[which] = r) = which + 1;
        CU_ASSERT_PTR_EQUAL(r, records[which]);
        CU_ASSERT_EQUAL(*r, which + 1);
    }
    CU_ASSERT_EQUAL(map.nchunks, CHUNKS);
    peet_sim_linemap_fini(&map);
}

int main(void)
{
    CU_TestInfo tests[] = {{"oldest", test_oldest}, {"windows", test_windows}, {"line map", test_linemap},
        {"line map of words", test_linemap_words}, {"places of the line map", test_linemap_places},
        {"random", test_random}, CU_TEST_INFO_NULL};
    return run_suite("simulators: common", tests);
}
