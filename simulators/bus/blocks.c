/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks by the batch. If all groups of a block (template.c) hit with permission, the block is its cost, its counts,
 * and the stamp of each line's last reference. Nothing is written before all groups are known to hit. If one does not,
 * the block is simulated reference by reference (fast.c).  Called by module.c.
 */
#include "ahead.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The frame of a group at its address, or NO_FRAME: not all in one line, or no hit with permission. */
ALWAYS uint32_t probe(const struct bus *b, struct cache *c, const struct group *g, uint64_t address)
{
    address -= g->before;
    if (UNLIKELY((address & (b->line_bytes - 1)) + g->span > b->line_bytes))
        return NO_FRAME;
    return peet__bus_hit(b, c, address >> b->line_shift, g->permission_mask);
}

/* The group's references have happened; @stamp: before the block. */
ALWAYS void use(const struct bus *b, struct cache *c, const struct group *g, uint32_t frame, uint64_t stamp, int plru)
{
    c->used[frame] = stamp + g->stamp;
    if (plru)
        peet__bus_plru_used(b, c, frame);
}

/* Those that miss will want the record of their line. */
static __attribute__((noinline)) void prepare(const struct bus *b, const struct group *groups, const uint64_t *values,
    uint32_t n, const uint32_t *frames)
{
    for (uint32_t k = 0; k < n; k++)
        if (frames[k] == NO_FRAME)
            peet_sim_linemap_prefetch(&b->lines_map, values[groups[k].value] >> b->line_shift);
}

/* The first @n groups, a constant where it is inlined.  Returns: whether they all hit */
ALWAYS int few(const struct bus *b, struct cache *c, const struct group *groups, const uint64_t *values, uint32_t n,
    uint64_t stamp, int plru)
{
    uint32_t frames[TEMPLATE_GROUPS];
    int miss = 0;
#pragma clang loop unroll(full)
    for (uint32_t k = 0; k < n; k++) {
        frames[k] = probe(b, c, &groups[k], values[groups[k].value]);
        miss |= frames[k] == NO_FRAME;
    }
    if (UNLIKELY(miss)) {
        if (b->classify && n > 1)
            prepare(b, groups, values, n, frames);
        return 0;
    }
#pragma clang loop unroll(full)
    for (uint32_t k = 0; k < n; k++)
        use(b, c, &groups[k], frames[k], stamp, plru);
    return 1;
}

static __attribute__((noinline)) int many(const struct bus *b, struct cache *c, const struct block_template *p,
    const uint64_t *values, uint64_t stamp, int plru)
{
    const struct group *groups = b->groups + p->more;
    uint32_t frames[TEMPLATE_REFS];
    for (uint32_t k = 0; k < p->ngroups; k++)
        if (UNLIKELY((frames[k] = probe(b, c, &groups[k], values[groups[k].value])) == NO_FRAME))
            return 0;
    for (uint32_t k = 0; k < p->ngroups; k++)
        use(b, c, &groups[k], frames[k], stamp, plru);
    return 1;
}

/* The block's groups, if they all hit.  Returns: whether they do */
ALWAYS int hits(const struct bus *b, struct cache *c, const struct block_template *p, const uint64_t *values,
    uint64_t stamp, int plru)
{
    switch (p->known - 1) {
    case 0:
        return 1;
    case 1:
        return few(b, c, p->first, values, 1, stamp, plru);
    case 2:
        return few(b, c, p->first, values, 2, stamp, plru);
    case 3:
        return few(b, c, p->first, values, 3, stamp, plru);
    case 4:
        return few(b, c, p->first, values, 4, stamp, plru);
    case TEMPLATE_MANY:
        return many(b, c, p, values, stamp, plru);
    default:
        return 0;
    }
}

__attribute__((noinline)) uint64_t peet__bus_exactly(struct bus *b, unsigned hw, const struct peet_block_event *event,
    uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    struct cache *c = &b->caches[hw];
    struct walk w = {.start = now + time / CPI_ONE, .cpi_rest = time % CPI_ONE};
    b->site.block = event->block;
    if (b->ahead)
        b->ahead->began = w.start;
    b->calendar.began = w.start;
    if (b->fetch != FETCH_OFF)
        peet__bus_run_fetches(b, b->fetch == FETCH_SPLIT ? c + b->nhw : c, event->block, &w);
    b->run(b, c, event, &w);
    *inout_stalled += w.stall_cycles;
    return b->cpi * event->block->ninsns + (w.touches * b->hit_cycles + w.stall_cycles - w.saved_cycles) * CPI_ONE;
}

