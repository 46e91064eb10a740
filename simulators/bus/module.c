/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine "bus": private caches on a shared snooping bus.  This file is what peet sees: parameters and their check,
 * and the operations of the module.  docs/bus.md describes the model.  bus.h says which file does what.
 */
#include "ahead.h"
#include <stdlib.h>

enum param {
    PARAM_CACHE,
    PARAM_LINE,
    PARAM_WAYS,
    PARAM_PROTOCOL,
    PARAM_WRITE,
    PARAM_ALLOCATE,
    PARAM_REPLACEMENT,
    PARAM_BUS_WIDTH,
    PARAM_ADDRESS,
    PARAM_WORD,
    PARAM_MEMORY,
    PARAM_TRANSFER,
    PARAM_ARBITRATION,
    PARAM_HIT,
    PARAM_CPI,
    PARAM_FETCH,
    PARAM_WINDOW,
    PARAM_CLASSIFY,
    PARAM_CHECK,
    PARAMS
};
enum { WRITE_PROTOCOL, WRITE_IS_BACK, WRITE_IS_THROUGH };
enum { ALLOCATE_PROTOCOL, ALLOCATE_YES, ALLOCATE_NO };

static const struct peet_param params[PARAMS + 1] = {
    [PARAM_CACHE] = {"cache", PEET_PARAM_SIZE, "bytes", "128KiB", "4..1073741824", "size of each cache"},
    [PARAM_LINE] = {"line", PEET_PARAM_SIZE, "bytes", "32", "4..4096", "line size, a power of two"},
    [PARAM_WAYS] = {"ways", PEET_PARAM_U64, "lines", "2", "0..16777216",
        "lines per set; 1 = direct-mapped, 0 = fully associative"},
    [PARAM_PROTOCOL] = {"protocol", PEET_PARAM_ENUM, "", "illinois", BUS_PROTOCOL_NAMES, "coherence protocol"},
    [PARAM_WRITE] = {"write", PEET_PARAM_ENUM, "", "protocol", "protocol|back|through",
        "write policy; \"through\" only with protocol=through, which has no other"},
    [PARAM_ALLOCATE] = {"allocate", PEET_PARAM_ENUM, "", "protocol", "protocol|yes|no",
        "whether a write miss brings the line in; \"no\" only with protocol=through, where it is the default"},
    [PARAM_REPLACEMENT] = {"replacement", PEET_PARAM_ENUM, "", "lru", "lru|plru|random|fifo",
        "replacement within a set"},
    [PARAM_BUS_WIDTH] = {"bus_width_bytes", PEET_PARAM_SIZE, "bytes", "8", "1..4096",
        "bytes that the bus carries at once"},
    [PARAM_ADDRESS] = {"bus_address_cycles", PEET_PARAM_U64, "cycles", "2", "0..1000000",
        "arbitration and address of a transaction"},
    [PARAM_WORD] = {"bus_word_cycles", PEET_PARAM_U64, "cycles", "1", "0..1000000", "one bus width of data"},
    [PARAM_MEMORY] = {"memory_latency_cycles", PEET_PARAM_U64, "cycles", "10", "0..1000000",
        "from the address to the first word, from memory"},
    [PARAM_TRANSFER] = {"cache_latency_cycles", PEET_PARAM_U64, "cycles", "4", "0..1000000",
        "from the address to the first word, from another cache"},
    [PARAM_ARBITRATION] = {"arbitration", PEET_PARAM_ENUM, "", "fcfs", BUS_ARBITRATION_NAMES,
        "who gets the bus: first come, round robin, fixed (lowest number)"},
    [PARAM_HIT] = {"hit_cycles", PEET_PARAM_U64, "cycles", "1", "0..1000000",
        "each reference, hit or miss, beside cpi"},
    [PARAM_CPI] = {"cpi", PEET_PARAM_F64, "cycles", "1", "0..1000", "each instruction, without its references"},
    [PARAM_FETCH] = {"fetch", PEET_PARAM_ENUM, "", "off", "off|unified|split",
        "instruction fetches: none, through the same cache, through a second one of the same shape"},
    [PARAM_WINDOW] = {"window_cycles", PEET_PARAM_U64, "cycles", "10000", "1..1000000000000",
        "width of the utilisation windows; doubled whenever there would be more than 2048"},
    [PARAM_CLASSIFY] = {"classify", PEET_PARAM_BOOL, "", "on", "",
        "split misses into cold, capacity, conflict, true and false sharing"},
    [PARAM_CHECK] = {"check", PEET_PARAM_BOOL, "", "off", "",
        "check the protocol's invariants after every reference (slow)"},
};

