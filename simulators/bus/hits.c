/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hits of a processor that runs ahead of others (ahead.c): blocks, and iterations of loops, of which every reference
 * finds its line with the permission that it needs.  Invariants:
 *
 *   1. They change nothing but stamps of frames, written sectors of tracked lines, and the run's counts.
 *   2. What a frame had before it was first used in a call is in run.log; after a call that has changed nothing the log
 *      is as it was.
 *
 * Called by ahead.c.
 */
#include "ahead.h"
#include "../common/iterations.h"
#include <stdlib.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

ALWAYS void use_logged(struct peet_direct_run *run, uint32_t frame, uint64_t stamp)
{
    *run->log++ = (struct peet_direct_use){frame, run->used[frame]};
    run->used[frame] = stamp;
}

__attribute__((noinline)) uint32_t peet__bus_ahead_frame_slowly(struct bus *b, struct cache *c, uint64_t line,
    uint64_t permission_mask, uint32_t probe, uint32_t *inout_tracked)
{
    uint32_t i = c->predictor[line & b->predictor_mask];
    if ((c->keys[i] | PERMISSION_WRITE) != (KEY_OF(line) | PERMISSION) &&
        (i = peet__bus_hit_in_set(b, c, line, PERMISSION_WRITE)) == NO_FRAME)
        return NO_FRAME;
    if ((c->keys[i] | permission_mask) == (KEY_OF(line) | PERMISSION))
        return i;
    if (!peet__bus_ahead_is_tracked(b, &c->frames[i]))
        return NO_FRAME;
    *inout_tracked |= 1u << probe;
    return i;
}

/* Has nobody lost the line any more?  Then its writes have permission again, as note() in engine.c would have it;
 * nothing of that is ahead of time, for who loses the line will say so. */
static __attribute__((noinline)) int not_lost(struct bus *b, struct cache *c, uint32_t frame)
{
    struct frame *const f = &c->frames[frame];
    if (b->records[f - b->frames]->invalidations)
        return 0;
    peet__bus_untrack(b, f, KEY_LINE(c->keys[frame]));
    return 1;
}

void peet__bus_ahead_write_tracked(struct peet_direct_run *run, struct bus *b, struct cache *c, uint32_t frame,
    uint64_t sectors)
{
    const size_t place = (size_t)(c->frames - b->frames) + frame;
    const uint64_t written = b->written[place];
    if (!c->frames[frame].tracked)
        return;
    if ((written & sectors) != sectors) {
        if (!written && not_lost(b, c, frame))
            return;
        if (run)
            *run->log++ = (struct peet_direct_use){AHEAD_WRITTEN | frame, written};
        b->written[place] = written | sectors;
    }
    if (b->writable)
        b->writable[place] = written | sectors;
}

/* ------------------------------------------------------------------------------------------ blocks */

void peet__bus_ahead_write_all(struct peet_direct_run *run, struct bus *b, struct cache *c,
    const struct bus_ahead_block *k, const uint64_t *begins, const struct bus_ahead_found *at, uint32_t done)
{
    const uint64_t room = b->line_bytes;
    const uint32_t refs = done < k->nrefs ? k->refs[done].ref : UINT32_MAX;
    for (const struct bus_ahead_ref *r = k->writes, *last = r + k->nwrites; r != last && r->ref < refs; r++) {
        if (!(at->tracked >> r->probe & 1))
            continue;
        const uint64_t offset = (begins[r->probe] & (room - 1)) + r->offset, end = offset + r->bytes;
        if (LIKELY(end <= room)) {
            peet__bus_ahead_write_tracked(run, b, c, at->frames[r->probe], peet__bus_sectors(b, offset, r->bytes));
            continue;
        }
        if (offset < room)
            peet__bus_ahead_write_tracked(run, b, c, at->frames[r->probe], peet__bus_sectors(b, offset, room - offset));
        const uint64_t from = offset > room ? offset - room : 0;
        peet__bus_ahead_write_tracked(run, b, c, at->seconds[r->probe], peet__bus_sectors(b, from, end - room - from));
    }
}

