/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: references of instructions to memory, through the store queue and the memory system.  Inlined into core.c, which
 * goes through instructions, and core_replay.c, which repeats what a block did before.
 */
#ifndef PEET_X86_CORE_REFS_H
#define PEET_X86_CORE_REFS_H

#include "core.h"
#include "memory_fast.h"
#include "queues.h"

/** What an instruction waited for: filled on its way, read by charge(). */
struct wait {
    uint64_t dispatch, ready, issue;
    uint64_t hit;                   /* latency of loading, as long as it hits */
    uint64_t level, tlb, coherence; /* and beyond that */
    uint64_t fence;
    uint8_t served; /* enum x86_category of `level` */
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/** The category of waiting for who has served an access. */
extern const uint8_t x86_category_of[X86_SERVED];

/** The part of a reference that lies in one line; @w NULL: a store's write.  Returns: when it is done */
uint64_t x86_core_access_line(struct x86_thread *t, const struct x86_access *access, uint64_t now, struct wait *w);

/** All of a reference, line by line, the long way.  Returns: when it is done */
uint64_t x86_core_access_lines(struct x86_thread *t, struct x86_access *access, uint64_t now, struct wait *w);

/** x86_core_range() - all lines of a range, at the pace of a string instruction.  Returns: when the last is done */
uint64_t x86_core_range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint64_t bytes, uint64_t now, struct wait *w);

/** x86_core_locked() - a reference of a locked operation that begins now, line by line.  Returns: when it is done */
uint64_t x86_core_locked(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w);

/** A reference to memory that begins now; @w NULL: a store's write.  Returns: when it is done */
static inline uint64_t access(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint32_t size_bytes, uint64_t now, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    uint64_t done, within = x->line_bytes - 1, last = address + (size_bytes ? size_bytes - 1 : 0);

    if (!x->memory)
        return now + (kind == X86_STORE ? 1 : x->load_cycles);
    if (__builtin_expect((address | within) == (last | within), 1) && kind != X86_PREFETCH &&
        x86_memory_hit_at(x->memory, t->cpu->number, x86_memory_pc(block, ref), address, size_bytes, kind, now, &done))
        return done;
    return x86_core_access_lines(t,
        &(struct x86_access){.address = address,
            .size_bytes = (uint32_t)(last + 1 - address),
            .core = t->cpu->number,
            .hw = t->hw,
            .kind = kind,
            .ref = ref,
            .block = block},
        now, w);
}

/**
 * Memory renaming foresees which store a load will have its value from: the newest one of an instruction, if that has been so
 * the last times.  Returns: whether it was foreseen, having learnt what is so
 */
static inline int foreseen_pair(struct x86_thread *t, const struct x86_store *s, uint64_t pc)
{
    enum { ENOUGH = 3 };
    struct x86_pair *pair = &t->pairs[x86_pair_slot(pc)];
    const struct x86_newest *newest = &t->newest[x86_pair_slot(s->pc)];
    int foreseen;

    if (pair->load_pc != pc || pair->store_pc != s->pc || newest->pc != s->pc ||
        &t->store[newest->number & t->stores.mask] != s)
        *pair = (struct x86_pair){pc, s->pc, 0};
    foreseen = pair->again >= ENOUGH;
    pair->again += !foreseen;
    return foreseen;
}

/** A load that begins now: from a store that is still in the queue, or from memory.  Returns: when the data are there
 */
static inline uint64_t load_now(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    struct x86_store *s;

    t->loads_n++;
    w->hit = x->load_cycles;
    s = x86_store_find(t, address, size_bytes, x->renaming ? w->dispatch : now);
    if (__builtin_expect(s != NULL, 0)) {
        if (x->renaming && s->register_cycles != UINT64_MAX && s->address == address && size_bytes <= s->size_bytes &&
            x->codes[block->id].refs[ref].renames && foreseen_pair(t, s, x->codes[block->id].refs[ref].pc)) {
            t->forwards++;
            w->hit = 0;
            return later(w->dispatch, s->register_cycles);
        }
        if (s->written_cycles <= now) /* it is gone by now */
            return access(t, X86_LOAD, block, ref, address, size_bytes, now, w);
        if (s->address <= address && address + size_bytes <= s->address + s->size_bytes) {
            t->forwards++;
            w->hit = x->config.forward_cycles;
            return later(now, s->data_cycles) + x->config.forward_cycles;
        }
        t->forward_fails++;
        now = s->written_cycles + x->config.forward_fail_cycles;
    }
    return access(t, X86_LOAD, block, ref, address, size_bytes, now, w);
}

#endif
