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
enum { AHEAD_CUT = -1, SHY_EVENTS = 32 };

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
    for (uint32_t i = 0, before = 0; i < block->nrefs; i++) {
        const struct peet_ref *const r = &block->refs[i];
        const int twice = r->kind == PEET_REF_MODIFY;
        if (r->kind == PEET_REF_PREFETCH)
            continue;
        const uint32_t g = group_with(b, p, block, values, i);
        if (g == p->ngroups) {
            free(k);
            return NULL;
        }
        const struct group *const group = &peet__bus_groups_of(b, p)[g];
        k->refs[k->nrefs++] =
            (struct bus_ahead_ref){.offset = (uint16_t)(values[r->value] - (values[group->value] - group->before)),
                .bytes = (uint16_t)r->size_bytes,
                .before = (uint16_t)before,
                .look = (uint8_t)g,
                .ref = (uint8_t)i,
                .either = r->kind == PEET_REF_LOAD ? QUICK_WRITE : 0,
                .twice = (uint8_t)twice};
        before += 1u + (uint32_t)twice;
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

/* The line's frame, if the reference hits without consequences; NO_FRAME.  @inout_noted: set if it is a write that only
 * notes which grains are written */
static inline uint32_t frame_of(struct bus *b, struct cache *c, uint64_t line, uint64_t either, int *inout_noted)
{
    uint32_t i = c->hints[line & b->hint_mask];
    if (__builtin_expect((c->keys[i] | either) == (KEY_OF(line) | QUICK), 1))
        return i;
    if ((c->keys[i] | QUICK_WRITE) != (KEY_OF(line) | QUICK) &&
        (i = peet__bus_quick_in_set(b, c, line, QUICK_WRITE)) == NO_FRAME)
        return NO_FRAME;
    if ((c->keys[i] | either) == (KEY_OF(line) | QUICK))
        return i;
    if (!c->frames[i].noted || !(b->quick[c->frames[i].state] & QUICK_WRITE))
        return NO_FRAME;
    *inout_noted = 1;
    return i;
}

/* Has nobody lost the line any more?  Then its writes are quick again, as note() in engine.c would have it; nothing of
 * that is ahead of time, for who loses the line will say so. */
static __attribute__((noinline)) int not_lost(struct bus *b, struct cache *c, uint32_t frame)
{
    struct frame *const f = &c->frames[frame];
    const uint64_t line = KEY_LINE(c->keys[frame]);
    const struct line_record *const record = peet_sim_linemap_get(&b->lines_map, line);
    if (!record || record->losses)
        return 0;
    f->noted = 0;
    peet__bus_set(b, f, line, f->state);
    return 1;
}

/* Grains of a frame are written.  Whoever misses a line that it has lost settles what was written: until then it
 * remains lost.  @run: whose log has what was there before; NULL: it will not be undone */
static inline void write_noted(struct peet_direct_run *run, struct bus *b, struct cache *c, uint32_t frame,
    uint64_t grains)
{
    uint64_t *const written = &b->written[c->frames + frame - b->frames];
    if (!c->frames[frame].noted || (*written & grains) == grains || (!*written && not_lost(b, c, frame)))
        return;
    if (run)
        *run->log++ = (struct peet_direct_use){AHEAD_WRITTEN | frame, *written};
    *written |= grains;
}

/* A block writes, some of it to noted lines. */
static __attribute__((noinline)) void write_all_logged(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const uint64_t *begins, uint32_t (*frames)[2])
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const uint64_t room = b->line_bytes;
    for (const struct bus_ahead_ref *r = k->refs, *last = r + k->nrefs; r != last; r++) {
        if (r->either)
            continue;
        const uint64_t offset = (begins[r->look] & (room - 1)) + r->offset, end = offset + r->bytes;
        if (end <= room) {
            write_noted(run, b, c, frames[r->look][0], peet__bus_grains(b, offset, r->bytes));
            continue;
        }
        if (offset < room)
            write_noted(run, b, c, frames[r->look][0], peet__bus_grains(b, offset, room - offset));
        const uint64_t from = offset > room ? offset - room : 0;
        write_noted(run, b, c, frames[r->look][1], peet__bus_grains(b, from, end - room - from));
    }
}