/* What is the same whenever a block's probes straddle two lines as they do now.  Returns: 0, or -1: a reference does
 * not go so */
static int cut_anew(const struct bus *b, const struct bus_ahead_block *k, const uint64_t *begins,
    struct bus_ahead_cut *out)
{
    *out = (struct bus_ahead_cut){0};
    for (uint32_t i = 0; i < k->nrefs; i++) {
        const struct bus_ahead_ref *const r = &k->refs[i];
        const uint64_t offset = (begins[r->probe] & (b->line_bytes - 1)) + r->offset;
        const int second = offset >= b->line_bytes;
        out->lasts[r->probe][second] = (uint16_t)(r->ref + 1u + out->more);
        if (second || offset + r->bytes <= b->line_bytes)
            continue;
        if (r->bytes > b->line_bytes || r->twice)
            return -1;
        out->lasts[r->probe][1] = (uint16_t)(r->ref + 1u + ++out->more);
        out->reads = (uint16_t)(out->reads + (r->permission_mask != 0));
    }
    return 0;
}

/* The cut of a block of which one probe straddles two lines, from those that are kept; made when it is first asked for.
 * NULL: it is not kept */
static const struct bus_ahead_cut *cut_of(const struct bus *b, struct bus_ahead_block *k, uint32_t probe,
    const uint64_t *begins)
{
    enum { LINE_BYTES_MOST = 256 };
    const uint32_t ncuts = b->templates[k->block->id].ngroups * b->line_bytes;
    struct bus_ahead_cut **place;
    if (b->line_bytes > LINE_BYTES_MOST || (!k->cuts && !(k->cuts = calloc(ncuts, sizeof *k->cuts))))
        return NULL;
    k->ncuts = ncuts;
    place = &k->cuts[probe * b->line_bytes + (begins[probe] & (b->line_bytes - 1))];
    if (UNLIKELY(!*place) && (*place = malloc(sizeof **place)) && cut_anew(b, k, begins, *place)) {
        free(*place);
        *place = NULL;
    }
    return *place;
}

/* hit_once() of a block with probes in two lines, which are all there. */
static __attribute__((noinline)) int hit_straddling(struct peet_direct_run *run, struct bus_ahead_block *k,
    const uint64_t *begins, const struct bus_ahead_found *at)
{
    struct bus *const b = run->machine;
    const uint32_t ngroups = b->templates[k->block->id].ngroups;
    const struct bus_ahead_cut *cut = NULL;
    struct bus_ahead_cut room;
    if (!(at->straddling & (at->straddling - 1)))
        cut = cut_of(b, k, (uint32_t)__builtin_ctz(at->straddling), begins);
    if (!cut) {
        if (cut_anew(b, k, begins, &room))
            return 0;
        cut = &room;
    }
    if (at->tracked)
        peet__bus_ahead_write_all(run, b, &b->caches[peet__bus_ahead_hw_of(run)->number], k, begins, at, k->nrefs);
    for (uint32_t g = 0; g < ngroups; g++) {
        const uint64_t first = run->stamp + cut->lasts[g][0], second = run->stamp + cut->lasts[g][1];
        if (cut->lasts[g][0] && first > run->used[at->frames[g]])
            use_logged(run, at->frames[g], first);
        if (cut->lasts[g][1] && second > run->used[at->seconds[g]])
            use_logged(run, at->seconds[g], second);
    }
    run->stamp += cut->more;
    run->time += cut->more * b->hit_cycles * CPI_ONE;
    run->reads += cut->reads;
    run->writes += cut->more - cut->reads;
    return 1;
}

