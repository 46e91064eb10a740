/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Microbenchmarks in simulated time give back what was configured: pointer chases show each level's latency,
 * streams the bandwidth, which more cores do not exceed, ping-pong the coherence round trip, page chases the
 * translation buffers' reach; miss registers bound what is under way.
 */
#include "memrig.h"
#include "run_suite.h"

#define QUIET "translation=off l1i_prefetch=none l1d_prefetch=none l2_prefetch=none dram_refresh=off "

static void open(struct memrig *rig, unsigned cores, const char *settings)
{
    memrig_init(rig);
    memrig_set(rig, QUIET);
    memrig_set(rig, settings);
    if (memrig_open(rig, cores))
        printf("\n%s\n", rig->failure);
    CU_ASSERT_FATAL(rig->memory != NULL);
}

/** A chase through n places in a random cycle, twice; the time of a step in the second round, times 1000. */
static uint64_t chase(struct memrig *rig, unsigned n, uint64_t stride, uint64_t *now)
{
    unsigned *order = malloc(n * sizeof *order);
    uint64_t seed = 77, begin = 0;

    for (unsigned i = 0; i < n; i++)
        order[i] = i;
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = (unsigned)memrig_random(&seed, i + 1), t = order[i];

        order[i] = order[j];
        order[j] = t;
    }
    for (unsigned round = 0; round < 2; round++) {
        begin = *now;
        for (unsigned i = 0; i < n; i++)
            *now += memrig_load(rig, 0, 0x10000000 + order[i] * stride, *now);
    }
    free(order);
    return (*now - begin) * 1000 / n;
}

static void test_latency_steps(void)
{
    struct memrig rig;
    uint64_t now = 0, dram;

    /* true LRU and a cycle through more than a level holds: each of its levels is all hits or none */
    open(&rig, 1,
        "topology=ideal l1d_bytes=32768 l1d_ways=8 l2_bytes=262144 l2_ways=8 l3_slice_bytes=2097152 l3_ways=16 l1d_cycles=4 l2_cycles=13 "
        "l3_cycles=41 l3_policy=inclusive dram_channels=1 dram_banks=16 dram_burst_cycles=9 dram_cas_cycles=30 dram_activate_cycles=31 "
        "dram_precharge_cycles=32 dram_row_active_cycles=33 dram_overhead_cycles=50");
    /* the first access of all: the bank is closed */
    CU_ASSERT_EQUAL(memrig_load(&rig, 0, 0, 0), 41 + 50 + 31 + 30 + 9);
    now = 100000;
    CU_ASSERT_EQUAL(chase(&rig, 16384 / 64, 64, &now), 4000);
    CU_ASSERT_EQUAL(chase(&rig, 32768 / 64, 64, &now), 4000);
    CU_ASSERT_EQUAL(chase(&rig, 131072 / 64, 64, &now), 13000); /* every round evicts what the next one wants */
    CU_ASSERT_EQUAL(chase(&rig, 1048576 / 64, 64, &now), 41000);
    dram = chase(&rig, 8388608 / 64, 64, &now);
    CU_ASSERT(dram >= 1000 * (41 + 50 + 30 + 9) && dram <= 1000 * (41 + 50 + 32 + 31 + 30 + 9));
    CU_ASSERT(dram > 1000 * (41 + 50 + 32 + 31 + 30 + 9) - 12000); /* random: rows are seldom open still */
    memrig_close(&rig);
}

/* Hits in each slice from each core cost the way there and back. */
static void distances(const char *topology)
{
    struct memrig rig;
    char text[200];
    uint64_t now = 1000;

    snprintf(text, sizeof text,
        "topology=%s hop_cycles=3 flit_bytes=16 l3_cycles=50 l2_bytes=65536 l3_policy=noninclusive", topology);
    open(&rig, 9, text);
    for (unsigned core = 0; core < 9; core++)
        for (uint64_t line = 1; line < 200; line++) {
            uint64_t address = line * 64 + core * 0x100000;
            unsigned slice = peet__x86_slice(rig.memory, address >> 6), hops;

            memrig_load(&rig, core, address, now); /* L3 has it now */
            now += 10000;
            for (uint64_t other = 1; other <= 1200; other++, now += 2000) /* out of L1 and L2 */
                if (((address >> 6) + other * 64) % 64 == (address >> 6) % 64 && other < 40)
                    memrig_load(&rig, core, address + other * 4096, now);
            hops = slice == core ? 0
                                 : peet_sim_network_hops(&rig.memory->network, core, slice) +
                    peet_sim_network_hops(&rig.memory->network, slice, core);
            CU_ASSERT_EQUAL(memrig_load(&rig, core, address, now), 50 + 3 * hops + (hops ? (64 + 8 + 15) / 16 - 1 : 0));
            now += 10000;
        }
    CU_ASSERT(rig.memory->network.messages > 1000);
    memrig_close(&rig);
}

