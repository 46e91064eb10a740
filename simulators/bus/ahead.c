/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processors, each of which runs ahead of the others as long as it hits without consequences (docs/ENGINE.md;
 * <peet/direct.h>, ahead()).  A hit changes nothing but the frame's stamp and the cache's own counts, so nobody else
 * can see it; whether it is a hit is what a transaction of somebody else may change.  Invariants:
 *
 *   1. A block that begins at run.until or later is executed only if each of its lines is there with the right that
 *      is needed, and then it changes nothing but run.log, run.stamp, run.time and the run's counts.  Any other block
 *      waits until it is due.
 *   2. used[f] of a cache is later than its run's checkpoint.stamp if and only if the frame was used since the checkpoint.
 *   3. Before a transaction takes a line or a right from another cache's frame that was used since the checkpoint,
 *      that processor is rolled back to the present moment (peet__bus_ahead_before()).
 *
 * Called by direct.c, and by engine.c before it changes another cache.
 */
#include "ahead.h"
#include <stdlib.h>
#include <string.h>

enum { AHEAD_LOG = 4096, AHEAD_LOG_ROOM = 4 * TEMPLATE_REFS + PEET_DIRECT_LOOKS };
enum { CAUTIOUS_EVENTS = 32 };
enum { OFTEN = 512 }; /* executions with probes in two lines, a power of two */

/* Does each reference leave the right to do the same again, and those that write the right to read? */
static int held(const struct bus *b)
{
    for (unsigned state = 0; state < b->protocol->nstates; state++)
        for (int write = 0; write < 2; write++) {
            const struct bus_processor_row *const row = &b->protocol->processor[state][write];
            const unsigned rights = write ? PERMISSION : PERMISSION_READ;
            if (row->again || (b->permission[row->alone] & b->permission[row->shared] & rights) != rights)
                return 0;
        }
    return 1;
}

int peet__bus_ahead_table(struct bus *b, struct peet_direct_table *out)
{
    struct bus_ahead *a;
    if (b->perfect || b->perfect_hits || b->fetch != FETCH_OFF || b->check || b->replacement == REPLACE_PLRU ||
        b->calendar.arbitration != ARBITRATION_FCFS || !(a = calloc(1, sizeof *a + b->nhw * sizeof a->hw[0])))
        return -1;
    b->ahead = a;
    a->held = held(b);
    if (b->written && !(b->writable = calloc((size_t)b->ncaches * b->lines, sizeof *b->writable))) {
        peet__bus_ahead_fini(b);
        return -1;
    }
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
        h->run.hints = c->predictor;
        h->run.keys = c->keys;
        h->run.used = c->used;
        h->run.writable = b->writable ? b->writable + (c->frames - b->frames) : NULL;
        h->number = hw;
    }
    *out = (struct peet_direct_table){.hint_mask = b->predictor_mask,
        .hint_factor = b->hint_factor,
        .hint_shift = b->hint_shift,
        .line_shift = b->line_shift,
        .clock_shift = CPI_SHIFT,
        .whole_cycles = b->cpi % CPI_ONE == 0,
        .unreported = &b->nbuffered,
        .other = peet__bus_ahead_other,
        .loop = peet__bus_ahead_loop,
        .iterations = peet__bus_ahead_iterations,
        .logged = 1,
        .units = b->writable != NULL,
        .unit_shift = b->sector_shift};
    return 0;
}

static void free_block(struct bus_ahead_block *k)
{
    if (!k)
        return;
    for (size_t i = 0; k->cuts && i < AHEAD_CUTS; i++)
        free(k->cuts[i]);
    free(k->cuts);
    free(k->units);
    for (uint32_t g = 0; k->lasts && g < PEET_DIRECT_LOOKS; g++)
        free(k->lasts[g]);
    free(k->lasts);
    free(k->whole);
    free(k);
}

void peet__bus_ahead_fini(struct bus *b)
{
    struct bus_ahead *const a = b->ahead;
    if (!a)
        return;
    for (unsigned hw = 0; hw < b->nhw; hw++)
        free(a->hw[hw].run.log_begin);
    for (uint32_t id = 0; id < a->nblocks; id++)
        free_block(a->blocks[id]);
    free(a->blocks);
    free(a);
    b->ahead = NULL;
    free(b->writable);
    b->writable = NULL;
}

