/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrack and what a machine reports: small caches kept by the test itself, whose misses, evictions and invalidations
 * are counted here once more, access by access.  Premature evictions by a search through all evictions; sharing by
 * scenarios whose outcome is known.
 */
#include "dtrack_rig.h"
#include "run_suite.h"

enum { LINE = 64, HWS = 4, SETS = 8, EVENTS = 30000 };

/** Direct-mapped caches, write-invalidate. */
struct machine {
    struct drig *rig;
    uint64_t tags[HWS][SETS]; /* line address, 0: empty */
    uint8_t exclusive[HWS][SETS];
    struct peet_block blocks[8];
    struct peet_insn insns[8];
    struct peet_ref refs[8];
    struct peet_function function;
    uint64_t misses[DRIG_DATA], evictions[DRIG_DATA], invalidations[DRIG_DATA], stalls[DRIG_DATA], upgrades[DRIG_DATA];
    int fills; /* a miss and what it drives out is one report */
};

static uint32_t data_at(struct machine *m, uint64_t address)
{
    return drig_data_of(&m->rig->env, address, NULL)->id;
}

static void tell(struct machine *m, const struct peet_memory_event *e)
{
    peet_module.memory(m->rig->self, e, 1);
}

static void machine_init(struct machine *m, struct drig *rig)
{
    memset(m, 0, sizeof *m);
    m->rig = rig;
    m->function = (struct peet_function){.name = "work", .file = "work.c", .image = ""};
    for (uint32_t i = 0; i < 8; i++) {
        m->insns[i] = (struct peet_insn){.line = 100 + i};
        m->refs[i] = (struct peet_ref){.size_bytes = 4, .kind = i & 1 ? PEET_REF_STORE : PEET_REF_LOAD};
        m->blocks[i] = (struct peet_block){.function = &m->function,
            .id = i,
            .ninsns = 1,
            .nrefs = 1,
            .nvalues = 1,
            .insns = &m->insns[i],
            .refs = &m->refs[i],
            .flags = PEET_BLOCK_SIMPLE,
            .line = 100 + i};
    }
}

/** Reads by even blocks, writes by odd ones. */
static void touch(struct machine *m, unsigned hw, unsigned block, uint64_t address)
{
    const uint64_t line = address & -(uint64_t)LINE;
    const unsigned set = line / LINE % SETS;
    const int write = block & 1;
    struct peet_block_event event = {&m->blocks[block], &address, hw, 1, NULL};
    struct peet_memory_event e = {.level = 1,
        .hw = hw,
        .other = PEET_MEMORY_NOBODY,
        .address = address,
        .size_bytes = 4,
        .by = address,
        .flags = write ? PEET_MEMORY_STORE : 0,
        .block = event.block};
    const uint64_t was = m->tags[hw][set];
    int had = was == line;

    if (!had && was) {
        e.type = PEET_MEMORY_EVICT;
        e.address = was;
        if (!m->fills)
            tell(m, &e);
        m->evictions[data_at(m, address)]++;
    }
    for (unsigned o = 0; o < HWS; o++)
        if (o != hw && m->tags[o][set] == line) {
            m->exclusive[o][set] = 0;
            if (!write)
                continue;
            e.type = PEET_MEMORY_INVALIDATE;
            e.hw = o;
            e.other = hw;
            e.address = line;
            tell(m, &e);
            m->tags[o][set] = 0;
            m->invalidations[data_at(m, address)]++;
        }
    e.hw = hw;
    e.other = PEET_MEMORY_NOBODY;
    e.address = address;
    if (!had || (write && !m->exclusive[hw][set])) {
        e.type = PEET_MEMORY_MISS;
        e.cause = had ? PEET_MISS_UPGRADE : PEET_MISS_UNKNOWN;
        e.cycles = 10;
        (had ? m->upgrades : m->misses)[data_at(m, address)]++;
        if (m->fills && !had) {
            e.type = PEET_MEMORY_FILL;
            e.flags |= was ? PEET_MEMORY_FILL_GONE : 0;
            e.by = was;
            m->stalls[data_at(m, address)] += 3; /* all 10 of them are a stall's */
        }
        tell(m, &e);
        e.type = PEET_MEMORY_STALL;
        e.cycles = 7;
        e.level = 2;
        if (!m->fills || had)
            tell(m, &e);
        m->stalls[data_at(m, address)] += 7;
    }
    m->tags[hw][set] = line;
    m->exclusive[hw][set] = (uint8_t)write;
    peet_module.block(m->rig->self, hw, &event, 0);
}