static void bus_destroy(void *self)
{
    struct bus *b = self;
    peet__bus_check_fini(b);
    peet__bus_classify_fini(b);
    peet__bus_caches_fini(b);
    peet__bus_templates_fini(b);
    peet__bus_direct_fini(b);
    peet__bus_ahead_fini(b);
    peet__bus_calendar_fini(&b->calendar);
    peet_sim_linemap_fini(&b->lines_map);
    free(b->hw);
    free(b);
}

/* Geometry, or a refusal.  Returns: 0 or -1 */
static int set_geometry(struct bus *b, const struct peet_env *env, const union peet_value *v)
{
    uint64_t cache = v[PARAM_CACHE].u64, line = v[PARAM_LINE].u64, ways = v[PARAM_WAYS].u64;
    if (line & (line - 1) || line < 4 || line > 4096) {
        env->fail(env, "line=%llu: not a power of two from 4 to 4096 bytes", (unsigned long long)line);
        return -1;
    }
    if (!cache || cache % line) {
        env->fail(env, "cache=%llu: not a multiple of the line size, line=%llu", (unsigned long long)cache,
            (unsigned long long)line);
        return -1;
    }
    uint64_t lines = cache / line;
    if (!ways)
        ways = lines;
    if (lines % ways) {
        env->fail(env, "cache=%llu: its %llu lines of %llu bytes cannot be divided into sets of ways=%llu",
            (unsigned long long)cache, (unsigned long long)lines, (unsigned long long)line, (unsigned long long)ways);
        return -1;
    }
    if (v[PARAM_REPLACEMENT].u64 == REPLACE_PLRU && (ways & (ways - 1) || ways > 64)) {
        env->fail(env, "replacement=plru: needs a power of two up to 64 lines per set, not ways=%llu",
            (unsigned long long)ways);
        return -1;
    }
    if (b->ncaches > UINT16_MAX) {
        env->fail(env, "%u caches are more than can be simulated; use fewer cores", b->ncaches);
        return -1;
    }
    if (lines * b->ncaches > UINT32_MAX / 2) {
        env->fail(env, "cache=%llu: %u caches of %llu lines are more than can be simulated; use fewer or longer lines",
            (unsigned long long)cache, b->ncaches, (unsigned long long)lines);
        return -1;
    }
    b->cache_bytes = cache;
    b->line_bytes = (uint32_t)line;
    b->line_shift = (uint32_t)__builtin_ctzll(line);
    b->sector_shift = b->line_shift > 8 ? b->line_shift - 6 : 2;
    b->ways = (uint32_t)ways;
    b->lines = (uint32_t)lines;
    b->sets = (uint32_t)(lines / ways);
    b->set_mask = b->sets & (b->sets - 1) ? 0 : b->sets - 1;
    b->replacement = (enum bus_replacement)v[PARAM_REPLACEMENT].u64;
    return 0;
}

static int set_protocol(struct bus *b, const struct peet_env *env, const union peet_value *v)
{
    enum bus_protocol_id id = (enum bus_protocol_id)v[PARAM_PROTOCOL].u64;
    uint64_t write = v[PARAM_WRITE].u64, allocate = v[PARAM_ALLOCATE].u64;
    b->protocol = peet__bus_protocol(id, allocate == ALLOCATE_YES);
    if (id == PROTOCOL_THROUGH && write == WRITE_IS_BACK) {
        env->fail(env, "write=back: protocol=through writes through; choose another protocol for write-back caches");
        return -1;
    }
    if (id != PROTOCOL_THROUGH && write == WRITE_IS_THROUGH) {
        env->fail(env, "write=through: protocol=%s is a write-back protocol; choose protocol=through",
            b->protocol->name);
        return -1;
    }
    if (id != PROTOCOL_THROUGH && allocate == ALLOCATE_NO) {
        env->fail(env, "allocate=no: protocol=%s brings the line in on write misses; only protocol=through need not",
            b->protocol->name);
        return -1;
    }
    for (unsigned s = 0; s < b->protocol->nstates; s++)
        b->dirty[s] = (b->protocol->states[s].flags & BUS_DIRTY) != 0;
    for (unsigned s = 0; s < b->protocol->nstates && !b->check; s++) {
        const struct bus_processor_row *row = b->protocol->processor[s];
        if (s != BUS_INVALID && row[0].op == OP_NONE && row[0].alone == s)
            b->permission[s] |= PERMISSION_READ;
        if (s != BUS_INVALID && row[1].op == OP_NONE && row[1].alone == s)
            b->permission[s] |= PERMISSION_WRITE;
    }
    return 0;
}