int peet__bus_ahead_hit_once(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const struct block_template *const p = &b->templates[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    struct bus_ahead_found at;
    at.straddling = at.tracked = 0;
    for (uint32_t g = 0; g < p->ngroups; g++) {
        const uint64_t line = begins[g] >> b->line_shift;
        if ((at.frames[g] = peet__bus_ahead_frame_of(b, c, line, groups[g].permission_mask, g, &at.tracked)) ==
            NO_FRAME)
            return 0;
        if (LIKELY((begins[g] & (b->line_bytes - 1)) + groups[g].span <= b->line_bytes))
            continue;
        at.straddling |= 1u << g;
        if ((at.seconds[g] = peet__bus_ahead_frame_of(b, c, line + 1, groups[g].permission_mask, g, &at.tracked)) ==
            NO_FRAME)
            return 0;
    }
    if (at.straddling)
        return hit_straddling(run, k, begins, &at);
    if (at.tracked)
        peet__bus_ahead_write_all(run, b, c, k, begins, &at, k->nrefs);
    for (uint32_t g = 0; g < p->ngroups; g++)
        use_logged(run, at.frames[g], run->stamp + groups[g].stamp);
    return 1;
}

/* ------------------------------------------------------------------------------------------ iterations */

/* So many iterations write, some of it to tracked lines; no probe leaves its line.  @at: of the probes in the first
 * one; @tracked: a bit for each that writes to such a line */
static __attribute__((noinline)) void write_iterations(struct peet_direct_run *run, const struct bus_ahead_block *k,
    const uint64_t *at, const int64_t *strides, const uint32_t *frames, uint32_t tracked, uint64_t iterations)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const struct group *const groups = peet__bus_groups_of(b, &b->templates[k->block->id]);
    for (const struct bus_ahead_ref *r = k->writes, *end = r + k->nwrites; r != end; r++) {
        const uint64_t stride = (uint64_t)strides[groups[r->probe].value];
        uint64_t sectors = 0, offset = (at[r->probe] & (b->line_bytes - 1)) + r->offset;
        if (!(tracked >> r->probe & 1))
            continue;
        for (uint64_t iteration = 0; iteration < (stride ? iterations : 1); iteration++, offset += stride)
            sectors |= peet__bus_sectors(b, offset, r->bytes);
        peet__bus_ahead_write_tracked(run, b, c, frames[r->probe], sectors);
    }
}

uint64_t peet__bus_ahead_iterations_hit(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t done, uint64_t iterations)
{
    struct bus *const b = run->machine;
    struct cache *const c = &b->caches[peet__bus_ahead_hw_of(run)->number];
    const struct block_template *const p = &b->templates[k->block->id];
    const struct group *const groups = peet__bus_groups_of(b, p);
    const uint32_t ngroups = p->ngroups;
    const uint64_t line_bytes = b->line_bytes, predictor_mask = b->predictor_mask;
    const uint64_t *const keys = c->keys;
    const uint32_t *const predictor = c->predictor;
    const unsigned shift = b->line_shift;
    while (done < iterations && run->time < run->limit && run->log < run->log_end) {
        uint64_t at[PEET_DIRECT_LOOKS], n = iterations - done;
        uint32_t frames[PEET_DIRECT_LOOKS];
        uint32_t tracked = 0;
        int straddles = 0;
        for (uint32_t g = 0; g < ngroups; g++) {
            const struct group *const group = &groups[g];
            const int64_t stride = strides[group->value];
            const uint64_t begin = at[g] = begins[g] + (uint64_t)stride * done, line = begin >> shift;
            const uint32_t i = predictor[line & predictor_mask];
            const int64_t within = peet_sim_iterations_within(line_bytes, group->span, begin, stride, n);
            if (LIKELY((keys[i] | group->permission_mask) == (KEY_OF(line) | PERMISSION)))
                frames[g] = i;
            else if ((frames[g] = peet__bus_ahead_frame_slowly(b, c, line, group->permission_mask, g, &tracked)) ==
                NO_FRAME)
                return done;
            if (within == PEET_SIM_STRADDLES)
                straddles = 1;
            else
                n = (uint64_t)within;
        }
        if (straddles && !peet__bus_ahead_hit_once(run, k, at))
            return done;
        n = straddles ? 1 : peet_sim_iterations_before(run->limit, run->time, p->cost, n);
        if (!straddles) {
            const uint64_t stamp = run->stamp + (n - 1) * p->nrefs;
            struct peet_direct_use *log;
            if (tracked)
                write_iterations(run, k, at, strides, frames, tracked, n);
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
