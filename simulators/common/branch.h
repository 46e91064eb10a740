/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch prediction.  A simulator that is driven by execution knows the outcome when it asks, so that
 * asking and learning are one call: each says whether the front end would have gone the wrong way.
 *
 * Directions: ALWAYS taken; BIMODAL, two-bit counters by pc (Smith, ISCA 1981); GSHARE, two-bit counters
 * by pc and global history (McFarling, WRL TN-36, 1993); TAGE, a bimodal base and tagged tables with
 * geometric history lengths (Seznec, Michaud: JILP 8, 2006), with its usefulness counters, the choice of an
 * alternate for newly allocated entries, and allocation of one entry on a misprediction.
 * Before TAGE has its answer, a faster part may have given one: the shorter of its tables, as far as their entries
 * are among those used last. Where that differs, the front end is called back (overriding predictors: Jimenez, Keckler,
 * Lin: MICRO 2000).
 * Targets: a branch target buffer, a return stack, and for indirect jumps a table by pc and path history,
 * or tables by pc and longer and longer histories of outcomes (Seznec's ITTAGE, JWAC-2, 2011).
 */
#ifndef PEET_SIM_BRANCH_H
#define PEET_SIM_BRANCH_H

#include "tags.h"

#ifdef __cplusplus
extern "C" {
#endif

enum peet_sim_direction { PEET_SIM_ALWAYS, PEET_SIM_BIMODAL, PEET_SIM_GSHARE, PEET_SIM_TAGE };
/** In that order, for the range of a module's parameter. */
#define PEET_SIM_DIRECTIONS "always|bimodal|gshare|tage"

enum { PEET_SIM_TAGE_TABLES = 8, PEET_SIM_HISTORY_MAX = 256, PEET_SIM_RETURNS_MAX = 64, PEET_SIM_INDIRECT_TABLES = 4 };

struct peet_sim_branch_config {
    enum peet_sim_direction direction;
    /* 2^n counters of the table (TAGE: of its base, and 2^(n-2) entries of each tagged table); 2..24 */
    uint32_t table_bits;
    uint32_t history_bits; /* GSHARE: 0..63; TAGE: the longest, 4..PEET_SIM_HISTORY_MAX */
    uint32_t tables;       /* TAGE: tagged tables, 2..PEET_SIM_TAGE_TABLES; 0: so many */
    uint32_t fast_bits;    /* TAGE: tables of histories up to this are the fast part; 0: there is none */
    uint32_t fast_entries; /* ... which knows so many entries of them, two ways; a power of two, 2 or more */
    uint32_t
        untaken_free; /* 1: a branch that the buffer does not know is foreseen not to be taken, and leaves no trace if so */
    uint32_t btb_sets, btb_ways;
    uint32_t return_entries; /* 0..PEET_SIM_RETURNS_MAX */
    uint32_t returns_around; /* 1: without a live entry, what stood there before is taken; 0: nothing is */
    uint32_t indirect_bits;  /* 2^n entries; 2..20 */
    /* 1: found by pc, 4, 16 or 64 outcomes of conditional branches and the last three targets; 0: by the path here */
    uint32_t indirect_outcomes;
};

struct peet_sim_branch_stats {
    uint64_t conditional, conditional_wrong;
    uint64_t indirect, indirect_wrong;
    uint64_t returns, returns_wrong;
    uint64_t late;           /* conditional, right, but the fast part said otherwise */
    uint64_t target_missing; /* direct and taken, right in direction, but the buffer did not know where to */
};

/** Of each table a cyclic fold of the newest outcomes, as many as its history is long, into so many bits. */
struct peet_sim_folds {
    uint32_t values[PEET_SIM_TAGE_TABLES];
    uint32_t leaves[PEET_SIM_TAGE_TABLES]; /* the bit at which the oldest outcome leaves */
    uint32_t width, mask;
};

struct peet_sim_tage_entry {
    uint16_t tag;
    int8_t counter; /* -4..3, taken if >= 0 */
    uint8_t useful; /* 0..3 */
};

struct peet_sim_branch {
    struct peet_sim_branch_config config;
    uint8_t *counters;                  /* 2 bits each */
    uint64_t history;                   /* the newest 64 outcomes, newest in bit 0 */
    uint8_t ring[PEET_SIM_HISTORY_MAX]; /* TAGE: outcomes */
    uint32_t ring_at;
    struct peet_sim_tage_entry *tables[PEET_SIM_TAGE_TABLES];
    uint32_t lengths[PEET_SIM_TAGE_TABLES]; /* of histories */
    struct peet_sim_folds index_folds, tag_folds[2];
    int8_t use_alternate; /* -8..7: newly allocated entries are worse than their alternates if >= 0 */
    /* of the branch at soon_pc, as long as the history is what it was */
    uint64_t soon_pc;
    struct peet_sim_tage_entry *soon_entries[PEET_SIM_TAGE_TABLES];
    uint16_t soon_tags[PEET_SIM_TAGE_TABLES];
    uint64_t updates, random;
    uint32_t fast_tables; /* TAGE: so many of the tables are the fast part */
    uint8_t late;         /* ... and what that said of the last branch differs */
    uint16_t *fast;       /* entries that it knows: pairs, the one used last first */
    uint64_t taken_run;   /* TAGE: so many outcomes in a row were taken */
    uint64_t steady_pc;   /* TAGE: it has learnt nothing from this branch, taken like all of its history; 0: none */
    struct peet_sim_tags btb;
    uint64_t *btb_targets, *indirect_targets, *indirect_pcs;
    uint64_t path;
    uint8_t *indirect_sure;      /* by outcomes: 0 (new) to 3 */
    uint64_t targets, last_line; /* ... bits of where the last indirect branches went */
    uint64_t returns[PEET_SIM_RETURNS_MAX];
    uint32_t returns_top, returns_live;
    struct peet_sim_branch_stats stats;
};

/** Returns: 0, or -1 without memory (fini is safe then); the configuration is taken as valid */
int peet_sim_branch_init(struct peet_sim_branch *b, const struct peet_sim_branch_config *config);
void peet_sim_branch_fini(struct peet_sim_branch *b);

enum peet_sim_branch_wrong {
    PEET_SIM_BRANCH_RIGHT,
    PEET_SIM_BRANCH_LATE,      /* right, but not at first: a few cycles of fetch are lost */
    PEET_SIM_BRANCH_NO_TARGET, /* known when the instruction is decoded: a short bubble */
    PEET_SIM_BRANCH_WRONG,     /* known when it is executed: the pipeline refills */
};

/** The conditional branch at pc will be asked for next: what is known of it is fetched into the host's caches meanwhile. */
void peet_sim_branch_soon(struct peet_sim_branch *b, uint64_t pc);
/** A conditional branch at pc went to `target` if taken. */
enum peet_sim_branch_wrong peet_sim_branch_conditional(struct peet_sim_branch *b, uint64_t pc, int taken,
    uint64_t target);
/** A direct jump or call. */
enum peet_sim_branch_wrong peet_sim_branch_direct(struct peet_sim_branch *b, uint64_t pc, uint64_t target);
/** An indirect jump or call. */
enum peet_sim_branch_wrong peet_sim_branch_indirect(struct peet_sim_branch *b, uint64_t pc, uint64_t target);
/** A call, direct or not, besides the above: where it will return to. */
void peet_sim_branch_call(struct peet_sim_branch *b, uint64_t return_pc);
/**
 * It is at `pc` again without a return having been seen: code that nobody tells of has returned.
 * Returns: 1 if that is where the newest open call returns to, which is closed now; 0: no
 */
int peet_sim_branch_back(struct peet_sim_branch *b, uint64_t pc);
/** A return went to `target`. */
enum peet_sim_branch_wrong peet_sim_branch_return(struct peet_sim_branch *b, uint64_t target);

#ifdef __cplusplus
}
#endif
#endif
