/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that peet takes in the machine's stead (<peet/direct.h>): with one processor whose blocks are executed by
 * groups (groups.c), a block is one probe for each line access, in their order. A probe without permission comes back
 * here by itself; a block with a group in two lines comes as a whole.
 */
#include "ahead.h"
#include "groups.h"
#include "straddle.h"
#include "miss.h"
#include <stdlib.h>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A block, or a part of it, begins by itself.  Returns: its execution */
static struct execution *execution_begins(struct bus_direct *d, const struct peet_direct_run *run,
    const struct peet_block *block)
{
    struct execution *const t = &d->execution;
    t->start = d->run.now + run->time / CPI_ONE;
    t->rest = run->time % CPI_ONE;
    t->stamp = run->stamp;
    t->stalled = 0;
    t->block = block;
    return t;
}

/* A miss that is reported: observers get its reference and its address. So each such probe has a site of its own. */
static struct peet_direct_miss miss_watched(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    struct bus_direct *const d = run->machine;
    struct bus *const b = d->bus;
    const struct bus_direct_site *const s = &d->sites[site];
    struct execution *const t = execution_begins(d, run, s->block);
    const uint32_t i = b->go_slowly(b, t, run->addresses[s->probe], line, &b->line_accesses[s->access]);
    return peet__bus_missed(d, i, t->stalled);
}

uint32_t peet__bus_site_of(struct bus *b, const struct peet_block *block, uint32_t access, uint32_t probe)
{
    struct bus_direct *const d = b->direct;
    if (!b->watched)
        return access;
    if (peet__bus_room_for((void **)&d->sites, &d->sites_size, d->nsites, 1, sizeof *d->sites))
        return UINT32_MAX;
    d->sites[d->nsites] = (struct bus_direct_site){block, access, probe};
    return d->nsites++;
}

static int direct_other(struct peet_direct_run *run, uint32_t id)
{
    struct bus_direct *const d = run->machine;
    struct bus *const b = d->bus;
    struct execution *const t = execution_begins(d, run, d->blocks[id]);
    if (peet__bus_take_straddling(b, t, &b->templates[id], t->block, run->addresses))
        return -1;
    run->time += t->stalled * CPI_ONE + t->more_time;
    run->stamp += t->more_stamps;
    d->stalled += t->stalled;
    if (UNLIKELY(b->dead))
        run->limit = 0;
    return peet__bus_straddle_again(b, &b->templates[id], t);
}

static int direct_often(void *self, const struct peet_block *block)
{
    return ((struct bus *)self)->ahead ? peet__bus_ahead_often(self, block) : peet__bus_straddle_often(self, block);
}

static void direct_range(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values)
{
    struct bus_direct *const d = run->machine;
    struct bus *const b = d->bus;
    struct cache *const c = d->execution.c;
    struct walk w = {.start = d->run.now + run->time / CPI_ONE, .cpi_rest = run->time % CPI_ONE};
    c->stamp = run->stamp;
    b->site.block = block;
    peet__bus_ranges(b, c, block, values, &w);
    run->stamp = c->stamp;
    run->time += b->cpi * block->ninsns + (w.touches * b->hit_cycles + w.stall_cycles) * CPI_ONE;
    d->stalled += w.stall_cycles;
    peet__bus_report(b);
    if (b->dead)
        run->limit = 0;
}

static int direct_loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    struct bus_direct *const d = run->machine;
    struct bus *const b = d->bus;
    if (run->limit != UINT64_MAX) /* it may have to end somewhere in between */
        return -1;
    b->caches[0].stamp = run->stamp;
    peet__bus_iterations(b, 0, &b->templates[id], d->blocks[id], run->addresses, strides, iterations, d->run.now,
        &run->time, &d->stalled);
    run->stamp = b->caches[0].stamp;
    if (UNLIKELY(b->dead))
        run->limit = 0;
    return 0;
}

/* Observers see the loop next. */
static int loop_watched(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    const int err = direct_loop(run, id, iterations, strides);
    peet__bus_report(((struct bus_direct *)run->machine)->bus);
    return err;
}