static void books(int fills)
{
    struct drig rig;
    struct machine m;
    uint64_t seed = 3, all[4] = {0};

    drig_init(&rig, HWS, LINE, SETS * LINE, 0, 0);
    for (unsigned i = 2; i < 8; i++) {
        drig_structure(&rig, PEET_DATA_GLOBAL, "x");
        drig_object(&rig, i, 0x10000 + 1000 * (uint64_t)i, 1000); /* not by lines: some lines have two structures */
    }
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    machine_init(&m, &rig);
    m.fills = fills;
    for (unsigned i = 0; i < EVENTS; i++)
        touch(&m, (unsigned)drig_random(&seed, HWS), (unsigned)drig_random(&seed, 8),
            0x10000 + 2000 + drig_random(&seed, 1600) * 4);
    drig_finish(&rig);
    for (uint32_t d = 0; d < rig.ndata; d++) {
        json_t *o = drig_of(&rig, d);
        const json_t *l = drig_level(o, 0);

        CU_ASSERT_EQUAL(drig_u64(l, "misses"), m.misses[d]);
        CU_ASSERT_EQUAL(drig_u64(l, "upgrades"), m.upgrades[d]);
        CU_ASSERT_EQUAL(drig_u64(l, "evicted_lines"), m.evictions[d]);
        CU_ASSERT_EQUAL(drig_u64(l, "invalidated_lines"), m.invalidations[d]);
        CU_ASSERT_EQUAL(drig_u64(o, "stall_cycles"), m.stalls[d]);
        all[0] += m.misses[d];
        all[1] += m.stalls[d];
        all[2] += m.evictions[d];
    }
    CU_ASSERT_EQUAL(drig_u64(drig_level(json_object_get(rig.stats, "totals"), 0), "misses"), all[0]);
    CU_ASSERT_EQUAL(drig_u64(json_object_get(rig.stats, "totals"), "stall_cycles"), all[1]);
    CU_ASSERT(all[0] > 1000 && all[2] > 1000);
    drig_close(&rig);
}

static void test_books(void)
{
    books(0);
    books(1);
}

/* ------------------------------------------------------------------------------------------- evictions */

struct gone {
    uint64_t line, when;
    uint32_t evictor;
    int back;
};