/* ------------------------------------------------------------------------------------------ blocks as lists of
 * references */

/* In which group a reference is, whose distances never change.  Returns: it, or the number of groups */
static uint32_t group_with(const struct bus *b, const struct block_template *p, const struct peet_block *block,
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
    if ((block->id >= b->ntemplates || !b->templates[block->id].known) && peet__bus_template(b, block, values))
        return NULL;
    const struct block_template *const p = &b->templates[block->id];
    if (p->known - 1 == TEMPLATE_GENERAL || p->ngroups > PEET_DIRECT_LOOKS ||
        !(k = calloc(1, sizeof *k + 2 * (size_t)block->nrefs * sizeof k->refs[0])))
        return NULL;
    k->block = block;
    if (!(k->units = calloc(p->ngroups + 1u, sizeof *k->units))) {
        free_block(k);
        return NULL;
    }
    for (uint32_t i = 0, before = 0; i < block->nrefs; i++) {
        const struct peet_ref *const r = &block->refs[i];
        const int twice = r->kind == PEET_REF_MODIFY;
        if (r->kind == PEET_REF_PREFETCH)
            continue;
        const uint32_t g = group_with(b, p, block, values, i);
        if (g == p->ngroups) {
            free_block(k);
            return NULL;
        }
        const struct group *const group = &peet__bus_groups_of(b, p)[g];
        k->refs[k->nrefs++] =
            (struct bus_ahead_ref){.offset = (uint16_t)(values[r->value] - (values[group->value] - group->before)),
                .bytes = (uint16_t)r->size_bytes,
                .before = (uint16_t)before,
                .probe = (uint8_t)g,
                .ref = (uint8_t)i,
                .permission_mask = r->kind == PEET_REF_LOAD ? PERMISSION_WRITE : 0,
                .twice = (uint8_t)twice};
        before += 1u + (uint32_t)twice;
    }
    k->writes = k->refs + k->nrefs;
    for (uint32_t i = 0; i < k->nrefs; i++)
        if (!k->refs[i].permission_mask) {
            k->writes[k->nwrites++] = k->refs[i];
            if (peet__bus_groups_of(b, p)[k->refs[i].probe].span <= b->line_bytes)
                k->units[k->refs[i].probe] |= peet__bus_sectors(b, k->refs[i].offset, k->refs[i].bytes);
        }
    k->whole = peet__bus_ahead_cut_new(b, k, 0, (const uint64_t[PEET_DIRECT_LOOKS]){0}, 1);
    return a->blocks[block->id] = k;
}

int peet__bus_ahead_block(struct bus *b, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out)
{
    const struct bus_ahead_block *const known = block_of(b, block, values);
    if (!known)
        return -1;
    const struct block_template *const p = &b->templates[block->id];
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
        out->looks[k] = (struct peet_direct_look){.value = g->value,
            .before = g->before,
            .span = g->span,
            .last = g->stamp,
            .either = g->permission_mask,
            .units = known->units[k],
            .cuts = known->lasts ? (const uint8_t (*)[2])known->lasts[k] : NULL};
    }
    return 0;
}

/* For each place in its line at which a probe may begin, the last uses of both lines, as `cuts` of a look has them.  NULL: no
 * memory */
static uint8_t (*lasts_of(const struct bus *b, const struct bus_ahead_block *k, uint32_t probe))[2]
{
    uint8_t (*const lasts)[2] = calloc(b->line_bytes, sizeof *lasts);
    for (uint32_t begin = 0; lasts && begin < b->line_bytes; begin++) {
        uint8_t last[2] = {0, 0};
        int cut = 0;
        for (const struct bus_ahead_ref *r = k->refs, *end = r + k->nrefs; r != end; r++) {
            const uint32_t at = begin + r->offset;
            if (r->probe != probe)
                continue;
            last[at >= b->line_bytes] = (uint8_t)(r->ref + 1);
            cut |= at < b->line_bytes && at + r->bytes > b->line_bytes; /* it takes more time and stamps */
        }
        for (int second = 0; !cut && second < 2; second++)
            lasts[begin][second] = last[second && last[1]];
    }
    return lasts;
}

