/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: inside the cores.  digest.c turns each block into an array of records when it first comes; core.c goes through
 * them once, in program order, and gives each instruction its times: dispatch, issue, completion, retirement.  There is
 * no clock that ticks: what an instruction needs (a slot to be dispatched, room in the window and the queues, its
 * operands, units) is known as a time, and the latest of them counts.
 *
 * A thread's front end runs ahead of its *frontier*, the time at which its last instruction has retired, by as much as
 * window and queues allow; its hardware context's clock is the frontier.  So the work of one block overlaps with that
 * of the next.
 *
 * The outcome of a branch is known when the next block of the context comes: until then it is kept in struct
 * x86_branch.
 */
#ifndef PEET_X86_CORE_H
#define PEET_X86_CORE_H

#include "config.h"
#include "memory.h"
#include "sampling.h"
#include "stack.h"
#include "units.h"

#include "../common/branch.h"

/** The front end gives micro-ops in parts: as many as can be divided among 1 to 8 threads. */
enum { X86_PARTS = 840, X86_TAKEN_MOST = 7 };

enum {
    X86_REGISTERS = 64,
    X86_BUFFERS = 12,
    X86_BUFFER_CYCLES = 4096,
    X86_STORE_GRANULES = 16, /* on the average of as many stores as are kept */
    X86_PAIRS = 1024,
    X86_STORE_BUCKETS = 1024
};

/** Below this address lie the blocks that stand for library calls. */
#define X86_SYNTHETIC_PC 0x10000

enum x86_op_kind {
    OP_PLAIN, /* registers only */
    OP_LOAD,
    OP_STORE,
    OP_MODIFY, /* one unconditional reference */
    OP_MEMORY, /* any references: several, ranges, conditional ones */
    OP_LOCKED,
    OP_FENCE,
    OP_LOAD_FENCE,
    OP_STORE_FENCE,
    OP_SERIALIZE,
    OP_PAUSE
};
enum x86_op_branch {
    BRANCH_NONE,
    BRANCH_COND,
    BRANCH_DIRECT,
    BRANCH_JUMP_INDIRECT,
    BRANCH_CALL,
    BRANCH_CALL_INDIRECT,
    BRANCH_RETURN
};
enum x86_op_flags {
    OP_REP = 1,
    OP_NOTHING = 2 /* renamed away */,
    OP_FIRST = 4,
    OP_LAST = 8 /* of its dispatch group */,
    OP_SHORT_USES = 16 /* its units are taken for the cycle of issue */,
    OP_DATA_ONLY = 32 /* operands: data that must be there at issue, three at most */,
    OP_ADDRESSES_ONLY = 64 /* ... addresses, two at most */,
    OP_ONE_USE = 128 /* of one unit, for the cycle of issue */
};

/** How an instruction gets its units, out of order. */
enum x86_op_issue {
    ISSUE_AT_ONCE, /* it takes none */
    ISSUE_FUSED, /* it takes none, being one with what is before it; but what the calendar knew of its cycle is forgotten if that is an older one */
    ISSUE_BOUND, /* one, for the cycle of issue, which it has been bound to: x86_cpu.bound */
    ISSUE_ONE,   /* one, for the cycle of issue */
    ISSUE_SHORT, /* several, for the cycle of issue */
    ISSUE_ALL,   /* as they come */
    ISSUE_TURN   /* some are chosen at dispatch, in turn */
};

/** Lines that fetch goes through before an instruction, if each ends a cycle of fetch. */
enum x86_op_lines {
    LINE_NEXT = 1, /* it ends in another line than the instruction before it */
    LINE_ENTRY = 2 /* the first of a block: it ends in another line than it begins in */
};

/*
 * Registers beyond those of the processor: one that is always ready and one that nobody reads.  So every record has the
 * same number of operands, and going through them takes no branches that depend on the program.
 */
enum { X86_READY = 62, X86_SINK = 63 };
enum { X86_ADDRESSES = 2, X86_DATA = 3, X86_WRITES = 2 };