/* hit_once() of a block with groups in two lines, which are all there. */
static __attribute__((noinline)) int hit_cut(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const uint64_t *begins, uint32_t (*frames)[2], int noted)
{
    struct bus *const b = run->machine;
    const uint32_t ngroups = b->plans[k->block->id].ngroups;
    uint32_t lasts[PEET_DIRECT_LOOKS][2], more = 0, reads = 0;
    for (uint32_t g = 0; g < ngroups; g++)
        lasts[g][0] = lasts[g][1] = 0;
    for (uint32_t i = 0; i < k->nrefs; i++) {
        const struct bus_ahead_ref *const r = &k->refs[i];
        const uint64_t offset = (begins[r->look] & (b->line_bytes - 1)) + r->offset;
        const int second = offset >= b->line_bytes;
        lasts[r->look][second] = r->ref + 1u + more;
        if (second || offset + r->bytes <= b->line_bytes)
            continue;
        if (r->bytes > b->line_bytes || r->twice)
            return 0;
        lasts[r->look][1] = r->ref + 1u + ++more;
        reads += r->either != 0;
    }
    if (noted)
        write_all_logged(run, k, begins, frames);
    for (uint32_t g = 0; g < ngroups; g++)
        for (uint32_t half = 0; half < 2; half++)
            if (run->stamp + lasts[g][half] > run->used[frames[g][half]] && lasts[g][half])
                use_logged(run, frames[g][half], run->stamp + lasts[g][half]);
    run->stamp += more;
    run->time += more * b->hit_cycles * CPI_ONE;
    run->reads += reads;
    run->writes += more - reads;
    return 1;
}

/* One execution, if all of it hits without consequences for others; some references may lie in two lines.  @begins: of
 * the groups.  What it takes beyond the plan goes to @run.  Returns: whether it has happened */
static int hit_once(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const struct plan *const p = &b->plans[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    uint32_t frames[PEET_DIRECT_LOOKS][2];
    int noted = 0, cut = 0;
    for (uint32_t g = 0; g < p->ngroups; g++) {
        const uint64_t line = begins[g] >> b->line_shift;
        if ((frames[g][0] = frame_of(b, c, line, groups[g].either, &noted)) == NO_FRAME)
            return 0;
        frames[g][1] = 0;
        if ((begins[g] & (b->line_bytes - 1)) + groups[g].span <= b->line_bytes)
            continue;
        cut = 1;
        if ((frames[g][1] = frame_of(b, c, line + 1, groups[g].either, &noted)) == NO_FRAME)
            return 0;
    }
    if (cut)
        return hit_cut(run, k, begins, frames, noted);
    if (noted)
        write_all_logged(run, k, begins, frames);
    for (uint32_t g = 0; g < p->ngroups; g++)
        use_logged(run, frames[g][0], run->stamp + groups[g].stamp);
    return 1;
}

/* ------------------------------------------------------------------------------------------ what happens in its turn */

/* After a block that may have waited; @stalled: before it. */
static void goes_on(struct peet_direct_run *run, uint64_t stalled)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = hw_of(run);
    if (b->dead || b->ahead->went_back) /* somebody else may be due before */
        run->limit = 0;
    if (h->shy && h->stalled != stalled) { /* others are likely to take lines before it goes on */
        h->shy--;
        run->limit = 0;
    }
}

/* A reference that is no plain hit, in its turn; @more: lines that those before it lie in, beyond one each.  Returns:
 * the same with it */
static __attribute__((noinline)) uint64_t happen_slowly(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const struct bus_ahead_ref *r, uint64_t address, uint64_t more, struct walk *w)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const uint64_t offset = address & (b->line_bytes - 1);
    if (offset + r->bytes <= b->line_bytes) {
        const uint64_t line = address >> b->line_shift;
        int noted = 0;
        const uint32_t i = frame_of(b, c, line, r->either, &noted);
        if (i != NO_FRAME) {
            if (noted)
                write_noted(NULL, b, c, i, peet__bus_grains(b, offset, r->bytes));
            c->used[i] = ++c->stamp;
            return more;
        }
    }
    w->touches = r->before + more;
    if (offset + r->bytes <= b->line_bytes && !r->twice) {
        w->touches++;
        w->stall_cycles += b->touch(b, c, address >> b->line_shift, peet__bus_grains(b, offset, r->bytes), r->bytes,
            r->either ? TOUCH_READ : TOUCH_WRITE, peet__bus_time_in(b, w, k->block->refs[r->ref].insn));
        return more;
    }
    const uint64_t lines = peet__bus_slow_reference(b, c, &k->block->refs[r->ref], address, w) - 1;
    run->reads += r->either || r->twice ? lines : 0;
    run->writes += !r->either ? lines : 0;
    return more + (r->twice ? 2 * lines : lines);
}

/* One execution in its turn, reference by reference, whatever it takes.  Its own time, stamps and counts are left to
 * the caller.  @begins: of the groups */
