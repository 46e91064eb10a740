/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processors, each of which runs ahead of the others as long as it hits without consequences (docs/ENGINE.md;
 * <peet/direct.h>, ahead()).  A hit changes nothing but the frame's stamp and the cache's own counts, so nobody else
 * can see it; whether it is a hit is what a transaction of somebody else may change.  Invariants:
 *
 *   1. A block that begins at run.until or later is taken only if each of its lines is there with the right that is
 *      needed, and then all that happens is in run.log, run.stamp, run.time and run's counts.  Any other block waits
 *      for its turn.
 *   2. used[f] of a cache is above its run's mark.stamp exactly if the frame was used since the mark.
 *   3. Before a transaction takes a line or a right from another cache's frame that was used since the mark, that
 *      processor goes back to the present moment (peet__bus_ahead_before()).
 *
 * Called by direct.c, and by engine.c before it changes another cache.
 */
#include "ahead.h"
#include <stdlib.h>

enum { AHEAD_LOG = 4096, AHEAD_LOG_ROOM = 4 * PLAN_REFS + PEET_DIRECT_LOOKS };
#define AHEAD_WRITTEN 0x100000000ull /* in the log: the frame's written grains before, not its stamp */
enum { AHEAD_CUT = -1 };

static struct bus_ahead_hw *hw_of(const struct peet_direct_run *run)
{
    return (struct bus_ahead_hw *)((uintptr_t)run - offsetof(struct bus_ahead_hw, run));
}

int peet__bus_ahead_table(struct bus *b, struct peet_direct_table *out)
{
    struct bus_ahead *a;
    if (b->perfect || b->perfect_hits || b->fetch != FETCH_OFF || b->check || b->watched ||
        b->replacement == REPLACE_PLRU || b->calendar.arbitration != ARBITRATION_FCFS ||
        !(a = calloc(1, sizeof *a + b->nhw * sizeof a->hw[0])))
        return -1;
    b->ahead = a;
    for (unsigned hw = 0; hw < b->nhw; hw++) {
        struct cache *const c = &b->caches[hw];
        struct bus_ahead_hw *const h = &a->hw[hw];
        if (!(h->run.log_begin = malloc((AHEAD_LOG + AHEAD_LOG_ROOM) * sizeof *h->run.log_begin))) {
            peet__bus_ahead_fini(b);
            return -1;
        }
        h->run.log = h->run.log_begin;
        h->run.log_end = h->run.log_begin + AHEAD_LOG;
        h->run.machine = b;
        h->run.hints = c->hints;
        h->run.keys = c->keys;
        h->run.used = c->used;
        h->number = hw;
    }
    *out = (struct peet_direct_table){.hint_mask = b->hint_mask,
        .line_shift = b->line_shift,
        .clock_shift = CPI_SHIFT,
        .unreported = &b->ntold,
        .other = peet__bus_ahead_other,
        .loop = peet__bus_ahead_loop,
        .turns = peet__bus_ahead_turns,
        .logged = 1};
    return 0;
}

void peet__bus_ahead_fini(struct bus *b)
{
    struct bus_ahead *const a = b->ahead;
    if (!a)
        return;
    for (unsigned hw = 0; hw < b->nhw; hw++)
        free(a->hw[hw].run.log_begin);
    for (uint32_t id = 0; id < a->nblocks; id++)
        free(a->blocks[id]);
    free(a->blocks);
    free(a);
    b->ahead = NULL;
}

/* ------------------------------------------------------------------------------------------ blocks as lists of
 * references */

/* In which group a reference is, whose distances never change.  Returns: it, or the number of groups */
static uint32_t group_with(const struct bus *b, const struct plan *p, const struct peet_block *block,
    const uint64_t *values, uint32_t ref)
{
    const struct group *const groups = peet__bus_groups_of(b, p);
    const struct peet_ref *const r = &block->refs[ref];
    uint32_t k = 0;
    for (; k < p->ngroups; k++) {
        const struct group *const g = &groups[k];
        const uint64_t from = values[r->value] - (values[g->value] - g->before);
        uint8_t name = 0;
        for (uint32_t i = 0; i < block->nrefs; i++)
            name = block->refs[i].value == g->value ? block->refs[i].group : name;
        if ((r->value == g->value || (r->group && r->group == name)) && from < g->span &&
            from + r->size_bytes <= g->span)
            break;
    }
    return k;
}