/** One instruction, digested. */
struct x86_op {
    uint16_t uops;
    uint16_t latency; /* of the slowest result, without the load if it loads */
    uint8_t kind, branch, flags, length_bytes;
    uint8_t nuses, nbuffers;
    uint8_t load_extra; /* latency of this load beyond that of a simple one: vectors */
    uint8_t nmore;      /* operands beyond these, in x86.more */
    uint8_t addresses[X86_ADDRESSES], data[X86_DATA], writes[X86_WRITES];
    int8_t advances[X86_DATA];     /* so much later than issue */
    int16_t latencies[X86_WRITES]; /* like `latency`; below 0: -1 - cycles after issue, whatever the load takes */
    uint8_t buffers[4];
    uint8_t early;       /* its results are there so much before it issues: made where addresses are */
    uint8_t turns;       /* some unit of it is chosen at dispatch, in turn */
    uint8_t issue;       /* enum x86_op_issue */
    uint8_t renames;     /* memory renaming may take what it stores from its register */
    uint8_t queued;      /* it waits in a scheduler of one of its units, ... */
    uint8_t queued_use;  /* ... because of this one of its uses, ... */
    uint8_t queued_turn; /* ... of which the unit is chosen in turn */
    uint8_t lines;       /* enum x86_op_lines */
    uint16_t schedulers; /* ... in one of these: x86.schedulers */
    uint32_t first_use;  /* in x86.uses */
    uint32_t place;
    uint32_t more;
    uint32_t first_ref;
    uint16_t nrefs;
    uint16_t span; /* cycles from issue to when it has left all units and queues; 0: it takes none */
};

/** An operand of an instruction with many. */
struct x86_operand {
    uint8_t reg, written;
    int16_t cycles; /* advance or latency, as above */
};

/** A reference, digested. */
struct x86_code_ref {
    uint64_t pc;
    uint16_t value, size_bytes;
    uint8_t renames; /* an integer register has it, whole: memory renaming may serve it */
    uint8_t plain;   /* 1 + X86_LOAD or X86_STORE: it always happens, and is one location; else 0 */
};

/** One block, digested. */
struct x86_code {
    const struct peet_block *block; /* NULL: not met yet */
    struct x86_op *ops;
    uint32_t nops;
    uint32_t replayable;            /* see core_replay.h: no branch but its last instruction, not too many references */
    uint64_t first_line, last_line; /* of its code */
    struct x86_code_ref *refs;
    uint64_t branch_pc;               /* of its last instruction, if that is a branch */
    uint8_t ends;                     /* enum x86_op_branch of that */
    uint32_t first_place, last_place; /* of its instructions */
    uint32_t uops;                    /* of them all */
    struct x86_estimate estimate;     /* with sample_period */
};

/** Schedulers in which an instruction may wait that takes one of these units. */
struct x86_schedulers {
    uint64_t units;                   /* that have a scheduler */
    uint64_t firsts[X86_UNIT_QUEUES]; /* of each: the first of these units; they are in that order */
    uint8_t buffers[X86_UNIT_QUEUES]; /* ... and its number in x86_cpu.buffers */
    uint32_t n;
};

/** Entries that are taken at dispatch and given back at issue: a scheduler queue. */
struct x86_buffer {
    uint32_t size, used; /* used: at most so many; what was given back since `drained` is not subtracted yet */
    uint64_t drained;
    uint64_t some[X86_BUFFER_CYCLES / 64]; /* cycles in which entries are given back */
    uint16_t freed[X86_BUFFER_CYCLES];
};

/** A store between dispatch and its write. */
struct x86_store {
    uint64_t address, data_cycles /* its data are there */, written_cycles;
    uint64_t granules;        /* of all stores before it */
    uint64_t pc;              /* as in struct x86_code_ref */
    uint64_t register_cycles; /* memory renaming: its data are in their register; UINT64_MAX: not to be renamed */
    uint32_t size_bytes;
};
/** Memory renaming: the store instruction whose newest store a load has had its value from, the last times. */
struct x86_pair {
    uint64_t load_pc, store_pc;
    uint32_t again; /* so often in a row */
};
/** The newest store of an instruction. */
struct x86_newest {
    uint64_t pc, number;
};
/** Eight bytes that a store writes: the youngest is found by its bucket, older ones by `older`. */
struct x86_granule {
    uint64_t number; /* address / 8 */
    uint64_t store;  /* its number, from 1 on */
    uint64_t older;  /* number of the granule record before it in its bucket, 0: none */
};