static void premature(uint64_t window, const char *set)
{
    enum { LINES = 40, N = 20000 };
    static struct gone gone[N];
    struct drig rig;
    uint64_t seed = 11, ngone = 0, tags[SETS] = {0}, expected[DRIG_DATA][DRIG_DATA] = {{0}}, sum = 0, found = 0;
    json_t *pairs, *one;
    size_t i;

    drig_init(&rig, 1, LINE, SETS * LINE, 0, 0);
    for (unsigned d = 2; d < 6; d++) {
        drig_structure(&rig, PEET_DATA_GLOBAL, "x");
        drig_object(&rig, d, 0x10000 + 10 * LINE * (uint64_t)(d - 2), 10 * LINE);
    }
    CU_ASSERT_FATAL(drig_open(&rig, set) == 0);
    for (unsigned n = 0; n < N; n++) {
        uint64_t address = 0x10000 + LINE * drig_random(&seed, LINES), line = address;
        unsigned victim_set = line / LINE % SETS;
        uint32_t data = 2 + (uint32_t)((address - 0x10000) / LINE / 10);
        struct peet_memory_event e = {.level = 1, .other = PEET_MEMORY_NOBODY, .size_bytes = 4, .by = address};
        const int together = n & 1; /* in one report */

        if (tags[victim_set] == line)
            continue;
        if (tags[victim_set]) {
            e.type = PEET_MEMORY_EVICT;
            e.address = tags[victim_set];
            if (!together)
                peet_module.memory(rig.self, &e, 1);
            gone[ngone] = (struct gone){tags[victim_set], ngone, data, 0};
            ngone++;
        }
        e.type = together ? PEET_MEMORY_FILL : PEET_MEMORY_MISS;
        e.flags = together && tags[victim_set] ? PEET_MEMORY_FILL_GONE : 0;
        e.by = tags[victim_set];
        e.address = address;
        peet_module.memory(rig.self, &e, 1);
        tags[victim_set] = line;
        for (uint64_t k = ngone; k-- > 0 && ngone - k <= window;)
            if (gone[k].line == line) {
                if (!gone[k].back)
                    expected[data][gone[k].evictor]++;
                gone[k].back = 1;
                break;
            }
    }
    drig_finish(&rig);
    pairs = json_object_get(rig.stats, "premature_evictions");
    json_array_foreach(pairs, i, one)
    {
        CU_ASSERT_EQUAL(drig_u64(one, "count"), expected[drig_u64(one, "victim_id")][drig_u64(one, "evictor_id")]);
        found += drig_u64(one, "count");
    }
    for (unsigned v = 2; v < 6; v++) {
        const json_t *l = drig_level(drig_of(&rig, v), 0);
        uint64_t other = 0;

        for (unsigned e = 2; e < 6; e++) {
            sum += expected[v][e];
            other += e == v ? 0 : expected[v][e];
        }
        CU_ASSERT_EQUAL(drig_u64(l, "premature_evictions_by_same"), expected[v][v]);
        CU_ASSERT_EQUAL(drig_u64(l, "premature_evictions_by_other"), other);
    }
    CU_ASSERT_EQUAL(found, sum);
    CU_ASSERT(sum > 100);
    drig_close(&rig);
}

static void test_premature(void)
{
    premature(SETS, NULL);
    premature(3, "window=3");
    premature(50, "window=50");
    premature(100000, "window=100000");
}

/* --------------------------------------------------------------------------------------------- sharing */

static const char *class_of(const struct drig *rig, uint32_t data)
{
    return json_string_value(json_object_get(json_object_get(drig_of(rig, data), "sharing"), "class"));
}

static uint64_t sharing_of(const struct drig *rig, uint32_t data, const char *key)
{
    return drig_u64(json_object_get(drig_of(rig, data), "sharing"), key);
}

