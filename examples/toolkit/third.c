/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third machine, made of the toolkit: in-order cores with an L1 and a TLB each, an L2 for all, DRAM behind it.  The
 * page walks go through the caches.  A store takes the other cores' copies of its line away.
 *
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o third.so third.c -L$PREFIX/lib -lpeet-toolkit
 *   peet run -n 4 --machine ./third.so,l2=512KiB -- ./shallow
 */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/dram.h>
#include <peet/toolkit/tags.h>
#include <peet/toolkit/tlb.h>

enum { LINE = 64, L1_WAYS = 8, L2_WAYS = 16, DIRTY = 2 };

struct core { struct peet_sim_tags l1; struct peet_sim_tlb tlb; uint64_t misses, lost; };
struct third {
    struct core *cores;
    unsigned n;
    struct peet_sim_tags l2;
    struct peet_sim_server port; /* of the L2: one access every other cycle */
    struct peet_sim_dram dram;
    uint64_t l1_cycles, l2_cycles, l2_misses;
};
struct walker { struct third *m; struct core *core; };

static const struct peet_param params[] = {
    {"l1", PEET_PARAM_SIZE, "bytes", "32KiB", "512..", "of a core, 8 ways"},
    {"l2", PEET_PARAM_SIZE, "bytes", "1MiB", "1024..", "of all, 16 ways"},
    {"l1_cycles", PEET_PARAM_U64, "cycles", "4", "1..1000", "a hit"},
    {"l2_cycles", PEET_PARAM_U64, "cycles", "30", "1..1000", "a hit in the L2, on top"}, {0}};

static void destroy(void *self)
{
    struct third *m = self;
    for (unsigned i = 0; m->cores && i < m->n; i++) {
        peet_sim_tags_fini(&m->cores[i].l1);
        peet_sim_tlb_fini(&m->cores[i].tlb);
    }
    peet_sim_tags_fini(&m->l2);
    peet_sim_dram_fini(&m->dram);
    free(m->cores);
    free(m);
}

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_tlb_config tlb = {.l1_entries = 64, .l1_ways = 4, .l2_entries = 1024, .l2_ways = 8, .l2_cycles = 7,
        .upper_entries = 16, .page_bits = 12};
    struct peet_sim_dram_config dram = {.channels = 2, .ranks = 1, .banks = 16, .row_bytes = 8192, .line_bytes = LINE, .cas_cycles = 40,
        .activate_cycles = 40, .precharge_cycles = 40, .row_active_cycles = 90, .burst_cycles = 8, .overhead_cycles = 60};
    struct third *m = calloc(1, sizeof *m);
    int failed = !m || !(m->cores = calloc(env->hw_contexts, sizeof *m->cores));

    if (!failed) {
        m->n = env->hw_contexts, m->l1_cycles = v[2].u64, m->l2_cycles = v[3].u64;
        failed = peet_sim_tags_init(&m->l2, v[1].u64 / LINE / L2_WAYS, L2_WAYS, PEET_SIM_RRIP, env->seed) | peet_sim_dram_init(&m->dram, &dram);
        for (unsigned i = 0; i < m->n; i++)
            failed |= peet_sim_tags_init(&m->cores[i].l1, v[0].u64 / LINE / L1_WAYS, L1_WAYS, PEET_SIM_PLRU, i) |
                peet_sim_tlb_init(&m->cores[i].tlb, &tlb);
    }
    if (failed)
        env->fail(env, "out of memory");
    if (failed && m)
        destroy(m);
    return failed ? NULL : m;
}

static uint64_t second_level(struct third *m, uint64_t line, uint64_t now)
{
    uint64_t slot = peet_sim_tags_find(&m->l2, line), at = peet_sim_server_request(&m->port, now, 2) + m->l2_cycles;

    if (slot != PEET_SIM_NO_SLOT) {
        peet_sim_tags_touch(&m->l2, slot);
        return at;
    }
    m->l2_misses++;
    slot = peet_sim_tags_victim(&m->l2, line);
    if (m->l2.states[slot] == DIRTY)
        peet_sim_dram_access(&m->dram, m->l2.numbers[slot] * LINE, 1, at);
    peet_sim_tags_fill(&m->l2, slot, line, 1);
    return peet_sim_dram_access(&m->dram, line * LINE, 0, at);
}

static uint64_t reference(struct third *m, struct core *c, uint64_t address, int store, uint64_t now)
{
    uint64_t line = address / LINE, slot = peet_sim_tags_find(&c->l1, line), second;

    if (slot == PEET_SIM_NO_SLOT) {
        c->misses++;
        now = second_level(m, line, now);
        peet_sim_tags_fill(&c->l1, peet_sim_tags_victim(&c->l1, line), line, 1);
    } else {
        peet_sim_tags_touch(&c->l1, slot);
    }
    if (store && (second = peet_sim_tags_find(&m->l2, line)) != PEET_SIM_NO_SLOT)
        m->l2.states[second] = DIRTY; /* stores go through to the L2 */
    for (unsigned i = 0; store && i < m->n; i++)
        if (&m->cores[i] != c && (slot = peet_sim_tags_find(&m->cores[i].l1, line)) != PEET_SIM_NO_SLOT) {
            peet_sim_tags_drop(&m->cores[i].l1, slot);
            m->cores[i].lost++;
        }
    return now + m->l1_cycles;
}

static uint64_t walk(void *self, uint64_t address, uint64_t now)
{
    return reference(((struct walker *)self)->m, ((struct walker *)self)->core, address, 0, now);
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct third *m = self;
    struct walker w = {m, &m->cores[hw]};
    uint64_t at = now;

    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step) {
            at = peet_sim_tlb_translate(&w.core->tlb, it.address, at, walk, &w);
            at = reference(m, w.core, it.address, event->block->refs[i].kind == PEET_REF_STORE || event->block->refs[i].kind == PEET_REF_MODIFY, at);
        }
    return at - now + event->block->ninsns;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct third *m = self;
    struct peet_stats *cores = env->stats_array(env, node, "cores"), *core;

    for (unsigned i = 0; i < m->n; i++) {
        core = env->stats_object(env, cores, NULL);
        env->stats_u64(env, core, "l1_misses", m->cores[i].misses);
        env->stats_u64(env, core, "lost_lines", m->cores[i].lost);
        env->stats_u64(env, core, "page_walks", m->cores[i].tlb.walks);
    }
    env->stats_u64(env, node, "l2_misses", m->l2_misses);
    env->stats_u64(env, node, "dram_reads", m->dram.stats.reads), env->stats_u64(env, node, "dram_writes", m->dram.stats.writes);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "third", .kind = PEET_MACHINE, .params = params,
    .summary = "private L1 and TLB, a shared L2, DRAM", .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES, .create = create,
    .destroy = destroy, .block = block, .stats = stats};