/** A queue that is left in order: times at which each of the last entries was left. */
struct x86_queue {
    uint64_t *left;      /* by number of entry & mask */
    uint64_t n;          /* entries so far */
    uint32_t mask, size; /* size 0: no limit */
};

/** The last branch, whose outcome is still to come. */
struct x86_branch {
    const struct x86_op *op; /* NULL: none */
    const struct peet_block *block;
    uint64_t complete;
    uint64_t pc;
};

/** Why the front end was held up last. */
struct x86_front {
    uint64_t from;    /* nothing is dispatched before */
    uint8_t category; /* enum x86_category */
};

/** One hardware context. */
struct x86_thread {
    struct x86_cpu *cpu;
    unsigned hw;
    uint64_t frontier; /* the last retirement */
    uint32_t retired;  /* micro-ops in that cycle */
    uint64_t dispatch; /* cycle of the last dispatch */
    uint32_t slots;    /* taken in it */
    uint64_t base;     /* dispatch cycles since the frontier moved last */
    uint64_t starved;  /* ... and cycles without micro-ops from a front end that is narrower */
    /* parts of micro-ops that wait for dispatch, after those of decoded_cycle; below 0: of a long instruction */
    int64_t decoded;
    uint64_t decoded_cycle;
    uint32_t fetch_parts; /* come in a cycle; 0: as many as are wanted */
    uint32_t fetch_at;    /* micro-ops up to the last one in its cycle of fetch, if a taken branch ends that */
    uint8_t taken;   /* the block to come is after a branch that ends so many cycles of fetch, 0 to X86_TAKEN_MOST */
    uint8_t late;    /* ... is after a branch that was foreseen late: override_cycles */
    uint8_t ahead;   /* cycles by which the branch predictor is ahead of fetch */
    uint8_t entered; /* the next instruction is the target of a taken branch that ended a cycle of fetch */
    uint8_t unseen;  /* the last block stands for a call */
    /* front.from as a full store queue has set it: that holds up dispatch, and empties no front end */
    uint64_t queue_from;
    uint64_t barrier;        /* no younger reference begins before: a fence, a locked operation */
    uint64_t last_issue;     /* in order */
    uint64_t loads_done;     /* the latest */
    uint64_t stores_written; /* the latest */
    uint32_t writes;         /* in that cycle */
    uint64_t store_line;     /* of the last store, if it has 8 bytes at most; UINT64_MAX: none */
    uint64_t fetched[8];     /* lines that the front end has at hand */
    struct x86_front front;
    struct x86_branch last;
    uint64_t ready[X86_REGISTERS];
    struct x86_queue window, loads, stores;
    uint32_t window_limit, loads_limit, stores_limit;
    uint64_t store_count, granule_count;
    struct x86_store *store;      /* by number & stores.mask */
    struct x86_granule *granules; /* X86_STORE_GRANULES of each, by number & granule_mask */
    uint64_t granule_mask;
    struct x86_pair *pairs;    /* X86_PAIRS, by the load's pc */
    struct x86_newest *newest; /* X86_PAIRS, by pc */
    uint64_t buckets[X86_STORE_BUCKETS];
    uint64_t cycles[CPI_CATEGORIES];
    uint64_t mark[CPI_CATEGORIES]; /* ... when the present software context came on */
    uint64_t instructions, uops, forwards, forward_fails, loads_n, stores_n, mispredicts;
    uint32_t context;               /* software context; UINT32_MAX: none yet */
    uint32_t place;                 /* of the last instruction */
    uint8_t store_category;         /* enum x86_category: what served the last store that missed */
    struct x86_access store_access; /* that store */
    uint8_t gap;                    /* enum x86_category: what a jump of the clock means */
    uint64_t gap_most;              /* ... for so many cycles at most; the rest is idle */
    struct peet_sim_branch predictor;
    struct x86_replay *replay;     /* NULL: all blocks are gone through */
    struct x86_sampling *sampling; /* NULL: all of them are simulated in detail */
};

