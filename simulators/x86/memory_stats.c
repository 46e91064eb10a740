/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory system's counters as a part of stats.json.
 */
#include "memory_state.h"

enum { WINDOWS = 512 };

static const char *const served_names[X86_SERVED] = {"l1", "l2", "l3", "remote", "dram"};

static void add(struct x86_level_stats *sum, const struct x86_level_stats *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;

    for (size_t i = 0; i < sizeof *s / sizeof *to; i++)
        to[i] += from[i];
}

static void level(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *node, const char *key,
    const struct x86_level_stats *s)
{
    static const struct {
        enum peet_memory_cause cause;
        const char *key;
    } causes[] = {{PEET_MISS_COLD, "cold"}, {PEET_MISS_CAPACITY, "capacity"}, {PEET_MISS_CONFLICT, "conflict"},
        {PEET_MISS_TRUE_SHARING, "true_sharing"}, {PEET_MISS_FALSE_SHARING, "false_sharing"}};
    struct peet_stats *n = env->stats_object(env, node, key), *o;

    /* clang-format off */
#define PEET_X(name) env->stats_u64(env, n, #name, s->name);
    PEET_X(reads) PEET_X(writes) PEET_X(read_misses) PEET_X(write_misses) PEET_X(upgrades)
    PEET_X(evictions) PEET_X(write_backs) PEET_X(invalidations) PEET_X(recalls)
    PEET_X(prefetches) PEET_X(prefetches_used) PEET_X(prefetches_late) PEET_X(prefetches_dropped)
    PEET_X(walk_reads) PEET_X(walk_misses)
#undef PEET_X
        /* clang-format on */
        if (!m->classify) return;
    o = env->stats_object(env, n, "misses_by_cause");
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        env->stats_u64(env, o, causes[i].key, s->causes[causes[i].cause]);
}

static void one_core(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *cores,
    const struct x86_core *c)
{
    struct peet_stats *n = env->stats_object(env, cores, NULL), *served;
    uint64_t hits = c->l1d.stats.reads + c->l1d.stats.writes;

    level(m, env, n, "l1i", &c->l1i.stats);
    level(m, env, n, "l1d", &c->l1d.stats);
    if (m->has_l2)
        level(m, env, n, "l2", &c->l2.stats);
    served = env->stats_object(env, n, "data_served_by");
    for (int i = X86_L1 + 1; i < X86_SERVED; i++)
        hits -= c->served[i];
    for (int i = 0; i < X86_SERVED; i++)
        env->stats_u64(env, served, served_names[i], i == X86_L1 ? hits : c->served[i]);
    env->stats_u64(env, n, "tlb_cycles", c->tlb_cycles);
    env->stats_u64(env, n, "coherence_cycles", c->coherence_cycles);
    env->stats_u64(env, n, "miss_register_wait_cycles", c->l1d.mshrs.waited_cycles + c->l2.mshrs.waited_cycles);
    env->stats_u64(env, n, "write_back_wait_cycles", c->writebacks.waited_cycles);
}

static void translation(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *n = env->stats_object(env, node, "tlb");
    uint64_t data[5] = {0}, code[5] = {0};

    for (uint32_t i = 0; i < m->ncores; i++) {
        const struct peet_sim_tlb *t = &m->cores[i].dtlb, *u = &m->cores[i].itlb;

        data[0] += t->accesses, data[1] += t->l1_misses, data[2] += t->walks, data[3] += t->walk_refs,
            data[4] += t->walk_cycles;
        code[0] += u->accesses, code[1] += u->l1_misses, code[2] += u->walks, code[3] += u->walk_refs,
            code[4] += u->walk_cycles;
    }
    env->stats_u64(env, n, "data_accesses", data[0]);
    env->stats_u64(env, n, "data_misses", data[1]);
    env->stats_u64(env, n, "data_walks", data[2]);
    env->stats_u64(env, n, "instruction_accesses", code[0]);
    env->stats_u64(env, n, "instruction_misses", code[1]);
    env->stats_u64(env, n, "instruction_walks", code[2]);
    env->stats_u64(env, n, "walk_reads", data[3] + code[3]);
    env->stats_u64(env, n, "walk_cycles", data[4] + code[4]);
}

