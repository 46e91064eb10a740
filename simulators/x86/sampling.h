/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: sampled timing.  With sample_period, a core is simulated in detail only in short *windows*, as in SMARTS (Wunderlich
 * and others, ISCA 2003); Pac-Sim (Liu and others, TACO 2024) does it for threads that run as they are simulated.  Each
 * core has windows of its own, counted in its instructions: sample_warm to fill the pipeline, then sample_measure that
 * count.  Between windows every instruction is still executed, in the same order with others' by simulated time, and
 * caches, directory, TLBs, prefetchers, DRAM and branch predictors see all that they would see.  Only its time is not
 * simulated but estimated, by a model that is learnt in the windows:
 *
 *   - each block has cycles of its own, the mean of its executions in windows without what follows;
 *   - a miss costs a share of its latency, so far as it does not overlap with another miss; there is a share for what
 *     each level serves, and one for translation;
 *   - a mispredicted branch costs so many cycles.
 *
 * So time follows what caches and predictors do between windows, too (the intervals of Eyerman and others, TOCS 2009).
 * How far the model is off in each window, before it learns from it, and by how much the misses of the gap before it would
 * have cost more at the window's prices, tells how far it is off between them: the error that results give is that of a
 * sum of which one addend in so many is known.
 *
 * With sample_near, blocks that are farther than that from the next window do less (sampling_far.c): lines that L1D has
 * are looked up in machine code, cores run ahead of each other (../common/ahead.h), misses go through the hierarchy as
 * ever, and branch predictors follow the path that was taken.  Instruction caches and the recency of translations stand
 * still, and prefetchers of L1D see misses alone; so what L2 serves, and mispredicted branches, are in a block's cycles there.
 *
 * Windows come more often at first, and where a block is met that none has seen.  Where they lie depends on the seed and
 * the program alone.
 */
#ifndef PEET_X86_SAMPLING_H
#define PEET_X86_SAMPLING_H

#include <stdint.h>

struct x86;
struct x86_access;
struct x86_code;
struct x86_outcome;
struct x86_thread;
struct peet_block;
struct peet_block_event;
struct peet_direct;
struct peet_env;
struct peet_stats;

/** What has a price beside a block's own cycles; each is a category of the CPI stack. */
enum { X86_PRICED = 6, X86_PRICED_BRANCH = 5 };

/** Of so many executions of a block; older ones count less. */
struct x86_mean {
    double sum, times;
};

/** What the model knows of a block; in the windows of the last past. */
struct x86_estimate {
    double cycles, times; /* sums, of which older windows count less */
    double each;          /* cycles / times, or a guess if it was met outside of a measured part only */
    double window_cycles; /* of the present window */
    double leads, misses; /* sums: by how much its loads that missed were ahead of the frontier; how many */
    double lead, window_leads;
    struct x86_mean wrong;  /* mispredicted branches to it */
    struct x86_mean second; /* what it waited for L2, near windows */
    uint64_t far_times;     /* executions by machine code */
    uint32_t window_times, window_misses;
    uint8_t shares;       /* it has missed lines that other cores had */
    uint8_t known, asked; /* each is known; windows that began because it was not */
};

/** The model's shares, for all cores. */
struct x86_prices {
    /* sums, of which older windows count less: in windows cycles charged, latency, how many; between windows the last two */
    double charged[X86_PRICED], latency[X86_PRICED], met[X86_PRICED], between_latency[X86_PRICED],
        between_met[X86_PRICED];
    double of[X86_PRICED]; /* of a cycle of latency, in windows */
    /* ... and between them, and of a miss: together a miss has the same price there on the average */
    double between[X86_PRICED], each[X86_PRICED];
    double leads, misses, lead;  /* of all blocks */
    double cycles, instructions; /* in windows; older ones count less */
};

enum x86_sampling_phase { SAMPLING_BETWEEN, SAMPLING_FAR, SAMPLING_WARM, SAMPLING_MEASURE };

