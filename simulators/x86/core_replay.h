/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: blocks that are not gone through again.  What a block does to a core depends on the state of the core *relative
 * to its clock*, on what the front end was held up for, and on how long each of the block's references takes.  States
 * come again and again: in loops after some iterations, and after every misprediction.  So they are memoised (Schnarr
 * and Larus, FastSim, ASPLOS 1998): a *configuration* is a state; a *successor* is a block that was executed in that
 * state, with the times of its references, what was charged, and the configuration that followed.
 *
 * While a thread is at a configuration (its *replay*), predictor, caches and store queue are asked for each block as
 * ever, in the same order and at the same times.  If they answer as they did when a successor was made, clock and books
 * advance by what the successor says, and the core itself is not touched.  If not, the core is put into the state of
 * the configuration, and goes through the instructions; answers that have been given already are on the *list of
 * answers*.  Times and books are exactly those of going through all instructions.
 *
 * After something that does not recur, a miss say, a core goes through many states that are never come to again, until
 * it is back in one that is known.  Most of these are not learnt: after a few of them the core's state is asked for less
 * and less often, and is kept only if it is come to a second time.
 *
 * Configurations and successors lie in memory that is freed all at once, and their hash tables are chains through them.
 * Replaying reads successors, and the handles of a general hash table would make them larger by half.
 *
 * What memory reports tell of stalls is not memoised: while somebody listens, a block with a stall has no successor.
 *
 * Not for threads that share a core: states would have to be those of all of them.  core_state.c writes and reads
 * states.
 */
#ifndef PEET_X86_CORE_REPLAY_H
#define PEET_X86_CORE_REPLAY_H

#include "core.h"

enum { X86_REFERENCE_ANSWERS = 256, X86_CHARGES = 256, X86_STATE_BYTES = 16384, X86_STATE_CYCLES = 1024 };

/** Besides loads and stores (enum x86_access_kind), on the list of answers: ranges, locked operations, prefetches, for
 * which nobody waits, and whether a reference happens. */
enum { ANSWER_RANGE_LOAD = 16, ANSWER_RANGE_STORE, ANSWER_LOCKED, ANSWER_PREFETCH, ANSWER_HAPPENS };

/** What a reference took, and what a load tells of it. */
struct x86_answer {
    int32_t cycles; /* to its end, which may lie before its beginning; ANSWER_HAPPENS: whether it does */
    uint32_t level, tlb, coherence; /* as in struct wait */
    uint8_t hit;
    uint8_t served; /* loads: that of `level`; stores: the thread's store_category afterwards */
    uint8_t same;   /* stores: x86_store_joins() */
};

/** A reference of a block.  Times count from the block's beginning, the last dispatch before it. */
struct x86_reference_answer {
    uint32_t begin;
    union {
        uint32_t dispatch; /* loads: the instruction's */
        uint32_t data;     /* stores: as in struct x86_store, as the next two */
    };
    uint32_t written;
    uint32_t registers; /* UINT32_MAX: not to be renamed */
    uint16_t ref;       /* in block->refs */
    uint8_t kind;       /* X86_LOAD, X86_STORE, TAPE_... */
    uint8_t plain;      /* a load that hits, forwarded from nowhere; a store that hits */
};

struct x86_charge {
    uint32_t cycles;
    uint32_t place : 24, category : 8;
};

struct x86_configuration;

/**
 * A block, executed in a state.  Charges, references and answers stand behind it.
 * Without a block: the front end was held up for so many cycles (front), and the thread's store_category is
 * front_category.
 */
struct x86_successor {
    const struct peet_block *block;
    struct x86_successor *likely[2]; /* the successors that were taken from `next` last, the newest first */
    struct x86_configuration *from, *next;
    uint32_t front; /* what the front end was held up for: front_of() */
    uint16_t nrefs, ncharges;
    uint32_t dispatch; /* all times: after the block's beginning */
    int32_t frontier;
    uint32_t front_from; /* 0: no longer of importance; else 1 more */
    uint16_t uops;
    uint8_t front_category, branch; /* it ends with one */
    uint32_t complete;              /* that branch */
    struct x86_successor *more;     /* of the same bucket */
};

