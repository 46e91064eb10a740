/* SPDX-License-Identifier: Apache-2.0 */
/* The machine "numa" as peet sees it: its parameters and their check, and the operations of the module. */
#include "numa.h"
#include <stdlib.h>

enum { HINTS_LEAST = 64, HINTS_MOST = 1 << 16, CONTROL_BYTES = 8 };

enum param {
    PARAM_NODES,
    PARAM_PROTOCOL,
    PARAM_CACHE,
    PARAM_LINE,
    PARAM_WAYS,
    PARAM_REPLACEMENT,
    PARAM_PLACEMENT,
    PARAM_PAGE,
    PARAM_DIRECTORY,
    PARAM_POINTERS,
    PARAM_NETWORK,
    PARAM_DISTANCES,
    PARAM_HOP,
    PARAM_LINK,
    PARAM_LOCAL,
    PARAM_HOME,
    PARAM_PROBE,
    PARAM_MEMORY,
    PARAM_MEMORY_CYCLES,
    PARAM_CHANNELS,
    PARAM_BANKS,
    PARAM_CAS,
    PARAM_BURST,
    PARAM_OVERHEAD,
    PARAM_HIT,
    PARAM_COST,
    PARAM_CHECK,
    PARAMS
};

static const struct peet_param params[PARAMS + 1] = {
    [PARAM_NODES] = {"nodes", PEET_PARAM_U64, "", "4", "1..256",
        "nodes; processors are dealt to them in order, as evenly as can be"},
    [PARAM_PROTOCOL] = {"protocol", PEET_PARAM_ENUM, "", "mesi", PEET_SIM_DIRPROTO_NAMES, "directory protocol"},
    [PARAM_CACHE] = {"cache", PEET_PARAM_SIZE, "bytes", "64KiB", "64..1073741824", "size of each processor's cache"},
    [PARAM_LINE] = {"line", PEET_PARAM_SIZE, "bytes", "64", "16..4096", "line size, a power of two"},
    [PARAM_WAYS] = {"ways", PEET_PARAM_U64, "lines", "8", "1..64", "lines per set"},
    [PARAM_REPLACEMENT] = {"replacement", PEET_PARAM_ENUM, "", "lru", PEET_SIM_REPLACEMENTS,
        "replacement within a set"},
    [PARAM_PLACEMENT] = {"placement", PEET_PARAM_ENUM, "", "first-touch", NUMA_PLACEMENTS,
        "a page's node: of whom touches it first, round robin, or node 0"},
    [PARAM_PAGE] = {"page", PEET_PARAM_SIZE, "bytes", "4KiB", "256..1073741824",
        "what is placed at once, a power of two"},
    [PARAM_DIRECTORY] = {"directory", PEET_PARAM_ENUM, "", "full", PEET_SIM_DIRECTORIES,
        "sharers: a bit each, or pointers with broadcast or eviction when there are too few"},
    [PARAM_POINTERS] = {"pointers", PEET_PARAM_U64, "", "4", "1..14", "of a directory that is not full"},
    [PARAM_NETWORK] = {"network", PEET_PARAM_ENUM, "", "table", NUMA_WIRES,
        "between nodes: by a table of distances, a ring, a mesh"},
    [PARAM_DISTANCES] = {"distances", PEET_PARAM_STRING, "", "", "",
        "network=table: rows of numbers, 10 is local: 10,16;16,10; default 20 between nodes"},
    [PARAM_HOP] = {"hop_cycles", PEET_PARAM_U64, "cycles", "50", "0..1000000",
        "one way over a link, or over a distance of 20"},
    [PARAM_LINK] = {"link_bytes", PEET_PARAM_SIZE, "bytes", "16", "1..4096",
        "what a link, or a node's port, carries in a cycle"},
    [PARAM_LOCAL] = {"local_cycles", PEET_PARAM_U64, "cycles", "5", "0..1000000", "one way within a node"},
    [PARAM_HOME] = {"home_cycles", PEET_PARAM_U64, "cycles", "10", "0..1000000",
        "a home's directory, for each request"},
    [PARAM_PROBE] = {"probe_cycles", PEET_PARAM_U64, "cycles", "10", "0..1000000",
        "a cache that is asked or told by a home"},
    [PARAM_MEMORY] = {"memory", PEET_PARAM_ENUM, "", "dram", "dram|flat",
        "each node's memory: banks with rows, or always the same time"},
    [PARAM_MEMORY_CYCLES] = {"memory_cycles", PEET_PARAM_U64, "cycles", "100", "0..1000000", "memory=flat: a line"},
    [PARAM_CHANNELS] = {"memory_channels", PEET_PARAM_U64, "", "2", "1..64", "of each node, a power of two"},
    [PARAM_BANKS] = {"memory_banks", PEET_PARAM_U64, "", "16", "1..1024", "of each channel, a power of two"},
    [PARAM_CAS] = {"memory_cas_cycles", PEET_PARAM_U64, "cycles", "28", "0..100000",
        "column access; an activation and a precharge take as long"},
    [PARAM_BURST] = {"memory_burst_cycles", PEET_PARAM_U64, "cycles", "8", "0..100000", "the data bus, for a line"},
    [PARAM_OVERHEAD] = {"memory_overhead_cycles", PEET_PARAM_U64, "cycles", "40", "0..100000",
        "memory controller, both ways"},
    [PARAM_HIT] = {"hit_cycles", PEET_PARAM_U64, "cycles", "0", "0..1000000",
        "each reference, hit or miss, beside the block's cost"},
    [PARAM_COST] = {"cost", PEET_PARAM_ENUM, "", "schema", NUMA_COSTS,
        "cycles of a block: by the compiler's scheduling model, 1, or its number of instructions"},
    [PARAM_CHECK] = {"check", PEET_PARAM_BOOL, "", "off", "",
        "check the protocol's invariants after every reference (slow)"},
};

