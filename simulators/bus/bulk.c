/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of a loop that can be taken at once: as long as every reference stays in a line where it hits without
 * consequences, a turn leaves the same lines, states and order of use behind as the one before it.
 * What remains to be done for all of them is to count, to add the grains written, and to set the time
 * stamps of the last one.  Called by loop() in module.c.
 */
#include "bus.h"

/* How many turns until a reference leaves its line, at least 1; 0: it lies in two, or its size is not known. */
static inline uint64_t turns_in_line(uint64_t offset, uint64_t bytes, int64_t stride, uint64_t line_bytes)
{
    if (!bytes || offset + bytes > line_bytes)
        return 0;
    if (!stride)
        return UINT64_MAX;
    if (stride >= (int64_t)line_bytes || stride <= -(int64_t)line_bytes)
        return 1;
    return stride > 0 ? (uint32_t)(line_bytes - bytes - offset) / (uint32_t)stride + 1 : (uint32_t)offset / (uint32_t)-stride + 1;
}

uint64_t peet__bus_bulk(struct bus *b, struct cache *c, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t most, struct frame **out_frames)
{
    const uint64_t line_bytes = b->line_bytes;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        uint64_t line = values[i] >> b->line_shift, want = line << 2 | QUICK;
        uint64_t either = block->refs[i].kind == PEET_REF_LOAD ? QUICK_WRITE : 0;
        uint64_t stay = turns_in_line(values[i] & (line_bytes - 1), block->refs[i].size_bytes, strides[i], line_bytes);
        struct frame *f, *end;
        if (b->wide) {
            f = &c->frames[c->hints[line % WIDE_HINTS]];
            end = f + 1;
        } else {
            f = c->frames + (size_t)peet__bus_set_of(b, line) * b->ways;
            end = f + b->ways;
        }
        while (f < end && (f->key | either) != want)
            f++;
        most = stay < most ? stay : most;
        if (f == end || !most)
            return 0;
        out_frames[i] = f;
    }
    return most;
}

void peet__bus_bulk_done(struct bus *b, struct cache *c, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t turns, struct frame *const *frames)
{
    uint64_t stamp = c->stamp + (turns - 1) * block->nrefs;
    for (uint32_t i = 0; i < block->nrefs; i++) {
        frames[i]->used = ++stamp;
        if (c->plru) {
            size_t at = (size_t)(frames[i] - c->frames), way = at % b->ways;
            c->plru[at / b->ways] = (c->plru[at / b->ways] & b->plru_keep[way]) | b->plru_set[way];
        }
        if (!b->classify || b->sole || block->refs[i].kind == PEET_REF_LOAD)
            continue;
        uint64_t at = values[i] & (b->line_bytes - 1), bytes = block->refs[i].size_bytes;
        for (uint64_t turn = strides[i] ? 0 : turns - 1; turn < turns; turn++, at += (uint64_t)strides[i])
            frames[i]->written |= (2ull << ((at + bytes - 1) >> b->grain_shift)) - (1ull << (at >> b->grain_shift));
    }
    c->stamp = stamp;
}
