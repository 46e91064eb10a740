/* SPDX-License-Identifier: Apache-2.0 */
/* What observers hear of the caches (memory reports), and the statistics. */
#include "numa.h"

void peet__numa_report_init(struct numa *n)
{
    const struct peet_memory_level level = {
        "cache", n->processors[0].cache.sets * n->processors[0].cache.ways * n->line_bytes, n->line_bytes, 1};
    if (n->env->describe_memory)
        n->env->describe_memory(n->env, &level, 1);
    n->perfect = n->env->perfect && n->env->data_of;
    n->watched = n->env->reports || n->perfect;
}

static void report_event(struct numa *n, const struct peet_memory_event *event)
{
    if (!(n->env->reports >> event->type & 1))
        return;
    if (n->nreports == NUMA_REPORTS)
        peet__numa_report(n);
    n->reports[n->nreports++] = *event;
}

void peet__numa_report(struct numa *n)
{
    const uint32_t nreports = n->nreports;
    n->nreports = 0;
    if (nreports)
        n->env->report(n->env, n->reports, nreports);
}

void peet__numa_report_miss(struct numa *n, const struct numa_processor *p, enum numa_kind kind, int write,
    uint32_t other, uint64_t cycles, uint64_t now)
{
    static const uint8_t causes[KINDS] = {[KIND_COLD] = PEET_MISS_COLD,
        [KIND_REPLACED] = PEET_MISS_UNKNOWN,
        [KIND_INVALIDATED] = PEET_MISS_UNKNOWN,
        [KIND_UPGRADE] = PEET_MISS_UPGRADE};
    struct peet_memory_event e = {.type = PEET_MEMORY_MISS,
        .level = 1,
        .cause = causes[kind],
        .flags = write ? PEET_MEMORY_STORE : 0,
        .hw = p->number,
        .other = other,
        .size_bytes = n->site.bytes,
        .address = n->site.address,
        .cycles = cycles,
        .now = now,
        .block = n->site.block,
        .ref = n->site.ref};
    report_event(n, &e);
    e.type = PEET_MEMORY_STALL;
    e.level = other == PEET_MEMORY_NOBODY ? 2 : 1;
    e.cause = PEET_MISS_UNKNOWN;
    if (cycles)
        report_event(n, &e);
}

void peet__numa_report_removed(struct numa *n, const struct numa_processor *p, uint64_t line,
    const struct numa_processor *by, int dirty, uint64_t now)
{
    report_event(n,
        &(struct peet_memory_event){.type = p == by ? PEET_MEMORY_EVICT : PEET_MEMORY_INVALIDATE,
            .level = 1,
            .flags = (uint8_t)(dirty ? PEET_MEMORY_DIRTY : 0),
            .hw = p->number,
            .other = p == by ? PEET_MEMORY_NOBODY : by->number,
            .size_bytes = n->line_bytes,
            .address = line << n->line_shift,
            .by = n->site.address,
            .now = now,
            .block = n->site.block,
            .ref = n->site.ref});
}

struct field {
    const char *key;
    size_t offset;
};
#define FIELD(name) {#name, offsetof(struct numa_processor_stats, name)}
static const struct field fields[] = {FIELD(reads), FIELD(writes), FIELD(read_misses), FIELD(write_misses),
    {"cold_misses", offsetof(struct numa_processor_stats, kinds[KIND_COLD])},
    {"replacement_misses", offsetof(struct numa_processor_stats, kinds[KIND_REPLACED])},
    {"coherence_misses", offsetof(struct numa_processor_stats, kinds[KIND_INVALIDATED])},
    {"upgrades", offsetof(struct numa_processor_stats, kinds[KIND_UPGRADE])},
    {"served_by_local_memory", offsetof(struct numa_processor_stats, local_memory)},
    {"served_by_remote_memory", offsetof(struct numa_processor_stats, remote_memory)},
    {"served_by_local_owner", offsetof(struct numa_processor_stats, local_owner)},
    {"served_by_remote_owner", offsetof(struct numa_processor_stats, remote_owner)},
    {"upgrades_at_local_home", offsetof(struct numa_processor_stats, upgrades_local)},
    {"upgrades_at_remote_home", offsetof(struct numa_processor_stats, upgrades_remote)},
    {"copies_invalidated", offsetof(struct numa_processor_stats, invalidated)},
    {"replaced_clean_lines", offsetof(struct numa_processor_stats, replaced_clean)},
    {"replaced_dirty_lines", offsetof(struct numa_processor_stats, replaced_dirty)}, FIELD(stall_cycles),
    FIELD(latency_local_cycles), FIELD(latency_remote_cycles)};
