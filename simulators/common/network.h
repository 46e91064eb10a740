/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interconnection networks with contention on their links: a ring (both directions, the shorter way, ties
 * clockwise) and a mesh (first along the row, then along the column).  Messages cut through: the head takes
 * hop_cycles for each router and link, the rest follows, and every link on the way is taken for as long as
 * the message has flits.  Nodes are numbered 0 .. nodes - 1; in a mesh node n stands at (n % columns, n / columns).
 */
#ifndef PEET_SIM_NETWORK_H
#define PEET_SIM_NETWORK_H

#include "server.h"

#ifdef __cplusplus
extern "C" {
#endif

enum peet_sim_topology { PEET_SIM_RING, PEET_SIM_MESH };
#define PEET_SIM_TOPOLOGIES "ring|mesh"

struct peet_sim_network_config {
    enum peet_sim_topology topology;
    uint32_t nodes;      /* >= 1 */
    uint32_t columns;    /* MESH: 1..nodes; the last row may be shorter, and then routes pass by the rows above */
    uint32_t hop_cycles; /* router and link */
    uint32_t flit_bytes; /* >= 1: what a link carries in a cycle */
    int apart;           /* messages may also come long after later ones (server.h) */
};

struct peet_sim_network {
    struct peet_sim_network_config config;
    struct peet_sim_server *links; /* four for each node: east (clockwise), west, south, north */
    uint32_t *columns;             /* MESH: that of each node */
    uint64_t messages, hops, latency_cycles, waited_cycles;
};

/** Returns: 0, or -1 without memory; the configuration is taken as valid */
int peet_sim_network_init(struct peet_sim_network *n, const struct peet_sim_network_config *config);
void peet_sim_network_fini(struct peet_sim_network *n);

/** peet_sim_network_hops() - links on the way */
uint32_t peet_sim_network_hops(const struct peet_sim_network *n, uint32_t from, uint32_t to);

/** peet_sim_network_send() - a message of so many bytes.  Returns: when its last flit has arrived; from == to: at once
 */
uint64_t peet_sim_network_send(struct peet_sim_network *n, uint32_t from, uint32_t to, uint32_t bytes, uint64_t now);

#ifdef __cplusplus
}
#endif
#endif