/* What is known of the block; made when it is first asked for.  NULL: it does not go this way, or no memory */
static struct bus_ahead_block *block_of(struct bus *b, const struct peet_block *block, const uint64_t *values)
{
    struct bus_ahead *const a = b->ahead;
    struct bus_ahead_block *k, **blocks;
    uint32_t n = a->nblocks ? a->nblocks : 256;
    if (block->id < a->nblocks && a->blocks[block->id])
        return a->blocks[block->id];
    while (n <= block->id)
        n *= 2;
    if (n != a->nblocks) {
        if (!(blocks = realloc(a->blocks, n * sizeof *blocks)))
            return NULL;
        for (uint32_t i = a->nblocks; i < n; i++)
            blocks[i] = NULL;
        a->blocks = blocks;
        a->nblocks = n;
    }
    if ((block->id >= b->nplans || !b->plans[block->id].known) && peet__bus_plan(b, block, values))
        return NULL;
    const struct plan *const p = &b->plans[block->id];
    if (p->known - 1 == PLAN_GENERAL || p->ngroups > PEET_DIRECT_LOOKS ||
        !(k = calloc(1, sizeof *k + block->nrefs * sizeof k->refs[0])))
        return NULL;
    k->block = block;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const r = &block->refs[i];
        const uint32_t g = r->kind == PEET_REF_PREFETCH ? 0 : group_with(b, p, block, values, i);
        if (r->kind != PEET_REF_PREFETCH && g == p->ngroups) {
            free(k);
            return NULL;
        }
        k->refs[i] = (struct bus_ahead_ref){.prefetch = r->kind == PEET_REF_PREFETCH};
        if (!k->refs[i].prefetch) {
            const struct group *const group = &peet__bus_groups_of(b, p)[g];
            k->refs[i].look = (uint8_t)g;
            k->refs[i].offset = (uint16_t)(values[r->value] - (values[group->value] - group->before));
        }
    }
    return a->blocks[block->id] = k;
}

