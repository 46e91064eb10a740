/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks: distances and latencies in closed form when nobody is in the way, and what a shared link lets through.
 */
#include "common/network.h"
#include "run_suite.h"

#include <stdlib.h>

static struct peet_sim_network make(enum peet_sim_topology topology, uint32_t nodes, uint32_t columns)
{
    struct peet_sim_network_config config = {topology, nodes, columns, 3, 16, 0};
    struct peet_sim_network n;

    CU_ASSERT_FATAL(!peet_sim_network_init(&n, &config));
    return n;
}

static void test_distances(void)
{
    for (uint32_t nodes = 1; nodes <= 17; nodes++) {
        struct peet_sim_network ring = make(PEET_SIM_RING, nodes, 1);

        for (uint32_t a = 0; a < nodes; a++)
            for (uint32_t b = 0; b < nodes; b++) {
                uint32_t there = (b + nodes - a) % nodes, back = (a + nodes - b) % nodes;

                CU_ASSERT_EQUAL(peet_sim_network_hops(&ring, a, b), there < back ? there : back);
            }
        peet_sim_network_fini(&ring);
        for (uint32_t columns = 1; columns <= nodes; columns++) { /* also meshes whose last row is short */
            struct peet_sim_network mesh = make(PEET_SIM_MESH, nodes, columns);

            for (uint32_t a = 0; a < nodes; a++)
                for (uint32_t b = 0; b < nodes; b++) {
                    uint32_t manhattan = (uint32_t)(abs((int)(a % columns) - (int)(b % columns)) +
                        abs((int)(a / columns) - (int)(b / columns)));

                    CU_ASSERT_EQUAL(peet_sim_network_hops(&mesh, a, b), manhattan);
                }
            peet_sim_network_fini(&mesh);
        }
    }
}

static void test_latency(void)
{
    struct peet_sim_network mesh = make(PEET_SIM_MESH, 16, 4);
    uint64_t time = 0;

    for (uint32_t a = 0; a < 16; a++)
        for (uint32_t b = 0; b < 16; b++)
            for (uint32_t bytes = 0; bytes <= 80; bytes += 8) {
                uint64_t flits = bytes ? (bytes + 15) / 16 : 1, arrived;

                time += 1000;
                arrived = peet_sim_network_send(&mesh, a, b, bytes, time);
                CU_ASSERT_EQUAL(arrived - time, a == b ? 0 : 3 * peet_sim_network_hops(&mesh, a, b) + flits - 1);
            }
    CU_ASSERT_EQUAL(mesh.waited_cycles, 0);
    peet_sim_network_fini(&mesh);
}

/* 100 messages of 5 flits over the same link, all at once: one every 5 cycles. */
static void test_contention(void)
{
    struct peet_sim_network ring = make(PEET_SIM_RING, 8, 1);
    uint64_t last = 0;

    for (int i = 0; i < 100; i++)
        last = peet_sim_network_send(&ring, 2, 3, 80, 50);
    CU_ASSERT_EQUAL(last, 50 + 99 * 5 + 3 + 4);
    /* the other direction is another link */
    CU_ASSERT_EQUAL(peet_sim_network_send(&ring, 3, 2, 80, 50), 50 + 3 + 4);
    peet_sim_network_fini(&ring);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"distances", test_distances}, {"latency", test_latency}, {"contention", test_contention}, CU_TEST_INFO_NULL};

    return run_suite("toolkit: networks", tests);
}