/** A core far from its next window: sampling_far.c. */
struct x86_far {
    int64_t left, least; /* instructions; with so few it is near */
    uint64_t until;      /* then they are counted again */
    double took, did;    /* cycles that instructions so far took, and how many those were */
    uint64_t begun;      /* when the present run began, ... */
    uint64_t waited;     /* ... and how long it has waited for misses; booked already */
    uint8_t entered;     /* ... and whether what came before it is booked */
    uint64_t again;      /* instructions that will be executed again, after a rollback: predictors have seen them */
    uint32_t *path;      /* what the run has executed: struct peet_direct_run.path; NULL: predictors do not follow */
    uint64_t cycles, instructions; /* for statistics: without what was waited */
};

/** A core's. */
struct x86_sampling {
    enum x86_sampling_phase phase;
    int64_t left;    /* instructions, of this phase */
    uint64_t random; /* where windows lie */
    uint64_t until;  /* when the last miss of a load was served */
    int64_t lead;    /* by how much loads of the present block are ahead of the frontier */
    /* of misses, so far as they do not overlap, and how many there were; branches: `latency` is how many were mispredicted */
    uint64_t latency[X86_PRICED], met[X86_PRICED];
    uint64_t latency_then[X86_PRICED], met_then[X86_PRICED]; /* when the present gap began */
    double owed[X86_PRICED + 1];             /* cycles that have not been spent yet; the last: the block's own */
    uint32_t *touched, ntouched;             /* blocks of the present window */
    uint8_t asked;                           /* the next window will not begin at its time, but because of a block */
    uint8_t unasked;                         /* the present window began at its time, not because of a block */
    double measured, foreseen, instructions; /* in the present window: cycles, what the model said, instructions */
    double charged[X86_PRICED], waited[X86_PRICED], missed[X86_PRICED]; /* ... what the model's shares learn from it */
    double gap_latency[X86_PRICED], gap_met[X86_PRICED], gap_charged[X86_PRICED]; /* ... and from the gaps before it */
    struct x86_far far;
    double gap; /* instructions since the last window that came at its time */
    /* sums over these: of gap^2, gap^2 r, gap^2 r^2 and gap r, r being cycles that an instruction took more than foreseen */
    double gg, ggr, ggrr, gr;
    /* for statistics */
    uint64_t windows, detailed_instructions, measured_instructions, estimated_instructions;
    uint64_t measured_cycles, estimated_cycles;
};

/** x86_sampling_init() - every core begins with a window.  Returns: 0, or -1 out of memory */
int x86_sampling_init(struct x86 *x);
void x86_sampling_fini(struct x86 *x);

/** x86_sampling_block() - one execution of a block, in detail or not, in the place of x86_core_block() */
void x86_sampling_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values);

/** x86_sampling_missed() - an access of an instruction was not simply a hit, in a window or between
 * @frontier: when the instruction before it has retired */
void x86_sampling_missed(struct x86_thread *t, const struct x86_access *access, const struct x86_outcome *out,
    uint64_t now, uint64_t frontier);

/** x86_sampling_access() - an access far from windows.  Returns: how long its block waits for it */
uint64_t x86_sampling_access(struct x86_thread *t, const struct x86_access *access, uint64_t now);

/** x86_sampling_cost() - what a block takes far from windows, in cycles, beside what its misses cost */
double x86_sampling_cost(struct x86 *x, const struct peet_block *block);

/** x86_sampling_unknown() - a block that no window has seen is executed between windows: one begins soon */
void x86_sampling_unknown(struct x86_thread *t, struct x86_code *code);

/** x86_mean_add() - of one execution more */
void x86_mean_add(struct x86_mean *mean, double value);

/** x86_sampling_loop() - as x86's loop(), for one core far from windows.  @out_turns: 0: nothing has happened */
uint64_t x86_sampling_loop(struct x86_thread *t, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns);

/** x86_sampling_far_finish() - after the last block, before books are checked: places get their cycles */
void x86_sampling_far_finish(struct x86 *x);
extern const struct peet_direct peet__x86_direct;

/** x86_sampling_stats() - windows, what was measured and estimated, and the error; and what of it is in the summary */
void x86_sampling_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node);

#endif
