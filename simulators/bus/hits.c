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
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

ALWAYS void use_logged(struct peet_direct_run *run, uint32_t frame, uint64_t stamp)
{
    *run->log++ = (struct peet_direct_use){frame, run->used[frame]};
    run->used[frame] = stamp;
}

/* The same, if it comes after those that have been noted; @last: 0: it is not used */
ALWAYS void use_if_later(struct peet_direct_run *run, uint32_t frame, uint64_t last)
{
    if (last && run->stamp + last > run->used[frame])
        use_logged(run, frame, run->stamp + last);
}

__attribute__((noinline)) uint32_t peet__bus_ahead_frame_slowly(struct bus *b, struct cache *c, uint64_t line,
    uint64_t permission_mask, uint32_t probe, uint32_t *inout_tracked)
{
    uint32_t i = c->predictor[peet__bus_hint(b, line)];
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
    if (frame == NO_FRAME || !c->frames[frame].tracked)
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
    uint32_t tracked = at->tracked;
    for (uint32_t rest = done < k->nrefs ? 0 : tracked & ~at->straddling; rest; rest &= rest - 1) {
        const uint32_t g = (uint32_t)__builtin_ctz(rest);
        const uint64_t offset = begins[g] & (room - 1);
        if (offset & ((1u << b->sector_shift) - 1))
            continue;
        peet__bus_ahead_write_tracked(run, b, c, at->frames[g], k->units[g] << (offset >> b->sector_shift));
        tracked &= ~(1u << g);
    }
    for (const struct bus_ahead_ref *r = k->writes, *last = r + k->nwrites; tracked && r != last && r->ref < refs;
        r++) {
        if (!(tracked >> r->probe & 1))
            continue;
        const uint64_t offset = (begins[r->probe] & (room - 1)) + r->offset, end = offset + r->bytes;
        if (LIKELY(end <= room)) {
            peet__bus_ahead_write_tracked(run, b, c, at->frames[r->probe], peet__bus_sectors(b, offset, r->bytes));
            continue;
        }
        if (offset < room)
            peet__bus_ahead_write_tracked(run, b, c, at->frames[r->probe], peet__bus_sectors(b, offset, room - offset));
        const uint64_t from = offset > room ? offset - room : 0;
        peet__bus_ahead_write_tracked(run, b, c, at->frames[PEET_DIRECT_LOOKS + r->probe],
            peet__bus_sectors(b, from, end - room - from));
    }
}

/* A reference, or its part in one line, leads that line, unless others have the right that it needs before it does.
 * @missing: the line's rights so far; @more: touches before it beyond those of the block */
static void add_lead(const struct bus *b, const struct bus_ahead_block *k, struct bus_ahead_cut *cut,
    struct bus_ahead_lead lead, int write, uint8_t *missing, uint32_t more)
{
    const struct bus_ahead_ref *const r = &k->refs[lead.place];
    uint32_t writers = 0;
    if (!(*missing & (write ? PERMISSION_WRITE : PERMISSION_READ)))
        return;
    *missing &= write ? 0 : PERMISSION_WRITE;
    for (uint32_t i = 0; i < k->nwrites; i++)
        writers += k->writes[i].probe == r->probe;
    lead.at = b->cpi * k->block->refs[r->ref].insn +
        (r->before + more + 1u + (uint32_t)(r->twice && lead.again)) * b->hit_cycles * CPI_ONE;
    lead.permission_mask = write ? 0 : PERMISSION_WRITE;
    lead.before = (uint16_t)(r->ref + more);
    lead.last = cut->lasts[lead.line];
    lead.again = r->twice && !write;
    lead.alone = write && writers == 1;
    cut->leads[cut->nleads++] = lead;
}