static void test_sharing(void)
{
    enum { COUNTERS = 2, HANDED, PRODUCED, TABLE, OWN, ROUNDS = 50 };
    struct drig rig;
    struct machine m;
    json_t *lines, *sites, *site;
    size_t i;
    unsigned writers = 0;

    drig_init(&rig, HWS, LINE, SETS * LINE, 0, 0);
    for (unsigned d = 2; d < 7; d++) { /* each in its own set of the caches: nothing is evicted */
        drig_structure(&rig, PEET_DATA_GLOBAL, d == COUNTERS ? "counters" : "x");
        drig_object(&rig, d, 0x10000 + LINE * (uint64_t)(d - 2), LINE);
    }
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    machine_init(&m, &rig);
    for (unsigned r = 0; r < ROUNDS; r++)
        for (unsigned hw = 0; hw < HWS; hw++) {
            touch(&m, hw, 0, 0x10000 + 4 * hw); /* counters[hw]++ */
            touch(&m, hw, 1, 0x10000 + 4 * hw);
            touch(&m, hw, 2, 0x10000 + LINE); /* one word, handed on */
            touch(&m, hw, 3, 0x10000 + LINE);
            touch(&m, hw, hw == 0 ? 3 : 2, 0x10000 + 2 * LINE); /* 0 writes, all others read */
            touch(&m, hw, 4, 0x10000 + 3 * LINE + 4 * hw);      /* all read */
            if (hw == 1)
                touch(&m, hw, 5, 0x10000 + 4 * LINE); /* one writes */
        }
    drig_finish(&rig);
    CU_ASSERT_STRING_EQUAL(class_of(&rig, COUNTERS), "false-shared");
    CU_ASSERT_STRING_EQUAL(class_of(&rig, HANDED), "migratory");
    CU_ASSERT_STRING_EQUAL(class_of(&rig, PRODUCED), "producer-consumer");
    CU_ASSERT_STRING_EQUAL(class_of(&rig, TABLE), "read-shared");
    CU_ASSERT_STRING_EQUAL(class_of(&rig, OWN), "private");
    /* Each round each processor misses; in the first one nothing had been taken away. */
    CU_ASSERT_EQUAL(sharing_of(&rig, COUNTERS, "false_sharing_misses"), HWS * (ROUNDS - 1));
    CU_ASSERT_EQUAL(sharing_of(&rig, COUNTERS, "true_sharing_misses"), 0);
    CU_ASSERT_EQUAL(sharing_of(&rig, HANDED, "true_sharing_misses"), HWS * (ROUNDS - 1));
    CU_ASSERT_EQUAL(sharing_of(&rig, HANDED, "false_sharing_misses"), 0);
    CU_ASSERT_EQUAL(sharing_of(&rig, PRODUCED, "true_sharing_misses"), (HWS - 1) * (ROUNDS - 1));
    CU_ASSERT_EQUAL(sharing_of(&rig, PRODUCED, "false_sharing_misses"), 0);
    lines = json_object_get(rig.stats, "falsely_shared_lines");
    CU_ASSERT_EQUAL_FATAL(json_array_size(lines), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(lines, 0), "structure")), "counters");
    sites = json_object_get(json_array_get(lines, 0), "accesses");
    json_array_foreach(sites, i, site) if (!strcmp(json_string_value(json_object_get(site, "access")), "write"))
    {
        char field[20];

        snprintf(field, sizeof field, "[%llu]", (unsigned long long)drig_u64(site, "processor"));
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(site, "field")), field);
        CU_ASSERT_EQUAL(drig_u64(site, "line"), 101);
        CU_ASSERT_EQUAL(drig_u64(site, "bytes"), 4);
        writers++;
    }
    CU_ASSERT_EQUAL(writers, HWS);
    drig_close(&rig);
}

/** Dubois: the miss is true sharing if what others had written is touched before the line is lost again, be it later.
 */
static void test_later(void)
{
    struct drig rig;
    struct machine m;

    drig_init(&rig, HWS, LINE, SETS * LINE, 0, 0);
    drig_structure(&rig, PEET_DATA_GLOBAL, "x");
    drig_object(&rig, 2, 0x10000, LINE);
    CU_ASSERT_FATAL(drig_open(&rig, NULL) == 0);
    machine_init(&m, &rig);
    touch(&m, 0, 0, 0x10000);
    touch(&m, 1, 1, 0x10004); /* takes it away */
    touch(&m, 1, 1, 0x10008); /* writes more, without a word */
    touch(&m, 0, 0, 0x10000); /* misses for what nobody wrote ... */
    touch(&m, 0, 0, 0x10008); /* ... then reads what was written unseen */
    touch(&m, 1, 1, 0x10004);
    touch(&m, 0, 0, 0x10000); /* the same without */
    touch(&m, 1, 1, 0x10004);
    drig_finish(&rig);
    CU_ASSERT_EQUAL(sharing_of(&rig, 2, "true_sharing_misses"), 1);
    CU_ASSERT_EQUAL(sharing_of(&rig, 2, "false_sharing_misses"), 1);
    drig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"misses, evictions, stalls", test_books}, {"premature evictions", test_premature},
        {"sharing", test_sharing}, {"true sharing seen late", test_later}, CU_TEST_INFO_NULL};
    return run_suite("dtrack: memory", tests);
}
