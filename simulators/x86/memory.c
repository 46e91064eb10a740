/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory system as a whole: construction, and an access from its translation to its outcome.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include "memory_fast.h"

/* ------------------------------------------------------------------------------------ construction */

static int level_init(struct x86_memory *m, struct x86_level *level, uint64_t bytes, uint64_t ways,
    uint64_t replacement, uint32_t cycles, unsigned number, uint64_t seed)
{
    uint64_t slots = bytes / m->config.line_bytes;

    level->cycles = cycles;
    level->number = (uint8_t)number;
    if (peet_sim_tags_init(&level->tags, slots / ways, (uint32_t)ways, (enum peet_sim_replacement)replacement, seed))
        return -1;
    level->lines = calloc(slots, sizeof *level->lines);
    if (m->check)
        level->versions = calloc(slots, sizeof *level->versions);
    if (m->classify && !(m->has_l3 && number == m->nlevels) && peet_sim_shadow_init(&level->shadow, (uint32_t)slots))
        return -1;
    return level->lines && (level->versions || !m->check) ? 0 : -1;
}

static void level_fini(struct x86_level *level)
{
    peet_sim_tags_fini(&level->tags);
    peet_sim_shadow_fini(&level->shadow);
    free(level->lines);
    free(level->keys);
    free(level->written);
    free(level->versions);
}

static void prefetcher(struct x86_memory *m, struct x86_level *level, uint64_t kind, uint64_t lines)
{
    peet_sim_prefetcher_init(&level->prefetcher, (enum peet_sim_prefetch_kind)kind, (uint32_t)lines, m->line_shift,
        X86_PREFETCH_PAGE_BITS);
}

static int tlbs_init(struct x86_memory *m, struct x86_core *c)
{
    const struct x86_memory_config *g = &m->config;
    struct peet_sim_tlb_config config = {.l1_entries = (uint32_t)g->dtlb_entries,
        .l1_ways = (uint32_t)g->dtlb_ways,
        .l2_entries = (uint32_t)g->stlb_entries,
        .l2_ways = (uint32_t)g->stlb_ways,
        .l2_cycles = (uint32_t)g->stlb_cycles,
        .upper_entries = (uint32_t)g->walk_cache_entries,
        .page_bits = m->page_shift};
    int failed;

    if (!m->translation)
        return 0;
    failed = peet_sim_tlb_init(&c->dtlb, &config);
    config.l1_entries = (uint32_t)g->itlb_entries;
    config.l1_ways = (uint32_t)g->itlb_ways;
    return failed | peet_sim_tlb_init_sharing(&c->itlb, &config, &c->dtlb);
}

static int core_init(struct x86_memory *m, struct x86_core *c)
{
    const struct x86_memory_config *g = &m->config;
    uint64_t seed = g->seed + 3 * c->number;
    int failed;

    c->outer = m->has_l2 ? &c->l2 : &c->l1d;
    failed = level_init(m, &c->l1i, g->l1i_bytes, g->l1i_ways, g->l1_replacement, (uint32_t)g->l1i_cycles, 1, seed);
    failed |=
        level_init(m, &c->l1d, g->l1d_bytes, g->l1d_ways, g->l1_replacement, (uint32_t)g->l1d_cycles, 1, seed + 1);
    if (m->has_l2)
        failed |=
            level_init(m, &c->l2, g->l2_bytes, g->l2_ways, g->l2_replacement, (uint32_t)g->l2_cycles, 2, seed + 2);
    failed |= tlbs_init(m, c);
    failed |= m->causes && !(c->l1d.written = calloc(g->l1d_bytes / g->line_bytes, sizeof *c->l1d.written));
    failed |= !(c->hints = calloc(m->hint_mask + 1, sizeof *c->hints));
    failed |= !(c->page_hints = calloc(X86_PAGE_HINTS, sizeof *c->page_hints));
    peet_sim_slots_init(&c->l1i.mshrs, 4);
    peet_sim_slots_init(&c->l1d.mshrs, (uint32_t)g->l1d_mshrs);
    peet_sim_slots_init(&c->l2.mshrs, (uint32_t)g->l2_mshrs);
    peet_sim_slots_init(&c->walkers, (uint32_t)(g->page_walkers ? g->page_walkers : 1));
    peet_sim_slots_init(&c->writebacks, (uint32_t)g->writeback_entries);
    prefetcher(m, &c->l1i, g->l1i_prefetch, 1);
    prefetcher(m, &c->l1d, g->l1d_prefetch, g->l1d_prefetch_lines);
    prefetcher(m, &c->l2, g->l2_prefetch, g->l2_prefetch_lines);
    return failed ? -1 : 0;
}

