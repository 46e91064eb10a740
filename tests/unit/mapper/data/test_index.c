/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index from addresses to objects against a plain list of intervals, under random insertion and removal: small
 * objects side by side in 16 bytes, objects over many pages, and what is free between them.  With an argument "bench"
 * it prints what a look-up costs.
 */
#include "data/index.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OBJECTS = 400, SPAN = 1 << 18 };

struct interval {
    uint64_t address, bytes;
    uint32_t handle;
};

static struct interval list[OBJECTS];
static size_t n;
static uint64_t state = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static uint32_t model_find(uint64_t address)
{
    for (size_t i = 0; i < n; i++)
        if (address - list[i].address < list[i].bytes)
            return list[i].handle;
    return 0;
}

static int model_overlaps(uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < n; i++)
        if (address < list[i].address + list[i].bytes && list[i].address < address + bytes)
            return 1;
    return 0;
}

static uint64_t some_bytes(void)
{
    switch (rnd(5)) {
    case 0:
        return 1 + rnd(8);
    case 1:
        return 1 + rnd(40);
    case 2:
        return 16 * (1 + rnd(20));
    case 3:
        return 4096 * (1 + rnd(4));
    default:
        return 1 + rnd(20000);
    }
}

/** Everything that can be asked about a few addresses. */
static unsigned look(const struct peet_index *x, uint64_t base)
{
    uint64_t address = base + rnd(SPAN), at = 0, end = address + 1 + rnd(9000), lo, hi, first = 0;
    unsigned wrong = peet_index_find(x, address) != model_find(address);

    while (address + first < end && !model_find(address + first))
        first++;
    if (address + first == end)
        wrong += peet_index_next(x, address, end, &at) != 0;
    else
        wrong += peet_index_next(x, address, end, &at) != model_find(address + first) || at != address + first;
    if (!model_find(address)) {
        peet_index_gap(x, address, base, base + SPAN, &lo, &hi);
        wrong += lo > address || hi <= address || lo < base || hi > base + SPAN;
        for (uint64_t a = lo; a < hi; a += 1 + rnd(64))
            wrong += model_find(a) != 0;
        wrong += model_find(lo) || model_find(hi - 1);
    }
    return wrong;
}

static void test_random(void)
{
    static const uint64_t bases[] = {0x200000000000u, 0x1000, 0x3ffffff8000u /* over the end of a leaf */};
    unsigned wrong = 0;

    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        struct peet_index x;

        CU_ASSERT_EQUAL_FATAL(peet_index_init(&x), 0);
        n = 0;
        for (unsigned step = 0; step < 4000; step++) {
            if (n < OBJECTS && rnd(5) < 3) {
                struct interval one = {bases[b] + rnd(SPAN - 20000), some_bytes(), 1 + (uint32_t)rnd(1u << 30)};

                if (n && rnd(2)) /* just behind another one */
                    one.address = list[rnd(n)].address + list[rnd(n)].bytes;
                if (one.address < bases[b] || one.address + one.bytes > bases[b] + SPAN ||
                    model_overlaps(one.address, one.bytes))
                    continue;
                wrong += peet_index_insert(&x, one.address, one.bytes, one.handle) != 0;
                list[n++] = one;
            } else if (n) {
                size_t i = rnd(n);

                peet_index_remove(&x, list[i].address, list[i].bytes);
                list[i] = list[--n];
            }
            wrong += look(&x, bases[b]);
        }
        peet_index_fini(&x);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/** Every byte of 16 its own object. */
static void test_crowded(void)
{
    struct peet_index x;
    unsigned wrong = 0;

    CU_ASSERT_EQUAL_FATAL(peet_index_init(&x), 0);
    for (uint32_t i = 0; i < 64; i++)
        wrong += peet_index_insert(&x, 0x5000 + i, 1, i + 1) != 0;
    for (uint32_t i = 0; i < 64; i++)
        wrong += peet_index_find(&x, 0x5000 + i) != i + 1;
    for (uint32_t i = 0; i < 64; i += 2)
        peet_index_remove(&x, 0x5000 + i, 1);
    for (uint32_t i = 0; i < 64; i++)
        wrong += peet_index_find(&x, 0x5000 + i) != (i & 1 ? i + 1 : 0);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(peet_index_find(&x, UINT64_MAX), 0);
    CU_ASSERT_NOT_EQUAL(peet_index_insert(&x, UINT64_MAX - 4, 8, 1), 0);
    peet_index_fini(&x);
}

/** What a look-up costs among a million heap blocks of 48 bytes, in a random order: printed, not tested. */
static void bench(void)
{
    enum { BLOCKS = 1 << 20, LOOKUPS = 1 << 24 };
    struct peet_index x;
    uint64_t sum = 0, *addresses = malloc(65536 * sizeof *addresses);
    struct timespec a, b;

    if (peet_index_init(&x) || !addresses)
        return;
    for (uint32_t i = 0; i < BLOCKS; i++)
        peet_index_insert(&x, 0x200000000000u + 48ull * i, 48, i + 1);
    for (int local = 0; local < 2; local++) {
        for (unsigned i = 0; i < 65536; i++)
            addresses[i] = 0x200000000000u + (local ? rnd(48 * 2000) : rnd(48ull * BLOCKS));
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (unsigned i = 0; i < LOOKUPS; i++)
            sum += peet_index_find(&x, addresses[i & 65535]);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        printf("look-up, %s: %.1f ns (%llu)\n", local ? "2000 blocks in turn" : "a million blocks in random order",
            ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / LOOKUPS,
            (unsigned long long)sum & 1);
    }
    free(addresses);
    peet_index_fini(&x);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"random objects", test_random}, {"16 in a cell", test_crowded}, CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"data index", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    unsigned failures;

    if (argc > 1 && !strcmp(argv[1], "bench")) {
        bench();
        return 0;
    }
    if (CU_initialize_registry() || CU_register_suites(suites))
        return 1;
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
