/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, latencies and protocol of the x86 machine's memory system: one table gives the parameters, the fields
 * of the configuration and the keys of presets.  A parameter's default says "as the preset has it", so that a
 * preset with one number changed is a preset with one number changed.
 *
 * Latencies are from the beginning of the access to the use of the data, with nothing else in the way: a hit in
 * the second level takes l2_cycles, not l1d_cycles + l2_cycles.  What the network adds comes on top of l3_cycles,
 * what DRAM takes on top of both.
 */
#ifndef PEET_X86_MEMORY_CONFIG_H
#define PEET_X86_MEMORY_CONFIG_H

#include <peet/module.h>

enum x86_levels { X86_LEVELS_L1, X86_LEVELS_L1L2, X86_LEVELS_L1L3, X86_LEVELS_ALL };
enum x86_l2_fills { X86_L2_FILLS_PORT, X86_L2_FILLS_ASIDE };
enum x86_l3_policy { X86_L3_INCLUSIVE, X86_L3_NONINCLUSIVE, X86_L3_EXCLUSIVE };
enum x86_protocol { X86_MESI, X86_MESIF, X86_MOESI };
enum x86_topology { X86_IDEAL, X86_RING, X86_MESH };

#define X86_MOST_CORES 4096 /* that the directory knows */

#define X86_REPLACEMENTS "preset|lru|fifo|random|plru|rrip"
#define X86_PREFETCHERS "preset|none|next|stride|stream"
#define X86_SWITCH "preset|off|on"

/**
 * X(name, type, unit, range, help) - U64 and SIZE: 0 is the preset's; ENUM: the first choice is.  An enum's field holds
 * the choice without that first one.
 */
#define X86_MEMORY_PARAMS(X) \
    X(chip_cores, U64, "cores", "0..1024", \
        "of a chip, whose slices and memory channels are there however many run; more add chips; 0 also in a preset: all are one chip") \
    X(levels, ENUM, "", "preset|l1|l1l2|l1l3|l1l2l3", "levels of caches that there are") \
    X(line_bytes, SIZE, "bytes", "0..256", "line of all caches") \
    X(l1i_bytes, SIZE, "bytes", "0..16MiB", "first-level instruction cache of a core") \
    X(l1i_ways, U64, "", "0..64", "its ways") \
    X(l1i_cycles, U64, "cycles", "0..1000", "its latency") \
    X(l1i_prefetch, ENUM, "", X86_PREFETCHERS, "its prefetcher") \
    X(l1d_bytes, SIZE, "bytes", "0..16MiB", "first-level data cache of a core") \
    X(l1d_ways, U64, "", "0..64", "its ways") \
    X(l1d_cycles, U64, "cycles", "0..1000", "its latency, address to use") \
    X(l1d_mshrs, U64, "", "0..128", "its misses under way at a time (line fill buffers)") \
    X(l1d_prefetch, ENUM, "", X86_PREFETCHERS, "its prefetcher") \
    X(l1d_prefetch_lines, U64, "lines", "0..16", "lines that it fetches ahead") \
    X(l1_replacement, ENUM, "", X86_REPLACEMENTS, "replacement of both first-level caches") \
    X(l2_bytes, SIZE, "bytes", "0..1GiB", "second-level cache of a core; holds what its first-level caches hold") \
    X(l2_ways, U64, "", "0..64", "its ways") \
    X(l2_cycles, U64, "cycles", "0..1000", "latency of a hit there") \
    X(l2_busy_cycles, U64, "cycles", "0..1000", "one access every so many cycles") \
    X(l2_fills, ENUM, "", "preset|port|aside", \
        "what is written back from L1D and what L2 fetches ahead: takes cycles of l2_busy_cycles as all else, or none") \
    X(l2_mshrs, U64, "", "0..128", "its misses under way at a time") \
    X(l2_prefetch, ENUM, "", X86_PREFETCHERS, "its prefetcher") \
    X(l2_prefetch_lines, U64, "lines", "0..16", "lines that it fetches ahead") \
    X(l2_replacement, ENUM, "", X86_REPLACEMENTS, "its replacement") \
    X(writeback_entries, U64, "", "0..128", "lines on their way out of a core's caches at a time") \
    X(l3_slice_bytes, SIZE, "bytes", "0..1GiB", "one slice of the shared cache") \
    X(l3_slices, U64, "", "0..1024", \
        "slices of a chip, over which addresses are hashed; 0 also in a preset: one for each core of the chip") \
    X(l3_ways, U64, "", "0..64", "its ways") \
    X(l3_cycles, U64, "cycles", "0..10000", \
        "latency of a hit in the nearest slice; without a third level: of asking the directory") \
    X(l3_busy_cycles, U64, "cycles", "0..1000", "one access to a slice every so many cycles") \
    X(l3_replacement, ENUM, "", X86_REPLACEMENTS, "its replacement") \
    X(l3_policy, ENUM, "", "preset|inclusive|noninclusive|exclusive", \
        "does it hold what the cores' caches hold? always, perhaps, never") \
    X(protocol, ENUM, "", "preset|mesi|mesif|moesi", "coherence of the cores' caches") \
    X(directory, ENUM, "", "preset|full|broadcast|evict", \
        "sharer sets: a bit each, or a few pointers and then broadcast, or the earliest gives way") \
    X(directory_pointers, U64, "", "0..14", "pointers of the latter two") \
    X(snoop_cycles, U64, "cycles", "0..10000", "another core's caches look a line up and answer") \
    X(hold_stores, U64, "", "0..1000", \
        "so many stores of its queue a core writes to a line that another one has asked for before it came") \
    X(topology, ENUM, "", "preset|ideal|ring|mesh", "network of cores and slices; ideal: no distances") \
    X(hop_cycles, U64, "cycles", "0..1000", "a router and its link") \
    X(flit_bytes, SIZE, "bytes", "0..4096", "what a link carries in a cycle") \
    X(translation, ENUM, "", X86_SWITCH, "translation buffers and page walks") \
    X(page_bytes, SIZE, "bytes", "0..1GiB", "4KiB, 2MiB or 1GiB") \
    X(dtlb_entries, U64, "", "0..65536", "translation buffer for data") \
    X(dtlb_ways, U64, "", "0..64", "its ways") \
    X(itlb_entries, U64, "", "0..65536", "translation buffer for instructions") \
    X(itlb_ways, U64, "", "0..64", "its ways") \
    X(stlb_entries, U64, "", "0..1048576", "second translation buffer, for both") \
    X(stlb_ways, U64, "", "0..64", "its ways") \
    X(stlb_cycles, U64, "cycles", "0..1000", "what a hit there costs") \
    X(walk_cache_entries, U64, "", "0..64", "cached upper entries of the page table") \
    X(page_walkers, U64, "", "0..16", "page walks under way at a time") \
    X(dram_channels, U64, "", "0..64", "memory channels of a chip, a power of two") \
    X(dram_ranks, U64, "", "0..16", "ranks of a channel, a power of two") \
    X(dram_banks, U64, "", "0..256", "banks of a rank, a power of two") \
    X(dram_row_bytes, SIZE, "bytes", "0..1MiB", "an open row") \
    X(dram_cas_cycles, U64, "cycles", "0..10000", "tCL, in cycles of the core") \
    X(dram_activate_cycles, U64, "cycles", "0..10000", "tRCD") \
    X(dram_precharge_cycles, U64, "cycles", "0..10000", "tRP") \
    X(dram_row_active_cycles, U64, "cycles", "0..10000", "tRAS") \
    X(dram_burst_cycles, U64, "cycles", "0..10000", "a line on a channel's data bus: the bandwidth") \
    X(dram_refresh, ENUM, "", X86_SWITCH, "refresh") \
    X(dram_refresh_every_cycles, U64, "cycles", "0..10000000", "tREFI") \
    X(dram_refresh_cycles, U64, "cycles", "0..1000000", "tRFC") \
    X(dram_overhead_cycles, U64, "cycles", "0..10000", "controller and the way to it, both ways") \
    X(latency, ENUM, "", X86_SWITCH, "off: caches and directory work, but nothing takes time") \
    X(classify, ENUM, "", X86_SWITCH, "tell misses of conflict from those of capacity, at each level (slow)") \
    X(memory_check, ENUM, "", X86_SWITCH, "verify the protocol at every access (slow)")

