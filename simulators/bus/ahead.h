/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors that run ahead of each other: what ahead.c shares with direct.c and engine.c.
 */
#ifndef PEET_BUS_AHEAD_H
#define PEET_BUS_AHEAD_H

#include "bus.h"

/** A reference of a block: so far after the beginning of that probe. */
struct bus_ahead_ref {
    uint16_t offset, bytes;
    uint16_t before;         /* so many touches of the block come before it */
    uint8_t probe, ref;      /* ref: of the block's */
    uint8_t permission_mask; /* as in a probe: PERMISSION_WRITE if it only reads */
    uint8_t twice;           /* it reads and writes */
};
/** The first reference of a probe, or the first that writes after others that read: if it has its permission then, so
 * have those that follow it. */
struct bus_ahead_lead {
    uint64_t at; /* when it asks, since the block's beginning, in CPI_ONE: without stalls */
    uint16_t offset, bytes;
    uint8_t probe, ref, permission_mask;
    uint8_t last;  /* the probe's last reference of the block, + 1: as stamps count them */
    uint8_t place; /* in refs */
    uint8_t again; /* the same reference writes next */
};
struct bus_ahead_block {
    const struct peet_block *block;
    uint32_t nrefs;  /* without prefetches */
    uint32_t nleads; /* 0: the block is to be taken reference by reference; */
    struct bus_ahead_lead *leads;
    struct bus_ahead_ref refs[];
};

struct bus_ahead_hw {
    struct peet_direct_run run;
    uint64_t now, stalled; /* when the run began; what it has waited since */
    unsigned number;
    /* for so many events it waits for the end of its transactions before it goes on: others have taken lines meanwhile
     * lately */
    unsigned cautious;
    int waits; /* it has come to a turn that is no hit, or was none: that one is next */
};

struct bus_ahead {
    struct bus_ahead_block **blocks; /* by id; NULL: not asked for yet */
    uint32_t nblocks;
    int runs_ahead; /* else each goes only as far as the next one */
    int went_back;  /* somebody did, since the last event began */
    uint64_t began; /* when the block that has a transaction began */
    struct bus_ahead_hw hw[];
};

/* The operations of struct peet_direct, for several processors. */
int peet__bus_ahead_table(struct bus *b, struct peet_direct_table *out);
void peet__bus_ahead_fini(struct bus *b);
int peet__bus_ahead_block(struct bus *b, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out);
int peet__bus_ahead_other(struct peet_direct_run *run, uint32_t id);
int peet__bus_ahead_loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides);
uint64_t peet__bus_ahead_iterations(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations);
struct peet_direct_run *peet__bus_ahead_begin(struct bus *b, unsigned hw, uint64_t now, uint64_t until, uint64_t limit);
void peet__bus_ahead_event(struct bus *b, unsigned hw, struct peet_direct_run *run,
    const struct peet_block_event *event);
uint64_t peet__bus_ahead_end(struct bus *b, unsigned hw);
uint64_t peet__bus_ahead_undo(struct bus *b, unsigned hw);

/** What processor @hw waits for will come so much later than it was promised.  All that it has done since is hits,
 * which are the same then, only later. */
static inline void peet__bus_ahead_lost(struct bus *b, unsigned hw, uint64_t cycles)
{
    b->ahead->hw[hw].now += cycles;
}
/** The slow half of peet__bus_ahead_before(). */
void peet__bus_ahead_go_back(struct bus *b, const struct cache *by, unsigned hw);

/** A transaction of @by takes at least a right from this frame of another cache, with state @next if it stays. */
static inline void peet__bus_ahead_before(struct bus *b, const struct cache *by, const struct cache *holder,
    const struct frame *f, unsigned next)
{
    const uint32_t i = (uint32_t)(f - holder->frames);
    if (b->ahead && holder->used[i] > b->ahead->hw[holder->hw].run.checkpoint.stamp &&
        ((b->permission[f->state] & PERMISSION_WRITE) || !(b->permission[next] & PERMISSION_READ)))
        peet__bus_ahead_go_back(b, by, holder->hw);
}

#endif