int peet__bus_ahead_block(struct bus *b, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out)
{
    if (!block_of(b, block, values))
        return -1;
    const struct plan *const p = &b->plans[block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    *out = (struct peet_direct_block){.time = p->cost,
        .stamps = p->nrefs,
        .nlooks = p->ngroups,
        .whole = 1,
        .reads = (uint32_t)p->counts,
        .writes = (uint32_t)(p->counts >> 32)};
    for (uint32_t k = 0; k < p->ngroups; k++) {
        const struct group *const g = &groups[k];
        if (g->span > b->line_bytes)
            return -1;
        out->looks[k] = (struct peet_direct_look){
            .value = g->value, .before = g->before, .span = g->span, .last = g->stamp, .either = g->either};
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------ hits */

/* An entry of the log is undone. */
static inline void take_back(struct bus *b, struct cache *c, const struct peet_direct_use *u)
{
    if (u->frame & AHEAD_WRITTEN)
        b->written[c->frames + (u->frame - AHEAD_WRITTEN) - b->frames] = u->used;
    else
        c->used[u->frame] = u->used;
}

static inline void use_logged(struct peet_direct_run *run, uint32_t frame, uint64_t stamp)
{
    *run->log++ = (struct peet_direct_use){frame, run->used[frame]};
    run->used[frame] = stamp;
}

/* A write hit in a frame that only notes which grains are written.  Returns: the frame, or NO_FRAME */
static __attribute__((noinline)) uint32_t noted_frame(struct bus *b, struct cache *c, uint64_t line)
{
    const uint32_t i = peet__bus_quick(b, c, line, QUICK_WRITE);
    struct frame *const f = &c->frames[i];
    if (i == NO_FRAME || !f->noted || !(b->quick[f->state] & QUICK_WRITE))
        return NO_FRAME;
    const struct line_record *const record = peet_sim_linemap_get(&b->lines_map, line);
    /* as note() in engine.c would; nothing of it is ahead of time, for who loses the line will say so */
    if (record && !record->losses) {
        f->noted = 0;
        peet__bus_set(b, f, line, f->state);
    }
    return i;
}

static inline uint32_t frame_of(struct bus *b, struct cache *c, uint64_t line, int write)
{
    const uint32_t i = peet__bus_quick(b, c, line, write ? 0 : QUICK_WRITE);
    return i == NO_FRAME && write && b->classify ? noted_frame(b, c, line) : i;
}

/* Grains of a frame are written. */
static inline void write_logged(struct peet_direct_run *run, struct bus *b, struct cache *c, uint32_t frame,
    uint64_t grains)
{
    uint64_t *const written = &b->written[c->frames + frame - b->frames];
    if (!c->frames[frame].noted || (*written & grains) == grains)
        return;
    *run->log++ = (struct peet_direct_use){AHEAD_WRITTEN | frame, *written};
    *written |= grains;
}

/* One execution, reference by reference, if all of them hit without consequences for others; some may lie in two lines.
 * @begins: of the groups.
 * @frames: room for two for each reference.  What it takes beyond the plan goes to @run.
 * Returns: the first reference that does not, and those before it have frames; or how many there are: it has happened
 */
static uint32_t hit_by_reference(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins,
    uint32_t *frames)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const struct peet_ref *const refs = k->block->refs;
    const uint64_t mask = b->line_bytes - 1;
    uint32_t n = 0, more = 0;
    for (uint32_t i = 0; i < k->block->nrefs; i++) {
        if (k->refs[i].prefetch)
            continue;
        const uint64_t address = begins[k->refs[i].look] + k->refs[i].offset;
        const int write = refs[i].kind != PEET_REF_LOAD;
        if ((frames[n++] = frame_of(b, c, address >> b->line_shift, write)) == NO_FRAME)
            return i;
        if ((address & mask) + refs[i].size_bytes <= mask + 1)
            continue;
        if (refs[i].size_bytes > b->line_bytes || refs[i].kind == PEET_REF_MODIFY ||
            (frames[n++] = frame_of(b, c, (address >> b->line_shift) + 1, write)) == NO_FRAME)
            return i;
    }
    n = 0;
    for (uint32_t i = 0; i < k->block->nrefs; i++) {
        if (k->refs[i].prefetch)
            continue;
        const uint64_t address = begins[k->refs[i].look] + k->refs[i].offset, offset = address & mask;
        const int write = refs[i].kind != PEET_REF_LOAD && b->classify;
        const uint64_t beyond = offset + refs[i].size_bytes > mask + 1 ? offset + refs[i].size_bytes - mask - 1 : 0;
        if (write)
            write_logged(run, b, c, frames[n], peet__bus_grains(b, offset, refs[i].size_bytes - beyond));
        use_logged(run, frames[n++], run->stamp + more + i + 1);
        if (!beyond)
            continue;
        if (write)
            write_logged(run, b, c, frames[n], peet__bus_grains(b, 0, beyond));
        use_logged(run, frames[n++], run->stamp + ++more + i + 1);
        *(refs[i].kind == PEET_REF_LOAD ? &run->reads : &run->writes) += 1;
    }
    run->stamp += more;
    run->time += more * b->hit_cycles * CPI_ONE;
    return k->block->nrefs;
}

/* After a block that may have waited; @stalled: before it. */
static void goes_on(struct peet_direct_run *run, uint64_t stalled)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = hw_of(run);
    if (b->dead || b->ahead->went_back) /* somebody else may be due before */
        run->limit = 0;
    if (h->shy && h->stalled != stalled) { /* it is not known yet until when it waits */
        h->shy--;
        run->limit = 0;
    }
}

/* So many references of a block that hit, and lie in one line each, happen in their turn.  Returns: how many did */
static uint32_t plain_hits(struct bus *b, struct cache *c, const struct bus_ahead_block *k, const uint64_t *values,
    const uint32_t *frames, uint32_t n)
{
    const struct peet_ref *const refs = k->block->refs;
    uint32_t i = 0;
    for (; i < n && !k->refs[i].prefetch && (values[i] & (b->line_bytes - 1)) + refs[i].size_bytes <= b->line_bytes;
        i++) {
        if (refs[i].kind != PEET_REF_LOAD && c->frames[frames[i]].noted)
            b->written[c->frames + frames[i] - b->frames] |=
                peet__bus_grains(b, values[i] & (b->line_bytes - 1), refs[i].size_bytes);
        c->used[frames[i]] = ++c->stamp;
    }
    return i;
}

/* One execution in its turn, reference by reference, whatever it takes.  Its own time, stamps and counts are the
 * code's.  @hits, @frames: as hit_by_reference() says them */
static void happen(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint32_t *frames, uint32_t hits)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = hw_of(run);
    struct cache *const c = &b->caches[h->number];
    const struct plan *const p = &b->plans[k->block->id];
    uint64_t values[PLAN_REFS];
    for (uint32_t i = 0; i < k->block->nrefs; i++)
        values[i] = run->addresses[k->refs[i].look] + k->refs[i].offset;
    const struct peet_block_event event = {k->block, values, run->context, 1, NULL};
    const uint64_t stalled = h->stalled;
    b->ahead->went_back = 0;
    c->stamp = run->stamp;
    const uint32_t from = plain_hits(b, c, k, values, frames, hits);
    run->time += peet__bus_exactly_from(b, h->number, &event, from, from == hits && run->log < run->log_end, h->now,
                     run->time, &h->stalled) -
        p->cost;
    run->stamp = c->stamp - p->nrefs;
    goes_on(run, stalled);
    run->table->done(run, p->cost, p->nrefs, (uint32_t)p->counts, p->counts >> 32);
}

