/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: where pages are, what messages between nodes cost, and each node's memory.
 *
 * Distances are numbers as firmware gives them to operating systems (ACPI's system locality table): 10 within a node,
 * 20 for twice as far.  A message over distance d takes hop_cycles * (d - 10) / 10, and its node's port for as many
 * cycles as it has flits; ring and mesh count links instead, and each link has its own contention.
 */
#include "numa.h"
#include <stdlib.h>

enum { DISTANCE_REMOTE = 20, DISTANCE_MOST = 1000000, ROW_BYTES = 8192 };

/* "10,21;21,10": as many rows, and numbers in each, as nodes.  Returns: 0, or -1 after fail() */
static int read_distances(struct numa *n, const char *text)
{
    const uint32_t k = n->nnodes;
    const char *at = text;
    for (uint32_t i = 0; i < k * k; i++) {
        char *end;
        const uint64_t d = strtoull(at, &end, 10);
        const char wanted = i + 1 == k * k ? 0 : (i + 1) % k ? ',' : ';';
        if (*at < '0' || *at > '9' || *end != wanted) {
            n->env->fail(n->env, "distances=%s: not %u rows of %u numbers, as in 10,20;20,10 (rows end with ';')", text,
                k, k);
            return -1;
        }
        if (d < NUMA_DISTANCE_LOCAL || d > DISTANCE_MOST || (i % k == i / k && d != NUMA_DISTANCE_LOCAL)) {
            n->env->fail(n->env,
                "distances=%s: from node %u to node %u it cannot be %llu; 10 is local, others are 10 to %d", text,
                i / k, i % k, (unsigned long long)d, DISTANCE_MOST);
            return -1;
        }
        n->distance[i] = (uint32_t)d;
        at = end + 1;
    }
    return 0;
}

static int init_wires(struct numa *n, const char *distances, uint32_t hop_cycles)
{
    const uint32_t k = n->nnodes;
    if (n->wires != WIRES_TABLE) {
        struct peet_sim_network_config config = {n->wires == WIRES_RING ? PEET_SIM_RING : PEET_SIM_MESH, k, 1,
            hop_cycles, n->link_bytes, n->env->times_apart != 0};
        while (config.columns * config.columns < k)
            config.columns++;
        if (*distances) {
            n->env->fail(n->env, "distances: only with network=table; ring and mesh have their own");
            return -1;
        }
        return peet_sim_network_init(&n->network, &config) ? -2 : 0;
    }
    n->distance = calloc((size_t)k * k, sizeof *n->distance);
    n->delay = calloc((size_t)k * k, sizeof *n->delay);
    if (!n->distance || !n->delay)
        return -2;
    for (uint32_t i = 0; i < k * k; i++)
        n->distance[i] = i % k == i / k ? NUMA_DISTANCE_LOCAL : DISTANCE_REMOTE;
    if (*distances && read_distances(n, distances))
        return -1;
    for (uint32_t i = 0; i < k * k; i++)
        n->delay[i] = (uint32_t)((uint64_t)hop_cycles * (n->distance[i] - NUMA_DISTANCE_LOCAL) / NUMA_DISTANCE_LOCAL);
    return 0;
}

int peet__numa_nodes_init(struct numa *n, const char *distances, uint32_t hop_cycles, const struct numa_memory *memory)
{
    /* DDR: activation and precharge take as long as a column access, and a row stays open for at least two and a half
     * times as long */
    const struct peet_sim_dram_config dram = {.channels = memory->channels,
        .ranks = 1,
        .banks = memory->banks,
        .row_bytes = ROW_BYTES > n->line_bytes ? ROW_BYTES : n->line_bytes,
        .line_bytes = n->line_bytes,
        .cas_cycles = memory->cas_cycles,
        .activate_cycles = memory->cas_cycles,
        .precharge_cycles = memory->cas_cycles,
        .row_active_cycles = memory->cas_cycles * 5 / 2,
        .burst_cycles = memory->burst_cycles,
        .overhead_cycles = memory->overhead_cycles,
        .apart = n->env->times_apart != 0};
    int failed = 0;
    peet_sim_linemap_init(&n->pages, sizeof(uint32_t));
    n->nodes = calloc(n->nnodes, sizeof *n->nodes);
    for (uint32_t i = 0; n->nodes && !n->flat && i < n->nnodes; i++)
        failed |= peet_sim_dram_init(&n->nodes[i].dram, &dram);
    for (uint32_t i = 0; n->nodes && i < n->nnodes; i++)
        n->nodes[i].controller.apart = n->nodes[i].port.apart = n->env->times_apart != 0;
    if (n->nodes && !failed) {
        failed = init_wires(n, distances, hop_cycles);
        if (failed == 0 || failed == -1)
            return failed;
    }
    n->env->fail(n->env, "out of memory for %u nodes", n->nnodes);
    return -1;
}

void peet__numa_nodes_fini(struct numa *n)
{
    for (uint32_t i = 0; n->nodes && i < n->nnodes; i++)
        peet_sim_dram_fini(&n->nodes[i].dram);
    free(n->nodes);
    free(n->distance);
    free(n->delay);
    peet_sim_linemap_fini(&n->pages);
    if (n->wires != WIRES_TABLE)
        peet_sim_network_fini(&n->network);
}

uint32_t peet__numa_node_of(struct numa *n, uint64_t line, uint32_t node)
{
    const uint64_t page = line >> (n->page_shift - n->line_shift);
    uint32_t *where = peet_sim_linemap_word(&n->pages, page);
    if (!where) {
        if (!n->dead)
            n->env->fail(n->env, "out of memory for the table of pages");
        n->dead = 1;
        return 0;
    }
    if (!*where) {
        *where = 1 +
            (n->placement == PLACE_FIRST_TOUCH          ? node
                    : n->placement == PLACE_INTERLEAVED ? (uint32_t)(page % n->nnodes)
                                                        : 0);
        n->nodes[*where - 1].pages++;
    }
    return *where - 1;
}

uint64_t peet__numa_memory(struct numa *n, uint32_t node, uint64_t line, int write, uint64_t now)
{
    if (n->flat) {
        n->nodes[node].dram.stats.reads += !write;
        n->nodes[node].dram.stats.writes += write != 0;
        return now + n->memory_cycles;
    }
    return peet_sim_dram_access(&n->nodes[node].dram, line << n->line_shift, write, now);
}
