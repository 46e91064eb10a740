/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: latencies of the three states of a bank, the bandwidth of a stream, what rows cost, and refresh.
 */
#include "common/dram.h"
#include "common/random.h"
#include "run_suite.h"

static struct peet_sim_dram_config config = {
    .channels = 2,
    .ranks = 1,
    .banks = 8,
    .row_bytes = 2048,
    .line_bytes = 64,
    .cas_cycles = 40,
    .activate_cycles = 41,
    .precharge_cycles = 42,
    .row_active_cycles = 100,
    .burst_cycles = 8,
    .overhead_cycles = 21,
};

/* An address in a given row of a bank's own, channel 0: the bank that address 0 lies in. */
static uint64_t address(uint64_t row, uint64_t column)
{
    uint64_t lines_of_row = config.row_bytes / config.line_bytes;

    for (uint64_t bank = 0; bank < config.banks; bank++)
        if (((row * config.banks + bank) ^ row) % config.banks == 0)
            return ((row * config.banks + bank) * lines_of_row + column) * config.channels * config.line_bytes;
    return 0;
}

static void test_latencies(void)
{
    struct peet_sim_dram d;
    uint64_t fixed = config.overhead_cycles + config.cas_cycles + config.burst_cycles;

    CU_ASSERT_FATAL(!peet_sim_dram_init(&d, &config));
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 0), 0, 1000) - 1000, fixed + 41);      /* closed */
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 5), 0, 2000) - 2000, fixed);           /* open */
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(3, 0), 1, 3000) - 3000, fixed + 41 + 42); /* another */
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(3, 1), 0, 4000) - 4000, fixed);
    /* too early for the precharge: the row that was just opened stays so for tRAS */
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(4, 0), 0, 9000) - 9000, fixed + 83);
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(5, 0), 0, 9001) - 9000, 10 + 42 + 100 + 42 + 41 + 40 + 8 + 11);
    CU_ASSERT_EQUAL(d.stats.row_hits, 2);
    CU_ASSERT_EQUAL(d.stats.row_empty, 1);
    CU_ASSERT_EQUAL(d.stats.row_conflicts, 3);
    CU_ASSERT_EQUAL(d.stats.reads, 5);
    CU_ASSERT_EQUAL(d.stats.writes, 1);
    peet_sim_dram_fini(&d);
}

/* A hit that comes while a miss of the same bank waits goes first and does not delay it. */
static void test_hit_first(void)
{
    struct peet_sim_dram d;
    uint64_t miss, hit;

    CU_ASSERT_FATAL(!peet_sim_dram_init(&d, &config));
    peet_sim_dram_access(&d, address(0, 0), 0, 0); /* activated at 10: open until 110 at least */
    miss = peet_sim_dram_access(&d, address(1, 0), 0, 20);
    hit = peet_sim_dram_access(&d, address(0, 1), 0, 30);
    CU_ASSERT_EQUAL(miss, 110 + 42 + 41 + 40 + 8 + 11);
    CU_ASSERT(hit < miss);
    CU_ASSERT_EQUAL(d.stats.row_hits, 1);
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 2), 0, 300) - 300, 21 + 42 + 41 + 40 + 8); /* closed by then */
    peet_sim_dram_fini(&d);
}

/* Many lines in order, asked for all at once: the buses are never idle but at the beginning. */
static void test_bandwidth(void)
{
    struct peet_sim_dram d;
    const uint64_t lines = 20000;
    uint64_t end = 0;

    CU_ASSERT_FATAL(!peet_sim_dram_init(&d, &config));
    for (uint64_t i = 0; i < lines; i++) {
        uint64_t t = peet_sim_dram_access(&d, i * 64, 0, i * 4); /* a line every 4 cycles: what two channels can do */

        end = t > end ? t : end;
    }
    CU_ASSERT(end >= lines / 2 * 8);
    CU_ASSERT(end < lines / 2 * 8 + 500); /* until rows are opened while the bus still has work */
    CU_ASSERT_EQUAL(d.stats.row_hits, lines - 2 * ((lines / 2 + 31) / 32)); /* all but the first of each row */
    peet_sim_dram_fini(&d);

    /* single lines of rows far apart in one bank: a row cycle each */
    CU_ASSERT_FATAL(!peet_sim_dram_init(&d, &config));
    for (uint64_t i = 0; i < 1000; i++)
        end = peet_sim_dram_access(&d, address(i, 0), 0, 0);
    CU_ASSERT_EQUAL(end, 10 + 999 * (100 + 42) + 41 + 40 + 8 + 11);
    peet_sim_dram_fini(&d);
}

static void test_refresh(void)
{
    struct peet_sim_dram d;
    uint64_t fixed = 21 + 40 + 8;

    config.refresh_every_cycles = 10000;
    config.refresh_cycles = 500;
    CU_ASSERT_FATAL(!peet_sim_dram_init(&d, &config));
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 0), 0, 0), fixed + 41);
    /* waits, and the row is closed */
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 1), 0, 10100), 10500 + 41 + 40 + 8 + 11);
    CU_ASSERT_EQUAL(peet_sim_dram_access(&d, address(0, 2), 0, 11000) - 11000, fixed);
    peet_sim_dram_fini(&d);
    config.refresh_every_cycles = 0;
}

int main(void)
{
    CU_TestInfo tests[] = {{"latencies", test_latencies}, {"row hits first", test_hit_first},
        {"bandwidth", test_bandwidth}, {"refresh", test_refresh}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: memory", tests);
}