int peet__bus_ahead_often(struct bus *b, const struct peet_block *block)
{
    struct bus_ahead_block *const k = b->ahead->blocks[block->id];
    const struct block_template *const p = &b->templates[block->id];
    int any = 0;
    if (!k->lasts && !(k->lasts = calloc(PEET_DIRECT_LOOKS, sizeof *k->lasts)))
        return -1;
    for (uint32_t g = 0; g < p->ngroups; g++)
        if (k->straddlers >> g & 1 && !k->lasts[g] && peet__bus_groups_of(b, p)[g].span <= b->line_bytes) {
            k->lasts[g] = lasts_of(b, k, g);
            any = 1;
        }
    return any ? 0 : -1;
}

/* -------------------------------------------------------------------------------------- what happens in its turn */

/* After a block that may have waited; @stalled: before it. */
static void goes_on(struct peet_direct_run *run, uint64_t stalled)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = peet__bus_ahead_hw_of(run);
    if (b->dead || b->ahead->went_back) /* somebody else may be due before */
        run->limit = 0;
    if (h->cautious && h->stalled != stalled) { /* others are likely to take lines before it goes on */
        h->cautious--;
        run->limit = 0;
    }
}

static inline uint64_t touch(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    return b->watched ? peet__bus_touch_watched(b, c, line, sectors, bytes, touch, time)
                      : b->touch(b, c, line, sectors, bytes, touch, time);
}

/* A reference that is no hit with permission, in its turn; @more: lines that those before it lie in, beyond one each.
 * Returns: the same with it */
static __attribute__((noinline)) uint64_t happen_slowly(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const struct bus_ahead_ref *r, uint64_t address, uint64_t more, struct walk *w)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const uint64_t offset = address & (b->line_bytes - 1);
    if (offset + r->bytes <= b->line_bytes) {
        const uint64_t line = address >> b->line_shift;
        const uint32_t i =
            peet__bus_ahead_frame_for_good(b, c, line, r->permission_mask, peet__bus_sectors(b, offset, r->bytes));
        if (i != NO_FRAME) {
            c->used[i] = ++c->stamp;
            return more;
        }
    }
    w->touches = r->before + more;
    if (b->watched) {
        b->site.block = k->block;
        peet__bus_at(b, r->ref, address, r->bytes);
    }
    if (offset + r->bytes <= b->line_bytes && !r->twice) {
        w->touches++;
        w->stall_cycles += touch(b, c, address >> b->line_shift, peet__bus_sectors(b, offset, r->bytes), r->bytes,
            r->permission_mask ? TOUCH_READ : TOUCH_WRITE, peet__bus_time_in(b, w, k->block->refs[r->ref].insn));
        return more;
    }
    const uint64_t lines = peet__bus_slow_reference(b, c, &k->block->refs[r->ref], address, w) - 1;
    run->reads += r->permission_mask || r->twice ? lines : 0;
    run->writes += !r->permission_mask ? lines : 0;
    return more + (r->twice ? 2 * lines : lines);
}

/* May one of a block's lines make room for another one? */
static __attribute__((noinline)) int crowded(const struct bus *b, const uint64_t *begins, uint32_t ngroups,
    uint32_t straddling)
{
    uint64_t sets = 0; /* a bit for each, of 64 */
    uint32_t n = ngroups;
    for (uint32_t g = 0; g < ngroups; g++) {
        const uint64_t line = begins[g] >> b->line_shift;
        sets |= 1ull << (peet__bus_set_of(b, line) & 63);
        if (straddling >> g & 1) {
            sets |= 1ull << (peet__bus_set_of(b, line + 1) & 63);
            n++;
        }
    }
    return n - (uint32_t)__builtin_popcountll(sets) >= b->ways;
}

/* The leads by which a block that may miss is to be taken.  NULL: reference by reference: one line could make room for another
 * one (groups.c), say. */