int peet__bus_ahead_other(struct peet_direct_run *run, uint32_t id)
{
    struct bus *const b = run->machine;
    const struct bus_ahead_block *const k = b->ahead->blocks[id];
    uint32_t frames[2 * PLAN_REFS], hits = 0;
    if (run->log < run->log_end && (hits = hit_by_reference(run, k, run->addresses, frames)) == k->block->nrefs)
        return 0;
    if (run->time >= run->until || b->dead) {
        run->limit = 0; /* its turn comes */
        return -1;
    }
    happen(run, k, frames, hits);
    return 0;
}

/* So many turns begin before the limit, which is not reached. */
static uint64_t turns_before(uint64_t limit, uint64_t time, uint64_t cost, uint64_t turns)
{
    enum { FEW = 1 << 8 };
    /* a division takes long */
    if (limit == UINT64_MAX || !cost || (turns <= FEW && cost <= UINT32_MAX && turns * cost < limit - time))
        return turns;
    const uint64_t n = (limit - time - 1) / cost + 1;
    return n < turns ? n : turns;
}

/* How many turns does a group go on in its line?  AHEAD_CUT: it lies in two. */
static int64_t turns_within(const struct bus *b, const struct group *g, uint64_t begin, int64_t stride, uint64_t turns)
{
    const uint64_t offset = begin & (b->line_bytes - 1), most = turns < INT64_MAX ? turns : INT64_MAX;
    uint64_t n;
    if (offset + g->span > b->line_bytes)
        return AHEAD_CUT;
    if (!stride)
        return (int64_t)most;
    const uint64_t room = stride > 0 ? b->line_bytes - g->span - offset : offset,
                   step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    n = (step & (step - 1) ? room / step : room >> __builtin_ctzll(step)) + 1; /* a division takes long */
    return (int64_t)(n < most ? n : most);
}

/* Turns of a loop as long as they hit without consequences and begin before the limit.  @begins: of the groups in the
 * first one.  Returns: how many */
static uint64_t turns_hit(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t turns)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const struct plan *const p = &b->plans[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    uint64_t done = 0;
    while (done < turns && run->time < run->limit && run->log < run->log_end) {
        uint64_t at[PEET_DIRECT_LOOKS], n = turns - done;
        uint32_t frames[PEET_DIRECT_LOOKS], more[2 * PLAN_REFS];
        int plain = 1;
        for (uint32_t g = 0; g < p->ngroups; g++) {
            const int64_t stride = strides[groups[g].value];
            at[g] = begins[g] + (uint64_t)stride * done;
            const int64_t within = turns_within(b, &groups[g], at[g], stride, n);
            if (within == AHEAD_CUT)
                plain = 0;
            else if ((frames[g] = peet__bus_quick(b, c, at[g] >> b->line_shift, groups[g].either)) != NO_FRAME)
                n = (uint64_t)within;
            else if (groups[g].either || !b->classify || noted_frame(b, c, at[g] >> b->line_shift) == NO_FRAME)
                return done;
            else
                plain = 0;
        }
        n = turns_before(run->limit, run->time, p->cost, n);
        if (plain)
            for (uint32_t g = 0; g < p->ngroups; g++)
                use_logged(run, frames[g], run->stamp + (n - 1) * p->nrefs + groups[g].stamp);
        else if (hit_by_reference(run, k, at, more) == k->block->nrefs)
            n = 1;
        else
            return done;
        run->stamp += n * p->nrefs;
        run->time += n * p->cost;
        run->reads += n * (uint32_t)p->counts;
        run->writes += n * (p->counts >> 32);
        done += n;
    }
    return done;
}

