/* SPDX-License-Identifier: Apache-2.0 */
/* The results of the bus machine, as they stand in stats.json below "bus".  The keys are described in docs/bus.md. */
#include "bus.h"

static void add_stats(struct cache_stats *sum, const struct cache_stats *s)
{
    const uint64_t *from = (const uint64_t *)s;
    uint64_t *to = (uint64_t *)sum;
    _Static_assert(sizeof *s % sizeof *from == 0, "counters only");
    for (size_t i = 0; i < sizeof *s / sizeof *from; i++)
        to[i] += from[i];
}

static void write_cache(const struct bus *b, const struct peet_env *env, struct peet_stats *o,
    const struct cache_stats *s)
{
    uint64_t touches = s->reads + s->writes + s->fetches;
    uint64_t misses = s->read_misses + s->write_misses + s->fetch_misses;
    env->stats_u64(env, o, "reads", s->reads);
    env->stats_u64(env, o, "writes", s->writes);
    if (b->fetch != FETCH_OFF) {
        env->stats_u64(env, o, "fetches", s->fetches);
        env->stats_u64(env, o, "fetch_misses", s->fetch_misses);
    }
    env->stats_u64(env, o, "hits", touches - misses);
    env->stats_u64(env, o, "misses", misses);
    env->stats_u64(env, o, "read_misses", s->read_misses);
    env->stats_u64(env, o, "write_misses", s->write_misses);
    env->stats_f64(env, o, "miss_ratio", touches ? (double)misses / (double)touches : 0);
    if (b->classify) {
        struct peet_stats *k = env->stats_object(env, o, "misses_by_kind");
        env->stats_u64(env, k, "cold", s->kinds[MISS_COLD]);
        env->stats_u64(env, k, "capacity", s->kinds[MISS_CAPACITY]);
        env->stats_u64(env, k, "conflict", s->kinds[MISS_CONFLICT]);
        env->stats_u64(env, k, "true_sharing", s->kinds[MISS_TRUE_SHARING]);
        env->stats_u64(env, k, "false_sharing", s->kinds[MISS_FALSE_SHARING]);
    }
    env->stats_u64(env, o, "write_hits_on_bus", s->upgrades);
    env->stats_u64(env, o, "invalidations_sent_lines", s->invalidations_sent);
    env->stats_u64(env, o, "invalidations_received_lines", s->invalidations_received);
    env->stats_u64(env, o, "updates_sent_lines", s->updates_sent);
    env->stats_u64(env, o, "updates_received_lines", s->updates_received);
    env->stats_u64(env, o, "evictions_lines", s->evictions);
    env->stats_u64(env, o, "write_backs_lines", s->write_backs);
    env->stats_u64(env, o, "refused_write_backs_lines", s->refused_write_backs);
    env->stats_u64(env, o, "supplied_lines", s->supplied);
}

static void write_bus(const struct bus *b, const struct peet_env *env, struct peet_stats *node)
{
    static const char *const keys[] = {
#define X(name, key, text) key,
        BUS_OPS(X)
#undef X
    };
    const struct calendar *cal = &b->calendar;
    const struct peet_sim_windows *w = &cal->windows;
    uint64_t end = b->end_cycles, within = 0;
    for (uint32_t i = 0; i < w->used; i++)
        within += w->busy_cycles[i];
    struct peet_stats *o = env->stats_object(env, node, "bus");
    env->stats_f64(env, o, "utilisation", end ? (double)within / (double)end : 0);
    env->stats_u64(env, o, "busy_cycles", cal->busy_cycles);
    struct peet_stats *t = env->stats_object(env, o, "transactions");
    for (unsigned op = OP_NONE + 1; op < BUS_OPS_COUNT; op++)
        env->stats_u64(env, t, keys[op], b->transactions[op]);
    env->stats_u64(env, t, "refused", b->refused);
    env->stats_u64(env, t, "total", cal->transactions);
    env->stats_u64(env, o, "window_cycles", w->width_cycles);
    struct peet_stats *a = env->stats_array(env, o, "windows");
    uint32_t n = (uint32_t)((end + w->width_cycles - 1) / w->width_cycles);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = i * w->width_cycles, to = from + w->width_cycles < end ? from + w->width_cycles : end;
        struct peet_stats *x = env->stats_object(env, a, NULL);
        env->stats_u64(env, x, "cycle", from);
        env->stats_f64(env, x, "utilisation", (double)w->busy_cycles[i] / (double)(to - from));
    }
}

void peet__bus_stats(struct bus *b, const struct peet_env *env, struct peet_stats *node)
{
    struct cache_stats sum = {0};
    struct hw waits = {0};
    env->stats_string(env, node, "protocol", b->protocol->name);
    env->stats_string(env, node, "protocol_source", b->protocol->source);
    env->stats_u64(env, node, "sets", b->sets);
    env->stats_u64(env, node, "ways", b->ways);
    for (unsigned i = 0; i < b->ncaches; i++)
        add_stats(&sum, &b->caches[i].stats);
    for (unsigned i = 0; i < b->nhw; i++) {
        waits.stall_cycles += b->hw[i].stall_cycles;
        waits.wait_cycles += b->hw[i].wait_cycles;
    }
    write_bus(b, env, node);
    struct peet_stats *t = env->stats_object(env, node, "totals");
    write_cache(b, env, t, &sum);
    env->stats_u64(env, t, "stall_cycles", waits.stall_cycles);
    env->stats_u64(env, t, "bus_wait_cycles", waits.wait_cycles);
    struct peet_stats *m = env->stats_object(env, node, "memory");
    env->stats_u64(env, m, "reads_lines", b->memory_line_reads);
    env->stats_u64(env, m, "writes_lines", b->memory_line_writes);
    env->stats_u64(env, m, "writes_words", b->memory_word_writes);
    env->stats_u64(env, m, "cache_to_cache_lines", b->cache_to_cache);
    struct peet_stats *a = env->stats_array(env, node, "caches");
    for (unsigned i = 0; i < b->ncaches; i++) {
        const struct cache *c = &b->caches[i];
        struct peet_stats *o = env->stats_object(env, a, NULL);
        env->stats_u64(env, o, "hw", c->hw);
        env->stats_string(env, o, "kind", c->kind);
        write_cache(b, env, o, &c->stats);
    }
    a = env->stats_array(env, node, "hw");
    for (unsigned i = 0; i < b->nhw; i++) {
        struct peet_stats *o = env->stats_object(env, a, NULL);
        env->stats_u64(env, o, "stall_cycles", b->hw[i].stall_cycles);
        env->stats_u64(env, o, "bus_wait_cycles", b->hw[i].wait_cycles);
    }
}