static inline const struct bus_ahead_cut *led(const struct bus *b, struct bus_ahead_block *k, const uint64_t *begins)
{
    const struct block_template *const p = &b->templates[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    const struct bus_ahead_cut *cut = k->whole;
    const uint64_t room = b->line_bytes;
    uint32_t straddling = 0;
    for (uint32_t g = 0; g < p->ngroups; g++)
        if (__builtin_expect((begins[g] & (room - 1)) + groups[g].span > room, 0))
            straddling |= 1u << g;
    if (straddling)
        cut = peet__bus_ahead_cut_of(b, k, straddling, begins);
    return !cut || !cut->nleads || (p->ngroups >= b->ways && crowded(b, begins, p->ngroups, straddling)) ? NULL : cut;
}

/* Is the line there, and may be written but for what is to be noted of its writes? */
static inline int writes_tracked(const struct bus *b, const struct cache *c, uint32_t frame, uint64_t line)
{
    return (c->keys[frame] | PERMISSION_WRITE) == (KEY_OF(line) | PERMISSION) &&
        peet__bus_ahead_is_tracked(b, &c->frames[frame]);
}

/* A lead that is no hit with permission; @f: where its line was last.  Returns: the frame that the line is in then; NO_FRAME: not all references that
 * follow it hit */
static inline __attribute__((always_inline)) uint32_t lead_slowly(struct peet_direct_run *run,
    const struct bus_ahead_block *k, const struct bus_ahead_lead *r, uint64_t address, uint32_t f, struct walk *w,
    struct bus_ahead_found *inout_found)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const uint64_t line = address >> b->line_shift;
    const int there = KEY_LINE(c->keys[f]) == line; /* with another probe's use, which may come later */
    const uint64_t used = there ? c->used[f] : 0;
    int tracked = there && writes_tracked(b, c, f, line), follow = 1;
    if (!tracked) {
        c->stamp = run->stamp + r->before;
        if (b->watched) {
            b->site.block = k->block;
            peet__bus_at(b, r->ref, address, r->bytes);
        }
        w->stall_cycles += touch(b, c, line, peet__bus_sectors(b, address & (b->line_bytes - 1), r->bytes), r->bytes,
            r->permission_mask ? TOUCH_READ : TOUCH_WRITE,
            w->start + (w->cpi_rest + r->at) / CPI_ONE + w->stall_cycles);
        f = c->predictor[peet__bus_hint(b, line)];
        if (used > c->used[f])
            c->used[f] = used;
        if ((c->keys[f] | r->permission_mask) != (KEY_OF(line) | PERMISSION)) {
            tracked = writes_tracked(b, c, f, line);
            follow = tracked || r->again;
            tracked &= !r->alone; /* touch() has noted it */
        }
    }
    if (tracked && !(inout_found->tracked >> r->probe & 1)) {
        inout_found->tracked |= 1u << r->probe;
        inout_found->frames[r->probe] = inout_found->frames[r->probe + PEET_DIRECT_LOOKS] = NO_FRAME;
    }
    if (tracked)
        inout_found->frames[r->line] = f;
    return follow ? f : NO_FRAME;
}

/* A block in its turn by its leads, as far as all others hit then.  Returns: how many of its references have happened
 */
static uint32_t happen_led(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const struct bus_ahead_cut *cut, const uint64_t *begins, struct walk *w)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const uint32_t *const predictor = c->predictor;
    const uint64_t *const keys = c->keys;
    uint64_t *const used = c->used;
    const uint64_t stamp = run->stamp;
    const unsigned shift = b->line_shift;
    struct bus_ahead_found found;
    uint32_t done = k->nrefs;
    found.tracked = 0;
    found.straddling = (uint32_t)cut->key;
    for (const struct bus_ahead_lead *r = cut->leads, *end = r + cut->nleads; r != end; r++) {
        const uint64_t address = begins[r->probe] + r->offset, line = address >> shift, last = stamp + r->last;
        uint32_t f = predictor[peet__bus_hint(b, line)];
        if ((keys[f] | r->permission_mask) != (KEY_OF(line) | PERMISSION) &&
            (f = lead_slowly(run, k, r, address, f, w, &found)) == NO_FRAME) {
            done = r->place + 1u;
            break;
        }
        used[f] = last > used[f] ? last : used[f];
    }
    if (found.tracked)
        peet__bus_ahead_write_all(NULL, b, c, k, begins, &found, done);
    run->reads += cut->reads;
    run->writes += cut->more - cut->reads;
    return done;
}