struct x86_cpu {
    struct x86 *x;
    unsigned number;
    struct x86_units units;
    struct x86_buffer buffers[X86_BUFFERS];
    uint64_t bound; /* of the instruction that is being dispatched: the units of the scheduler that it waits in */
    struct x86_buffer *bound_buffer;
    uint64_t *slot_cycles; /* several threads: which cycle slot_counts stands for */
    uint8_t *slot_counts;  /* micro-ops dispatched in it */
};

/** States of cores that are known: core_replay.h. */
struct x86_configurations {
    struct x86_configuration **buckets;
    uint64_t mask, n;
    struct x86_arena { /* memory that is given back all at once */
        struct x86_chunk {
            struct x86_chunk *next;
        } *chunks;
        char *room; /* in the newest */
        size_t room_bytes;
    } of_configurations, of_successors; /* apart, so that successors that follow one another lie side by side */
    size_t all_bytes, most_bytes;       /* with more, all is forgotten */
    struct x86_successor **successors;  /* by configuration, block and front end */
    uint64_t successor_mask, nsuccessors;
    uint64_t forgotten;      /* times that all of them were */
    struct x86_chunk *spare; /* memory for later */
    uint32_t *seen;          /* by hash, another part of the hash: states that were come to once, and not kept */
};

struct peet_direct_run;
struct x86 {
    /* far from windows of sampled timing (sampling_far.c); NULL: no block goes that way */
    struct peet_sim_ahead *ahead;
    const struct peet_env *env;
    struct x86_config config;
    struct x86_memory_config *memory_config;
    struct x86_memory *memory;              /* NULL: flat */
    const struct peet_processor *processor; /* NULL: only what the schema says */
    unsigned ncores, nthreads;              /* all hardware contexts */
    uint32_t load_cycles;                   /* an L1D hit */
    uint32_t model_load_cycles;             /* ... in the latencies of the model */
    /* a pipeline that has its loads before its operations: the latencies of the model do not hold them, ... */
    uint32_t loads_before;
    uint32_t address_lead; /* ... and addresses are wanted so much earlier than other operands */
    /* such a pipeline, but other operands of what loads come as late as the model lets them, at no cost */
    uint32_t model_operands;
    uint32_t line_bytes;
    uint32_t renaming; /* memory renaming */
    struct x86_cpu *cores;
    struct x86_thread *threads;
    struct x86_code *codes; /* by block id */
    uint32_t ncodes;
    struct x86_use *uses;
    uint32_t nuses, uses_room;
    struct x86_operand *more;
    uint32_t nmore, more_room;
    uint64_t unit_masks[64]; /* of the processor's resources */
    int8_t buffer_of[64];
    uint64_t stretches[X86_STRETCHES]; /* sets of units that uses ask for */
    uint32_t nstretches;
    uint64_t turn_units;             /* chosen in turn, whichever are free */
    uint64_t unit_groups[X86_UNITS]; /* units that any use could take instead of each */
    uint32_t nunits, nbuffers, buffer_sizes[X86_BUFFERS];
    struct {
        uint64_t units;
        uint32_t buffer;       /* in x86_cpu.buffers */
    } queues[X86_UNIT_QUEUES]; /* schedulers that belong to units */
    uint32_t nqueues;
    uint64_t queued_units;           /* of all of them */
    uint8_t scheduler_of[X86_UNITS]; /* of each of those: its buffer */
    struct x86_fitting *fitting;     /* corrections of the preset by opcode */
    struct x86_schedulers *schedulers;
    uint32_t nschedulers, schedulers_room;
    const char *unit_names[X86_UNITS];
    struct x86_stacks stacks;
    struct x86_configurations configurations;
    struct x86_prices prices; /* with sample_period */
    uint64_t (*far_iterations)(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
        const int64_t *strides, uint64_t turns); /* of struct peet_direct_table */
    struct x86_access far_access;                /* the reference that comes next, far from windows */
    uint64_t far_uops;
    uint64_t *values; /* of the turn of a loop */
    uint32_t values_room;
    uint64_t end_cycles;
};