static void test_distances(void)
{
    distances("ring");
    distances("mesh");
}

static void test_hash_is_even(void)
{
    struct memrig rig;
    uint64_t count[7] = {0};

    open(&rig, 7, "");
    for (uint64_t stride = 1; stride <= 4096; stride *= 4) {
        memset(count, 0, sizeof count);
        for (uint64_t i = 0; i < 7000; i++)
            count[peet__x86_slice(rig.memory, 0x1000 + i * stride)]++;
        for (unsigned s = 0; s < 7; s++)
            CU_ASSERT(count[s] > 800 && count[s] < 1200);
    }
    memrig_close(&rig);
}

/* All misses at once: so many at a time as there are registers. */
static void test_parallelism(void)
{
    for (unsigned mshrs = 1; mshrs <= 16; mshrs *= 4) {
        struct memrig rig;
        char text[300];
        uint64_t last = 0, one = 40 + 40 + 20 + 20 + 1;
        enum { N = 160 };

        snprintf(text, sizeof text,
            "levels=l1 topology=ideal l1d_mshrs=%u l3_busy_cycles=0 l3_cycles=40 dram_channels=64 dram_banks=256 dram_ranks=16 "
            "dram_overhead_cycles=40 dram_activate_cycles=20 dram_cas_cycles=20 dram_burst_cycles=1",
            mshrs);
        open(&rig, 1, text);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t done = memrig_load(&rig, 0, i * (8192 * 64 + 64), 0);

            last = done > last ? done : last;
        }
        CU_ASSERT(last >= N / mshrs * (one - 20)); /* rows open by chance */
        CU_ASSERT(last <= N / mshrs * one * 21 / 20);
        memrig_close(&rig);
    }
}

/** Cores that stream through memory of their own, @window loads at a time each; bytes for each 1000 cycles. */
static uint64_t stream(struct memrig *rig, unsigned cores, unsigned lines, unsigned window, int store)
{
    uint64_t *done = calloc((size_t)cores * lines, sizeof *done), end = 0;
    unsigned *at = calloc(cores, sizeof *at);
    uint64_t bytes;

    for (;;) {
        unsigned best = cores;
        uint64_t least = UINT64_MAX, now;

        for (unsigned c = 0; c < cores; c++) {
            uint64_t when = at[c] >= window ? done[(size_t)c * lines + at[c] - window] : at[c];

            if (at[c] < lines && when < least) {
                least = when;
                best = c;
            }
        }
        if (best == cores)
            break;
        now = memrig_access(rig, best, (best + 1) * 0x10000000ull + best * 0x3540 + at[best] * 64ull, 8,
            store ? X86_STORE : X86_LOAD, least)
                  .done_cycles;
        done[(size_t)best * lines + at[best]++] = now;
        end = now > end ? now : end;
    }
    free(done);
    free(at);
    bytes = (uint64_t)cores * lines * 64;
    return bytes * 1000 / end;
}

static void test_bandwidth(void)
{
    static const char *const machine =
        "topology=ideal l3_busy_cycles=1 l3_slice_bytes=65536 l2_bytes=32768 dram_channels=2 dram_burst_cycles=10 l1d_mshrs=8 ";
    const uint64_t most = 2 * 64 * 1000 / 10; /* channels, lines, cycles of a burst */
    uint64_t one, before = 0, seen = 0;

    for (unsigned cores = 1; cores <= 8; cores *= 2) {
        struct memrig rig;

        open(&rig, cores, machine);
        seen = stream(&rig, cores, 6000, 8, 0);
        CU_ASSERT(seen <= most + most / 50);
        CU_ASSERT(seen >= before - before / 20);
        if (cores == 1) {
            one = seen; /* Little: eight lines under way, each takes a row hit's latency */
            CU_ASSERT(one < most * 7 / 10);
            CU_ASSERT(one <= 8 * 64 * 1000 / (44 + 70 + 40 + 10));
            CU_ASSERT(one >= 8 * 64 * 1000 / (44 + 70 + 40 + 10 + 30));
        }
        before = seen;
        memrig_close(&rig);
    }
    CU_ASSERT(seen > most * 9 / 10);
    /* what is written has to be fetched first and goes back later: half is left */
    {
        struct memrig rig;

        open(&rig, 8, machine);
        seen = stream(&rig, 8, 6000, 8, 1);
        CU_ASSERT(seen <= most / 2 + most / 12);
        CU_ASSERT(seen > most * 35 / 100);
        memrig_close(&rig);
    }
}