/* Once an element of a range has brought a line in, do all other elements in that line hit, whatever state the line was
 * in? */
static int elements_follow(const struct bus *b)
{
    for (unsigned state = 0; state < b->protocol->nstates; state++) {
        const struct bus_processor_row *row = &b->protocol->processor[state][1];
        while (row->again)
            row = &b->protocol->processor[row->alone][1];
        if (!(b->permission[row->alone] & PERMISSION_WRITE) ||
            (state != BUS_INVALID && !(b->permission[state] & PERMISSION_READ)))
            return 0;
    }
    return 1; /* and fill_of() says it of reads that miss */
}

/* The sites of the first elements of ranges: line accesses of one reference. Returns: 0, or -1: there are none */
static int range_sites(struct bus *b, struct peet_direct_table *out)
{
    if (b->watched || !elements_follow(b) ||
        peet__bus_room_for((void **)&b->line_accesses, &b->line_accesses_size, b->nline_accesses, 4,
            sizeof *b->line_accesses))
        return -1;
    for (int write = 0; write < 2; write++)
        for (unsigned bytes = 0; bytes < 2; bytes++) { /* those are the second instruction's */
            b->line_accesses[b->nline_accesses] =
                peet__bus_access_of_element(write, b->cpi * bytes + b->hit_cycles * CPI_ONE, bytes ? 1 : 8);
            out->range_sites[write][bytes] = b->nline_accesses++;
        }
    return 0;
}

static int direct_table(void *self, struct peet_direct_table *out)
{
    struct bus *const b = self;
    struct bus_direct *d;
    if (b->nhw > 1)
        return peet__bus_ahead_table(b, out);
    if (!b->groupwise || b->perfect || b->perfect_hits || b->fetch != FETCH_OFF || b->check || b->nhw != 1 ||
        !(d = calloc(1, sizeof *d)))
        return -1;
    d->bus = b;
    d->execution.c = &b->caches[0];
    d->run.machine = d;
    d->run.hints = b->caches[0].predictor;
    d->run.keys = b->caches[0].keys;
    d->run.used = b->caches[0].used;
    *out = (struct peet_direct_table){.hint_mask = b->predictor_mask,
        .line_shift = b->line_shift,
        .miss = b->watched ? miss_watched : peet__bus_miss_for(b),
        .other = direct_other,
        .loop = b->watched ? loop_watched : direct_loop};
    out->clock_shift = CPI_SHIFT;
    out->whole_cycles = b->cpi % CPI_ONE == 0;
    out->unreported = &b->nbuffered;
    out->range = direct_range;
    out->range_looks = 1;
    out->insn_time = b->cpi;
    out->touch_time = b->hit_cycles * CPI_ONE;
    out->range_misses = range_sites(b, out) == 0;
    b->direct = d;
    return 0;
}

void peet__bus_direct_fini(struct bus *b)
{
    if (b->direct) {
        free(b->direct->blocks);
        free(b->direct->sites);
    }
    free(b->direct);
}

/* Remember which block it is.  Returns: 0, or -1 without memory */
static int direct_note(struct bus_direct *d, const struct peet_block *block)
{
    const struct peet_block **blocks;
    uint32_t n = d->nblocks ? d->nblocks : 256;
    while (n <= block->id)
        n *= 2;
    if (n != d->nblocks) {
        if (!(blocks = realloc(d->blocks, n * sizeof *blocks)))
            return -1;
        d->blocks = blocks;
        d->nblocks = n;
    }
    d->blocks[block->id] = block;
    return 0;
}

