/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: a front end with a width of its own: what ends a cycle of fetch (taken branches, lines), what a branch costs that was
 * foreseen late, and the queue between fetch and dispatch. Inlined into core.c.
 */
#ifndef PEET_X86_CORE_FRONT_H
#define PEET_X86_CORE_FRONT_H

#include "core_refs.h"

/**
 * Is the block what stands after the last branch? It is if it begins there, and if only blocks without instructions
 * stand between them in the function's list: what aligns code has no block. Blocks of foreign code are in no list.
 */
static inline int goes_on(const struct x86_branch *last, const struct peet_block *next)
{
    const struct peet_function *f = next->function;

    if (next->pc == last->pc + last->op->length_bytes)
        return 1;
    if (f != last->block->function || !f->nblocks || next->index <= last->block->index)
        return 0;
    for (uint32_t i = last->block->index + 1; i < next->index; i++)
        if (i >= f->nblocks || f->blocks[i].ninsns)
            return 0;
    return 1;
}

/** The front end begins anew when it is no longer held up. */
static inline void empty_front(struct x86_thread *t)
{
    t->decoded = 0;
    t->decoded_cycle = t->front.from - 1;
    t->fetch_at = 0;
    t->ahead = 0;
}

/** Does a taken branch end the cycle in which it is fetched, so that what comes behind it is in the next one?  Returns:
 * cycles of fetch that it ends, 0: it does not */
static inline uint8_t ends_fetch(const struct x86_thread *t, const struct peet_block *next)
{
    const struct x86_config *config = &t->cpu->x->config;

    if (!t->last.op || config->fetch_past_taken != X86_OFF)
        return 0;
    if (t->last.op->branch != BRANCH_DIRECT && t->last.op->branch != BRANCH_JUMP_INDIRECT && goes_on(&t->last, next))
        return 0;
    return t->last.op->branch == BRANCH_COND || t->last.op->branch == BRANCH_DIRECT ||
            t->last.op->branch == BRANCH_JUMP_INDIRECT
        ? 1
        : (uint8_t)config->call_fetch_cycles;
}

/** What would have come in that cycle does not. After a branch that was foreseen late nor does what would have come in the cycles
 * by which the predictor is not ahead. */
static inline void end_fetch(struct x86_thread *t)
{
    const struct x86_config *config = &t->cpu->x->config;
    const int64_t width = config->fetch_uops;

    if (t->taken && (t->fetch_at || t->taken > 1)) {
        t->decoded -= ((t->fetch_at ? width - t->fetch_at : 0) + width * (t->taken - 1)) * X86_PARTS;
        t->fetch_at = 0;
    }
    if (t->late) {
        const uint32_t lost = config->override_cycles > t->ahead ? config->override_cycles - t->ahead : 0;

        t->decoded -= width * lost * X86_PARTS;
        t->ahead = (uint8_t)(t->ahead - (config->override_cycles - lost));
    }
    t->entered = t->taken != 0;
    t->taken = t->late = 0;
}

/** An instruction ends in another line than what is fetched before it, or it is jumped to.  Returns: micro-ops of the cycle of
 * fetch that it takes besides its own */
static __attribute__((noinline, unused)) uint32_t fetch_line(struct x86_thread *t, const struct x86_op *op)
{
    const unsigned next = op->lines & (t->entered ? LINE_ENTRY : LINE_NEXT);

    t->entered = 0;
    if (next && (t->fetch_at || next == LINE_ENTRY)) {
        t->decoded -= (int64_t)(t->cpu->x->config.fetch_uops - t->fetch_at) * X86_PARTS;
        t->fetch_at = 0;
    }
    return !op->uops && next; /* the line is fetched for a branch, though that is one with what is before it */
}

/** The micro-ops of an instruction are fetched; a cycle of fetch is of one line. */
static inline void fetch_on(struct x86_thread *t, const struct x86_op *op)
{
    const struct x86_config *config = &t->cpu->x->config;
    const uint32_t width = config->fetch_uops, more = op->lines | t->entered ? fetch_line(t, op) : 0,
                   at = t->fetch_at + op->uops + more;

    t->fetch_at = at;
    if (at < width)
        return;
    t->fetch_at = at < 2 * width ? at - width : at % width;
    t->ahead += t->ahead < config->predict_ahead_cycles;
}

/**
 * A front end of so many micro-ops a cycle, with a queue between it and dispatch.  It runs ahead while dispatch waits,
 * and begins anew when it was held up.  Returns: the first cycle from `at` on in which the instruction's are there;
 * they are taken
 */
static inline __attribute__((always_inline)) uint64_t fetched(struct x86_thread *t, const struct x86_op *op,
    uint64_t at)
{
    const uint32_t uops = op->uops;
    const struct x86_config *config = &t->cpu->x->config;
    const int64_t rate = t->fetch_parts, most = (int64_t)config->fetch_queue_uops * X86_PARTS;
    /* to begin */
    const int64_t need = uops <= 1
        ? uops * X86_PARTS
        : (int64_t)less(less(uops, config->dispatch_uops), config->fetch_queue_uops) * X86_PARTS;
    int64_t have;

    if (t->front.from > t->dispatch && t->front.from != t->queue_from)
        empty_front(t);
    fetch_on(t, op);
    have = t->decoded + rate * (int64_t)(at - t->decoded_cycle);
    if (have >= most) { /* it waits, and the predictor goes on */
        have = most;
        t->ahead = (uint8_t)config->predict_ahead_cycles;
    }
    if (have < need) {
        int64_t wait = (need - have + rate - 1) / rate;

        at += (uint64_t)wait;
        have += wait * rate;
        have = have < most ? have : most;
    }
    t->decoded = have - (int64_t)uops * X86_PARTS;
    t->decoded_cycle = at;
    return at;
}

#endif