/** Stores of two cores in turn to different words of a line; cycles of a turn. */
static uint64_t ping_pong(const char *settings, unsigned cores, unsigned a, unsigned b, struct memrig *rig)
{
    uint64_t now = 0, begin = 0;

    open(rig, cores, settings);
    for (unsigned i = 0; i < 200; i++) {
        if (i == 100)
            begin = now;
        now = memrig_access(rig, i % 2 ? a : b, 0x4000 + i % 2 * 8, 8, X86_STORE, now).done_cycles;
    }
    return (now - begin) / 100;
}

static void test_ping_pong(void)
{
    static const char *const protocols[] = {"mesi", "mesif", "moesi"},
                             *const policies[] = {"inclusive", "noninclusive", "exclusive"};
    struct memrig rig;
    char text[300];

    for (unsigned p = 0; p < 9; p++) {
        unsigned legs, slice;

        snprintf(text, sizeof text, "protocol=%s l3_policy=%s topology=ideal l3_cycles=47 snoop_cycles=23",
            protocols[p % 3], policies[p / 3]);
        CU_ASSERT_EQUAL(ping_pong(text, 2, 0, 1, &rig), 47 + 23);
        CU_ASSERT_EQUAL(rig.memory->memory_reads, 1);
        CU_ASSERT_EQUAL(rig.memory->cores[0].l1d.stats.invalidations, 99);
        memrig_close(&rig);
        /* on a ring: to the home, on to the owner, and the line to whoever asked */
        snprintf(text, sizeof text,
            "protocol=%s l3_policy=%s topology=ring hop_cycles=5 flit_bytes=72 l3_cycles=47 snoop_cycles=23",
            protocols[p % 3], policies[p / 3]);
        {
            uint64_t turn = ping_pong(text, 8, 1, 4, &rig);

            slice = peet__x86_slice(rig.memory, 0x4000 >> 6);
            legs = peet_sim_network_hops(&rig.memory->network, 1, slice) +
                peet_sim_network_hops(&rig.memory->network, slice, 4) +
                peet_sim_network_hops(&rig.memory->network, 4, slice) +
                peet_sim_network_hops(&rig.memory->network, slice, 1) + 2 * 3;
            CU_ASSERT_EQUAL(2 * turn / 2, (2 * (47 + 23) + 5 * legs) / 2);
        }
        memrig_close(&rig);
    }
}

/* A store to what others read waits for their answers, not for data. */
static void test_upgrade(void)
{
    struct memrig rig;
    struct x86_outcome out;

    open(&rig, 4, "topology=ideal l3_cycles=47 snoop_cycles=23");
    for (unsigned c = 0; c < 4; c++)
        memrig_load(&rig, c, 0x8000, 1000 * c);
    out = memrig_access(&rig, 2, 0x8000, 8, X86_STORE, 10000);
    CU_ASSERT_EQUAL(out.done_cycles - 10000, 47 + 23);
    CU_ASSERT_EQUAL(out.coherence_cycles, 23 + 0);
    CU_ASSERT_EQUAL(rig.memory->cores[2].l1d.stats.upgrades, 1);
    CU_ASSERT_EQUAL(rig.memory->invalidations_sent, 3);
    out = memrig_access(&rig, 2, 0x8000, 8, X86_STORE, 20000);
    CU_ASSERT_EQUAL(out.done_cycles, 20000);
    /* while the right to write is on its way, what is there can be read */
    memrig_load(&rig, 1, 0x8000, 30000);
    memrig_access(&rig, 1, 0x8000, 8, X86_STORE, 40000);
    CU_ASSERT_EQUAL(memrig_load(&rig, 1, 0x8000, 40001), 5);
    memrig_close(&rig);
}

static void test_translation(void)
{
    struct memrig rig;
    uint64_t now = 1000, walked;

    open(&rig, 1,
        "translation=on dtlb_entries=32 dtlb_ways=4 stlb_entries=256 stlb_ways=8 stlb_cycles=9 l1d_bytes=1048576 l1d_ways=16 l2_bytes=2097152 "
        "levels=l1l2 walk_cache_entries=32 l1d_cycles=5");
    /* one line of each page, in different sets */
    CU_ASSERT_EQUAL(chase(&rig, 32, 4096 + 64, &now), 5000);
    CU_ASSERT_EQUAL(chase(&rig, 128, 4096 + 64, &now), 5000 + 9000);
    walked = chase(&rig, 1024, 4096 + 64, &now);
    CU_ASSERT_EQUAL(walked, 5000 + 9000 + 5000); /* one read of the last level, in L1D */
    memrig_close(&rig);
    open(&rig, 1,
        "translation=on page_bytes=2097152 dtlb_entries=32 dtlb_ways=4 stlb_entries=256 stlb_ways=8 l1d_bytes=1048576 l1d_ways=16 "
        "l2_bytes=2097152 levels=l1l2 l1d_cycles=5");
    CU_ASSERT_EQUAL(chase(&rig, 1024, 4096 + 64, &now), 5000); /* three pages */
    memrig_close(&rig);
}