/* One execution in its turn, whatever it takes.  Its own time, stamps and counts are left to
 * the caller.  @begins: of the groups */
static void happen(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins)
{
    struct bus *const b = run->machine;
    struct bus_ahead_hw *const h = peet__bus_ahead_hw_of(run);
    struct cache *const c = &b->caches[h->number];
    const uint64_t stalled = h->stalled;
    struct walk w = {.start = run->now + run->time / CPI_ONE, .cpi_rest = run->time % CPI_ONE};
    uint64_t more = 0, stamp = run->stamp + 1;
    b->ahead->went_back = 0;
    b->ahead->began = w.start;
    b->calendar.began = w.start;
    const struct bus_ahead_cut *const cut = led(b, k, begins);
    uint32_t done = 0;
    if (cut) {
        done = happen_led(run, k, cut, begins, &w);
        more = cut->more;
        stamp += more;
    }
    for (const struct bus_ahead_ref *r = k->refs + done, *end = k->refs + k->nrefs; r != end; r++) {
        const uint64_t address = begins[r->probe] + r->offset, line = address >> b->line_shift;
        const uint32_t f = c->predictor[peet__bus_hint(b, line)];
        if (__builtin_expect((c->keys[f] | r->permission_mask) == (KEY_OF(line) | PERMISSION) &&
                    (address & (b->line_bytes - 1)) + r->bytes <= b->line_bytes,
                1)) {
            c->used[f] = stamp + r->ref;
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
    struct bus_ahead_block *const k = b->ahead->blocks[id];
    const struct block_template *const p = &b->templates[id];
    if (run->time >= run->until || b->dead) {
        const uint32_t straddled = k->straddled;
        if (run->log < run->log_end && peet__bus_ahead_hit_once(run, k, run->addresses)) {
            const int often = k->straddled != straddled && k->straddled >= OFTEN && !(straddled & k->straddled);
            return often ? (int)(k->straddled & INT32_MAX) : 0;
        }
        run->limit = 0; /* its turn comes */
        run->waits = !b->dead;
        return -1;
    }
    happen(run, k, run->addresses);
    run->table->done(run, p->cost, p->nrefs, (uint32_t)p->counts, p->counts >> 32);
    return 0;
}

/* ------------------------------------------------------------------------------------------ loops */

/* An entry of the log is undone. */
static inline void take_back(struct bus *b, struct cache *c, const struct peet_direct_use *u)
{
    if (!(u->frame & AHEAD_WRITTEN)) {
        c->used[u->frame] = u->used;
        return;
    }
    const size_t place = (size_t)(c->frames - b->frames) + (u->frame - AHEAD_WRITTEN);
    b->written[place] = u->used;
    if (b->writable)
        b->writable[place] &= u->used;
}

/* Turns that begin before another processor is due, whatever they take.  Returns: how many */
static uint64_t iterations_in_order(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t iterations)
{
    struct bus *const b = run->machine;
    const struct block_template *const p = &b->templates[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    const uint64_t limit = run->limit;
    uint64_t done = 0, at[PEET_DIRECT_LOOKS];
    int waits = peet__bus_ahead_hw_of(run)->waits;
    peet__bus_ahead_hw_of(run)->waits = 0;
    run->limit = run->until < limit ? run->until : limit;
    while (!b->dead) {
        run->log = run->log_begin; /* nothing of it will be undone */
        if (!waits)                /* else it is known that the first one is no hit */
            done = peet__bus_ahead_iterations_hit(run, k, begins, strides, done, iterations);
        if (done == iterations || run->time >= run->limit)
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

int peet__bus_ahead_loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    struct bus *const b = run->machine;
    struct peet_direct_use *const log = run->log;
    const uint64_t time = run->time, stamp = run->stamp, reads = run->reads, writes = run->writes;
    if (peet__bus_ahead_iterations_hit(run, b->ahead->blocks[id], run->addresses, strides, 0, iterations) == iterations)
        return 0;
    while (run->log != log)
        take_back(b, &b->caches[peet__bus_ahead_hw_of(run)->number], --run->log);
    run->time = time, run->stamp = stamp, run->reads = reads, run->writes = writes;
    return -1; /* it comes to peet__bus_ahead_iterations() */
}

uint64_t peet__bus_ahead_iterations(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations)
{
    struct bus *const b = run->machine;
    struct bus_ahead_block *const k = block_of(b, block, values);
    uint64_t begins[PEET_DIRECT_LOOKS];
    if (!k || block->nvalues > TEMPLATE_REFS)
        return 0;
    const struct block_template *const p = &b->templates[block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    for (uint32_t g = 0; g < p->ngroups; g++)
        begins[g] = values[groups[g].value] - groups[g].before;
    if (run->time < run->until)
        return iterations_in_order(run, k, begins, strides, iterations);
    const uint64_t done = peet__bus_ahead_iterations_hit(run, k, begins, strides, 0, iterations);
    if (done < iterations && run->time < run->limit) {
        run->limit = 0; /* its turn comes */
        peet__bus_ahead_hw_of(run)->waits = 1;
    }
    return done;
}

/* ------------------------------------------------------------------------------------------ what peet calls */

struct peet_direct_run *peet__bus_ahead_begin(struct bus *b, unsigned hw, uint64_t now, uint64_t until, uint64_t limit)
{
    struct bus_ahead_hw *const h = &b->ahead->hw[hw];
    h->run.now = now;
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
    run->time += peet__bus_one(b, hw, event, run->now, run->time, &h->stalled);
    run->stamp = b->caches[hw].stamp;
    peet__bus_report(b); /* before observers see the block, as with block() */
    goes_on(run, stalled);
}

void peet__bus_ahead_pause(struct bus *b, unsigned hw)
{
    const struct peet_direct_run *const run = &b->ahead->hw[hw].run;
    b->caches[hw].stamp = run->stamp;
    b->hw[hw].busy_until = run->now + run->time / CPI_ONE;
}

uint64_t peet__bus_ahead_end(struct bus *b, unsigned hw)
{
    struct bus_ahead_hw *const h = &b->ahead->hw[hw];
    b->caches[hw].stamp = h->run.stamp;
    peet__bus_account(b, hw, h->run.now, h->run.time, h->run.reads, h->run.writes, h->stalled);
    return h->run.time / CPI_ONE - h->stalled;
}

uint64_t peet__bus_ahead_undo(struct bus *b, unsigned hw)
{
    struct peet_direct_run *const run = &b->ahead->hw[hw].run;
    struct cache *const c = &b->caches[hw];
    while (run->log != run->log_begin)
        take_back(b, c, --run->log);
    c->stats.reads -= run->reads - run->checkpoint.reads;
    c->stats.writes -= run->writes - run->checkpoint.writes;
    run->time = run->checkpoint.time;
    run->stamp = c->stamp = run->checkpoint.stamp;
    run->reads = run->checkpoint.reads;
    run->writes = run->checkpoint.writes;
    b->hw[hw].cpi_rest = run->time % CPI_ONE;
    b->hw[hw].busy_until = run->now + run->time / CPI_ONE;
    if (b->hw[hw].busy_until >= b->ahead->began) /* nothing was right of what it did after its transaction */
        b->ahead->hw[hw].cautious = CAUTIOUS_EVENTS;
    return b->hw[hw].busy_until;
}

void peet__bus_ahead_go_back(struct bus *b, const struct cache *by, unsigned hw)
{
    const struct peet_direct_table *const table = b->ahead->hw[hw].run.table;
    if (!table || !table->go_back || b->ahead->hw[hw].run.final) /* final: nothing was done ahead */
        return;
    b->ahead->went_back |= table->go_back(table->host, hw, b->ahead->began + (hw < by->hw));
}