static void destroy(void *self)
{
    struct numa *n = self;
    peet_sim_ahead_free(n->ahead);
    for (uint32_t i = 0; n->processors && i < n->nhw; i++) {
        peet_sim_tags_fini(&n->processors[i].cache);
        free(n->processors[i].keys);
        free(n->processors[i].hints);
    }
    free(n->processors);
    peet__numa_check_fini(n);
    peet__numa_nodes_fini(n);
    peet_sim_linemap_fini(&n->lines);
    free(n);
}

static int power_of_two(uint64_t value)
{
    return value && !(value & (value - 1));
}

/* Refuses what cannot be.  Returns: 0 or -1 */
static int check_values(const struct peet_env *env, const union peet_value *v)
{
    static const enum param powers[] = {PARAM_LINE, PARAM_PAGE, PARAM_CHANNELS, PARAM_BANKS};
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
        if (!power_of_two(v[powers[i]].u64)) {
            env->fail(env, "%s=%llu: not a power of two", params[powers[i]].name, (unsigned long long)v[powers[i]].u64);
            return -1;
        }
    if (v[PARAM_CACHE].u64 % (v[PARAM_LINE].u64 * v[PARAM_WAYS].u64)) {
        env->fail(env, "cache=%llu: cannot be divided into sets of ways=%llu lines of line=%llu bytes",
            (unsigned long long)v[PARAM_CACHE].u64, (unsigned long long)v[PARAM_WAYS].u64,
            (unsigned long long)v[PARAM_LINE].u64);
        return -1;
    }
    if (v[PARAM_PAGE].u64 < v[PARAM_LINE].u64) {
        env->fail(env, "page=%llu: less than a line, line=%llu", (unsigned long long)v[PARAM_PAGE].u64,
            (unsigned long long)v[PARAM_LINE].u64);
        return -1;
    }
    if (env->hw_contexts > NUMA_PROCESSORS_MAX) {
        env->fail(env, "%u processors are more than can be simulated (%d)", env->hw_contexts, NUMA_PROCESSORS_MAX);
        return -1;
    }
    return 0;
}

/* What references of a state change nothing at all. */
static void find_rights(struct numa *n)
{
    static const struct {
        enum peet_sim_dir_op op;
        uint8_t right;
    } rights[] = {{PEET_SIM_LOAD, PEET_SIM_MAY_READ}, {PEET_SIM_STORE, PEET_SIM_MAY_WRITE}};
    for (unsigned state = 0; state < PEET_SIM_COPIES; state++)
        for (unsigned i = 0; i < sizeof rights / sizeof *rights && state != PEET_SIM_COPY_I; i++) {
            const struct peet_sim_cache_row *row = &n->protocol->cache[state][rights[i].op];
            if (row->can_be && row->request == PEET_SIM_NO_REQUEST && row->next == state)
                n->rights[state] |= rights[i].right;
        }
}

