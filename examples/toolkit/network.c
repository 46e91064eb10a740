/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of nodes with a part of memory each: a reference to another node's part is a message there and back.
 *   peet run -n 16 --machine ./network.so,topology=mesh -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/network.h>

static const struct peet_param params[] = {
    {"topology", PEET_PARAM_ENUM, "", "mesh", PEET_SIM_TOPOLOGIES, "of the network"},
    {"hop_cycles", PEET_PARAM_U64, "cycles", "2", "1..1000", "a router and its link"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_network_config config = {.topology = (enum peet_sim_topology)v[0].u64, .nodes = env->hw_contexts, .columns = 1,
        .hop_cycles = (uint32_t)v[1].u64, .flit_bytes = 16};
    struct peet_sim_network *n = calloc(1, sizeof *n);
    while (config.columns * config.columns < config.nodes)
        config.columns++;
    if (n && !peet_sim_network_init(n, &config))
        return n;
    env->fail(env, "out of memory");
    free(n);
    return NULL;
}

static void destroy(void *self)
{
    peet_sim_network_fini(self);
    free(self);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct peet_sim_network *n = self;
    uint64_t at = now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step) {
            uint32_t home = (uint32_t)(it.address / 4096 % n->config.nodes); /* page by page */
            at = peet_sim_network_send(n, hw, home, 8, at);
            at = peet_sim_network_send(n, home, hw, 8 + event->block->refs[i].size_bytes, at);
        }
    return at - now + event->block->ninsns;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    const struct peet_sim_network *n = self;
    env->stats_u64(env, node, "messages", n->messages);
    env->stats_u64(env, node, "hops", n->hops);
    env->stats_u64(env, node, "latency_cycles", n->latency_cycles);
    env->stats_u64(env, node, "waited_cycles", n->waited_cycles);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "network", .kind = PEET_MACHINE,
    .summary = "memory spread over a network", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .params = params,
    .create = create, .destroy = destroy, .block = block, .stats = stats};