static void shared(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *n = env->stats_object(env, node, "directory");
    uint64_t busy = 0;

    env->stats_u64(env, n, "requests", m->directory_requests);
    env->stats_u64(env, n, "invalidations_sent", m->invalidations_sent);
    env->stats_u64(env, n, "broadcasts", m->broadcasts);
    env->stats_u64(env, n, "cache_to_cache_transfers", m->cache_to_cache);
    n = env->stats_object(env, node, "network");
    env->stats_u64(env, n, "messages", m->network.messages);
    env->stats_u64(env, n, "hops", m->network.hops);
    env->stats_u64(env, n, "latency_cycles", m->network.latency_cycles);
    env->stats_u64(env, n, "waited_cycles", m->network.waited_cycles);
    n = env->stats_object(env, node, "dram");
    env->stats_u64(env, n, "line_reads", m->memory_reads);
    env->stats_u64(env, n, "line_writes", m->memory_writes);
    env->stats_u64(env, n, "row_hits", m->dram.stats.row_hits);
    env->stats_u64(env, n, "row_empty", m->dram.stats.row_empty);
    env->stats_u64(env, n, "row_conflicts", m->dram.stats.row_conflicts);
    env->stats_u64(env, n, "latency_cycles", m->dram.stats.latency_cycles);
    for (uint32_t i = 0; i < m->dram.config.channels; i++)
        busy += m->dram.buses[i].busy_cycles;
    env->stats_u64(env, n, "bus_busy_cycles", busy);
    /* as the preset has them, by their parameters' names */
    env->stats_u64(env, n, "dram_cas_cycles", m->dram.config.cas_cycles);
    env->stats_u64(env, n, "dram_activate_cycles", m->dram.config.activate_cycles);
    env->stats_u64(env, n, "dram_precharge_cycles", m->dram.config.precharge_cycles);
    env->stats_u64(env, n, "dram_overhead_cycles", m->dram.config.overhead_cycles);
}

/** Counts in windows of time, all of the same width; not many, since people look at them. */
static void over_time(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *node)
{
    static const char *const keys[X86_OVER_TIME] = {"l1d_misses", "l2_misses", "l3_misses", "dram_lines"};
    const int there[X86_OVER_TIME] = {1, m->has_l2, m->has_l3, 1};
    uint64_t width = 0, windows = 0;
    struct peet_stats *array;

    for (int i = 0; i < X86_OVER_TIME; i++) {
        const struct peet_sim_windows *w = &m->over_time[i];

        width = x86_later(width, w->width_cycles);
        windows = x86_later(windows, w->used * w->width_cycles);
    }
    while (windows > WINDOWS * width)
        width *= 2;
    env->stats_u64(env, node, "window_cycles", width);
    array = env->stats_array(env, node, "windows");
    for (uint64_t at = 0; at < windows; at += width) {
        struct peet_stats *o = env->stats_object(env, array, NULL);

        env->stats_u64(env, o, "cycle", at);
        for (int i = 0; i < X86_OVER_TIME; i++) {
            const struct peet_sim_windows *w = &m->over_time[i];
            uint64_t sum = 0;

            for (uint64_t k = at / w->width_cycles; k < (at + width) / w->width_cycles && k < w->used; k++)
                sum += w->busy_cycles[k];
            if (there[i])
                env->stats_u64(env, o, keys[i], sum);
        }
    }
}

void x86_memory_stats(const struct x86_memory *m, const struct peet_env *env, struct peet_stats *node)
{
    struct x86_level_stats l1i = {0}, l1d = {0}, l2 = {0}, l3 = {0};
    struct peet_stats *cores;

    for (uint32_t i = 0; i < m->ncores; i++) {
        add(&l1i, &m->cores[i].l1i.stats);
        add(&l1d, &m->cores[i].l1d.stats);
        add(&l2, &m->cores[i].l2.stats);
    }
    for (uint32_t i = 0; i < m->nslices; i++)
        add(&l3, &m->slices[i].l3.stats);
    level(m, env, node, "l1i", &l1i);
    level(m, env, node, "l1d", &l1d);
    if (m->has_l2)
        level(m, env, node, "l2", &l2);
    if (m->has_l3)
        level(m, env, node, "l3", &l3);
    if (m->translation)
        translation(m, env, node);
    env->stats_u64(env, node, "chips", m->nchips);
    if (m->has_l3)
        env->stats_u64(env, node, "l3_slices", m->nslices);
    env->stats_u64(env, node, "memory_channels", m->nchannels);
    shared(m, env, node);
    over_time(m, env, node);
    if (m->check)
        env->stats_u64(env, node, "loads_verified", m->checks);
    cores = env->stats_array(env, node, "cores");
    for (uint32_t i = 0; i < m->ncores; i++)
        one_core(m, env, cores, &m->cores[i]);
}
