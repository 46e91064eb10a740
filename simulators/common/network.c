/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes and the reservation of their links.
 */
#include "network.h"

#include <stdlib.h>

enum { EAST, WEST, SOUTH, NORTH, DIRECTIONS };

int peet_sim_network_init(struct peet_sim_network *n, const struct peet_sim_network_config *config)
{
    memset(n, 0, sizeof *n);
    n->config = *config;
    n->links = calloc((size_t)config->nodes * DIRECTIONS, sizeof *n->links);
    n->columns = calloc(config->nodes, sizeof *n->columns);
    for (size_t i = 0; n->links && i < (size_t)config->nodes * DIRECTIONS; i++)
        n->links[i].apart = config->apart;
    for (uint32_t i = 0; n->columns && config->columns && i < config->nodes; i++)
        n->columns[i] = i % config->columns;
    return n->links && n->columns ? 0 : -1;
}

void peet_sim_network_fini(struct peet_sim_network *n)
{
    free(n->links);
    free(n->columns);
    n->links = NULL;
    n->columns = NULL;
}

/** The next node on the way, and the direction of the link to it. */
static uint32_t next_node(const struct peet_sim_network *n, uint32_t at, uint32_t to, int *out_direction)
{
    uint32_t nodes = n->config.nodes, columns = n->config.columns, clockwise, column, goal;

    if (n->config.topology == PEET_SIM_RING) {
        clockwise = to >= at ? to - at : to + nodes - at;
        *out_direction = clockwise <= nodes - clockwise ? EAST : WEST;
        if (*out_direction == EAST)
            return at + 1 == nodes ? 0 : at + 1;
        return (at ? at : nodes) - 1;
    }
    column = n->columns[at];
    goal = n->columns[to];
    if (column < goal && at + 1 < nodes) {
        *out_direction = EAST;
        return at + 1;
    }
    if (column < goal) { /* the last row ends here */
        *out_direction = NORTH;
        return at - columns;
    }
    if (column > goal) {
        *out_direction = WEST;
        return at - 1;
    }
    *out_direction = at < to ? SOUTH : NORTH;
    return at < to ? at + columns : at - columns;
}

uint32_t peet_sim_network_hops(const struct peet_sim_network *n, uint32_t from, uint32_t to)
{
    uint32_t hops = 0;
    int direction;

    for (; from != to; from = next_node(n, from, to, &direction))
        hops++;
    return hops;
}

uint64_t peet_sim_network_send(struct peet_sim_network *n, uint32_t from, uint32_t to, uint32_t bytes, uint64_t now)
{
    uint64_t flits = (bytes + n->config.flit_bytes - 1) / n->config.flit_bytes, head = now;

    if (!flits)
        flits = 1;
    n->messages++;
    if (from == to)
        return now;
    while (from != to) {
        int direction;
        uint32_t next = next_node(n, from, to, &direction);
        uint64_t start = peet_sim_server_request(&n->links[from * DIRECTIONS + (uint32_t)direction], head, flits);

        n->waited_cycles += start - head;
        head = start + n->config.hop_cycles;
        n->hops++;
        from = next;
    }
    head += flits - 1;
    n->latency_cycles += head - now;
    return head;
}