struct x86_memory_config {
#define PEET_X(name, type, unit, range, help) uint64_t name;
    X86_MEMORY_PARAMS(PEET_X)
#undef PEET_X
    uint32_t threads; /* hardware contexts of a core: context hw belongs to core hw / threads */
    uint64_t seed;    /* of random replacement */
};

enum x86_memory_param {
#define PEET_X(name, type, unit, range, help) X86_PARAM_##name,
    X86_MEMORY_PARAMS(PEET_X)
#undef PEET_X
        X86_MEMORY_NPARAMS
};

#define X86_MEMORY_DEFAULT_U64 "0"
#define X86_MEMORY_DEFAULT_SIZE "0"
#define X86_MEMORY_DEFAULT_ENUM "preset"
#define X86_MEMORY_PARAM_LINE(name, type, unit, range, help) \
    {#name, PEET_PARAM_##type, unit, X86_MEMORY_DEFAULT_##type, range, help},
/** X86_MEMORY_PARAM_TABLE - entries of a module's table of parameters */
#define X86_MEMORY_PARAM_TABLE X86_MEMORY_PARAMS(X86_MEMORY_PARAM_LINE)

/** x86_memory_config_default() - a plain machine of three levels; presets lay their numbers over it */
void x86_memory_config_default(struct x86_memory_config *config);

/**
 * x86_memory_config_key() - one key of a preset
 * @text: an enum's choice; else NULL, and it is @number
 * Returns: 0; -1: no such key; -2: no such choice
 */
int x86_memory_config_key(struct x86_memory_config *config, const char *key, uint64_t number, const char *text);

/** x86_memory_config_params() - what the user has set; @values: X86_MEMORY_NPARAMS of them, in the table's order */
void x86_memory_config_params(struct x86_memory_config *config, const union peet_value *values);

/** x86_memory_config_refuse() - Returns: 0, or -1 after env->fail() with the key and the reason */
int x86_memory_config_refuse(const struct x86_memory_config *config, const struct peet_env *env, unsigned cores);

#endif