/** Cores and slices stand beside one another; fewer slices than cores are spread over them. */
static int network_init(struct x86_memory *m)
{
    uint32_t nodes = m->places > m->nslices ? m->places : m->nslices, columns = 1;
    struct peet_sim_network_config config = {.topology = m->config.topology == X86_MESH ? PEET_SIM_MESH : PEET_SIM_RING,
        .nodes = nodes,
        .hop_cycles = (uint32_t)m->config.hop_cycles,
        .flit_bytes = (uint32_t)m->config.flit_bytes,
        .apart = m->env->times_apart != 0};

    while (columns * columns < nodes)
        columns++;
    config.columns = columns;
    for (uint32_t i = 0; i < m->ncores; i++)
        m->cores[i].node = (uint32_t)((uint64_t)i * nodes / m->places);
    for (uint32_t i = 0; i < m->nslices; i++)
        m->slices[i].node = (uint32_t)((uint64_t)i * nodes / m->nslices);
    return m->config.topology == X86_IDEAL ? 0 : peet_sim_network_init(&m->network, &config);
}

static int dram_init(struct x86_memory *m)
{
    const struct x86_memory_config *g = &m->config;
    struct peet_sim_dram_config config = {.channels = m->nchannels,
        .ranks = (uint32_t)g->dram_ranks,
        .banks = (uint32_t)g->dram_banks,
        .row_bytes = (uint32_t)g->dram_row_bytes,
        .line_bytes = (uint32_t)g->line_bytes,
        .cas_cycles = (uint32_t)g->dram_cas_cycles,
        .activate_cycles = (uint32_t)g->dram_activate_cycles,
        .precharge_cycles = (uint32_t)g->dram_precharge_cycles,
        .row_active_cycles = (uint32_t)g->dram_row_active_cycles,
        .burst_cycles = (uint32_t)g->dram_burst_cycles,
        .refresh_every_cycles = g->dram_refresh ? (uint32_t)g->dram_refresh_every_cycles : 0,
        .refresh_cycles = g->dram_refresh ? (uint32_t)g->dram_refresh_cycles : 0,
        .overhead_cycles = (uint32_t)g->dram_overhead_cycles,
        .apart = m->env->times_apart != 0};

    return peet_sim_dram_init(&m->dram, &config);
}

static void settings(struct x86_memory *m)
{
    struct x86_memory_config *g = &m->config;

    m->has_l2 = g->levels == X86_LEVELS_L1L2 || g->levels == X86_LEVELS_ALL;
    m->has_l3 = g->levels == X86_LEVELS_L1L3 || g->levels == X86_LEVELS_ALL;
    m->nlevels = (uint8_t)(1 + m->has_l2 + m->has_l3);
    m->timeless = !g->latency;
    m->check = g->memory_check != 0;
    m->translation = g->translation != 0;
    m->line_shift = (uint32_t)__builtin_ctzll(g->line_bytes);
    m->sector_shift = m->line_shift > 7 ? m->line_shift - 5 : 2; /* four bytes, 62 sectors at most */
    m->page_shift = m->translation ? (uint32_t)__builtin_ctzll(g->page_bytes) : 12;
    m->lru = g->l1_replacement == PEET_SIM_LRU;
    m->hint_mask = 63;
    /* lines of one set, far apart, have hints of their own */
    while (m->hint_mask + 1 < 8 * g->l1d_bytes / g->line_bytes)
        m->hint_mask = 2 * m->hint_mask + 1;
    if (m->timeless)
        g->l1i_cycles = g->l1d_cycles = g->l2_cycles = g->l2_busy_cycles = g->l3_cycles = g->l3_busy_cycles =
            g->snoop_cycles = g->stlb_cycles = 0;
    m->l1d_cycles = (uint32_t)g->l1d_cycles;
    for (int i = 0; i < X86_OVER_TIME; i++)
        peet_sim_windows_init(&m->over_time[i], 1024);
    m->home_in_cycles = (uint32_t)g->l3_cycles / 2;
    m->home_out_cycles = (uint32_t)g->l3_cycles - m->home_in_cycles;
    m->reports = (uint8_t)(m->env->report ? m->env->reports : 0);
    m->classify = g->classify != 0;
    m->causes = m->reports != 0 || m->classify;
    m->perfect = m->env->perfect && m->env->data_of;
    m->fast = !m->check && !m->perfect && !m->classify;
    m->strides = g->l1d_prefetch == PEET_SIM_PREFETCH_STRIDE;
    m->directory = (struct peet_sim_directory){.kind = (enum peet_sim_directory_kind)g->directory,
        .cores = m->ncores,
        .pointers = (uint32_t)g->directory_pointers};
}