struct x86_configuration {
    struct x86_configuration *same; /* of the same bucket */
    uint64_t hash;
    uint32_t bytes;
    uint64_t state[];
};

/** A thread's. */
struct x86_replay {
    struct x86_configuration *configuration; /* NULL: its state is that of the core, and at no configuration */
    struct x86_successor *last;              /* that led to the configuration; NULL: it came otherwise */
    struct x86_successor *made;              /* of the block that was gone through; NULL: none */
    uint8_t fresh;                           /* the core is in the configuration's state */
    uint8_t recording;                       /* a successor from `from` is being made */
    struct x86_configuration *from;
    uint32_t front;
    uint64_t base, uops; /* at the block's beginning */
    /* Unknown states in a row; blocks until a state is asked for again, and how many after that. */
    uint32_t depth, skip, stride;
    int64_t credit;                    /* replayed blocks pay for learnt ones */
    uint64_t rest, resting;            /* blocks until it is tried again */
    uint64_t replayed, learnt, rested; /* blocks, for statistics */
    uint32_t nrefs, at;                /* of the list of answers; what lies before `at` has been used */
    uint32_t entered;                  /* stores before this one are in the store queue already */
    uint32_t ncharges;                 /* X86_CHARGES + 1: too many */
    struct x86_reference_answer refs[X86_REFERENCE_ANSWERS];
    struct x86_answer answers[X86_REFERENCE_ANSWERS];
    uint8_t listened; /* stalls are reported */
    /* then the thread's store_access at the block's beginning, and after each answer */
    struct x86_access store_before, stores[X86_REFERENCE_ANSWERS];
    struct x86_charge charges[X86_CHARGES];
    uint64_t state[X86_STATE_BYTES / 8];
};

/** x86_replay_init() - nothing is known.  Returns: 0, or -1 out of memory */
int x86_replay_init(struct x86 *x);
void x86_replay_fini(struct x86 *x);

/**
 * x86_replay_block() - a block whose branch is resolved and whose instructions are fetched
 * Returns: 1: it has been executed; 0: the core is in the right state to go through it, and x86_replay_end() is to
 * follow
 */
int x86_replay_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values);
/** x86_replay_end() - it has gone through the block */
void x86_replay_end(struct x86_thread *t, const struct x86_code *code);
/** x86_replay_leave() - something other than a block is about to change the state: the core is put into it */
void x86_replay_leave(struct x86_thread *t);
struct wait;
/** x86_replay_load() - a reference of the block that is gone through: from the list of answers, or onto it.  Returns:
 * when the data are there */
uint64_t x86_replay_load(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w);
/** x86_replay_store() - the same.  @out_same: x86_store_joins().  Returns: when the line is there */
uint64_t x86_replay_store(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, int *out_same);
/** x86_replay_locked() - the same for a reference of a locked operation */
uint64_t x86_replay_locked(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w);
/** x86_replay_prefetch() - the same for a prefetch, which takes no time */
void x86_replay_prefetch(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now);
/** x86_replay_range(), x86_replay_happens() - the same for ranges, and references that may not happen */
uint64_t x86_replay_range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *values, uint64_t now, struct wait *w);
int x86_replay_happens(struct x86_thread *t, const struct peet_block *block, uint32_t ref, const uint64_t *values);
/** x86_replay_stored() - of the store that came last, the rest.  Returns: whether it is in the store queue already */
int x86_replay_stored(struct x86_replay *r, uint64_t data, uint64_t registers, uint64_t written);
/** x86_replay_charge() - the list of answers hears what is charged */
void x86_replay_charge(struct x86_replay *r, uint32_t place, enum x86_category category, uint64_t cycles);

/** x86_state_write() - the state of a thread and its core, relative to its last dispatch.  Returns: bytes, a multiple
 * of 8; 0: it is not one that can be kept */
uint32_t x86_state_write(struct x86_thread *t, uint64_t out[X86_STATE_BYTES / 8]);
/** x86_state_read() - the thread's core is put into a state; its dispatch and frontier are right already */
void x86_state_read(struct x86_thread *t, const uint64_t *state);

#endif
