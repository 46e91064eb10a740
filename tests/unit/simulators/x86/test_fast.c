/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inline hit (memory_fast.h) and the way around it say the same, to the cycle and to the last counter; what
 * observers are told adds up to the counters.
 */
#include "memrig.h"
#include "run_suite.h"

static const char *const settings[] = {
    "",
    "levels=l1 translation=off l1_replacement=plru",
    "levels=l1l2 protocol=moesi l1d_bytes=2048 l1d_ways=4 l2_bytes=16384 dtlb_entries=8 l1_replacement=rrip",
    "levels=l1l3 protocol=mesif l1d_bytes=3072 l1d_ways=3 l3_slice_bytes=8192 l3_policy=exclusive l1d_prefetch=stream",
    "l1d_bytes=1024 l2_bytes=4096 l3_slice_bytes=8192 l3_policy=inclusive l2_prefetch=next l1_replacement=random dtlb_entries=4 dtlb_ways=2",
    "l1d_bytes=1024 l2_bytes=4096 l3_slice_bytes=8192 latency=off",
    "l1d_bytes=4096 l2_bytes=16384 l3_slice_bytes=32768 l1d_prefetch=stride l1d_prefetch_lines=1 dtlb_entries=8",
    "levels=l1 l1d_bytes=2048 l1d_ways=4 l1_replacement=plru l1d_prefetch=stride l1d_prefetch_lines=3",
    "l1d_bytes=2048 l2_bytes=8192 l3_slice_bytes=8192 l1d_prefetch=stride l1d_prefetch_lines=16 l2_prefetch=stride translation=off",
    "l1d_bytes=2048 l2_bytes=8192 l3_slice_bytes=8192 l1d_prefetch=next l1d_prefetch_lines=2 l2_prefetch=stream",
    "l1d_bytes=8192 l2_bytes=16384 l3_slice_bytes=32768 l1d_prefetch=stride latency=off l1_replacement=rrip line_bytes=32",
};

enum { CORES = 6, INSNS = 300, WALKS = 14 };

struct step {
    unsigned core;
    uint32_t ref;
    uint64_t address, now;
    enum x86_access_kind kind;
};

/* References by number: the first WALKS go on by a stride each, and now and then begin elsewhere. */
static struct peet_insn insns[INSNS];
static struct peet_ref refs[INSNS];
static const struct peet_block block = {.insns = insns, .refs = refs, .ninsns = INSNS, .nrefs = INSNS, .pc = 0x400000};

static void block_init(void)
{
    for (uint32_t i = 0; i < INSNS; i++) {
        insns[i].pc = 0x400000 + 5 * i;
        refs[i].insn = i;
    }
}

/** @data: loads, stores and modifications only */
static struct step step(uint64_t *seed, unsigned cores, int data, uint64_t *clock)
{
    static const int strides[] = {8, -8, 4, 1, 0, 16, 24, 64, -64, 72, 200, -136, 2, -1};
    static uint64_t at[CORES][WALKS];
    struct step s = {.core = (unsigned)memrig_random(seed, cores), .ref = (uint32_t)memrig_random(seed, INSNS)};

    s.address = memrig_random(seed, 3) ? 0x100000 * (s.core + 1) + memrig_random(seed, 100) * 40
                                       : 0x8000 + memrig_random(seed, 100) * 8;
    if (memrig_random(seed, 3)) {
        uint64_t *walk;

        s.ref = (uint32_t)memrig_random(seed, WALKS);
        walk = &at[s.core][s.ref];
        if (!*walk || !memrig_random(seed, 60))
            *walk = 0x100000 * (s.core + 1) + memrig_random(seed, 1024) * 8;
        *walk += (uint64_t)(int64_t)strides[s.ref % (sizeof strides / sizeof *strides)];
        s.address = s.ref % 3 ? *walk & ~7ull : *walk;
        if (s.address >> 5 != (s.address + 7) >> 5)
            s.address &= ~7ull;
    }
    if (!data && !memrig_random(seed, 10)) {
        s.kind = memrig_random(seed, 3) ? X86_FETCH : X86_PREFETCH;
        s.address = s.kind == X86_FETCH ? 0x9000 + memrig_random(seed, 80) * 40 : s.address;
    } else
        s.kind = memrig_random(seed, 3) ? X86_LOAD : memrig_random(seed, 4) ? X86_STORE : X86_MODIFY;
    clock[s.core] += memrig_random(seed, 4) ? memrig_random(seed, 30) : 1000;
    s.now = clock[s.core] + memrig_random(seed, 40);
    return s;
}

