/* SPDX-License-Identifier: Apache-2.0 */
/* A machine without caches: every reference goes to DRAM, and the rest is free.
 *   peet run --machine ./dram.so,channels=2 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/dram.h>

static const struct peet_param params[] = {
    {"channels", PEET_PARAM_U64, "", "1", "1..16", "a power of two"},
    {"banks", PEET_PARAM_U64, "", "16", "1..64", "of a channel, a power of two"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_dram_config config = {.channels = (uint32_t)v[0].u64, .ranks = 1, .banks = (uint32_t)v[1].u64, .row_bytes = 8192,
        .line_bytes = 64, .cas_cycles = 40, .activate_cycles = 40, .precharge_cycles = 40, .row_active_cycles = 90,
        .burst_cycles = 8, .refresh_every_cycles = 20000, .refresh_cycles = 900, .overhead_cycles = 60};
    struct peet_sim_dram *d = calloc(1, sizeof *d);
    if (config.channels & (config.channels - 1) || config.banks & (config.banks - 1))
        env->fail(env, "channels, banks: not powers of two");
    else if (d && !peet_sim_dram_init(d, &config))
        return d;
    else
        env->fail(env, "out of memory");
    free(d);
    return NULL;
}

static void destroy(void *self)
{
    peet_sim_dram_fini(self);
    free(self);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    uint64_t at = now;
    (void)hw;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            at = peet_sim_dram_access(self, it.address, event->block->refs[i].kind == PEET_REF_STORE, at);
    return at - now;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    const struct peet_sim_dram_stats *s = &((struct peet_sim_dram *)self)->stats;
    env->stats_u64(env, node, "reads", s->reads);
    env->stats_u64(env, node, "writes", s->writes);
    env->stats_u64(env, node, "row_hits", s->row_hits);
    env->stats_u64(env, node, "row_empty", s->row_empty);
    env->stats_u64(env, node, "row_conflicts", s->row_conflicts);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "dram", .kind = PEET_MACHINE,
    .summary = "no caches, only DRAM", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .params = params,
    .create = create, .destroy = destroy, .block = block, .stats = stats};