static int set_rest(struct bus *b, const struct peet_env *env, const union peet_value *v)
{
    double cpi = v[PARAM_CPI].f64;
    if (!(cpi >= 0 && cpi <= 1000)) {
        env->fail(env, "cpi=%g: not from 0 to 1000", cpi);
        return -1;
    }
    if (!v[PARAM_BUS_WIDTH].u64 || !v[PARAM_WINDOW].u64) {
        env->fail(env, "bus_width_bytes and window_cycles cannot be 0");
        return -1;
    }
    b->cpi = (uint64_t)(cpi * CPI_ONE + 0.5);
    b->hit_cycles = v[PARAM_HIT].u64;
    b->bus_width_bytes = (uint32_t)v[PARAM_BUS_WIDTH].u64;
    b->address_cycles = v[PARAM_ADDRESS].u64;
    b->word_cycles = v[PARAM_WORD].u64;
    b->line_cycles = (b->line_bytes + b->bus_width_bytes - 1) / b->bus_width_bytes * b->word_cycles;
    b->memory_latency_cycles = v[PARAM_MEMORY].u64;
    b->cache_latency_cycles = v[PARAM_TRANSFER].u64;
    return 0;
}

static void *bus_create(const struct peet_env *env, const union peet_value *v)
{
    struct bus *b = calloc(1, sizeof *b);
    if (!b) {
        env->fail(env, "out of memory");
        return NULL;
    }
    b->env = env;
    b->nhw = env->hw_contexts ? env->hw_contexts : 1;
    b->fetch = (enum bus_fetch)v[PARAM_FETCH].u64;
    b->ncaches = b->fetch == FETCH_SPLIT ? 2 * b->nhw : b->nhw;
    b->classify = v[PARAM_CLASSIFY].u64 != 0;
    b->check = v[PARAM_CHECK].u64 != 0;
    b->random = env->seed;
    if (set_geometry(b, env, v) || set_protocol(b, env, v) || set_rest(b, env, v)) {
        bus_destroy(b);
        return NULL;
    }
    b->hw = calloc(b->nhw, sizeof *b->hw);
    if (!b->hw || peet__bus_caches_init(b) ||
        peet__bus_calendar_init(&b->calendar, (enum bus_arbitration)v[PARAM_ARBITRATION].u64, b->nhw,
            v[PARAM_WINDOW].u64, env->times_apart != 0) ||
        (b->classify && peet__bus_classify_init(b)) || (b->check && peet__bus_check_init(b))) {
        env->fail(env, "out of memory for %u caches of %llu bytes", b->ncaches, (unsigned long long)b->cache_bytes);
        bus_destroy(b);
        return NULL;
    }
    b->calendar.uniprocessor = b->nhw == 1;
    b->calendar.unsorted |= b->calendar.uniprocessor;
    peet__bus_watch_init(b);
    peet__bus_groups_init(b);
    b->run = peet__bus_run_for(b);
    b->touch = peet__bus_touch_for(b);
    b->walk = peet__bus_walk_for(b);
    return b;
}

static uint64_t bus_blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    struct bus *b = self;
    const uint64_t cycles = b->walk(b, hw, events, n, now, until, out_done);

    peet__bus_report(b);
    return cycles;
}

static uint64_t bus_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    size_t done;

    return bus_blocks(self, hw, event, 1, now, UINT64_MAX, &done);
}

static uint64_t bus_loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns)
{
    const uint64_t cycles = peet__bus_loop(self, hw, event, now, until, out_turns);

    peet__bus_report(self);
    return cycles;
}

static void bus_finish(void *self, uint64_t end_cycles)
{
    struct bus *b = self;
    b->end_cycles = end_cycles;
    peet__bus_calendar_finish(&b->calendar, end_cycles);
}

static void bus_stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct bus *b = self;
    peet__bus_groups_count(b);
    peet_sim_windows_reach(&b->calendar.windows, b->end_cycles);
    peet__bus_stats(b, env, node);
}

__attribute__((visibility("default"))) const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "bus",
    .summary = "private caches on a shared snooping bus, nine coherence protocols",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES,
    .params = params,
    .create = bus_create,
    .destroy = bus_destroy,
    .block = bus_block,
    .loop = bus_loop,
    .blocks = bus_blocks,
    .finish = bus_finish,
    .stats = bus_stats,
    .direct = &peet__bus_direct,
};
