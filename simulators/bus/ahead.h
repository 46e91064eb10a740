/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors that run ahead of each other: what ahead.c shares with direct.c and engine.c.
 */
#ifndef PEET_BUS_AHEAD_H
#define PEET_BUS_AHEAD_H

#include "bus.h"

#define AHEAD_WRITTEN 0x100000000ull /* in the log: the frame's written sectors before, not its stamp */

enum { AHEAD_CUTS = 512 };
#define AHEAD_CUT_PLACE(key) ((key) * 0x9e3779b97f4a7c15ull >> 32 & (AHEAD_CUTS - 1))

/** A reference of a block: so far after the beginning of that probe. */
struct bus_ahead_ref {
    uint16_t offset, bytes;
    uint16_t before;         /* so many touches of the block come before it */
    uint8_t probe, ref;      /* ref: of the block's */
    uint8_t permission_mask; /* as in a probe: PERMISSION_WRITE if it only reads */
    uint8_t twice;           /* it reads and writes */
};
/** The first reference of a block to a line, or the first that writes after others that read: if it has its permission
 * then, so have those that follow it. */
struct bus_ahead_lead {
    uint64_t at; /* when it asks, since the block's beginning, in CPI_ONE: without stalls */
    uint16_t offset, bytes;
    uint16_t before, last; /* stamps of the block before it; the line's last one, as stamps count them */
    uint8_t probe, line;   /* line: the probe, + PEET_DIRECT_LOOKS if it is its second one */
    uint8_t ref, permission_mask;
    uint8_t place; /* in refs */
    uint8_t again; /* the same reference writes next */
    uint8_t alone; /* no other reference of its probe writes */
};
/** What is the same whenever a block's probes lie in two lines in the same way. */
struct bus_ahead_cut {
    uint64_t key;                          /* which of them do, and where those begin in their lines */
    uint16_t more, reads;                  /* touches beyond those of the block's counts; those of them that read */
    uint16_t lasts[2 * PEET_DIRECT_LOOKS]; /* by line: its last use, as stamps count; 0: none */
    int never;                             /* a reference does not go so */
    uint32_t nleads;                       /* 0: the block is to be taken reference by reference */
    struct bus_ahead_lead leads[];
};
struct bus_ahead_block {
    const struct peet_block *block;
    uint32_t nrefs; /* without prefetches */
    uint32_t nwrites;
    uint64_t *units;                /* by probe: the sectors that it writes, if it begins where one does */
    struct bus_ahead_ref *writes;   /* those of the references that write, or read and write */
    struct bus_ahead_cut *whole;    /* no probe lies in two lines; NULL: no memory */
    uint32_t straddled, straddlers; /* executions with probes in two lines; a bit for each such probe */
    uint8_t (**lasts)[2];           /* by probe, for its looks' `cuts` (<peet/direct.h>); NULL: not asked for */
    struct bus_ahead_cut **cuts;    /* [AHEAD_CUTS] by a hash of their keys; NULL: none was kept */
    struct bus_ahead_ref refs[];
};

/** Where the lines of a block's probes are. */
struct bus_ahead_found {
    uint32_t frames[2 * PEET_DIRECT_LOOKS]; /* as lead.line */
    uint32_t straddling, tracked;           /* a bit for each probe; tracked: it writes to a tracked line */
};

struct bus_ahead_hw {
    struct peet_direct_run run;
    uint64_t stalled; /* what it has waited since the run began */
    unsigned number;
    /* for so many events it waits for the end of its transactions before it goes on: others have taken lines meanwhile
     * lately */
    unsigned cautious;
    int waits; /* it has come to a turn that is no hit, or was none: that one is next */
};

struct bus_ahead {
    struct bus_ahead_block **blocks; /* by id; NULL: not asked for yet */
    uint32_t nblocks;
    int held;       /* once a reference has happened, others like it need nothing more than the line */
    int runs_ahead; /* else each goes only as far as the next one */
    int went_back;  /* somebody did, since the last event began */
    uint64_t began; /* when the block that has a transaction began */
    struct bus_ahead_hw hw[];
};

static inline struct bus_ahead_hw *peet__bus_ahead_hw_of(const struct peet_direct_run *run)
{
    return (struct bus_ahead_hw *)((uintptr_t)run - offsetof(struct bus_ahead_hw, run));
}

/* hits.c */

/** The slow half of peet__bus_ahead_frame_of(). */
uint32_t peet__bus_ahead_frame_slowly(struct bus *b, struct cache *c, uint64_t line, uint64_t permission_mask,
    uint32_t probe, uint32_t *inout_tracked);
/** The line's frame, if the reference hits without consequences; NO_FRAME.  @inout_tracked: gets the probe's bit if it
 * is a write that only notes which sectors are written */
static inline uint32_t peet__bus_ahead_frame_of(struct bus *b, struct cache *c, uint64_t line, uint64_t permission_mask,
    uint32_t probe, uint32_t *inout_tracked)
{
    const uint32_t i = c->predictor[peet__bus_hint(b, line)];
    return __builtin_expect((c->keys[i] | permission_mask) == (KEY_OF(line) | PERMISSION), 1)
        ? i
        : peet__bus_ahead_frame_slowly(b, c, line, permission_mask, probe, inout_tracked);
}
/** Sectors of a frame (NO_FRAME: of none) are written.  Whoever misses a line that it has lost settles what was written: until then it
 * remains lost.  @run: whose log has what was there before; NULL: it will not be undone */
