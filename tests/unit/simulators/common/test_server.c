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

/* Requests that come far out of order: what is known to be taken is taken, and only what was forgotten is free. */
static void test_apart(void)
{
    struct peet_sim_server s = {.apart = 1};

    for (uint64_t t = 0; t < 100; t += 10)
        CU_ASSERT_EQUAL(peet_sim_server_request(&s, t, 10), t);
    CU_ASSERT_EQUAL(peet_sim_server_request(&s, 50, 10), 100);
    /* gaps of 10 cycles, two more than are remembered: those before 120 and 140 are forgotten */
    for (uint64_t i = 0; i < PEET_SIM_SERVER_GAPS + 2; i++)
        CU_ASSERT_EQUAL(peet_sim_server_request(&s, 120 + 20 * i, 10), 120 + 20 * i);
    CU_ASSERT_EQUAL(peet_sim_server_request(&s, 125, 20), 125);
    CU_ASSERT_EQUAL(peet_sim_server_request(&s, 145, 20), 120 + 20 * (PEET_SIM_SERVER_GAPS + 2) - 10);
    CU_ASSERT_EQUAL(peet_sim_server_request(&s, 145, 10), 150);
}

int main(void)
{
    CU_TestInfo tests[] = {{"first fit", test_first_fit}, {"never two at once", test_never_two},
        {"far out of order", test_apart}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: server", tests);
}