static int same_prefetcher(const struct peet_sim_prefetcher *a, const struct peet_sim_prefetcher *b)
{
    int same = a->triggers == b->triggers && a->lines == b->lines && a->clock == b->clock;

    for (unsigned i = 0; i < PEET_SIM_PREFETCH_PCS; i++)
        same &= a->pcs[i].pc == b->pcs[i].pc && a->pcs[i].address == b->pcs[i].address &&
            a->pcs[i].stride == b->pcs[i].stride && a->pcs[i].confidence == b->pcs[i].confidence;
    return same;
}

static void test_fast_is_slow(void)
{
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct memrig fast, slow;
        uint64_t seed = 99, clock[CORES] = {0}, hits = 0, all = 0;

        memrig_init(&fast);
        memrig_init(&slow);
        memrig_set(&fast, settings[i]);
        memrig_set(&slow, settings[i]);
        fast.env.reports = slow.env.reports = i % 2 ? ~0u : 0;
        CU_ASSERT_FATAL(!memrig_open(&fast, CORES) && !memrig_open(&slow, CORES));
        slow.memory->fast = 0; /* the way of a miss for everything */
        for (unsigned n = 0; n < 40000 / TEST_SHARE; n++) {
            struct step s = step(&seed, CORES, 0, clock);
            struct x86_access access = {.address = s.address,
                .size_bytes = 8,
                .core = s.core,
                .hw = s.core,
                .kind = (uint8_t)s.kind,
                .ref = s.ref,
                .block = &block};
            struct x86_outcome out = {.served = X86_L1}, slow_out;

            all++;
            if (s.kind != X86_FETCH && s.kind != X86_PREFETCH &&
                x86_memory_hit_at(fast.memory, s.core, x86_memory_pc(&block, s.ref), s.address, 8, s.kind, s.now,
                    &out.done_cycles))
                hits++;
            else
                x86_memory_access(fast.memory, &access, s.now, &out);
            x86_memory_access(slow.memory, &access, s.now, &slow_out);
            CU_ASSERT_FATAL(out.done_cycles == slow_out.done_cycles && out.tlb_cycles == slow_out.tlb_cycles &&
                out.coherence_cycles == slow_out.coherence_cycles && out.served == slow_out.served);
        }
        for (unsigned c = 0; c < 6; c++) {
            struct x86_core *a = &fast.memory->cores[c], *b = &slow.memory->cores[c];

            CU_ASSERT(!memcmp(&a->l1d.stats, &b->l1d.stats, sizeof a->l1d.stats));
            CU_ASSERT(!memcmp(&a->l1i.stats, &b->l1i.stats, sizeof a->l1i.stats));
            CU_ASSERT(!memcmp(&a->l2.stats, &b->l2.stats, sizeof a->l2.stats));
            for (unsigned from = X86_L1 + 1; from < X86_SERVED; from++)
                CU_ASSERT_EQUAL(a->served[from], b->served[from]);
            CU_ASSERT(a->tlb_cycles == b->tlb_cycles && a->coherence_cycles == b->coherence_cycles);
            CU_ASSERT_EQUAL(a->dtlb.accesses, b->dtlb.accesses);
            CU_ASSERT_EQUAL(a->dtlb.l1_misses, b->dtlb.l1_misses);
            CU_ASSERT_EQUAL(a->itlb.accesses, b->itlb.accesses);
            CU_ASSERT_EQUAL(a->itlb.l1_misses, b->itlb.l1_misses);
            CU_ASSERT(same_prefetcher(&a->l1d.prefetcher, &b->l1d.prefetcher));
            CU_ASSERT(same_prefetcher(&a->l2.prefetcher, &b->l2.prefetcher));
            CU_ASSERT(!memcmp(a->l1d.tags.numbers, b->l1d.tags.numbers,
                a->l1d.tags.sets * a->l1d.tags.ways * sizeof *a->l1d.tags.numbers));
            CU_ASSERT(!memcmp(a->l1d.tags.states, b->l1d.tags.states, a->l1d.tags.sets * a->l1d.tags.ways));
        }
        CU_ASSERT(hits > all / 80);
        CU_ASSERT(!memcmp(fast.misses, slow.misses, sizeof fast.misses));
        CU_ASSERT(x86_memory_check(fast.memory));
        memrig_close(&fast);
        memrig_close(&slow);
    }
}

static uint64_t told(const struct memrig *rig, unsigned level, int upgrades)
{
    uint64_t sum = 0;

    for (unsigned c = 0; c < PEET_MISS_CAUSES; c++)
        if ((c == PEET_MISS_UPGRADE) == upgrades)
            sum += rig->misses[level][c];
    return sum;
}