void peet__bus_ahead_write_tracked(struct peet_direct_run *run, struct bus *b, struct cache *c, uint32_t frame,
    uint64_t sectors);
/** May the line in the frame be written, though each write is to be noted? */
static inline int peet__bus_ahead_is_tracked(const struct bus *b, const struct frame *f)
{
    return f->tracked && b->permission[f->state] & PERMISSION_WRITE;
}
/** As peet__bus_ahead_frame_of(), for a reference that will not be undone: what it writes to a tracked line is noted. */
static inline uint32_t peet__bus_ahead_frame_for_good(struct bus *b, struct cache *c, uint64_t line,
    uint64_t permission_mask, uint64_t sectors)
{
    uint32_t tracked = 0;
    const uint32_t i = peet__bus_ahead_frame_of(b, c, line, permission_mask, 0, &tracked);
    if (tracked)
        peet__bus_ahead_write_tracked(NULL, b, c, i, sectors);
    return i;
}
/** Notes what the first @done references of a block write to tracked lines.  @run: as above */
void peet__bus_ahead_write_all(struct peet_direct_run *run, struct bus *b, struct cache *c,
    const struct bus_ahead_block *k, const uint64_t *begins, const struct bus_ahead_found *at, uint32_t done);
/** Which probes of a block lie in two lines (at least one does), and where those begin in their lines; 0: that is too much
 * for a key. */
static inline uint64_t peet__bus_ahead_cut_key(const struct bus *b, uint32_t straddling, const uint64_t *begins)
{
    enum { PLACE_BITS = 8, KEY_BITS = 64 };
    uint64_t key = straddling;
    unsigned shift = 32;
    if (b->line_bytes > 1u << PLACE_BITS)
        return 0;
    for (; straddling; straddling &= straddling - 1, shift += PLACE_BITS) {
        if (shift == KEY_BITS)
            return 0;
        key |= (begins[__builtin_ctz(straddling)] & (b->line_bytes - 1)) << shift;
    }
    return key;
}
/** The slow half of peet__bus_ahead_cut_of(). */
const struct bus_ahead_cut *peet__bus_ahead_cut_slowly(const struct bus *b, struct bus_ahead_block *k, uint64_t key,
    const uint64_t *begins);
/** The cut of a block of which these probes lie in two lines, from those that are kept; made when it is first asked for.
 * NULL: it is not kept */
static inline const struct bus_ahead_cut *peet__bus_ahead_cut_of(const struct bus *b, struct bus_ahead_block *k,
    uint32_t straddling, const uint64_t *begins)
{
    const uint64_t key = peet__bus_ahead_cut_key(b, straddling, begins);
    const struct bus_ahead_cut *const cut = k->cuts ? k->cuts[AHEAD_CUT_PLACE(key)] : NULL;
    return cut && cut->key == key ? cut : peet__bus_ahead_cut_slowly(b, k, key, begins);
}
/** A cut, whose key is left to the caller; @leads: with its leads.  NULL: no memory */
struct bus_ahead_cut *peet__bus_ahead_cut_new(const struct bus *b, const struct bus_ahead_block *k, uint32_t straddling,
    const uint64_t *begins, int leads);
/** One execution, if all of it hits without consequences for others; some references may lie in two lines.  @begins: of
 * the probes.  What it takes beyond the template goes to @run.  Returns: whether it has happened */
int peet__bus_ahead_hit_once(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins);
/** Iterations of a loop as long as they hit without consequences and begin before run->limit, and the log has room.
 * @begins: of the probes in the first one; @done: so many have happened.  Returns: how many have then */
uint64_t peet__bus_ahead_iterations_hit(struct peet_direct_run *run, struct bus_ahead_block *k, const uint64_t *begins,
    const int64_t *strides, uint64_t done, uint64_t iterations);

/* The operations of struct peet_direct, for several processors. */
int peet__bus_ahead_table(struct bus *b, struct peet_direct_table *out);
void peet__bus_ahead_fini(struct bus *b);
int peet__bus_ahead_block(struct bus *b, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out);
int peet__bus_ahead_often(struct bus *b, const struct peet_block *block);
int peet__bus_ahead_other(struct peet_direct_run *run, uint32_t id);
int peet__bus_ahead_loop(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides);
uint64_t peet__bus_ahead_iterations(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations);
struct peet_direct_run *peet__bus_ahead_begin(struct bus *b, unsigned hw, uint64_t now, uint64_t until, uint64_t limit);
void peet__bus_ahead_event(struct bus *b, unsigned hw, struct peet_direct_run *run,
    const struct peet_block_event *event);
void peet__bus_ahead_pause(struct bus *b, unsigned hw);
uint64_t peet__bus_ahead_end(struct bus *b, unsigned hw);
uint64_t peet__bus_ahead_undo(struct bus *b, unsigned hw);

/** What processor @hw waits for will come so much later than it was promised.  All that it has done since is hits,
 * which are the same then, only later. */
static inline void peet__bus_ahead_lost(struct bus *b, unsigned hw, uint64_t cycles)
{
    b->ahead->hw[hw].run.now += cycles;
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