static void describe(const struct x86_memory *m)
{
    const struct x86_memory_config *g = &m->config;
    struct peet_memory_level levels[3];
    uint32_t line = (uint32_t)g->line_bytes;
    size_t n = 0;

    levels[n++] = (struct peet_memory_level){"L1D", g->l1d_bytes, line, g->threads};
    if (m->has_l2)
        levels[n++] = (struct peet_memory_level){"L2", g->l2_bytes, line, g->threads};
    if (m->has_l3)
        levels[n++] = (struct peet_memory_level){"L3", g->l3_slice_bytes * m->nslices, line, g->threads * m->ncores};
    if (m->env->describe_memory)
        m->env->describe_memory(m->env, levels, n);
}

static int all_init(struct x86_memory *m)
{
    const struct x86_memory_config *g = &m->config;
    size_t set = peet_sim_directory_bytes(&m->directory),
           bytes = offsetof(struct x86_line, sharers) + (set < 8 ? 8 : set);
    int failed = 0;

    m->cells_offset = bytes;
    m->versions_offset = bytes + (m->causes ? m->ncores * sizeof(uint64_t) : 0);
    peet_sim_linemap_init(&m->lines, m->versions_offset + (m->check ? sizeof(struct x86_versions) : 0));
    m->cores = calloc(m->ncores, sizeof *m->cores);
    m->slices = calloc(m->nslices, sizeof *m->slices);
    if (!m->cores || !m->slices)
        return -1;
    for (uint32_t i = 0; i < m->ncores && !failed; i++) {
        m->cores[i].number = i;
        m->cores[i].l2.port.apart = m->env->times_apart != 0;
        failed = core_init(m, &m->cores[i]);
    }
    if (m->has_l3 && m->classify)
        failed |= peet_sim_shadow_init(&m->l3_shadow, (uint32_t)(m->nslices * g->l3_slice_bytes / g->line_bytes));
    for (uint32_t i = 0; i < m->nslices && !failed; i++) {
        m->slices[i].l3.number = m->nlevels;
        m->slices[i].l3.port.apart = m->env->times_apart != 0;
        if (m->has_l3)
            failed = level_init(m, &m->slices[i].l3, g->l3_slice_bytes, g->l3_ways, g->l3_replacement, 0, m->nlevels,
                g->seed + 7 * i);
    }
    return failed || network_init(m) || dram_init(m) ? -1 : 0;
}

/** What there is of a chip is there whoever uses it; more cores than it has are on further chips.  Channels stay a
 * power of two. */
static void lay_chips(struct x86_memory *m)
{
    struct x86_memory_config *g = &m->config;
    uint32_t own = (uint32_t)g->chip_cores ? (uint32_t)g->chip_cores : m->ncores;

    m->nchips = (m->ncores + own - 1) / own;
    m->places = m->nchips * own;
    m->nslices = m->nchips * (g->l3_slices ? (uint32_t)g->l3_slices : own);
    m->nchannels = (uint32_t)g->dram_channels;
    while (m->nchannels < m->nchips * g->dram_channels)
        m->nchannels *= 2;
    if (m->nchips > 1 && m->env->note)
        m->env->note(m->env,
            "%u cores are more than the %u of a chip: %u chips with %u L3 slices and %u memory channels in all, on one network",
            m->ncores, own, m->nchips, m->has_l3 ? m->nslices : 0, m->nchannels);
}

struct x86_memory *x86_memory_new(const struct peet_env *env, const struct x86_memory_config *config, unsigned cores)
{
    struct x86_memory *m;

    if (x86_memory_config_refuse(config, env, cores))
        return NULL;
    m = calloc(1, sizeof *m);
    if (!m) {
        env->fail(env, "out of memory for x86's caches");
        return NULL;
    }
    m->env = env;
    m->config = *config;
    m->ncores = cores;
    settings(m);
    lay_chips(m);
    if (all_init(m)) {
        env->fail(env, "out of memory for x86's caches; fewer cores, or smaller caches");
        x86_memory_free(m);
        return NULL;
    }
    describe(m);
    return m;
}

