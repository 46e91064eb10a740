/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that goes on: loads miss under one another as far as there are miss registers, stores leave through a
 * write buffer; a block takes a cycle for each instruction and whatever it has to wait for a register or an entry.
 *   peet run --machine ./buffers.so,registers=4,entries=8 -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/mshr.h>
#include <peet/toolkit/tags.h>
#include <peet/toolkit/writebuffer.h>

enum { MISS_CYCLES = 100, DRAIN_CYCLES = 4 };
struct hw { struct peet_sim_tags cache; struct peet_sim_mshrs misses; struct peet_sim_writebuffer stores; };
struct machine { struct hw *hw; unsigned n; };

static const struct peet_param params[] = {
    {"registers", PEET_PARAM_U64, "", "8", "1..64", "misses under way at a time"},
    {"entries", PEET_PARAM_U64, "", "16", "1..128", "of the write buffer"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct machine *m = calloc(1, sizeof *m);
    if (m && (m->hw = calloc(env->hw_contexts, sizeof *m->hw)) != NULL)
        for (m->n = 0; m->n < env->hw_contexts && !peet_sim_tags_init(&m->hw[m->n].cache, 64, 8, PEET_SIM_LRU, 1); m->n++) {
            m->hw[m->n].misses.n = (uint32_t)v[0].u64;
            m->hw[m->n].stores.n = (uint32_t)v[1].u64;
        }
    if (!m || !m->hw || m->n < env->hw_contexts)
        env->fail(env, "out of memory");
    return m;
}

static uint64_t reference(struct hw *h, uint64_t line, int store, uint64_t now)
{
    uint64_t slot = peet_sim_tags_find(&h->cache, line), start;
    int joined;
    if (store) {
        now = peet_sim_writebuffer_begin(&h->stores, line, now, &joined, &start);
        if (!joined)
            peet_sim_writebuffer_end(&h->stores, start + DRAIN_CYCLES);
    } else if (slot == PEET_SIM_NO_SLOT) {
        uint32_t n = peet_sim_mshrs_take(&h->misses, line, now, &start);
        peet_sim_mshrs_set(&h->misses, n, start + MISS_CYCLES);
        peet_sim_tags_fill(&h->cache, peet_sim_tags_victim(&h->cache, line), line, 1);
        now = start;
    } else {
        peet_sim_tags_touch(&h->cache, slot);
    }
    return now;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    uint64_t at = now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            at = reference(&((struct machine *)self)->hw[hw], it.address / 64, event->block->refs[i].kind == PEET_REF_STORE, at);
    return at - now + event->block->ninsns;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "register_wait_cycles", ((struct machine *)self)->hw[0].misses.full_cycles);
    env->stats_u64(env, node, "buffer_wait_cycles", ((struct machine *)self)->hw[0].stores.full_cycles);
    env->stats_u64(env, node, "joined_stores", ((struct machine *)self)->hw[0].stores.joined);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "buffers", .kind = PEET_MACHINE, .params = params,
    .summary = "misses under misses, and a write buffer", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = free, .block = block, .stats = stats};