static int direct_block(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out)
{
    struct bus *const b = self;
    const struct block_template *p;
    const struct group *groups;
    uint8_t latest = 0;
    if (b->ahead)
        return peet__bus_ahead_block(b, block, values, out);
    if (direct_note(b->direct, block) ||
        ((block->id >= b->ntemplates || !b->templates[block->id].known) && peet__bus_template(b, block, values)))
        return -1;
    p = &b->templates[block->id];
    if (p->known - 1 == TEMPLATE_GENERAL || (p->ngroups && !p->accesses) || p->ngroups > PEET_DIRECT_LOOKS)
        return -1;
    *out = (struct peet_direct_block){.time = p->cost,
        .stamps = p->nrefs,
        .nlooks = p->ngroups,
        .whole = p->ngroups > b->ways}; /* else one probe's line might make room for another's */
    groups = peet__bus_groups_of(b, p);
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const struct line_access *const w = &b->line_accesses[p->accesses - 1 + k];
        const struct group *const g = &groups[w->group];
        if (g->span > b->line_bytes)
            return -1;
        out->looks[k] = (struct peet_direct_look){.value = g->value,
            .before = g->before,
            .span = g->span,
            .last = w->last,
            .either = w->permission_mask,
            .later = latest > w->last,
            .site = peet__bus_site_of(b, block, p->accesses - 1 + k, k)};
        if (out->looks[k].site == UINT32_MAX)
            return -1;
        latest = w->last > latest ? w->last : latest;
    }
    peet__bus_straddle_probes(b, p, out);
    return 0;
}

static struct peet_direct_run *direct_begin(void *self, unsigned hw, uint64_t now, uint64_t until)
{
    struct bus *const b = self;
    struct bus_direct *const d = b->direct;
    if (b->ahead) /* somebody looks on: in order, and nothing will be undone */
        return peet__bus_ahead_begin(b, hw, now, until, until);
    d->run.now = now;
    d->stalled = 0;
    d->run.time = b->hw[hw].cpi_rest;
    d->run.limit = b->dead ? 0 : peet__bus_limit_of(now, until);
    d->run.stamp = b->caches[hw].stamp;
    d->run.reads = d->run.writes = 0;
    return &d->run;
}

static struct peet_direct_run *direct_ahead(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    ((struct bus *)self)->ahead->runs_ahead = 1;
    return peet__bus_ahead_begin(self, hw, now, until, limit);
}

static void direct_pause(void *self, unsigned hw)
{
    peet__bus_ahead_pause(self, hw);
}

static uint64_t direct_undo(void *self, unsigned hw, uint64_t instructions)
{
    (void)instructions;
    return peet__bus_ahead_undo(self, hw);
}

static void direct_event(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event)
{
    struct bus *const b = self;
    struct bus_direct *const d = b->direct;
    if (b->ahead) {
        peet__bus_ahead_event(b, hw, run, event);
        return;
    }
    b->caches[hw].stamp = run->stamp;
    run->time += peet__bus_one(b, hw, event, d->run.now, run->time, &d->stalled);
    run->stamp = b->caches[hw].stamp;
    peet__bus_report(b);
    if (b->dead)
        run->limit = 0;
}

static uint64_t direct_end(void *self, unsigned hw)
{
    struct bus *const b = self;
    struct bus_direct *const d = b->direct;
    if (b->ahead)
        return peet__bus_ahead_end(b, hw);
    b->caches[hw].stamp = d->run.stamp;
    peet__bus_report(b);
    peet__bus_account(b, hw, d->run.now, d->run.time, d->run.reads, d->run.writes, d->stalled);
    return d->run.time / CPI_ONE - d->stalled;
}

static void direct_report(void *self)
{
    peet__bus_report(self);
}

static void direct_executed(void *self, const struct peet_block *block, uint64_t times)
{
    struct cache_stats *const s = &((struct bus *)self)->caches[0].stats;
    if (((struct bus *)self)->ahead) /* counted by processor */
        return;
    s->reads += (block->reads + block->modifies) * times;
    s->writes += (block->writes + block->modifies) * times;
}

const struct peet_direct peet__bus_direct = {
    .abi = PEET_DIRECT_ABI,
    .struct_size = sizeof(struct peet_direct),
    .table = direct_table,
    .block = direct_block,
    .often = direct_often,
    .begin = direct_begin,
    .event = direct_event,
    .end = direct_end,
    .report = direct_report,
    .executed = direct_executed,
    .ahead = direct_ahead,
    .pause = direct_pause,
    .undo = direct_undo,
};