int peet__bus_ahead_loop(struct peet_direct_run *run, uint32_t id, uint64_t turns, const int64_t *strides)
{
    struct bus *const b = run->machine;
    struct peet_direct_use *const log = run->log;
    const uint64_t time = run->time, stamp = run->stamp, reads = run->reads, writes = run->writes;
    if (turns_hit(run, b->ahead->blocks[id], run->addresses, strides, turns) == turns)
        return 0;
    while (run->log != log)
        take_back(b, &b->caches[hw_of(run)->number], --run->log);
    run->time = time, run->stamp = stamp, run->reads = reads, run->writes = writes;
    return -1; /* it comes to peet__bus_ahead_turns() */
}

uint64_t peet__bus_ahead_turns(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t turns)
{
    struct bus *const b = run->machine;
    const struct bus_ahead_block *const k = block_of(b, block, values);
    uint64_t begins[PEET_DIRECT_LOOKS], at[PLAN_REFS], done;
    if (!k || block->nvalues > PLAN_REFS)
        return 0;
    const struct plan *const p = &b->plans[block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    for (uint32_t g = 0; g < p->ngroups; g++)
        begins[g] = values[groups[g].value] - groups[g].before;
    done = turns_hit(run, k, begins, strides, turns);
    if (done == turns || run->time >= run->limit)
        return done;
    if (run->time >= run->until) {
        run->limit = 0; /* its turn comes */
        return done;
    }
    for (uint32_t i = 0; i < block->nvalues; i++)
        at[i] = values[i] + (uint64_t)strides[i] * done;
    peet__bus_ahead_event(b, hw_of(run)->number, run, &(struct peet_block_event){block, at, run->context, 1, NULL});
    run->final = 1;
    return done + 1;
}

/* ------------------------------------------------------------------------------------------ what peet calls */

struct peet_direct_run *peet__bus_ahead_begin(struct bus *b, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    struct bus_ahead_hw *const h = &b->ahead->hw[hw];
    h->now = now;
    h->stalled = 0;
    h->run.time = b->hw[hw].cpi_rest;
    h->run.until = b->dead ? 0 : peet__bus_limit_of(now, until);
    h->run.limit = b->dead ? 0 : peet__bus_limit_of(now, limit);
    h->run.stamp = b->caches[hw].stamp;
    h->run.reads = h->run.writes = 0;
    if (!b->ahead->runs_ahead)
        h->run.log = h->run.log_begin;
    return &h->run;
}

void peet__bus_ahead_event(struct bus *b, unsigned hw, struct peet_direct_run *run,
    const struct peet_block_event *event)
{
    struct bus_ahead_hw *const h = &b->ahead->hw[hw];
    b->caches[hw].stamp = run->stamp;
    const uint64_t stalled = h->stalled;
    b->ahead->went_back = 0;
    run->time += peet__bus_one(b, hw, event, h->now, run->time, &h->stalled);
    run->stamp = b->caches[hw].stamp;
    goes_on(run, stalled);
}

uint64_t peet__bus_ahead_end(struct bus *b, unsigned hw)
{
    struct bus_ahead_hw *const h = &b->ahead->hw[hw];
    b->caches[hw].stamp = h->run.stamp;
    peet__bus_account(b, hw, h->now, h->run.time, h->run.reads, h->run.writes, h->stalled);
    return h->run.time / CPI_ONE - h->stalled;
}

uint64_t peet__bus_ahead_undo(struct bus *b, unsigned hw)
{
    struct peet_direct_run *const run = &b->ahead->hw[hw].run;
    struct cache *const c = &b->caches[hw];
    while (run->log != run->log_begin)
        take_back(b, c, --run->log);
    c->stats.reads -= run->reads - run->mark.reads;
    c->stats.writes -= run->writes - run->mark.writes;
    run->time = run->mark.time;
    run->stamp = c->stamp = run->mark.stamp;
    run->reads = run->mark.reads;
    run->writes = run->mark.writes;
    b->hw[hw].cpi_rest = run->time % CPI_ONE;
    b->hw[hw].busy_until = b->ahead->hw[hw].now + run->time / CPI_ONE;
    return b->hw[hw].busy_until;
}

void peet__bus_ahead_lost(struct bus *b, const struct cache *by, unsigned hw)
{
    enum { SHY_EVENTS = 32 };
    b->ahead->hw[hw].shy = SHY_EVENTS;
    peet__bus_ahead_go_back(b, by, hw);
}

void peet__bus_ahead_go_back(struct bus *b, const struct cache *by, unsigned hw)
{
    const struct peet_direct_table *const table = b->ahead->hw[hw].run.table;
    if (!table || !table->go_back)
        return;
    table->go_back(table->host, hw, b->ahead->moment + (hw < by->hw));
    b->ahead->went_back = 1;
}