enum { NFIELDS = sizeof fields / sizeof *fields };

static uint64_t field_of(const struct numa_processor_stats *s, size_t f)
{
    return *(const uint64_t *)(const void *)((const char *)s + fields[f].offset);
}

static void processors(const struct numa *n, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *all = env->stats_object(env, node, "totals"), *each = env->stats_array(env, node, "processors");
    uint64_t misses = 0, references = 0;
    for (size_t f = 0; f < NFIELDS; f++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < n->nhw; i++)
            sum += field_of(&n->processors[i].stats, f);
        env->stats_u64(env, all, fields[f].key, sum);
        references += f < 2 ? sum : 0;
        misses += f == 2 || f == 3 ? sum : 0;
    }
    env->stats_f64(env, all, "miss_rate", references ? (double)misses / (double)references : 0);
    for (uint32_t i = 0; i < n->nhw; i++) {
        struct peet_stats *one = env->stats_object(env, each, NULL);
        env->stats_u64(env, one, "node", n->processors[i].node);
        for (size_t f = 0; f < NFIELDS; f++)
            env->stats_u64(env, one, fields[f].key, field_of(&n->processors[i].stats, f));
    }
}

static void nodes(const struct numa *n, const struct peet_env *env, struct peet_stats *node)
{
    struct peet_stats *each = env->stats_array(env, node, "nodes");
    for (uint32_t i = 0; i < n->nnodes; i++) {
        const struct numa_node *h = &n->nodes[i];
        const struct peet_sim_dram_stats *d = &h->dram.stats;
        struct peet_stats *one = env->stats_object(env, each, NULL);
        env->stats_u64(env, one, "pages", h->pages);
        env->stats_u64(env, one, "requests_of_own_processors", h->local_requests);
        env->stats_u64(env, one, "requests_of_others", h->remote_requests);
        env->stats_u64(env, one, "forwards", h->forwards);
        env->stats_u64(env, one, "invalidations", h->invalidations);
        env->stats_u64(env, one, "directory_busy_cycles", h->controller.busy_cycles);
        env->stats_u64(env, one, "directory_waited_cycles", h->controller.waited_cycles);
        env->stats_u64(env, one, "memory_reads", d->reads);
        env->stats_u64(env, one, "memory_writes", d->writes);
        if (n->flat)
            continue;
        env->stats_u64(env, one, "memory_row_hits", d->row_hits);
        env->stats_u64(env, one, "memory_row_empty", d->row_empty);
        env->stats_u64(env, one, "memory_row_conflicts", d->row_conflicts);
    }
}

static uint64_t all(const uint64_t *messages)
{
    return messages[NUMA_CONTROL] + messages[NUMA_DATA];
}

static uint64_t bytes_of(const struct numa *n, const uint64_t *messages)
{
    return messages[NUMA_CONTROL] * n->bytes[NUMA_CONTROL] + messages[NUMA_DATA] * n->bytes[NUMA_DATA];
}

void peet__numa_stats(struct numa *n, const struct peet_env *env, struct peet_stats *node)
{
    static const char *const requests[PEET_SIM_DIR_REQUESTS] = {
        "GetS", "GetM", "Upgrade", "OwnerUpgrade", "PutS", "PutE", "PutO", "PutM"};
    struct peet_stats *network, *transactions;
    processors(n, env, node);
    nodes(n, env, node);
    transactions = env->stats_object(env, node, "transactions");
    for (unsigned r = 0; r < PEET_SIM_DIR_REQUESTS; r++)
        env->stats_u64(env, transactions, requests[r], n->transactions[r]);
    network = env->stats_object(env, node, "network");
    env->stats_u64(env, network, "messages", all(n->messages));
    env->stats_u64(env, network, "message_bytes", bytes_of(n, n->messages));
    env->stats_u64(env, network, "messages_between_nodes", all(n->remote_messages));
    env->stats_u64(env, network, "message_bytes_between_nodes", bytes_of(n, n->remote_messages));
    if (n->wires != WIRES_TABLE) {
        env->stats_u64(env, network, "hops", n->network.hops);
        env->stats_u64(env, network, "waited_cycles", n->network.waited_cycles);
    } else {
        uint64_t waited = 0;
        for (uint32_t i = 0; i < n->nnodes; i++)
            waited += n->nodes[i].port.waited_cycles;
        env->stats_u64(env, network, "waited_cycles", waited);
    }
}