static void happen(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = hw_of(run);
    struct cache *const c = &b->caches[h->number];
    const uint64_t room = b->line_bytes, hint_mask = b->hint_mask, stalled = h->stalled;
    const uint64_t *const keys = c->keys;
    const uint32_t *const hints = c->hints;
    uint64_t *const used = c->used;
    const unsigned shift = b->line_shift;
    struct walk w = {.start = h->now + run->time / CPI_ONE, .cpi_rest = run->time % CPI_ONE};
    uint64_t more = 0, stamp = run->stamp + 1;
    b->ahead->went_back = 0;
    b->ahead->moment = w.start;
    if (b->calendar.n)
        peet__bus_calendar_settle(&b->calendar, w.start);
    for (const struct bus_ahead_ref *r = k->refs, *end = r + k->nrefs; r != end; r++) {
        const uint64_t address = begins[r->look] + r->offset, line = address >> shift;
        const uint32_t f = hints[line & hint_mask];
        if (__builtin_expect((keys[f] | r->either) == (KEY_OF(line) | QUICK) &&
                    (address & (room - 1)) + r->bytes <= room,
                1)) {
            used[f] = stamp + r->ref;
            continue;
        }
        c->stamp = stamp + r->ref - 1;
        more = happen_slowly(run, k, r, address, more, &w);
        stamp = c->stamp - r->ref;
    }
    run->time += (more * b->hit_cycles + w.stall_cycles) * CPI_ONE;
    run->stamp = stamp - 1;
    h->stalled += w.stall_cycles;
    goes_on(run, stalled);
}

int peet__bus_ahead_other(struct peet_direct_run *run, uint32_t id)
{
    struct bus *const b = run->machine;
    const struct bus_ahead_block *const k = b->ahead->blocks[id];
    const struct plan *const p = &b->plans[id];
    if (run->time >= run->until || b->dead) {
        if (run->log < run->log_end && hit_once(run, k, run->addresses))
            return 0;
        run->limit = 0; /* its turn comes */
        run->waits = !b->dead;
        return -1;
    }
    happen(run, k, run->addresses);
    run->table->done(run, p->cost, p->nrefs, (uint32_t)p->counts, p->counts >> 32);
    return 0;
}

/* ------------------------------------------------------------------------------------------ loops */

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

/* For how many of these turns does a group of so many bytes stay in its line?  AHEAD_CUT: it lies in two. */
static inline int64_t turns_within(uint64_t line_bytes, uint64_t span, uint64_t begin, int64_t stride, uint64_t turns)
{
    const uint64_t offset = begin & (line_bytes - 1), most = turns < INT64_MAX ? turns : INT64_MAX;
    if (offset + span > line_bytes)
        return AHEAD_CUT;
    if (!stride)
        return (int64_t)most;
    const uint64_t room = stride > 0 ? line_bytes - span - offset : offset,
                   step = stride > 0 ? (uint64_t)stride : -(uint64_t)stride;
    if (most == 1 || step > room)
        return 1;
    const uint64_t n =
        (step & (step - 1) ? room / step : room >> __builtin_ctzll(step)) + 1; /* a division takes long */
    return (int64_t)(n < most ? n : most);
}

/* So many turns write, some of it to noted lines; no group leaves its line.  @at: of the groups in the first one */
static __attribute__((noinline)) void write_turns_logged(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const uint64_t *at, const int64_t *strides, const uint32_t *frames, uint64_t turns)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const struct group *const groups = peet__bus_groups_of(b, &b->plans[k->block->id]);
    for (const struct bus_ahead_ref *r = k->refs, *end = r + k->nrefs; r != end; r++) {
        const uint64_t stride = (uint64_t)strides[groups[r->look].value];
        uint64_t grains = 0, offset = (at[r->look] & (b->line_bytes - 1)) + r->offset;
        if (r->either || !c->frames[frames[r->look]].noted)
            continue;
        for (uint64_t turn = 0; turn < (stride ? turns : 1); turn++, offset += stride)
            grains |= peet__bus_grains(b, offset, r->bytes);
        write_noted(run, b, c, frames[r->look], grains);
    }
}

/* Turns of a loop as long as they hit without consequences and begin before the limit.  @begins: of the groups in the
 * first one; @done: so many have happened.  Returns: how many have then */
