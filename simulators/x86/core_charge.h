/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a processor's cycles go: to a category of the CPI stack, and to the instruction that waited.
 */
#ifndef PEET_X86_CORE_CHARGE_H
#define PEET_X86_CORE_CHARGE_H

#include "core_refs.h"
#include "core_replay.h"

/** Cycles charged to memory beyond a hit: because of the instruction itself, and of an older store for which the queue
 * was full. */
struct stalled {
    uint64_t own, store;
};

static inline void x86_core_put(struct x86_thread *t, struct x86_place *place, enum x86_category category,
    uint64_t *rest, uint64_t most)
{
    uint64_t cycles = less(*rest, most);

    if (!cycles)
        return;
    t->cycles[category] += cycles;
    place->cycles[category] += cycles;
    *rest -= cycles;
    if (t->replay && t->replay->recording)
        x86_replay_charge(t->replay, (uint32_t)(place - t->cpu->x->stacks.places), category, cycles);
}

/**
 * The frontier moves, by this instruction: why has it not retired together with the one before?
 *
 * What it waited for is taken in an order in which each cause can only claim what nothing before it explains:
 * the front end had nothing to dispatch after the last retirement; the cycles that dispatching at full width takes, and
 * those in which a narrower front end had not decoded it yet; what memory added to the latency of a hit; a unit that
 * was not free; the latency of a hit; a fence; at last operands and the operation's own latency.  What overlaps with
 * older instructions has been charged to those. Returns: the cycles charged to memory beyond a hit
 */
struct stalled x86_core_charge(struct x86_thread *t, const struct x86_op *op, const struct wait *w, uint64_t retire);

/** Observers hear which reference it was that nothing could retire for. */
void x86_core_report_stall(struct x86_thread *t, const struct peet_block *block, const uint64_t *values, uint32_t ref,
    const struct wait *w, struct stalled stalled);

#endif