void x86_memory_free(struct x86_memory *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; m->cores && i < m->ncores; i++) {
        struct x86_core *c = &m->cores[i];

        level_fini(&c->l1i);
        level_fini(&c->l1d);
        level_fini(&c->l2);
        peet_sim_tlb_fini(&c->itlb);
        peet_sim_tlb_fini(&c->dtlb);
        free(c->hints);
        free(c->page_hints);
    }
    for (uint32_t i = 0; m->slices && i < m->nslices; i++)
        level_fini(&m->slices[i].l3);
    free(m->cores);
    free(m->slices);
    peet_sim_network_fini(&m->network);
    peet_sim_dram_fini(&m->dram);
    peet_sim_linemap_fini(&m->lines);
    peet_sim_shadow_fini(&m->l3_shadow);
    free(m);
}

/* ---------------------------------------------------------------------------------------- accesses */

/** A page walk on its way. */
struct walk {
    struct x86_memory *m;
    const struct x86_access *access;
    int began;
};

static uint64_t walk_read(void *self, uint64_t address, uint64_t now)
{
    struct walk *w = self;
    struct x86_access access = {.address = address,
        .size_bytes = 8,
        .core = w->access->core,
        .hw = w->access->hw,
        .kind = X86_LOAD,
        .ref = w->access->ref,
        .block = w->access->block};
    struct x86_request r = {.access = &access,
        .line = address >> w->m->line_shift,
        .now = now,
        .core = access.core,
        .walk = 1,
        .other = PEET_MEMORY_NOBODY};
    uint64_t done;

    if (!w->began)
        peet__x86_take(w->m, &w->m->cores[access.core].walkers, now, &now);
    w->began = 1;
    done = peet__x86_data(w->m, &r, now);
    peet__x86_report_misses(w->m, &r, done);
    return done;
}

static uint64_t translate(struct x86_memory *m, const struct x86_access *a, uint64_t now)
{
    struct x86_core *c = &m->cores[a->core];
    struct peet_sim_tlb *tlb = a->kind == X86_FETCH ? &c->itlb : &c->dtlb;
    struct walk w = {m, a, 0};
    uint64_t done, page = a->address >> m->page_shift;

    if (!m->translation)
        return now;
    done = peet_sim_tlb_translate(tlb, a->address, now, walk_read, &w);
    if (w.began)
        peet__x86_until(m, &c->walkers, done);
    if (tlb == &c->dtlb)
        c->page_hints[page % X86_PAGE_HINTS] = (uint32_t)peet_sim_tags_find(&tlb->l1, page);
    return done;
}

/** Prefetches of a first-level cache that had the line; @first: it was the prefetcher that had brought it. */
static void hit_prefetches(struct x86_memory *m, struct x86_level *level, const struct x86_access *a, int first,
    uint64_t now)
{
    struct x86_core *c = &m->cores[a->core];
    struct x86_request r;

    if (level->prefetcher.kind == PEET_SIM_PREFETCH_NONE ||
        (level->prefetcher.kind != PEET_SIM_PREFETCH_STRIDE && !first))
        return;
    if (level == &c->l1d && m->strides && peet__x86_strides(m, c, x86_memory_pc(a->block, a->ref), a->address))
        return;
    r = (struct x86_request){.access = a,
        .line = a->address >> m->line_shift,
        .now = now,
        .core = a->core,
        .fetch = level == &c->l1i,
        .other = PEET_MEMORY_NOBODY};
    peet__x86_prefetch(m, level, &r, first, now);
}

/**
 * A first-level cache has the line, or it is on its way there, and the first-level buffer its translation: what nearly
 * all accesses are that memory_fast.h does not answer.  Returns: 0: it is not so; nothing has happened
 */