static uint64_t turns_hit(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t done, uint64_t turns)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[hw_of(run)->number];
    const struct plan *const p = &b->plans[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    const uint32_t ngroups = p->ngroups;
    const uint64_t line_bytes = b->line_bytes, hint_mask = b->hint_mask;
    const uint64_t *const keys = c->keys;
    const uint32_t *const hints = c->hints;
    const unsigned shift = b->line_shift;
    while (done < turns && run->time < run->limit && run->log < run->log_end) {
        uint64_t at[PEET_DIRECT_LOOKS], n = turns - done;
        uint32_t frames[PEET_DIRECT_LOOKS];
        int cut = 0, noted = 0;
        for (uint32_t g = 0; g < ngroups; g++) {
            const struct group *const group = &groups[g];
            const int64_t stride = strides[group->value];
            const uint64_t begin = at[g] = begins[g] + (uint64_t)stride * done, line = begin >> shift;
            const uint32_t i = hints[line & hint_mask];
            const int64_t within = turns_within(line_bytes, group->span, begin, stride, n);
            if (__builtin_expect((keys[i] | group->either) == (KEY_OF(line) | QUICK), 1))
                frames[g] = i;
            else if ((frames[g] = frame_of(b, c, line, group->either, &noted)) == NO_FRAME)
                return done;
            if (within == AHEAD_CUT)
                cut = 1;
            else
                n = (uint64_t)within;
        }
        if (cut && !hit_once(run, k, at))
            return done;
        n = cut ? 1 : turns_before(run->limit, run->time, p->cost, n);
        if (!cut) {
            const uint64_t stamp = run->stamp + (n - 1) * p->nrefs;
            struct peet_direct_use *log;
            if (noted)
                write_turns_logged(run, k, at, strides, frames, n);
            log = run->log;
            for (uint32_t g = 0; g < ngroups; g++, log++) {
                *log = (struct peet_direct_use){frames[g], c->used[frames[g]]};
                c->used[frames[g]] = stamp + groups[g].stamp;
            }
            run->log = log;
        }
        run->stamp += n * p->nrefs;
        run->time += n * p->cost;
        run->reads += n * (uint32_t)p->counts;
        run->writes += n * (p->counts >> 32);
        done += n;
    }
    return done;
}

/* Turns that begin before another processor is due, whatever they take.  Returns: how many */
static uint64_t turns_in_order(struct peet_direct_run *run, const struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t turns)
{
    struct bus *const b = run->machine;
    const struct plan *const p = &b->plans[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    const uint64_t limit = run->limit;
    uint64_t done = 0, at[PEET_DIRECT_LOOKS];
    int waits = hw_of(run)->waits;
    hw_of(run)->waits = 0;
    run->limit = run->until < limit ? run->until : limit;
    while (!b->dead) {
        run->log = run->log_begin; /* nothing of it will be undone */
        if (!waits)                /* else it is known that the first one is no hit */
            done = turns_hit(run, k, begins, strides, done, turns);
        if (done == turns || run->time >= run->limit)
            break;
        if (!waits && run->log >= run->log_end)
            continue;
        waits = 0;
        for (uint32_t g = 0; g < p->ngroups; g++)
            at[g] = begins[g] + (uint64_t)strides[groups[g].value] * done;
        happen(run, k, at);
        done++;
        run->stamp += p->nrefs;
        run->time += p->cost;
        run->reads += (uint32_t)p->counts;
        run->writes += p->counts >> 32;
    }
    if (run->limit)
        run->limit = limit;
    run->final = 1;
    return done;
}

int peet__bus_ahead_loop(struct peet_direct_run *run, uint32_t id, uint64_t turns, const int64_t *strides)
{
    struct bus *const b = run->machine;
    struct peet_direct_use *const log = run->log;
    const uint64_t time = run->time, stamp = run->stamp, reads = run->reads, writes = run->writes;
    if (turns_hit(run, b->ahead->blocks[id], run->addresses, strides, 0, turns) == turns)
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
    uint64_t begins[PEET_DIRECT_LOOKS];
    if (!k || block->nvalues > PLAN_REFS)
        return 0;
    const struct plan *const p = &b->plans[block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    for (uint32_t g = 0; g < p->ngroups; g++)
        begins[g] = values[groups[g].value] - groups[g].before;
    if (run->time < run->until)
        return turns_in_order(run, k, begins, strides, turns);
    const uint64_t done = turns_hit(run, k, begins, strides, 0, turns);
    if (done < turns && run->time < run->limit) {
        run->limit = 0; /* its turn comes */
        hw_of(run)->waits = 1;
    }
    return done;
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
    if (b->hw[hw].busy_until >= b->ahead->moment) /* nothing was right of what it did after its transaction */
        b->ahead->hw[hw].shy = SHY_EVENTS;
    return b->hw[hw].busy_until;
}

void peet__bus_ahead_go_back(struct bus *b, const struct cache *by, unsigned hw)
{
    const struct peet_direct_table *const table = b->ahead->hw[hw].run.table;
    if (!table || !table->go_back || b->ahead->hw[hw].run.final) /* final: nothing was done ahead */
        return;
    b->ahead->went_back |= table->go_back(table->host, hw, b->ahead->moment + (hw < by->hw));
}
