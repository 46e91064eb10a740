/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server against a time line in which every cycle is marked, as long as the disorder of the requests is
 * within what the server remembers; and that it never serves two at once beyond that.
 */
#include "common/random.h"
#include "common/server.h"
#include "run_suite.h"

enum { HORIZON = 400000 };
static uint8_t taken[HORIZON];

static uint64_t first_fit(uint64_t now, uint64_t cycles)
{
    for (uint64_t start = now;; start++) {
        uint64_t i = 0;

        while (i < cycles && !taken[start + i])
            i++;
        if (i == cycles) {
            memset(&taken[start], 1, cycles);
            return start;
        }
        start += i;
    }
}

static void test_first_fit(void)
{
    struct peet_sim_server s = {0};
    uint64_t seed = 1, time = 0;
    int wrong = 0;

    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 20000; i++) {
        uint64_t cycles = 1 + peet_sim_random_below(&seed, 8), back = peet_sim_random_below(&seed, 30), now;

        time += peet_sim_random_below(&seed, 18);
        now = time > back ? time - back : 0;
        wrong += peet_sim_server_request(&s, now, cycles) != first_fit(now, cycles);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_never_two(void)
{
    struct peet_sim_server s = {0};
    uint64_t seed = 2, busy = 0, asked = 0;
    int wrong = 0;

    memset(taken, 0, sizeof taken);
    for (int i = 0; i < 20000; i++) {
        uint64_t cycles = peet_sim_random_below(&seed, 10), now = peet_sim_random_below(&seed, HORIZON / 2);
        uint64_t start = peet_sim_server_request(&s, now, cycles);

        wrong += start < now || start + cycles > HORIZON;
        for (uint64_t t = start; t < start + cycles && t < HORIZON; t++) {
            wrong += taken[t];
            taken[t] = 1;
        }
        asked += cycles;
    }
    for (int t = 0; t < HORIZON; t++)
        busy += taken[t];
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(busy, asked);
    CU_ASSERT_EQUAL(s.busy_cycles, asked);
    CU_ASSERT_EQUAL(s.requests, 20000);
}

int main(void)
{
    CU_TestInfo tests[] = {{"first fit", test_first_fit}, {"never two at once", test_never_two}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: server", tests);
}
