/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shadow against an array that is shifted at every reference.
 */
#include "common/random.h"
#include "common/shadow.h"
#include "run_suite.h"

#include <string.h>

static int at(const uint64_t *list, uint32_t n, uint64_t number)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == number)
            return (int)i;
    return -1;
}

static void test_lru(void)
{
    for (uint32_t lines = 1; lines <= 100; lines = lines * 3 + 1) {
        struct peet_sim_shadow s;
        uint64_t list[128], seed = lines; /* the newest first */
        uint32_t n = 0;
        unsigned wrong = 0, hits = 0, drops = 0;

        CU_ASSERT_FATAL(!peet_sim_shadow_init(&s, lines));
        for (int i = 0; i < 40000; i++) {
            uint64_t number = peet_sim_random_below(&seed, 2 * lines) << (i % 2 ? 0 : 40),
                     what = peet_sim_random_below(&seed, 20);
            int where = at(list, n, number);

            wrong += peet_sim_shadow_has(&s, number) != (where >= 0);
            if (!what) {
                peet_sim_shadow_drop(&s, number);
                drops += where >= 0;
                if (where >= 0)
                    memmove(&list[where], &list[where + 1], (--n - (uint32_t)where) * sizeof *list);
                continue;
            }
            wrong += peet_sim_shadow_use(&s, number) != (where >= 0);
            hits += where >= 0;
            if (where < 0)
                where = n < lines ? (int)n++ : (int)n - 1;
            memmove(&list[1], &list[0], (uint32_t)where * sizeof *list);
            list[0] = number;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(hits > 2000 && drops > 100);
        peet_sim_shadow_fini(&s);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"least recently used", test_lru}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: shadow", tests);
}