/* Of all references of a block those that may be more than a hit. */
static void find_leads(const struct bus *b, const struct bus_ahead_block *k, const uint64_t *begins,
    struct bus_ahead_cut *cut)
{
    uint8_t missing[2 * PEET_DIRECT_LOOKS]; /* by line */
    uint32_t more = 0;
    memset(missing, PERMISSION, sizeof missing);
    if (b->replacement != REPLACE_LRU) /* a line that the block has used may make room all the same */
        return;
    for (uint32_t i = 0; i < k->nrefs; i++) {
        const struct bus_ahead_ref *const r = &k->refs[i];
        const uint64_t offset = (begins[r->probe] & (b->line_bytes - 1)) + r->offset;
        const int reads_first = r->twice ? !(k->block->refs[r->ref].flags & PEET_REF_ATOMIC) : r->permission_mask != 0;
        struct bus_ahead_lead lead = {.offset = r->offset,
            .bytes = r->bytes,
            .probe = r->probe,
            .line = (uint8_t)(r->probe + (offset >= b->line_bytes ? PEET_DIRECT_LOOKS : 0)),
            .ref = r->ref,
            .place = (uint8_t)i};
        if (offset < b->line_bytes && offset + r->bytes > b->line_bytes) {
            const uint16_t first = (uint16_t)(b->line_bytes - offset);
            lead.bytes = first;
            add_lead(b, k, cut, lead, !reads_first, &missing[lead.line], more);
            lead.bytes = (uint16_t)(r->bytes - first);
            lead.offset = (uint16_t)(r->offset + first);
            lead.line = (uint8_t)(r->probe + PEET_DIRECT_LOOKS);
            add_lead(b, k, cut, lead, !reads_first, &missing[lead.line], ++more);
            continue;
        }
        if (r->twice && !reads_first && !b->ahead->held) { /* what it reads then may be a miss, too */
            cut->nleads = 0;
            return;
        }
        if (reads_first)
            add_lead(b, k, cut, lead, 0, &missing[lead.line], more);
        lead.again = (uint8_t)reads_first;
        if (!r->permission_mask)
            add_lead(b, k, cut, lead, 1, &missing[lead.line], more);
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
        out->lasts[r->probe + (second ? PEET_DIRECT_LOOKS : 0)] = (uint16_t)(r->ref + 1u + out->more);
        if (second || offset + r->bytes <= b->line_bytes)
            continue;
        if (r->bytes > b->line_bytes || r->twice)
            return -1;
        out->lasts[r->probe + PEET_DIRECT_LOOKS] = (uint16_t)(r->ref + 1u + ++out->more);
        out->reads = (uint16_t)(out->reads + (r->permission_mask != 0));
    }
    return 0;
}

struct bus_ahead_cut *peet__bus_ahead_cut_new(const struct bus *b, const struct bus_ahead_block *k, uint32_t straddling,
    const uint64_t *begins, int leads)
{
    const size_t most =
        2 * ((size_t)b->templates[k->block->id].ngroups + (uint32_t)__builtin_popcount(straddling)); /* two a line */
    struct bus_ahead_cut *const cut = malloc(sizeof *cut + most * sizeof cut->leads[0]);
    if (!cut)
        return NULL;
    cut->never = cut_anew(b, k, begins, cut);
    if (leads && !cut->never)
        find_leads(b, k, begins, cut);
    return cut;
}

const struct bus_ahead_cut *peet__bus_ahead_cut_slowly(const struct bus *b, struct bus_ahead_block *k, uint64_t key,
    const uint64_t *begins)
{
    if (!key || (!k->cuts && !(k->cuts = calloc(AHEAD_CUTS, sizeof *k->cuts))))
        return NULL;
    struct bus_ahead_cut **const place = &k->cuts[AHEAD_CUT_PLACE(key)];
    if (!*place && (*place = peet__bus_ahead_cut_new(b, k, (uint32_t)key, begins, b->ahead->held)))
        (*place)->key = key;
    return *place && (*place)->key == key ? *place : NULL;
}

/* hit_once() of a block with probes in two lines, which are all there. */
static __attribute__((noinline)) int hit_straddling(struct peet_direct_run *run, struct bus_ahead_block *k,
    const uint64_t *begins, const struct bus_ahead_found *at)
{
    struct bus *const b = run->machine;
    const uint32_t ngroups = b->templates[k->block->id].ngroups;
    const struct bus_ahead_cut *cut = peet__bus_ahead_cut_of(b, k, at->straddling, begins);
    struct bus_ahead_cut room;
    if (!cut) {
        room.never = cut_anew(b, k, begins, &room);
        cut = &room;
    }
    if (cut->never)
        return 0;
    k->straddled++;
    k->straddlers |= at->straddling;
    if (at->tracked)
        peet__bus_ahead_write_all(run, b, &b->caches[peet__bus_ahead_hw_of(run)->number], k, begins, at, k->nrefs);
    for (uint32_t g = 0; g < ngroups; g++)
        use_if_later(run, at->frames[g], cut->lasts[g]);
    for (uint32_t rest = at->straddling; rest; rest &= rest - 1) {
        const uint32_t line = (uint32_t)__builtin_ctz(rest) + PEET_DIRECT_LOOKS;
        use_if_later(run, at->frames[line], cut->lasts[line]);
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
        if ((at.frames[PEET_DIRECT_LOOKS + g] =
                    peet__bus_ahead_frame_of(b, c, line + 1, groups[g].permission_mask, g, &at.tracked)) == NO_FRAME)
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
    const uint64_t line_bytes = b->line_bytes;
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
            const uint32_t i = predictor[peet__bus_hint(b, line)];
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
