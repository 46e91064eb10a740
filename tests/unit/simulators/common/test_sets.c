/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories, remapping and histograms, each against the plainest model.
 */
#include "common/directory.h"
#include "common/histogram.h"
#include "common/random.h"
#include "common/remap.h"
#include "run_suite.h"

#include <stdlib.h>

enum { CORES = 150 };

/* FULL is the set itself; the limited ones never forget a sharer, and EVICT never holds more than its pointers. */
static void test_directory(void)
{
    for (int kind = PEET_SIM_DIRECTORY_FULL; kind <= PEET_SIM_DIRECTORY_EVICT; kind++)
        for (uint32_t pointers = 1; pointers <= PEET_SIM_POINTERS_MAX; pointers += 3) {
            struct peet_sim_directory d = {(enum peet_sim_directory_kind)kind, CORES, pointers};
            union peet_sim_sharers *s = calloc(1, peet_sim_directory_bytes(&d));
            uint8_t has[CORES] = {0};
            uint64_t seed = pointers;
            unsigned wrong = 0;

            CU_ASSERT_FATAL(s != NULL);
            for (int i = 0; i < 3000; i++) {
                uint32_t core = (uint32_t)peet_sim_random_below(&seed, CORES), count = 0, listed = 0;
                int everybody = kind == PEET_SIM_DIRECTORY_BROADCAST && s->limited.all;

                switch (peet_sim_random_below(&seed, 20)) {
                case 0:
                    peet_sim_sharers_clear(&d, s);
                    memset(has, 0, sizeof has);
                    break;
                case 1:
                case 2:
                case 3:
                case 4:
                case 5:
                case 6:
                    peet_sim_sharers_remove(&d, s, core);
                    has[core] = 0;
                    break;
                default: {
                    int out = peet_sim_sharers_add(&d, s, core);

                    if (out >= 0) {
                        wrong += kind != PEET_SIM_DIRECTORY_EVICT || !has[out];
                        has[out] = 0;
                    }
                    has[core] = 1;
                }
                }
                for (uint32_t c = 0; c < CORES; c++) {
                    int said = peet_sim_sharers_has(&d, s, c);

                    count += has[c];
                    wrong += has[c] && !said;
                    wrong += !everybody && said && !has[c] && !(kind == PEET_SIM_DIRECTORY_BROADCAST && s->limited.all);
                }
                wrong += kind == PEET_SIM_DIRECTORY_EVICT && count > pointers;
                for (int c = peet_sim_sharers_next(&d, s, 0), before = -1; c >= 0;
                    before = c, c = peet_sim_sharers_next(&d, s, (uint32_t)c + 1)) {
                    wrong += c <= before || !peet_sim_sharers_has(&d, s, (uint32_t)c);
                    listed++;
                }
                wrong += listed < count;
                wrong += kind != PEET_SIM_DIRECTORY_BROADCAST && listed != count;
            }
            CU_ASSERT_EQUAL(wrong, 0);
            free(s);
        }
}

static uint64_t moved(const struct peet_sim_rule *rules, int n, uint64_t address)
{
    for (int i = 0; i < n; i++)
        if (address >= rules[i].from && address < rules[i].from + rules[i].bytes) {
            uint64_t element = rules[i].element_bytes ? rules[i].element_bytes : rules[i].bytes;

            return rules[i].to +
                (address - rules[i].from) / element * (rules[i].stride_bytes ? rules[i].stride_bytes : element) +
                (address - rules[i].from) % element;
        }
    return address;
}

static void test_remap(void)
{
    struct peet_sim_rule rules[40];
    struct peet_sim_remap r;
    uint64_t seed = 8;
    int n = 0, wrong = 0;

    peet_sim_remap_init(&r);
    CU_ASSERT_EQUAL(peet_sim_remap_address(&r, 12345), 12345);
    for (int turn = 0; turn < 4000; turn++) {
        uint64_t dice = peet_sim_random_below(&seed, 30);

        if (dice == 0 && n < 40) {
            struct peet_sim_rule one = {.from = peet_sim_random_below(&seed, 60000),
                .bytes = 1 + peet_sim_random_below(&seed, 2000),
                .to = peet_sim_random(&seed) >> 20};
            int overlaps = 0;

            if (turn & 1) {
                one.element_bytes = 1 + peet_sim_random_below(&seed, 40);
                one.stride_bytes =
                    peet_sim_random_below(&seed, 2) ? 0 : one.element_bytes + peet_sim_random_below(&seed, 64);
            }
            for (int i = 0; i < n; i++)
                overlaps |= one.from < rules[i].from + rules[i].bytes && rules[i].from < one.from + one.bytes;
            wrong += peet_sim_remap_add(&r, &one) != (overlaps ? PEET_SIM_REMAP_OVERLAP : PEET_SIM_REMAP_OK);
            if (!overlaps)
                rules[n++] = one;
        } else if (dice == 1 && n) {
            int i = (int)peet_sim_random_below(&seed, (uint64_t)n);

            wrong += !peet_sim_remap_remove(&r, rules[i].from);
            rules[i] = rules[--n];
        } else {
            uint64_t address = peet_sim_random_below(&seed, 64000);

            for (int k = 0; k < 20; k++, address += peet_sim_random_below(&seed, 40))
                wrong += peet_sim_remap_address(&r, address) != moved(rules, n, address);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    struct peet_sim_rule bad = {100000, 64, 0, 16, 8};
    CU_ASSERT_EQUAL(peet_sim_remap_add(&r, &bad), PEET_SIM_REMAP_STRIDE);
    CU_ASSERT_EQUAL(peet_sim_remap_remove(&r, 99999), 0);
    peet_sim_remap_fini(&r);
}

static void test_histogram(void)
{
    struct peet_sim_histogram h = {0};
    unsigned wrong = 0;

    for (uint32_t b = 0; b + 1 < PEET_SIM_HISTOGRAM_BUCKETS; b++) { /* every bucket ends where the next begins */
        wrong += peet_sim_histogram_bucket(peet_sim_histogram_from(b)) != b;
        wrong += peet_sim_histogram_bucket(peet_sim_histogram_from(b + 1) - 1) != b;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(peet_sim_histogram_bucket(UINT64_MAX), PEET_SIM_HISTOGRAM_BUCKETS - 1);
    for (uint64_t v = 1; v <= 1000; v++)
        peet_sim_histogram_add(&h, v, 2);
    CU_ASSERT_EQUAL(h.count, 2000);
    CU_ASSERT_EQUAL(h.sum, 1001000);
    CU_ASSERT(h.least == 1 && h.most == 1000);
    for (int percent = 1; percent <= 100; percent++) {
        uint64_t q = peet_sim_histogram_quantile(&h, percent / 100.);

        CU_ASSERT(q <= (uint64_t)percent * 10 && q * 5 >= (uint64_t)percent * 10 * 4);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"directories", test_directory}, {"remapping", test_remap}, {"histogram", test_histogram}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: sets, layouts, histograms", tests);
}