static int near(struct x86_memory *m, const struct x86_access *a, uint64_t now, struct x86_outcome *out)
{
    struct x86_core *c = &m->cores[a->core];
    int fetch = a->kind == X86_FETCH, write = a->kind == X86_STORE || a->kind == X86_MODIFY, first;
    struct x86_level *level = fetch ? &c->l1i : &c->l1d;
    struct peet_sim_tlb *tlb = fetch ? &c->itlb : &c->dtlb;
    uint64_t line = a->address >> m->line_shift, page = a->address >> m->page_shift, slot = PEET_SIM_NO_SLOT,
             page_slot = 0, done, arrived;
    uint8_t state;

    if (!fetch && level->tags.numbers[c->hints[line & m->hint_mask]] == line &&
        level->tags.states[c->hints[line & m->hint_mask]])
        slot = c->hints[line & m->hint_mask];
    else
        slot = peet_sim_tags_find(&level->tags, line);
    if (slot == PEET_SIM_NO_SLOT)
        return 0;
    state = level->tags.states[slot];
    if (write && (state & X86_STATE) != X86_M)
        return 0;
    if (m->translation && (page_slot = peet_sim_tags_find(&tlb->l1, page)) == PEET_SIM_NO_SLOT)
        return 0;
    if (m->translation) {
        tlb->accesses++;
        peet_sim_tags_touch(&tlb->l1, page_slot);
    }
    *(write ? &level->stats.writes : &level->stats.reads) += 1;
    first = peet__x86_first_use(level, slot, now);
    peet_sim_tags_touch(&level->tags, slot);
    arrived = peet__x86_arrived(level, slot, now);
    done = a->kind == X86_STORE ? now : now + level->cycles;
    if (a->kind == X86_STORE)
        done = x86_later(done, peet__x86_owned(&level->lines[slot]));
    out->served =
        (a->kind == X86_STORE ? x86_later(done, arrived) > now : arrived > done) ? level->lines[slot].from : X86_L1;
    done = x86_later(done, arrived);
    if (a->kind == X86_MODIFY)
        done = x86_later(done, peet__x86_owned(&level->lines[slot]));
    if (write && m->causes)
        level->written[slot] |= peet__x86_sectors(m, a->address, a->size_bytes);
    if (!fetch) {
        peet__x86_hint(m, c, line, slot);
        c->page_hints[page % X86_PAGE_HINTS] = (uint32_t)page_slot;
    }
    hit_prefetches(m, level, a, first, now);
    out->done_cycles = done;
    out->tlb_cycles = out->coherence_cycles = 0;
    out->missed = 0;
    if (!fetch) {
        c->served[out->served]++;
        c->served_cycles[out->served] += done - now;
    }
    return 1;
}

void x86_memory_access(struct x86_memory *m, const struct x86_access *a, uint64_t now, struct x86_outcome *out)
{
    struct x86_core *c = &m->cores[a->core];
    struct x86_request r;
    uint64_t translated, done;
    uint8_t timeless = m->timeless;
    int perfect;

    if (m->dead) {
        *out = (struct x86_outcome){.done_cycles = now};
        return;
    }
    if (m->fast && a->kind != X86_PREFETCH && near(m, a, now, out))
        return;
    if (m->has_l2)
        peet_sim_tags_prefetch(&c->l2.tags, a->address >> m->line_shift);
    perfect = m->perfect && m->env->data_of(m->env, a->address, NULL)->flags & PEET_DATA_PERFECT;
    r = (struct x86_request){.access = a,
        .line = a->address >> m->line_shift,
        .now = now,
        .core = a->core,
        .write = a->kind == X86_STORE || a->kind == X86_MODIFY,
        .fetch = a->kind == X86_FETCH,
        .other = PEET_MEMORY_NOBODY};
    m->timeless |= (uint8_t)perfect; /* its lines move, but stand in nobody's way */
    translated = translate(m, a, now);
    done = r.fetch ? peet__x86_fetch(m, &r, translated) : peet__x86_data(m, &r, translated);
    m->timeless = timeless;
    if (timeless || perfect)
        translated = done = now;
    if (perfect) {
        done += !timeless;
        r.coherence_cycles = 0;
        r.served = X86_L1;
    }
    if (m->causes)
        peet__x86_report_misses(m, &r, done);
    out->done_cycles = done;
    out->tlb_cycles = (uint32_t)(translated - now);
    out->coherence_cycles = (uint32_t)(m->timeless ? 0 : r.coherence_cycles);
    out->served = r.served;
    out->missed = 1;
    if (a->kind == X86_PREFETCH)
        return;
    c->tlb_cycles += out->tlb_cycles;
    c->coherence_cycles += out->coherence_cycles;
    if (!r.fetch) {
        c->served[r.served]++;
        c->served_cycles[r.served] += done - now;
    }
}

unsigned x86_memory_l1_cycles(const struct x86_memory *m)
{
    return m->l1d_cycles;
}
