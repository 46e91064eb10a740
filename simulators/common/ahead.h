/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hits that peet handles without calling the machine, and processors that run ahead of each other: the machine's half of
 * <peet/direct.h>.  For machines in which each processor has a private cache, executes its references in order and
 * waits for each miss, and a hit with permission changes nothing but the line's time of last use.
 * docs/ENGINE.md has the idea and its invariants.
 *
 * The machine keeps a *view* of each cache up to date, and lends peet its stamps of last use:
 *
 *   1. keys[slot] is line << 2, with PEET_SIM_MAY_READ, PEET_SIM_MAY_WRITE: such a reference changes nothing but the
 *      stamp.  0 for an empty slot.
 *   2. used[slot] is the stamp of the line's last use, and *clock the latest stamp.  The replacement policy must be
 *      least recently used, or one that a hit does not concern.
 *   3. Before a transaction of one processor takes a right from another one's line, peet_sim_ahead_before() is called.
 *   4. All that a transaction does to other processors is done, and known to end, when refer() returns.
 *
 * The machine's struct peet_direct is PEET_SIM_AHEAD_DIRECT(table): the functions here have the names of its members.
 */
#ifndef PEET_SIM_AHEAD_H
#define PEET_SIM_AHEAD_H

#include <peet/direct.h>
#include <peet/module.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A reference that reads and writes needs the right to write. */
enum { PEET_SIM_MAY_WRITE = 1, PEET_SIM_MAY_READ = 2, PEET_SIM_MAY = 3, PEET_SIM_KEY_SHIFT = 2 };
#define PEET_SIM_NO_VIEW_SLOT UINT32_MAX

/** A processor's cache as peet sees it; the arrays are the machine's, or of peet_sim_ahead_new() if NULL. */
struct peet_sim_view {
    uint64_t *keys, *used, *clock;
    uint32_t *hints; /* [hints_mask + 1] of struct peet_sim_ahead_machine: where a line was last */
};

/** The machine; all of its processors are alike. */
struct peet_sim_ahead_machine {
    const struct peet_env *env;
    void *self;
    uint32_t line_shift, hints_mask;
    uint32_t clock_shift; /* cost() is in cycles / 2^clock_shift */
    int paths;            /* run.path has memory: see struct peet_direct_table */
    int varies;           /* cost() may change: peet_sim_ahead_costs(); it is at least 1 then */
    uint64_t hit_cycles;  /* each reference takes them, hit or miss, in however many lines */
    /** cost() - Returns: what a block takes beside its references */
    uint64_t (*cost)(void *self, const struct peet_block *block);
    /** find() - Returns: the slot that holds the line, or PEET_SIM_NO_VIEW_SLOT */
    uint32_t (*find)(void *self, unsigned hw, uint64_t line);
    /** refer() - bytes in one line are referenced, perhaps with a transaction, with stamp ++*clock.  Afterwards hints
     * says where the line is, if it is there.
     *  Returns: cycles until it is served; 0: a hit */
    uint64_t (*refer)(void *self, unsigned hw, uint64_t line, int write, uint64_t now);
    /** block() - one execution of a block that is not taken by its references: ranges, say.  Counts its references
     * itself.  @inout_stalled: grows by the cycles that it waited.  Returns: when it is over */
    uint64_t (*block)(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now,
        uint64_t *inout_stalled);
    /** counted() - so many references more; less, as two's complements, where hits are undone */
    void (*counted)(void *self, unsigned hw, uint64_t reads, uint64_t writes);
    /** stalled() - it has waited so long.  NULL: waiting is work like any other */
    void (*stalled)(void *self, unsigned hw, uint64_t cycles);
    /** at() - the next refer() is for this reference, or for the part of it that lies in one line.  May be NULL */
    void (*at)(void *self, const struct peet_block *block, uint32_t ref, uint64_t address, uint32_t size_bytes);
    /* For memory reports; NULL: there are none.  Reports are kept until report() is called: what peet takes is shown to
     * observers before they hear what it missed. */
    const uint32_t *unreported; /* how many are kept */
    /** report() - all of them go out */
    void (*report)(void *self);
};

struct peet_sim_ahead_context {
    struct peet_direct_run run;
    struct peet_sim_ahead *ahead;
    uint64_t *clock;
    uint64_t stalled; /* cycles that it has waited since the run began */
    uint64_t rest;    /* of a cycle, from the runs before */
    /* for so many transactions it continues only when they are over, since others have lately taken lines meanwhile */
    unsigned cautious;
    unsigned waits; /* the next iteration does not hit, and has not been executed */
};