static void test_reports_add_up(void)
{
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        struct memrig rig;
        uint64_t seed = 5, clock[6] = {0}, misses[4] = {0}, upgrades[4] = {0}, evictions[4] = {0},
                 invalidations[4] = {0};
        unsigned l3;

        memrig_init(&rig);
        memrig_set(&rig, settings[i]);
        memrig_set(&rig, "l1d_prefetch=none l2_prefetch=none");
        rig.env.reports = ~0u;
        CU_ASSERT_FATAL(!memrig_open(&rig, 6));
        CU_ASSERT_EQUAL(rig.nlevels, 1u + rig.memory->has_l2 + rig.memory->has_l3);
        CU_ASSERT_STRING_EQUAL(rig.levels[0].name, "L1D");
        CU_ASSERT_EQUAL(rig.levels[0].size_bytes, rig.config.l1d_bytes);
        for (unsigned n = 0; n < 30000 / TEST_SHARE; n++) {
            struct step s = step(&seed, CORES, 1, clock);

            memrig_access(&rig, s.core, s.address, 8, s.kind, s.now);
        }
        l3 = rig.memory->nlevels;
        for (unsigned c = 0; c < 6; c++) {
            const struct x86_level_stats *a = &rig.memory->cores[c].l1d.stats, *b = &rig.memory->cores[c].l2.stats;
            const struct x86_level_stats *d = &rig.memory->slices[c].l3.stats;

            misses[1] += a->read_misses + a->write_misses;
            upgrades[1] += a->upgrades;
            evictions[1] += a->evictions + a->recalls;
            invalidations[1] += a->invalidations;
            if (rig.memory->has_l2) {
                misses[2] += b->read_misses + b->write_misses;
                upgrades[2] += b->upgrades;
                evictions[2] += b->evictions + b->recalls;
                invalidations[2] += b->invalidations;
            }
            if (rig.memory->has_l3) {
                misses[l3] += d->read_misses + d->write_misses;
                evictions[l3] += d->evictions;
            }
        }
        for (unsigned level = 1; level <= rig.memory->nlevels; level++) {
            CU_ASSERT_EQUAL(told(&rig, level, 0), misses[level]);
            CU_ASSERT_EQUAL(told(&rig, level, 1), upgrades[level]);
            CU_ASSERT_EQUAL(rig.evictions[level], evictions[level]);
            CU_ASSERT_EQUAL(rig.invalidations[level], invalidations[level]);
        }
        CU_ASSERT(rig.misses[1][PEET_MISS_TRUE_SHARING] > 0 && rig.misses[1][PEET_MISS_COLD] > 0);
        memrig_close(&rig);
    }
}

/* Causes, by hand. */
static void test_causes(void)
{
    struct memrig rig;

    memrig_init(&rig);
    memrig_set(&rig, "levels=l1 translation=off l1d_bytes=1024 l1d_ways=2 l1d_prefetch=none");
    rig.env.reports = ~0u;
    CU_ASSERT_FATAL(!memrig_open(&rig, 2));
#define CAUSE(core, address, kind, expected) \
    rig.last.cause = 99; \
    rig.last.type = 99; \
    memrig_access(&rig, core, address, 8, kind, now += 10000); \
    CU_ASSERT_EQUAL(rig.last.type, PEET_MEMORY_MISS); \
    CU_ASSERT_EQUAL(rig.last.cause, expected)
    uint64_t now = 0;

    CAUSE(0, 0x1000, X86_LOAD, PEET_MISS_COLD);
    CAUSE(1, 0x1000, X86_LOAD, PEET_MISS_COLD);
    CAUSE(1, 0x1008, X86_STORE, PEET_MISS_UPGRADE);
    CAUSE(0, 0x1000, X86_LOAD, PEET_MISS_FALSE_SHARING);
    CAUSE(1, 0x1010, X86_STORE, PEET_MISS_UPGRADE);
    memrig_access(&rig, 1, 0x1020, 8, X86_STORE, now); /* a hit; it counts all the same */
    CAUSE(0, 0x1020, X86_LOAD, PEET_MISS_TRUE_SHARING);
    CU_ASSERT_EQUAL(rig.last.other, 1);
    CU_ASSERT_EQUAL(rig.last.cycles,
        rig.config.l3_cycles + rig.config.snoop_cycles +
            rig.config.hop_cycles * 2 * (peet__x86_slice(rig.memory, 0x1000 >> 6) ? 1 : 1) + (72 + 31) / 32 - 1);
    CAUSE(0, 0x1000 + 512, X86_LOAD, PEET_MISS_COLD);
    CAUSE(0, 0x1000 + 1024, X86_LOAD, PEET_MISS_COLD);
    CAUSE(0, 0x1000, X86_LOAD, PEET_MISS_CAPACITY);
    memrig_close(&rig);
}