/* One access that is told later and came earlier has brought the line itself. */
static void test_out_of_order(void)
{
    struct memrig rig;
    uint64_t late, early;

    open(&rig, 1, "topology=ideal");
    late = memrig_load(&rig, 0, 0x5000, 100000);
    early = memrig_load(&rig, 0, 0x5008, 50000);
    CU_ASSERT_EQUAL(early, late);
    CU_ASSERT_EQUAL(memrig_load(&rig, 0, 0x5010, 100000), 5);
    CU_ASSERT_EQUAL(memrig_load(&rig, 0, 0x5018, 50000 + late - 20), 20);
    memrig_close(&rig);
}

static void test_prefetch(void)
{
    static const char *const settings[] = {"", "l2_prefetch=stream l2_prefetch_lines=8",
        "l2_prefetch=next l2_prefetch_lines=4", "l1d_prefetch=next l1d_prefetch_lines=2"};
    uint64_t without = 0;

    for (unsigned i = 0; i < 4; i++) {
        struct memrig rig;
        uint64_t seen;

        open(&rig, 1, settings[i]);
        seen = stream(&rig, 1, 4000, 1, 0);
        if (i)
            CU_ASSERT(seen > without * 13 / 10);
        without = i ? without : seen;
        memrig_close(&rig);
    }
}

/* Lines of 32 KiB written again and again through an L1D of 4 KiB: each goes back to L2, and takes its port or not. */
static void test_fills(void)
{
    static const char *const settings[] = {
        "l1d_bytes=4096 l1d_ways=8 l2_bytes=65536 l2_ways=8 l2_busy_cycles=10 l2_fills=port",
        "l1d_bytes=4096 l1d_ways=8 l2_bytes=65536 l2_ways=8 l2_busy_cycles=10 l2_fills=aside"};

    for (unsigned i = 0; i < 2; i++) {
        enum { LINES = 512, ROUNDS = 8, UNDER_WAY = 8 };
        struct memrig rig;
        uint64_t begin = 0, done[UNDER_WAY] = {0};

        open(&rig, 1, settings[i]);
        for (unsigned k = 0; k < ROUNDS * LINES; k++) {
            uint64_t *one = &done[k % UNDER_WAY];

            *one = memrig_access(&rig, 0, 0x10000 + k % LINES * 64, 8, X86_STORE, *one).done_cycles;
            begin = k == (ROUNDS - 1) * LINES - 1 ? *one : begin;
        }
        begin = done[(ROUNDS * LINES - 1) % UNDER_WAY] - begin;
        CU_ASSERT(i ? begin == 10 * LINES : begin >= 20 * LINES);
        memrig_close(&rig);
    }
}

static void test_perfect(void)
{
    struct memrig rig;

    memrig_init(&rig);
    rig.env.perfect = 1;
    rig.env.data_of = memrig_data_of;
    rig.perfect_from = 0x9000;
    rig.perfect_bytes = 0x100;
    CU_ASSERT_FATAL(!memrig_open(&rig, 2));
    CU_ASSERT_EQUAL(memrig_load(&rig, 0, 0x9010, 100), 1);
    CU_ASSERT(memrig_load(&rig, 0, 0x9100, 100) > 50);
    CU_ASSERT_EQUAL(memrig_access(&rig, 1, 0x9010, 8, X86_STORE, 100).done_cycles, 101);
    CU_ASSERT_EQUAL(rig.memory->cores[0].l1d.stats.invalidations, 1); /* its lines move as ever */
    for (unsigned i = 0; i < 4000; i++) /* fought for, many times in a cycle: others do not wait for that */
        CU_ASSERT_EQUAL(memrig_access(&rig, i % 2, 0x9010, 8, X86_STORE, 1000 + i / 8).done_cycles, 1001 + i / 8);
    CU_ASSERT(rig.memory->cores[0].l1d.stats.invalidations >= 2000);
    CU_ASSERT(memrig_load(&rig, 0, 0x50000, 1600) < 600);
    CU_ASSERT_EQUAL(rig.memory->cores[0].l1d.mshrs.waited_cycles, 0);
    memrig_close(&rig);
}

int main(void)
{
    CU_TestInfo tests[] = {{"latency steps", test_latency_steps}, {"distances", test_distances},
        {"address hash", test_hash_is_even}, {"parallelism", test_parallelism}, {"bandwidth", test_bandwidth},
        {"ping-pong", test_ping_pong}, {"upgrades", test_upgrade}, {"translation", test_translation},
        {"out of order", test_out_of_order}, {"prefetch", test_prefetch}, {"fills", test_fills},
        {"perfect data", test_perfect}, CU_TEST_INFO_NULL};

    return run_suite("x86: memory in time", tests);
}