struct peet_sim_ahead_block;
struct peet_sim_ahead {
    struct peet_sim_ahead_machine machine;
    struct peet_sim_ahead_block **blocks; /* by id; NULL: not asked for yet */
    uint32_t nblocks, ncontexts;
    int runs_ahead; /* else each goes only as far as the next one */
    int went_back;  /* a processor was rolled back since the last event began */
    int over;       /* peet_sim_ahead_stop() */
    uint64_t began; /* when the block that is executed in its turn began */
    struct peet_sim_ahead_context *contexts;
};

/**
 * peet_sim_ahead_new() - for the machine's table()
 * @views: ncontexts of them; copied
 * Returns: it, to be freed with peet_sim_ahead_free(), and what table() gives to peet; NULL: out of memory
 */
struct peet_sim_ahead *peet_sim_ahead_new(const struct peet_sim_ahead_machine *machine, uint32_t ncontexts,
    const struct peet_sim_view *views, struct peet_direct_table *out_table);
/** peet_sim_ahead_free() - NULL is allowed */
void peet_sim_ahead_free(struct peet_sim_ahead *a);
/** peet_sim_ahead_stop() - the run has failed: nothing more is taken.  NULL is allowed */
void peet_sim_ahead_stop(struct peet_sim_ahead *a);

/* The members of struct peet_direct.  @self: the machine, whose first member is its struct peet_sim_ahead *. */
int peet_sim_ahead_block(void *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_block *out_block);
struct peet_direct_run *peet_sim_ahead_begin(void *self, unsigned hw, uint64_t now, uint64_t until);
struct peet_direct_run *peet_sim_ahead_ahead(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit);
void peet_sim_ahead_event(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event);
void peet_sim_ahead_pause(void *self, unsigned hw);
uint64_t peet_sim_ahead_end(void *self, unsigned hw);
uint64_t peet_sim_ahead_undo(void *self, unsigned hw, uint64_t instructions);
void peet_sim_ahead_executed(void *self, const struct peet_block *block, uint64_t times);
void peet_sim_ahead_report(void *self);
/** The value of a struct peet_direct; @table_of: the machine's table(), which calls peet_sim_ahead_new() */
#define PEET_SIM_AHEAD_DIRECT(table_of) \
    {PEET_DIRECT_ABI, sizeof(struct peet_direct), table_of, peet_sim_ahead_block, NULL, peet_sim_ahead_begin, \
        peet_sim_ahead_event, peet_sim_ahead_end, peet_sim_ahead_executed, peet_sim_ahead_ahead, peet_sim_ahead_pause, \
        peet_sim_ahead_undo, peet_sim_ahead_report}

/** peet_sim_ahead_costs() - asks cost() again of all blocks; hardware context @by acts, and all others are rolled back to the
 * present moment before */
void peet_sim_ahead_costs(struct peet_sim_ahead *a, unsigned by);

/** peet_sim_ahead_begins() - for the machine's block(), loop() and blocks(), to which come what peet has no code for: a block, or
 * an iteration, begins at @now.  @a: NULL: nothing happens */
static inline void peet_sim_ahead_begins(struct peet_sim_ahead *a, uint64_t now)
{
    if (a) {
        a->began = now;
        a->went_back = 0;
    }
}

/** peet_sim_ahead_went_back() - another processor has been rolled back since then, and may be due first: loop() and blocks()
 * return */
static inline int peet_sim_ahead_went_back(const struct peet_sim_ahead *a)
{
    return a && a->went_back;
}

/** The slow half of peet_sim_ahead_before(). */
void peet_sim_ahead_go_back(struct peet_sim_ahead *a, unsigned by, unsigned hw);

/**
 * peet_sim_ahead_before() - before a transaction of processor @by changes @hw's line in this slot.  Afterwards @hw has
 * used it only in blocks that come before the present one
 * @a: NULL: peet takes no blocks, nothing happens
 * @rights: what @hw keeps: PEET_SIM_MAY_READ and PEET_SIM_MAY_WRITE, or 0
 */
static inline void peet_sim_ahead_before(struct peet_sim_ahead *a, unsigned by, unsigned hw, uint64_t slot,
    unsigned rights)
{
    if (a && by != hw) {
        const struct peet_direct_run *const run = &a->contexts[hw].run;
        if (run->used[slot] > run->checkpoint.stamp && (run->keys[slot] & ~(uint64_t)rights & PEET_SIM_MAY) != 0)
            peet_sim_ahead_go_back(a, by, hw);
    }
}

#ifdef __cplusplus
}
#endif
#endif