static int make_processors(struct numa *n, const union peet_value *v)
{
    const uint64_t sets = v[PARAM_CACHE].u64 / n->line_bytes / v[PARAM_WAYS].u64;
    const uint64_t slots = sets * v[PARAM_WAYS].u64;
    n->processors = calloc(n->nhw, sizeof *n->processors);
    int failed = !n->processors;
    n->hints_mask = HINTS_LEAST - 1;
    while (n->hints_mask < 4 * slots && n->hints_mask < HINTS_MOST - 1)
        n->hints_mask = 2 * n->hints_mask + 1;
    for (uint32_t i = 0; !failed && i < n->nhw; i++) {
        n->processors[i].number = i;
        n->processors[i].node = (uint32_t)((uint64_t)i * n->nnodes / (n->nhw > n->nnodes ? n->nhw : n->nnodes));
        failed = peet_sim_tags_init(&n->processors[i].cache, sets, (uint32_t)v[PARAM_WAYS].u64,
            (enum peet_sim_replacement)v[PARAM_REPLACEMENT].u64, n->env->seed + i);
        n->processors[i].keys = calloc(slots, sizeof *n->processors[i].keys);
        n->processors[i].hints = calloc(n->hints_mask + 1u, sizeof *n->processors[i].hints);
        failed |= !n->processors[i].keys || !n->processors[i].hints;
    }
    return failed ? -1 : 0;
}

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct numa *n;
    if (check_values(env, v))
        return NULL;
    n = calloc(1, sizeof *n);
    if (!n) {
        env->fail(env, "out of memory");
        return NULL;
    }
    n->env = env;
    n->protocol = peet_sim_dirproto((enum peet_sim_dirproto_id)v[PARAM_PROTOCOL].u64);
    find_rights(n);
    n->nhw = env->hw_contexts;
    n->nnodes = (uint32_t)v[PARAM_NODES].u64;
    n->directory = (struct peet_sim_directory){
        (enum peet_sim_directory_kind)v[PARAM_DIRECTORY].u64, n->nhw, (uint32_t)v[PARAM_POINTERS].u64};
    n->line_bytes = (uint32_t)v[PARAM_LINE].u64;
    n->line_shift = (uint32_t)__builtin_ctzll(v[PARAM_LINE].u64);
    n->page_shift = (uint32_t)__builtin_ctzll(v[PARAM_PAGE].u64);
    n->placement = (enum numa_placement)v[PARAM_PLACEMENT].u64;
    n->wires = (enum numa_wires)v[PARAM_NETWORK].u64;
    n->cost = (enum numa_cost)v[PARAM_COST].u64;
    n->hit_cycles = (uint32_t)v[PARAM_HIT].u64;
    n->home_cycles = (uint32_t)v[PARAM_HOME].u64;
    n->probe_cycles = (uint32_t)v[PARAM_PROBE].u64;
    n->local_cycles = (uint32_t)v[PARAM_LOCAL].u64;
    n->link_bytes = (uint32_t)v[PARAM_LINK].u64;
    n->bytes[NUMA_CONTROL] = CONTROL_BYTES;
    n->bytes[NUMA_DATA] = CONTROL_BYTES + n->line_bytes;
    for (unsigned what = 0; what < NUMA_MESSAGES; what++)
        n->flits[what] = (n->bytes[what] + n->link_bytes - 1) / n->link_bytes;
    n->memory_cycles = (uint32_t)v[PARAM_MEMORY_CYCLES].u64;
    n->flat = v[PARAM_MEMORY].u64 == 1;
    n->check = v[PARAM_CHECK].u64 != 0;
    n->set_words = (n->nhw + 63) / 64;
    n->sharer_words = (uint32_t)(peet_sim_directory_bytes(&n->directory) / sizeof(uint64_t));
    peet_sim_linemap_init(&n->lines,
        sizeof(struct numa_line) + (n->sharer_words + 2 * n->set_words) * sizeof(uint64_t));
    const struct numa_memory memory = {(uint32_t)v[PARAM_CHANNELS].u64, (uint32_t)v[PARAM_BANKS].u64,
        (uint32_t)v[PARAM_CAS].u64, (uint32_t)v[PARAM_BURST].u64, (uint32_t)v[PARAM_OVERHEAD].u64};
    if (peet__numa_nodes_init(n, v[PARAM_DISTANCES].string, (uint32_t)v[PARAM_HOP].u64, &memory)) {
        destroy(n);
        return NULL;
    }
    if (make_processors(n, v) || (n->check && peet__numa_check_init(n))) {
        env->fail(env, "out of memory for %u caches of %llu bytes", n->nhw, (unsigned long long)v[PARAM_CACHE].u64);
        destroy(n);
        return NULL;
    }
    peet__numa_report_init(n);
    return n;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    peet__numa_stats(self, env, node);
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "numa",
    .summary = "nodes with memory and directories on a network: MSI, MESI, MOESI",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params,
    .create = create,
    .destroy = destroy,
    .block = peet__numa_block,
    .loop = peet__numa_loop,
    .blocks = peet__numa_blocks,
    .direct = &peet__numa_direct,
    .stats = stats,
};