/* Fully associative caches, the newest line first, of 16, 64 and 256 lines: each is asked for what the one before
 * misses. */
static struct {
    uint64_t lines[256];
    unsigned n, size;
    uint8_t seen[4096];
} full[4];
static unsigned told_wrong, told_by_cause[4][PEET_MISS_CAUSES];

static int full_use(unsigned level, uint64_t line)
{
    unsigned at = 0;

    while (at < full[level].n && full[level].lines[at] != line)
        at++;
    if (at == full[level].n) {
        full[level].n += full[level].n < full[level].size;
        memmove(&full[level].lines[1], &full[level].lines[0], (full[level].n - 1) * sizeof line);
        full[level].lines[0] = line;
        return 0;
    }
    memmove(&full[level].lines[1], &full[level].lines[0], at * sizeof line);
    full[level].lines[0] = line;
    return 1;
}

static enum peet_memory_cause expected[5];

static void hear_cause(struct memrig *rig, const struct peet_memory_event *e)
{
    uint64_t line = e->address / 64;

    if (e->type != PEET_MEMORY_MISS)
        return;
    told_wrong += e->cause != expected[e->level];
    told_by_cause[e->level][e->cause]++;
    if (e->level == rig->memory->nlevels)
        return;
    expected[e->level + 1] = full_use(e->level + 1, line) ? PEET_MISS_CONFLICT
        : full[e->level + 1].seen[line]                   ? PEET_MISS_CAPACITY
                                                          : PEET_MISS_COLD;
    full[e->level + 1].seen[line] = 1;
}

static void test_conflicts(void)
{
    struct memrig rig;
    uint64_t seed = 8, at = 0;

    memrig_init(&rig);
    memrig_set(&rig,
        "translation=off l1d_bytes=1024 l1d_ways=2 l2_bytes=4096 l2_ways=2 l3_slice_bytes=16384 l3_ways=4 l3_policy=inclusive "
        "l1d_prefetch=none l2_prefetch=none classify=on");
    rig.env.reports = ~0u;
    rig.hear = hear_cause;
    for (unsigned level = 1; level < 4; level++)
        full[level].size = 4u << 2 * level;
    CU_ASSERT_FATAL(!memrig_open(&rig, 1));
    for (unsigned i = 0; i < 60000 / TEST_SHARE; i++) {
        uint64_t line;

        at = memrig_random(&seed, 4) ? at + 1 : memrig_random(&seed, 700); /* walks, and lines of the same set */
        line = (memrig_random(&seed, 3) ? at % 700 : memrig_random(&seed, 40) * 64) % 4096;
        expected[1] = full_use(1, line) ? PEET_MISS_CONFLICT : full[1].seen[line] ? PEET_MISS_CAPACITY : PEET_MISS_COLD;
        full[1].seen[line] = 1;
        memrig_access(&rig, 0, line * 64, 8, memrig_random(&seed, 3) ? X86_LOAD : X86_STORE, 1000 * i);
    }
    CU_ASSERT_EQUAL(told_wrong, 0);
    for (unsigned level = 1; level < 4; level++) {
        const struct x86_level *l = level == 1 ? &rig.memory->cores[0].l1d
            : level == 2                       ? &rig.memory->cores[0].l2
                                               : &rig.memory->slices[0].l3;
        uint64_t sum = 0;

        for (unsigned cause = 0; cause < PEET_MISS_CAUSES; cause++) {
            CU_ASSERT_EQUAL(l->stats.causes[cause], told_by_cause[level][cause]);
            sum += l->stats.causes[cause];
        }
        CU_ASSERT_EQUAL(sum, l->stats.read_misses + l->stats.write_misses);
        CU_ASSERT(told_by_cause[level][PEET_MISS_COLD] > 100 && told_by_cause[level][PEET_MISS_CAPACITY] > 100 &&
            told_by_cause[level][PEET_MISS_CONFLICT] > 100);
    }
    memrig_close(&rig);
}

int main(void)
{
    block_init();
    CU_TestInfo tests[] = {{"fast is slow", test_fast_is_slow}, {"reports add up", test_reports_add_up},
        {"causes", test_causes}, {"conflicts", test_conflicts}, CU_TEST_INFO_NULL};

    return run_suite("x86: hits and reports", tests);
}