/* The same for a template that has accesses for its groups. */
static __attribute__((noinline)) uint64_t by_groups(struct bus *b, unsigned hw, const struct block_template *p,
    const struct peet_block_event *event, uint64_t now, uint64_t time, uint64_t *inout_stalled)
{
    const struct group *groups = peet__bus_groups_of(b, p);
    uint64_t addresses[ACCESSES_MAX], stall, more;
    for (uint32_t k = 0; k < p->ngroups; k++)
        addresses[k] = event->values[groups[k].value];
    if (peet__bus_groups_exactly(b, hw, p, event->block, addresses, now, time, &stall, &more))
        return peet__bus_exactly(b, hw, event, now, time, inout_stalled);
    *inout_stalled += stall;
    return p->cost + more + stall * CPI_ONE;
}

uint64_t peet__bus_one(struct bus *b, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t time,
    uint64_t *inout_stalled)
{
    struct cache *const c = &b->caches[hw];
    const uint32_t id = event->block->id;
    if (UNLIKELY(id >= b->ntemplates || !b->templates[id].known) &&
        peet__bus_template(b, event->block, event->values)) {
        peet__bus_no_memory(b);
        return 0;
    }
    const struct block_template *const p = &b->templates[id];
    c->stats.reads += p->counts & UINT32_MAX;
    c->stats.writes += p->counts >> 32;
    return p->accesses ? by_groups(b, hw, p, event, now, time, inout_stalled)
                       : peet__bus_exactly(b, hw, event, now, time, inout_stalled);
}

void peet__bus_account(struct bus *b, unsigned hw, uint64_t now, uint64_t time, uint64_t counts_reads,
    uint64_t counts_writes, uint64_t stalled)
{
    struct hw *h = &b->hw[hw];
    struct cache *c = &b->caches[hw];
    c->stats.reads += counts_reads;
    c->stats.writes += counts_writes;
    h->cpi_rest = time % CPI_ONE;
    h->busy_until = now + time / CPI_ONE;
    if (h->busy_until > b->end_cycles)
        b->end_cycles = h->busy_until;
    if (stalled) {
        h->stall_cycles += stalled;
        b->env->not_ready_until(b->env, hw, h->busy_until);
    }
}

uint64_t peet__bus_limit_of(uint64_t now, uint64_t until)
{
    if (until <= now)
        return 0;
    return until - now < 1ull << 40 ? (until - now) * CPI_ONE : UINT64_MAX;
}

ALWAYS uint64_t walk(struct bus *b, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done, int plru)
{
    struct cache *const c = &b->caches[hw];
    const struct peet_block_event *e = events, *const end = events + n;
    const uint64_t limit = peet__bus_limit_of(now, until);
    uint64_t time = b->hw[hw].cpi_rest, stamp = c->stamp, counts = 0, stalled = 0;
    do {
        const struct peet_block *const block = e->block;
        const uint64_t *const values = e->values;
        const struct block_template *p;
        if (UNLIKELY(block->id >= b->ntemplates || !b->templates[block->id].known) &&
            peet__bus_template(b, block, values)) {
            peet__bus_no_memory(b);
            e++;
            break;
        }
        p = &b->templates[block->id];
        counts += p->counts;
        if (LIKELY(hits(b, c, p, values, stamp, plru))) {
            time += p->cost;
            stamp += p->nrefs;
        } else {
            c->stamp = stamp;
            time += p->accesses ? by_groups(b, hw, p, e, now, time, &stalled)
                                : peet__bus_exactly(b, hw, e, now, time, &stalled);
            stamp = c->stamp;
            if (UNLIKELY(b->dead)) {
                e++;
                break;
            }
        }
        e++;
    } while (e != end && time < limit);
    c->stamp = stamp;
    peet__bus_account(b, hw, now, time, counts & UINT32_MAX, counts >> 32, stalled);
    *out_done = (size_t)(e - events);
    return time / CPI_ONE - stalled;
}

static uint64_t walk_plain(struct bus *b, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    return walk(b, hw, events, n, now, until, out_done, 0);
}

static uint64_t walk_plru(struct bus *b, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
    uint64_t until, size_t *out_done)
{
    return walk(b, hw, events, n, now, until, out_done, 1);
}

bus_walk *peet__bus_walk_for(const struct bus *b)
{
    return b->replacement == REPLACE_PLRU ? walk_plru : walk_plain;
}