/** x86_digest() - the records of a block.  Returns: NULL after env->fail() */
const struct x86_code *x86_digest(struct x86 *x, const struct peet_block *block);
/** x86_digest_processor() - units and queues from the model.  Returns: 0, or -1 after env->fail() */
int x86_digest_processor(struct x86 *x);
void x86_digest_fini(struct x86 *x);

/** x86_cores_init() - cores and threads, as configured.  Returns: 0, or -1 after env->fail() */
int x86_cores_init(struct x86 *x);
void x86_cores_fini(struct x86 *x);

/** x86_core_begin() - the thread's clock is `now`: what it waited for is charged, and its front end begins there */
void x86_core_begin(struct x86_thread *t, uint32_t context, uint64_t now);
/** x86_core_enter() - control comes to a block: it says where the last branch went, and its instructions are fetched */
void x86_core_enter(struct x86_thread *t, const struct x86_code *code);
/** x86_core_block() - one execution of a block; the frontier moves */
void x86_core_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values);
/** x86_core_leave() - no software context any more: the books of the last one are closed */
void x86_core_leave(struct x86_thread *t);

/** x86_core_spend() - so many cycles for something that is no instruction */
void x86_core_spend(struct x86_thread *t, enum x86_category why, uint64_t cycles);
/** x86_core_stats() - configuration in effect and counters of the cores */
void x86_core_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node);

/** x86_core_hold_front() - nothing is dispatched before this time */
static inline void x86_core_hold_front(struct x86_thread *t, uint64_t until, enum x86_category why)
{
    if (until > t->front.from)
        t->front = (struct x86_front){until, (uint8_t)why};
}

/** x86_core_restart() - nothing is in the pipeline, and the front end begins at this time */
static inline void x86_core_restart(struct x86_thread *t, uint64_t now)
{
    if (t->dispatch < now) {
        t->dispatch = now;
        t->slots = 0;
        t->fetch_at = 0;
        t->ahead = t->entered = 0;
        t->decoded = 0; /* what comes in this cycle is the first */
        t->decoded_cycle = now - 1;
    }
    t->base = t->starved = 0;
}

/** x86_core_follow() - control comes to a block, and to its end: branch predictors alone see it */
void x86_core_follow(struct x86_thread *t, const struct x86_code *code);

/** x86_core_last_branch() - a block ends with this branch */
static inline void x86_core_last_branch(struct x86_thread *t, const struct x86_op *op, const struct peet_block *block,
    uint64_t complete)
{
    t->last = (struct x86_branch){op, block, complete, block->pc + block->code_bytes - op->length_bytes};
}

/** x86_core_held() - cycles in which nothing of the block can be dispatched, because the front end is held up */
static inline uint64_t x86_core_held(const struct x86_thread *t, const struct x86_code *code)
{
    return t->front.from > t->dispatch + 1 && code->nops ? t->front.from - 1 - t->dispatch : 0;
}

/**
 * x86_core_hold() - those cycles pass, for a thread that has its core for itself
 * What nothing retires in is charged to why the front end was held up.  The choice of units begins anew, so that states
 * after mispredictions are few.
 */
static inline void x86_core_hold(struct x86_thread *t, const struct x86_code *code)
{
    if (t->front.from > t->frontier) {
        t->cycles[t->front.category] += t->front.from - t->frontier;
        t->cpu->x->stacks.places[code->first_place].cycles[t->front.category] += t->front.from - t->frontier;
        t->frontier = t->front.from;
        t->base = t->starved = 0;
        t->retired = 0;
    }
    t->front.category = CPI_BASE;
    t->dispatch = t->decoded_cycle = t->front.from - 1;
    t->decoded = 0;
    t->taken = t->late = t->ahead = t->entered = 0;
    t->fetch_at = 0;
    t->slots = 0;
    t->cpu->units.recent = 0;
    if (t->stores_written <= t->dispatch)
        t->store_category = CPI_L1;
}

/** x86_core_code() - the records of a block, digested if it comes for the first time */
static inline const struct x86_code *x86_core_code(struct x86 *x, const struct peet_block *block)
{
    if (__builtin_expect(block->id < x->ncodes && x->codes[block->id].block, 1))
        return &x->codes[block->id];
    return x86_digest(x, block);
}

#endif
