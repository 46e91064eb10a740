/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation: reach of the two levels, lengths of walks, and that different pages have different tables.
 */
#include "common/tlb.h"
#include "run_suite.h"

#include <string.h>

enum { READ_CYCLES = 50 };
static uint64_t reads[8];
static unsigned nreads;

static uint64_t timed(void *self, uint64_t address, uint64_t now)
{
    (void)self;
    if (nreads < 8)
        reads[nreads] = address;
    nreads++;
    return now + READ_CYCLES;
}

static struct peet_sim_tlb make(uint32_t upper, uint32_t page_bits)
{
    struct peet_sim_tlb_config config = {.l1_entries = 64,
        .l1_ways = 4,
        .l2_entries = 1536,
        .l2_ways = 12,
        .l2_cycles = 7,
        .upper_entries = upper,
        .page_bits = page_bits};
    struct peet_sim_tlb t;

    CU_ASSERT_FATAL(!peet_sim_tlb_init(&t, &config));
    return t;
}

/* Round and round over so many pages: all in the first level, all in the second, or none at all (LRU). */
static void test_reach(void)
{
    static const struct {
        uint64_t pages;
        uint64_t cycles;
    } cases[] = {{64, 0}, {128, 7}, {1536, 7}, {3072, 7 + 4 * READ_CYCLES}};

    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct peet_sim_tlb t = make(0, 12);
        unsigned wrong = 0;

        for (int round = 0; round < 3; round++)
            for (uint64_t page = 0; page < cases[c].pages; page++) {
                uint64_t now = peet_sim_tlb_translate(&t, page << 12 | 5, 1000, timed, NULL);

                wrong += round && now != 1000 + cases[c].cycles;
            }
        CU_ASSERT_EQUAL(wrong, 0);
        peet_sim_tlb_fini(&t);
    }
}

static void test_walks(void)
{
    static const struct {
        uint32_t page_bits, levels;
    } sizes[] = {{12, 4}, {21, 3}, {30, 2}};

    for (unsigned s = 0; s < 3; s++) {
        struct peet_sim_tlb t = make(0, sizes[s].page_bits);

        nreads = 0;
        CU_ASSERT_EQUAL(peet_sim_tlb_translate(&t, 0x7f1234567890, 0, timed, NULL), 7 + sizes[s].levels * READ_CYCLES);
        CU_ASSERT_EQUAL(nreads, sizes[s].levels);
        for (unsigned i = 0; i < nreads; i++) {
            CU_ASSERT(reads[i] >= PEET_SIM_PAGE_TABLES && reads[i] % 8 == 0);
            for (unsigned k = 0; k < i; k++)
                CU_ASSERT_NOT_EQUAL(reads[i], reads[k]);
        }
        peet_sim_tlb_fini(&t);
    }
}

/* With upper entries known, a walk nearby reads the last level only; 2 MiB on, the last two share all but one. */
static void test_upper(void)
{
    struct peet_sim_tlb t = make(32, 12);

    nreads = 0;
    peet_sim_tlb_translate(&t, 0x40000000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 4);
    nreads = 0;
    peet_sim_tlb_translate(&t, 0x40001000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 1);
    CU_ASSERT_EQUAL(reads[0] % 4096, 8);
    nreads = 0;
    peet_sim_tlb_translate(&t, 0x40200000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 2);
    nreads = 0;
    peet_sim_tlb_translate(&t, 0x80000000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 3);
    nreads = 0;
    peet_sim_tlb_translate(&t, 0x7f0000000000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 4);
    CU_ASSERT_EQUAL(t.walks, 5);
    CU_ASSERT_EQUAL(t.walk_refs, 14);
    peet_sim_tlb_fini(&t);
}

/* Two first levels, one second: what one has walked for, the other finds there. */
static void test_sharing(void)
{
    struct peet_sim_tlb data = make(32, 12), code;

    CU_ASSERT_FATAL(!peet_sim_tlb_init_sharing(&code, &data.config, &data));
    nreads = 0;
    peet_sim_tlb_translate(&data, 0x40000000, 0, timed, NULL);
    CU_ASSERT_EQUAL(nreads, 4);
    CU_ASSERT_EQUAL(peet_sim_tlb_translate(&code, 0x40000000, 100, timed, NULL), 100 + data.config.l2_cycles);
    CU_ASSERT_EQUAL(nreads, 4);
    CU_ASSERT_EQUAL(peet_sim_tlb_translate(&code, 0x40000000, 200, timed, NULL), 200);
    peet_sim_tlb_translate(&code, 0x40001000, 0, timed, NULL); /* upper entries are shared too */
    CU_ASSERT_EQUAL(nreads, 5);
    CU_ASSERT_EQUAL(code.walks, 1);
    CU_ASSERT_EQUAL(data.walks, 1);
    peet_sim_tlb_fini(&code);
    peet_sim_tlb_fini(&data);
}

int main(void)
{
    CU_TestInfo tests[] = {{"reach", test_reach}, {"walks", test_walks}, {"upper entries", test_upper},
        {"a shared second level", test_sharing}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: translation", tests);
}
