/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory system's configuration: its defaults, what presets and users lay over them, and what is refused.
 */
#include "memory_config.h"

#include <string.h>
#include "../common/directory.h"
#include "../common/prefetch.h"
#include "../common/slots.h"
#include "../common/tags.h"

static const struct {
    const char *name, *range;
    size_t offset;
    int is_enum;
} fields[] = {
#define PEET_X(name, type, unit, range, help) \
    {#name, range, offsetof(struct x86_memory_config, name), PEET_PARAM_##type == PEET_PARAM_ENUM},
    X86_MEMORY_PARAMS(PEET_X)
#undef PEET_X
};

void x86_memory_config_default(struct x86_memory_config *c)
{
    /* clang-format off */
    *c = (struct x86_memory_config){
        .levels = X86_LEVELS_ALL, .line_bytes = 64,
        .l1i_bytes = 32 << 10, .l1i_ways = 8, .l1i_cycles = 5, .l1i_prefetch = PEET_SIM_PREFETCH_NEXT,
        .l1d_bytes = 32 << 10, .l1d_ways = 8, .l1d_cycles = 5, .l1d_mshrs = 12, .l1d_prefetch = PEET_SIM_PREFETCH_NONE,
        .l1d_prefetch_lines = 2, .l1_replacement = PEET_SIM_LRU,
        .l2_bytes = 1 << 20, .l2_ways = 16, .l2_cycles = 14, .l2_busy_cycles = 2, .l2_mshrs = 48,
        .l2_prefetch = PEET_SIM_PREFETCH_STREAM, .l2_prefetch_lines = 8, .l2_replacement = PEET_SIM_LRU, .writeback_entries = 16,
        .l3_slice_bytes = 2 << 20, .l3_slices = 0, .l3_ways = 16, .l3_cycles = 44, .l3_busy_cycles = 2,
        .l3_replacement = PEET_SIM_LRU, .l3_policy = X86_L3_NONINCLUSIVE,
        .protocol = X86_MESI, .directory = PEET_SIM_DIRECTORY_FULL, .directory_pointers = 4, .snoop_cycles = 20, .hold_stores = 2,
        .topology = X86_MESH, .hop_cycles = 2, .flit_bytes = 32,
        .translation = 1, .page_bytes = 4 << 10, .dtlb_entries = 64, .dtlb_ways = 4, .itlb_entries = 64, .itlb_ways = 8,
        .stlb_entries = 1536, .stlb_ways = 12, .stlb_cycles = 7, .walk_cache_entries = 32, .page_walkers = 2,
        .dram_channels = 4, .dram_ranks = 1, .dram_banks = 16, .dram_row_bytes = 8 << 10, .dram_cas_cycles = 40,
        .dram_activate_cycles = 40, .dram_precharge_cycles = 40, .dram_row_active_cycles = 90, .dram_burst_cycles = 8,
        .dram_refresh = 1, .dram_refresh_every_cycles = 21840, .dram_refresh_cycles = 980, .dram_overhead_cycles = 70,
        .latency = 1, .memory_check = 0, .threads = 1, .seed = 1,
    };
    /* clang-format on */
}

static uint64_t *field(struct x86_memory_config *c, size_t i)
{
    return (uint64_t *)((char *)c + fields[i].offset);
}

/** Returns: the index of a choice in "a|b|c", or -1. */
static int choice(const char *range, const char *text)
{
    size_t length = strlen(text);

    for (int i = 0;; i++) {
        size_t n = strcspn(range, "|");

        if (n == length && !memcmp(range, text, n))
            return i;
        if (!range[n])
            return -1;
        range += n + 1;
    }
}

int x86_memory_config_key(struct x86_memory_config *config, const char *key, uint64_t number, const char *text)
{
    for (size_t i = 0; i < X86_MEMORY_NPARAMS; i++) {
        if (strcmp(fields[i].name, key))
            continue;
        if (fields[i].is_enum != (text != NULL))
            return -2;
        if (text) {
            int at = choice(fields[i].range, text);

            if (at < 1)
                return -2;
            number = (uint64_t)at - 1;
        }
        *field(config, i) = number;
        return 0;
    }
    return -1;
}

void x86_memory_config_params(struct x86_memory_config *config, const union peet_value *values)
{
    for (size_t i = 0; i < X86_MEMORY_NPARAMS; i++)
        if (values[i].u64)
            *field(config, i) = values[i].u64 - (fields[i].is_enum ? 1 : 0);
}

/* ---------------------------------------------------------------------------------------- refusals */

static int power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static int refuse_cache(const struct peet_env *env, const char *what, const char *key, uint64_t bytes, uint64_t ways,
    uint64_t line)
{
    if (!ways || ways > PEET_SIM_TAGS_WAYS_MAX)
        env->fail(env, "%s_ways=%llu: a cache has 1 to %d ways", what, (unsigned long long)ways,
            PEET_SIM_TAGS_WAYS_MAX);
    else if (!bytes || bytes % (ways * line))
        env->fail(env, "%s=%llu: not a multiple of %s_ways * line_bytes = %llu bytes", key, (unsigned long long)bytes,
            what, (unsigned long long)(ways * line));
    else
        return 0;
    return -1;
}

static int refuse_entries(const struct peet_env *env, const char *what, uint64_t entries, uint64_t ways)
{
    if (entries && ways && ways <= PEET_SIM_TAGS_WAYS_MAX && !(entries % ways))
        return 0;
    env->fail(env, "%s_entries=%llu, %s_ways=%llu: entries have to be a multiple of ways (1 to %d)", what,
        (unsigned long long)entries, what, (unsigned long long)ways, PEET_SIM_TAGS_WAYS_MAX);
    return -1;
}

static int refuse_range(const struct peet_env *env, const char *key, uint64_t value, uint64_t least, uint64_t most)
{
    if (value >= least && value <= most)
        return 0;
    env->fail(env, "%s=%llu: it has to be %llu to %llu", key, (unsigned long long)value, (unsigned long long)least,
        (unsigned long long)most);
    return -1;
}

static int refuse_power(const struct peet_env *env, const char *key, uint64_t value)
{
    if (power_of_two(value))
        return 0;
    env->fail(env, "%s=%llu: not a power of two", key, (unsigned long long)value);
    return -1;
}

static int refuse_shared(const struct x86_memory_config *c, const struct peet_env *env, unsigned cores)
{
    if (c->protocol > X86_MOESI || c->l3_policy > X86_L3_EXCLUSIVE || c->directory > PEET_SIM_DIRECTORY_EVICT ||
        c->topology > X86_MESH || c->levels > X86_LEVELS_ALL) {
        env->fail(env,
            "the memory system's configuration has a value out of range in levels, protocol, l3_policy, directory or topology");
        return -1;
    }
    if (cores > X86_MOST_CORES) {
        env->fail(env, "cores=%u: the directory knows up to %d", cores, X86_MOST_CORES);
        return -1;
    }
    if (c->directory != PEET_SIM_DIRECTORY_FULL &&
        refuse_range(env, "directory_pointers", c->directory_pointers, 1, PEET_SIM_POINTERS_MAX))
        return -1;
    if (c->topology != X86_IDEAL &&
        (refuse_range(env, "flit_bytes", c->flit_bytes, 1, 4096) ||
            refuse_range(env, "hop_cycles", c->hop_cycles, 0, 1000)))
        return -1;
    if (refuse_range(env, "l3_slices", c->l3_slices, 0, 1024))
        return -1;
    if (refuse_power(env, "dram_channels", c->dram_channels) || refuse_power(env, "dram_ranks", c->dram_ranks) ||
        refuse_power(env, "dram_banks", c->dram_banks) || refuse_power(env, "dram_row_bytes", c->dram_row_bytes))
        return -1;
    if (c->dram_row_bytes < c->line_bytes) {
        env->fail(env, "dram_row_bytes=%llu: less than line_bytes=%llu", (unsigned long long)c->dram_row_bytes,
            (unsigned long long)c->line_bytes);
        return -1;
    }
    if (c->dram_refresh && (!c->dram_refresh_every_cycles || c->dram_refresh_cycles >= c->dram_refresh_every_cycles)) {
        env->fail(env,
            "dram_refresh_cycles=%llu: not less than dram_refresh_every_cycles=%llu, so that memory would do nothing else",
            (unsigned long long)c->dram_refresh_cycles, (unsigned long long)c->dram_refresh_every_cycles);
        return -1;
    }
    return 0;
}

static int refuse_translation(const struct x86_memory_config *c, const struct peet_env *env)
{
    if (!c->translation)
        return 0;
    if (c->page_bytes != 4 << 10 && c->page_bytes != 2 << 20 && c->page_bytes != 1 << 30) {
        env->fail(env, "page_bytes=%llu: pages have 4KiB, 2MiB or 1GiB", (unsigned long long)c->page_bytes);
        return -1;
    }
    if (refuse_entries(env, "dtlb", c->dtlb_entries, c->dtlb_ways) ||
        refuse_entries(env, "itlb", c->itlb_entries, c->itlb_ways) ||
        (c->stlb_entries && refuse_entries(env, "stlb", c->stlb_entries, c->stlb_ways)))
        return -1;
    return refuse_range(env, "walk_cache_entries", c->walk_cache_entries, 0, 64) ||
            refuse_range(env, "page_walkers", c->page_walkers, 1, 16)
        ? -1
        : 0;
}

static int refuse_latencies(const struct x86_memory_config *c, const struct peet_env *env)
{
    int l2 = c->levels == X86_LEVELS_L1L2 || c->levels == X86_LEVELS_ALL;

    if (l2 && c->l2_cycles < c->l1d_cycles) {
        env->fail(env,
            "l2_cycles=%llu: less than l1d_cycles=%llu; latencies are counted from the beginning of the access",
            (unsigned long long)c->l2_cycles, (unsigned long long)c->l1d_cycles);
        return -1;
    }
    if (c->l3_cycles < (l2 ? c->l2_cycles : c->l1d_cycles)) {
        env->fail(env,
            "l3_cycles=%llu: less than the latency of the level before it; latencies are counted from the beginning of the access",
            (unsigned long long)c->l3_cycles);
        return -1;
    }
    return 0;
}

int x86_memory_config_refuse(const struct x86_memory_config *c, const struct peet_env *env, unsigned cores)
{
    int l2 = c->levels == X86_LEVELS_L1L2 || c->levels == X86_LEVELS_ALL,
        l3 = c->levels == X86_LEVELS_L1L3 || c->levels == X86_LEVELS_ALL;

    if (!power_of_two(c->line_bytes) || refuse_range(env, "line_bytes", c->line_bytes, 16, 256)) {
        if (!power_of_two(c->line_bytes))
            env->fail(env, "line_bytes=%llu: not a power of two", (unsigned long long)c->line_bytes);
        return -1;
    }
    if (!c->threads)
        return refuse_range(env, "threads", c->threads, 1, 64);
    if (refuse_cache(env, "l1i", "l1i_bytes", c->l1i_bytes, c->l1i_ways, c->line_bytes) ||
        refuse_cache(env, "l1d", "l1d_bytes", c->l1d_bytes, c->l1d_ways, c->line_bytes) ||
        (l2 && refuse_cache(env, "l2", "l2_bytes", c->l2_bytes, c->l2_ways, c->line_bytes)) ||
        (l3 && refuse_cache(env, "l3", "l3_slice_bytes", c->l3_slice_bytes, c->l3_ways, c->line_bytes)))
        return -1;
    if (l2 && c->l2_bytes < c->l1d_bytes) {
        env->fail(env, "l2_bytes=%llu: less than l1d_bytes=%llu, whose lines it has to hold",
            (unsigned long long)c->l2_bytes, (unsigned long long)c->l1d_bytes);
        return -1;
    }
    if (refuse_range(env, "l1d_mshrs", c->l1d_mshrs, 1, PEET_SIM_SLOTS_MAX) ||
        (l2 && refuse_range(env, "l2_mshrs", c->l2_mshrs, 1, PEET_SIM_SLOTS_MAX)) ||
        refuse_range(env, "writeback_entries", c->writeback_entries, 1, PEET_SIM_SLOTS_MAX) ||
        refuse_range(env, "l1d_prefetch_lines", c->l1d_prefetch_lines, 1, PEET_SIM_PREFETCH_MAX) ||
        refuse_range(env, "l2_prefetch_lines", c->l2_prefetch_lines, 1, PEET_SIM_PREFETCH_MAX))
        return -1;
    return refuse_latencies(c, env) || refuse_shared(c, env, cores) || refuse_translation(c, env) ? -1 : 0;
}
