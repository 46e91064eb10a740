/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hit that most accesses are, inline: the translation is in the first-level buffer, the line in L1D with the
 * right that it takes, and on nobody's way.  Anything else is x86_memory_access(), which gives the same answer for
 * these, only slower.  A test holds the two against one another.
 */
#ifndef PEET_X86_MEMORY_FAST_H
#define PEET_X86_MEMORY_FAST_H

#include "memory_state.h"

/** x86_memory_pc() - the instruction that a reference belongs to, by which prefetchers know it */
static inline uint64_t x86_memory_pc(const struct peet_block *block, uint32_t ref)
{
    if (!block)
        return 0;
    return ref < block->nrefs ? block->insns[block->refs[ref].insn].pc : block->pc;
}

/** A line is in L1D, as far as the hint knows. */
static inline int peet__x86_is_near(const struct x86_memory *m, const struct x86_core *c, uint64_t line)
{
    uint32_t slot = c->hints[line & m->hint_mask];

    return c->l1d.tags.numbers[slot] == line && c->l1d.tags.states[slot];
}

/** The lines of the next references so far apart (less than a line) are in L1D, as far as hints know.  @n: so many, behind that of this one or before it */
static inline int peet__x86_run_is_near(const struct x86_memory *m, struct x86_core *c, struct x86_near *near,
    uint64_t line, int64_t stride, uint32_t n)
{
    const uint64_t from = stride < 0 ? line - n : line + 1, end = from + n, lost = *peet__x86_lost(m, c, from);
    uint64_t at = from;

    if (near->lost == lost && from >= near->from && end <= near->end)
        return 1;
    if (near->lost == lost && from >= near->from && from < near->end) /* it goes on from there */
        at = near->end;
    for (; at < end; at++)
        if (!peet__x86_is_near(m, c, at)) {
            if (m->has_l2)
                peet_sim_tags_prefetch(&c->l2.tags, at);
            return 0;
        }
    *near = (struct x86_near){from, end, lost};
    return 1;
}

/** All of these lines are in L1D, as far as hints know. */
static inline int peet__x86_are_near(const struct x86_memory *m, struct x86_core *c, const uint64_t *lines, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!peet__x86_is_near(m, c, lines[i])) {
            if (m->has_l2)
                peet_sim_tags_prefetch(&c->l2.tags, lines[i]);
            return 0;
        }
    return 1;
}

/**
 * A hit is shown to the stride prefetcher, if that brings no line: the reference is where nobody expected it, or what
 * comes next is there.  Returns: 0 if it would bring some, perhaps; then nothing has happened
 */
static inline __attribute__((always_inline)) int peet__x86_strides(const struct x86_memory *m, struct x86_core *c,
    uint64_t pc, uint64_t address)
{
    struct peet_sim_prefetcher *p = &c->l1d.prefetcher;
    struct peet_sim_prefetch_pc *of = peet_sim_prefetcher_pc(p, pc);
    int64_t stride = (int64_t)(address - of->address);
    uint64_t lines[PEET_SIM_PREFETCH_MAX];
    uint32_t n;

    if (of->pc != pc) {
        *of = (struct peet_sim_prefetch_pc){.pc = pc, .address = address};
        return 1;
    }
    if (stride != of->stride) {
        of->address = address;
        of->stride = stride;
        of->confidence = 1;
        return 1;
    }
    if (stride) {
        if (peet_sim_prefetcher_runs(p, stride)) {
            n = peet_sim_prefetcher_run(p, address, stride);
            if (n && !peet__x86_run_is_near(m, c, &c->nears[of - p->pcs], address >> m->line_shift, stride, n))
                return 0;
        } else {
            n = peet_sim_prefetcher_ahead(p, address, stride, lines);
            if (!peet__x86_are_near(m, c, lines, n))
                return 0;
        }
        p->triggers += n != 0;
        p->lines += n;
    }
    of->address = address;
    of->confidence += of->confidence < 2;
    return 1;
}

/**
 * x86_memory_hit_at() - a load, store, or read-modify-write inside one line, if that is a hit
 * @pc: x86_memory_pc() of the reference
 * @kind: X86_LOAD, X86_STORE, X86_MODIFY
 * @out_done: as x86_outcome.done_cycles; loads: after x86_memory_l1_cycles(); stores: now
 * Returns: 1, and all is done and counted; 0: nothing has happened, ask x86_memory_access()
 */
static inline __attribute__((always_inline)) int x86_memory_hit_at(struct x86_memory *m, uint32_t core, uint64_t pc,
    uint64_t address, uint32_t size_bytes, enum x86_access_kind kind, uint64_t now, uint64_t *out_done)
{
    struct x86_core *c = &m->cores[core];
    struct peet_sim_tags *tags = &c->l1d.tags;
    uint64_t line = address >> m->line_shift, page = address >> m->page_shift;
    uint32_t slot = c->hints[line & m->hint_mask], page_slot = c->page_hints[page % X86_PAGE_HINTS];
    uint8_t state = tags->states[slot];
    struct peet_sim_tags *pages = &c->dtlb.l1;

    if (__builtin_expect(!m->fast || tags->numbers[slot] != line ||
                (kind == X86_LOAD ? (uint8_t)(state - 1) >= X86_M : state != X86_M),
            0))
        return 0;
    if (m->translation && __builtin_expect(pages->numbers[page_slot] != page || !pages->states[page_slot], 0))
        return 0;
    if (__builtin_expect(c->l1d.lines[slot].ready > now ||
                (kind != X86_LOAD && peet__x86_owned(&c->l1d.lines[slot]) > now),
            0))
        return 0;
    if (m->strides && __builtin_expect(!peet__x86_strides(m, c, pc, address), 0))
        return 0;
    if (m->translation) {
        pages->stamps[page_slot] = ++pages->clock;
        c->dtlb.accesses++;
    }
    if (m->lru)
        tags->stamps[slot] = ++tags->clock;
    else
        peet_sim_tags_touch(tags, slot);
    if (kind == X86_LOAD) {
        c->l1d.stats.reads++;
    } else {
        c->l1d.stats.writes++;
        if (m->causes)
            c->l1d.written[slot] |= peet__x86_sectors(m, address, size_bytes);
    }
    *out_done = kind == X86_STORE ? now : now + m->l1d_cycles;
    return 1;
}

#endif
