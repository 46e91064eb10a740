/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run: contexts, hardware contexts, loops, modules.  Also the engine's services for the rooms of the
 * mapper that change this state: engine, sync, consistency.  This header knows none of these rooms, and nobody outside
 * the mapper includes it.
 *
 * Read struct peet_map_context first, then struct peet_map_core (a hardware context), then struct peet_map.
 */
#ifndef PEET_MAP_H
#define PEET_MAP_H

#include "mapper.h"
#include "state/roi.h"

#define PEET_MAP_NEVER UINT64_MAX
#define PEET_MAP_BATCH 16    /* peet__map_produce(): the context's batch begins with a loop of many turns */
#define PEET_MAP_DIRECT 18   /* peet__map_produce(): blocks were taken without the machine, all is done */
#define PEET_MAP_AGAIN 17    /* peet__map_produce(): something was done; the context may have left the core */
#define PEET_MAP_ARGS 6      /* the most that a request has */
#define PEET_MAP_LISTED 1000 /* contexts that appear one by one in the statistics */

enum peet_map_state {
    PEET_MAP_WAITING, /* becomes ready at a known time */
    PEET_MAP_READY,
    PEET_MAP_RUNNING,
    PEET_MAP_BLOCKED,
    PEET_MAP_PARKED, /* a doall worker between iterations */
};

/** What a context does next; there is one such step (engine/produce.c). */
enum peet_map_step {
    PEET_STEP_STREAM, /* what its stream says */
    PEET_STEP_BEGIN,  /* deliver DOALL_START or CONTEXT_START */
    PEET_STEP_EFFECT, /* the request's cost has been paid: it takes effect */
    PEET_STEP_LOCK,   /* the next reference for a lock: lock_step */
    PEET_STEP_GRANT,  /* deliver SYNC_GRANT */
    PEET_STEP_ATOMIC, /* deliver ATOMIC, the request */
    PEET_STEP_PIECES, /* the rest of a range operation, whose data lies in pieces */
    PEET_STEP_JOIN,   /* deliver DOALL_JOIN */
};

struct peet_map_loop;
struct peet_map_sync;
struct peet_map_thread;
struct peet_map_object;
struct peet_map_heap;
struct peet_map_consistency;
struct peet_map_chooser;
struct peet_map_supposed;

/** What a context has asked for last, as long as its effect or its grant is outstanding. */
struct peet_map_request {
    uint32_t type; /* enum peet_abstract_type */
    uint32_t nargs;
    uint64_t args[PEET_MAP_ARGS];
};

/** What a context does when it does nothing but look again and again (sync/spin.c). */
struct peet_map_spin {
    uint64_t first;                       /* the access that a round begins with: a hash of place and registers */
    uint64_t round, before;               /* hash of the accesses of this round so far, and of the round before */
    uint64_t state;                       /* its stack when it began to be watched */
    uint64_t matches;                     /* rounds in a row that were equal */
    uint64_t epoch, epoch_matches;        /* the last change among those that only spin, and where it was then */
    uint64_t clock;                       /* when it last looked, + 1: a round takes time */
    uint32_t since, yielded;              /* accesses and yields since the round began; of these, yields */
    uint32_t yielding;                    /* which of them are yields, a bit each */
    uint64_t rounds[PEET_REPEATS_SLICES]; /* `round` after each of them */
    uint32_t length, yields;              /* accesses and yields of the last round; which of them are yields */
    uint32_t given;  /* events up to the one that comes, of rounds that the program does not go; 0: it goes them */
    uint8_t timed;   /* the last round took time */
    uint8_t changes; /* rounds like the last one are not given */
    uint8_t watched, dirty, stationary;
};

/** A software context, or the worker that carries iterations one after the other. */
struct peet_map_context {
    uint32_t number, source;
    enum peet_map_state state;
    unsigned last_hw;             /* UINT_MAX: none yet */
    struct peet_map_loop *loop;   /* the loop whose iteration this is, or NULL */
    struct peet_map_loop *forked; /* the loop that it waits for, or NULL */
    uint64_t iteration;
    uint8_t next_step;   /* enum peet_map_step: what it does next (engine/produce.c) */
    uint8_t lock_step;   /* PEET_STEP_LOCK: what its processor does for the lock: enum in sync/lock.c */
    uint8_t marked;      /* a marked iteration: its end is its FINISH */
    uint8_t marked_fork; /* the fork under way is of the marker form */
    uint8_t exited;      /* CONTEXT_EXIT has been delivered */
    uint8_t relocking;   /* exploring: with it the context asks for its condition's mutex again */
    uint32_t signals;    /* exploring: the context that its signal wakes, + 1; 0: who is to be woken is not said */
    uint8_t interrupted; /* before it waited: its next wait that an interrupt ends is over at once */
    uint8_t traffic;     /* that has been done for the request */
    uint8_t put_off;     /* its try for a lock is decided later: sync/backoff.c */
    uint8_t spun;        /* it found the lock taken */
    /* consistency: what stands between it and the access that it goes on with, + 128; 0: nothing */
    uint8_t ordering;
    uint32_t looks;                    /* see looked */
    uint32_t polls;                    /* requests since it came on that a context may spin with */
    uint32_t yields;                   /* that let nobody else come on */
    uint32_t spins;                    /* rounds in which it found the lock taken */
    uint32_t holding;                  /* mutexes, and rwlocks for writing, that it has locked and not unlocked */
    uint32_t tries_failed, tries_well; /* tries for a lock while it held one */
    uint32_t locks;                    /* that it holds, under the lock models */
    uint64_t node;                     /* lock model mcs: its queue node for the lock that it wants or gives back */
    struct peet_map_spin spin;
    struct peet_map_request request;
    uint64_t wait_since, wait_result;
    /* when it asked for what it waits for now: later than wait_since if a condition wait wants its mutex back */
    uint64_t asked_cycles;
    uint64_t looked;         /* the time at which it polled last, and how often then (looks) */
    uint64_t private_stores; /* exploring: to thread-local variables */
    uint64_t ordered;        /* exploring: the datum of OpenMP's runtime that it took a turn for last, or 0 */
    uint64_t range[4];       /* PEET_STEP_PIECES: operation destination source bytes of the rest */
    uint64_t relocks;        /* how often it had locked the mutex that its condition wait has given up */
    uint64_t ran_cycles;     /* on hardware contexts, until it left the last one */
    struct peet_map_context *io_prev, *io_next; /* those that wait for descriptors */
    struct peet_map_thread *thread;             /* of the subject, or NULL: an iteration of a loop */
    struct peet_map_object *waiting;            /* what it waits for, if that is an object */
    struct peet_map_heap *queue;                /* where it waits, or NULL */
    uint32_t queue_place, timer_place;          /* in heaps, from 1 on; 0: in none */
    uint64_t arrival, ready_cycles;             /* order and time of becoming ready */
    uint64_t first_cycle, instructions;
    struct peet_block_event *batch, *batch_end; /* decoded, and not delivered yet */
    struct peet_block_event *batch_loop;        /* between them, or before: no event from there up to here is a loop */
    struct peet_map_context *prev, *next;       /* the list that it is on: ready, parked or blocked */
    struct peet_map_context *own_prev, *own_next; /* affinity: ready ones of one hardware context */
};

/** When a leaf of the winner tree acts next. */
struct peet_map_due {
    uint64_t key;
    uint32_t leaf;
};

/** Iterations of a loop that are one hardware context's own and not begun. */
struct peet_map_share {
    uint64_t next, end;
    uint64_t chunk_number; /* static: the next one that is its own */
    struct peet_map_loop *loop;
    struct peet_map_share *before, *after; /* in the hardware context's list, by rank of the loops */
    uint8_t listed;
};

/** A doall between its fork and its join. */
struct peet_map_loop {
    uint64_t lo, n, next, finished, started, chunk, fn, arg;
    enum peet_schedule schedule;
    uint8_t marked;
    uint8_t nested;      /* forked inside a loop */
    uint8_t listed;      /* on map->loops: iterations that are nobody's yet */
    uint32_t base;       /* context number of iteration lo */
    uint64_t end_cycles; /* latest finish so far */
    uint64_t arrival, ready_cycles;
    struct peet_map_context *carrier;
    struct peet_map_context *parked;
    struct peet_map_share *shares; /* one per hardware context */
    struct peet_map_loop *before, *after;
};

/** A point in time at which a context or a loop becomes ready. */
struct peet_map_arrival {
    uint64_t cycles, order;
    struct peet_map_context *context; /* or */
    struct peet_map_loop *loop;
};

/** One hardware context. */
struct peet_map_core {
    uint64_t clock, stalled, idle, instructions, switches; /* busy is what is left of the clock */
    uint64_t settled;                                      /* instructions already booked to contexts */
    uint64_t not_ready;  /* not before this time, applied after the running callback */
    uint64_t dispatched; /* clock at which its context came on */
    uint64_t ran_cycles; /* with a context, those that have left it */
    uint64_t stirs;      /* comings and goings of contexts that do more than look (sync/spin.c) */
    struct peet_map_context *context;
    uint32_t last_number; /* software context that ran last */
    uint8_t ran;          /* last_number means something */
    uint8_t is_idle;      /* found nothing to do; its clock stands still */
    uint8_t ahead;        /* it may have executed blocks that begin after the present moment: ahead.c can undo them */
    uint8_t waits;        /* its run has come to what is not due yet, and which is next */
    uint8_t declined;     /* the machine takes no blocks of its now */
    uint8_t told; /* followers have been given a block since its latest abstract event, or since its context came */
    /* Its run, while it waits and the machine has not been told that it is over (engine/direct.c); NULL: none.  And the
     * clock when it began, later by as much as others have made it wait meanwhile. */
    struct peet_direct_run *open;
    uint64_t opened;
    uint64_t window_cycles; /* how far it may run ahead at once; unchanged for window_runs runs */
    uint32_t window_runs;
    uint8_t kept;          /* for a context whose wait is supposed to take no time: others come here last */
    int64_t supposed;      /* cycles that functions took more than their machine said */
    int64_t last_supposed; /* of these, its last block's */
    double part;           /* of a cycle, left from functions that take a part of their time */
    struct peet_map_context *own_head, *own_tail; /* affinity */
    struct peet_map_share *shares, *shares_tail;  /* iterations that only it may run */
};

/** An instance of a module. */
struct peet_map_module {
    struct peet_env env;
    const struct peet_module *module;
    void *self;
    struct peet_map *map;
    unsigned follower;          /* a machine that watches: its number, from 1; else 0 */
    uint64_t *clocks;           /* of a follower, for each hardware context: when it will have done what it was given */
    struct peet_follow *follow; /* of a follower that shows its tags (engine/follow.h); NULL: it gets events */
    uint8_t queued;             /* of a follower: it is told by the queue (engine/queue.c) */
    uint8_t away;               /* ... in a process of its own (engine/crew.c) */
    char *failed;               /* why it gives no results and is not called any more; NULL: it does */
    uint8_t finished;
};

/** What a follower is given begins when it has done what it was given before, not before the time @from. */
static inline uint64_t peet__map_begin(struct peet_map_module *m, unsigned hw, uint64_t from)
{
    if (m->clocks[hw] < from)
        m->clocks[hw] = from;
    return m->clocks[hw];
}

/** What the machine does at @now is told to followers.  Their clocks catch up with its own after abstract events, and when a
 * context comes, for it may have waited.  Between these they go on by themselves, however many blocks are told at once.
 * Returns: for peet__map_begin() */
static inline uint64_t peet__map_tells(struct peet_map_core *core, uint64_t now)
{
    const uint64_t from = core->told ? 0 : now;

    core->told = 1;
    return from;
}

/** How often a block was executed. */
struct peet_map_execution {
    uint64_t times;
    const struct peet_block *block;
};

struct peet_map_record {
    uint64_t first_cycle, last_cycle, instructions;
    const char *kind;
};

struct peet_map {
    struct peet_map_config config;
    const struct peet_source_ops *ops;
    void *source;

    /* hot */
    struct peet_map_core *cores;
    /* The winner tree over ncores + 1 leaves, of which leaf 0 is the arrivals: due[i] is the one of due[2 * i] and
     * due[2 * i + 1] that acts first, due[tree_leaves + leaf] the leaf itself. */
    struct peet_map_due *due;
    unsigned ncores, nleaves;
    unsigned current;  /* the hardware context that acts */
    uint8_t attention; /* keys have changed, or the run is to end: leave the fast loop */
    uint8_t ended, started;
    uint64_t now;
    struct peet_map_execution *executions; /* per block id */
    uint32_t nexecutions;
    uint32_t tree_leaves;       /* nleaves rounded up to a power of two */
    struct peet_counts varying; /* what executions times static counts do not cover */
    uint64_t nevents;

    const struct peet_direct *direct; /* of the machine, if its blocks may be taken without it; NULL: they may not */
    uint64_t until;                   /* the limit of the hardware context that acts; 0: block by block */
    uint64_t acting;                  /* its clock when it began what it does */
    uint64_t event_cycles;            /* the latest abstract event, or end of a context, was then; */
    unsigned event_hw;              /* the highest processor that had one then: lower ones have done what begins then */
    uint8_t runs_ahead, going_back; /* ahead.c */
    uint8_t gives_rounds;           /* sync/spin.c: rounds of contexts that look may come without the program */
    unsigned ngiven;                /* contexts with some */
    uint8_t settles_data;           /* somebody who looks on asks what lies at an address */
    struct peet_program *program;   /* with `direct`: whose machine code that is */
    uint64_t direct_instructions;   /* just now */

    struct peet_map_module *machine;
    const struct peet_map_module *ending; /* whose finish() or stats() is being called, or NULL */
    uint8_t ending_stats;                 /* it is stats() */
    uint64_t (*machine_block)(void *, unsigned, const struct peet_block_event *, uint64_t);
    const struct peet_map_module *picker, *judge; /* whose pick_context() and pick_winner() decide; NULL: nobody's */
    struct peet_map_module **observers, **block_observers;
    unsigned nobservers, nblock_observers, nfollowers; /* followers are among the observers */
    unsigned nshown;                                   /* of block_observers: those that the queue does not tell */
    uint8_t batched;                                   /* blocks come by the batch: 1 no, 2 yes; 0: not known yet */
    struct peet_queue *queue;                          /* what followers are to be told; NULL: there are none */

    /* ready contexts in order of arrival; loops with iterations to give to anybody, innermost first */
    struct peet_map_context *ready_head, *ready_tail;
    unsigned nready;
    uint32_t *pick_numbers;
    size_t npick;
    struct peet_map_loop *loops, *loops_tail, *free_loops;
    struct peet_map_arrival *arrivals; /* binary heap */
    size_t narrivals, arrivals_room;
    uint64_t orders;
    uint64_t *idle_bits;
    unsigned nidle;

    struct peet_map_context **contexts; /* by source number; NULL: free */
    uint32_t *free_sources;
    uint32_t nsources, nfree_sources, sources_room;
    struct peet_map_context *free_contexts, *blocked;
    uint64_t live; /* contexts not over */
    uint32_t next_number;
    struct peet_map_record *records;
    struct peet_map_totals totals;

    struct peet_map_sync *sync;
    struct peet_map_consistency *consistency; /* NULL: one memory, no exploration */
    /* Every context waits for what another has stored: all that is pending is performed.  Returns: 1 if that has
     * changed anything. NULL: stores are seen at once */
    int (*perform_pending)(struct peet_map *map);
    const struct peet_map_chooser *chooser; /* NULL: least clock first */
    int explore_end;                        /* enum peet_explore_end */
    struct peet_map_supposed *supposed;     /* NULL: all is as it is */
    struct peet_map_roi roi;

    uint8_t frequency_given;          /* by the user: the machine's own does not count */
    uint8_t asked_data;               /* the machine has asked for data structures */
    struct peet_memory_level *levels; /* that the machine has described */
    size_t nlevels;
    struct peet_costs *costs;      /* NULL: nobody has asked for a processor */
    struct peet_error costs_error; /* of the last processor() */

    /* pull form */
    uint8_t pulling;
    struct peet_map_core *pulled; /* its abstract event waits for its cost */
    struct peet_event pulled_event;
    uint64_t pulled_clock;

    uint64_t args[8]; /* of the abstract event under way */
    uint8_t livelock; /* what ended the run: contexts that spin count as blocked */
    uint8_t inexact;  /* ranges went by whose counts nobody asked the decoder for */
    int exit_status;
    uint32_t exit_source; /* who has ended the program; UINT32_MAX: nobody */
    int exiting;          /* in the middle of a run: the program has ended, and others may have more to do */
    uint64_t end_cycles;
    struct peet_error error; /* the first thing that went wrong */
};

/* ---- map.c */
/** The key of a leaf has changed: leaf 0 is the arrivals, leaf i + 1 hardware context i. */
void peet__map_rekey(struct peet_map *map, unsigned leaf, uint64_t key);
/** Record the first error and make the engine stop.  Returns: @code */
int peet__map_fail(struct peet_map *map, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int peet__map_context_new(struct peet_map *map, struct peet_map_context **out_context);
/** Its source number is free again; the source has been told by the caller. */
void peet__map_context_free(struct peet_map *map, struct peet_map_context *context);
/** Book the instructions executed since the last settling to the core's context. */
void peet__map_settle(struct peet_map_core *core);
/** Keep what the statistics say about a context (or iteration) that is over. */
void peet__map_record(struct peet_map *map, const struct peet_map_context *context, const char *kind, uint64_t cycles);
/** A context comes onto a core at the core's clock. */
void peet__map_dispatch(struct peet_map *map, unsigned hw, struct peet_map_context *context);
/** The core's context leaves it; the core looks for work at its clock. */
void peet__map_release(struct peet_map_core *core);
/** An idle core will look for work at this time. */
void peet__map_wake(struct peet_map *map, unsigned hw, uint64_t cycles);
void peet__map_set_idle(struct peet_map *map, unsigned hw);

/**
 * peet__map_produce() - the next event of a core's context, as modules shall see it
 * Returns: enum peet_event_kind, 0: the context is over, PEET_MAP_BATCH, PEET_MAP_DIRECT (blocks were taken, all is
 * done), PEET_MAP_AGAIN, or a peet_err (recorded in map->error)
 */
int peet__map_produce(struct peet_map *map, struct peet_map_core *core, struct peet_event *out_event);
/** The form of each abstract event: its name, its arguments' names, and how many it has at least (produce.c). */
extern const struct peet_map_form {
    const char *text, *args;
    uint32_t nargs;
} peet__map_forms[PEET_ABSTRACT_TYPES];
/** A loop that leaves its schedule to the run gets the run's, and if it names no chunk (0) the run's chunk as well. */
void peet__map_resolve_schedule(const struct peet_map *map, uint64_t *schedule, uint64_t *chunk);
/** An abstract event of the core's context has been charged: it takes effect, now or when the core acts next.
 *  @before: the clock before */
void peet__map_take_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event,
    uint64_t before);
/** What an abstract event does, once its cost has been charged. */
void peet__map_effect(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event);
/** Count a block and show it to the observers; its cost is not this function's business. */
void peet__map_observe_block(struct peet_map *map, unsigned hw, const struct peet_block_event *event, uint64_t now);
void peet__map_observe_abstract(struct peet_map *map, unsigned hw, const struct peet_abstract_event *event);
/** An event that is not a plain block of the source. */
void peet__map_perform(struct peet_map *map, unsigned hw, struct peet_map_core *core, struct peet_event *event);
/** The core's context has ended. */
void peet__map_over(struct peet_map *map, struct peet_map_core *core);
/** Round robin: should the core's context make room?  If so, it does. */
int peet__map_preempt(struct peet_map *map, unsigned hw);
/** The other policies: the core's context has run for slice_cycles. Should it make room?  If so, it does. */
int peet__map_slice_over(struct peet_map *map, struct peet_map_core *core);
/** Nothing can act any more: the end, or a deadlock. */
void peet__map_stuck(struct peet_map *map);
/** middle.c.  peet__middle_start() - the contexts that are there when the run begins.  Returns: 0 or a peet_err (recorded) */
int peet__middle_start(struct peet_map *map);
/** peet__middle_again() - AGAIN of the core's context.  Returns: PEET_MAP_AGAIN or a peet_err (recorded) */
int peet__middle_again(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event);
/** peet__middle_shift() - a request's deadline becomes one of the run's clock */
void peet__middle_shift(const struct peet_map *map, uint32_t type, uint64_t *args, uint32_t nargs);
/** peet__middle_force() - nobody can go on: one of those that could not be let go by anybody does.  Returns: whether
 * there was one */
int peet__middle_force(struct peet_map *map);

/**
 * What a machine says that an operation took is believed if it is less than 2^PEET_MAP_LONG_LOG2 cycles, two years at 1
 * GHz, and no clock comes to PEET_MAP_TIME_END, 146 years: beyond are negative numbers, garbage and sums that overflow.
 */
#define PEET_MAP_LONG_LOG2 56
#define PEET_MAP_TIME_END (1ull << 62)

/** Does the check need more than a look?  Clocks beyond two years are possible: programs may sleep. */
static inline int peet__map_long(uint64_t clock, uint64_t cycles)
{
    return __builtin_expect((clock | cycles) >> PEET_MAP_LONG_LOG2 != 0, 0);
}
/** A module has said or done what it must not: peet__map_fail(), and its results are not asked for. */
void peet__map_module_fail(struct peet_map_module *module, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** peet__map_take_time() - if peet__map_long(): the machine or a follower has said so of a hardware context.  Returns:
 * @cycles, or 0 after peet__map_fail(), which names module, operation and value */
uint64_t peet__map_take_time(struct peet_map_module *module, unsigned hw, uint64_t clock, uint64_t cycles,
    const char *operation);

/** A follower took so long, beside what it has said by not_ready_until() meanwhile. */
static inline void peet__map_done(struct peet_map_module *m, unsigned hw, uint64_t begin, uint64_t cycles,
    const char *operation)
{
    if (!m->follower)
        return;
    if (peet__map_long(begin, cycles))
        cycles = peet__map_take_time(m, hw, begin, cycles, operation);
    if (begin + cycles > m->clocks[hw])
        m->clocks[hw] = begin + cycles;
}
/** A follower takes all that it is given, as one says it. */
static inline void peet__map_took(struct peet_map_module *m, uint64_t took, uint64_t all, const char *operation,
    const char *what)
{
    if (m->follower && took != all)
        peet__map_module_fail(m, "%s() took %llu of %llu %s", operation, (unsigned long long)took,
            (unsigned long long)all, what);
}

/** When a leaf of the winner tree acts next. */
static inline uint64_t peet__map_key(const struct peet_map *map, uint32_t leaf)
{
    return map->due[map->tree_leaves + leaf].key;
}

/** Time passes on a core: @cycles busy, as @operation of the machine has it, then whatever not_ready_until() asked for.
 */
static inline void peet__map_charge(struct peet_map *map, struct peet_map_core *core, uint64_t cycles,
    const char *operation)
{
    if (peet__map_long(core->clock, cycles))
        cycles = peet__map_take_time(map->machine, (unsigned)(core - map->cores), core->clock, cycles, operation);
    core->clock += cycles;
    if (core->not_ready > core->clock) {
        core->stalled += core->not_ready - core->clock;
        core->clock = core->not_ready;
    }
}

/* ---- batch.c */
/** A block of the core's context: machine, observers, counts, time. */
void peet__map_run_block(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    const struct peet_block_event *event);
/**
 * peet__map_run_batch() - decoded blocks of the core's context, at least one, up to a time
 * The clock is in a register meanwhile: a machine sees it in core->clock and may ask for core->not_ready.
 * Returns: how many
 */
size_t peet__map_run_batch(struct peet_map *map, unsigned hw, struct peet_map_core *core, uint64_t limit);
/** A block was executed so often; its instructions are counted elsewhere. */
void peet__map_count_times(struct peet_map *map, const struct peet_block *block, uint64_t times);
void peet__map_count_block(struct peet_map *map, struct peet_map_core *core, const struct peet_block *block,
    uint64_t times);

/* ---- direct.c */
/** Blocks that the machine leaves to peet.  Returns: PEET_MAP_DIRECT if there were some, PEET_EVENT_ABSTRACT if an event
 * comes before the next one, PEET_MAP_AGAIN if others may be due first now, or 0 */
int peet__map_run_direct(struct peet_map *map, struct peet_map_core *core);
/** The machine takes blocks of the core's context, as far as @run goes; they are counted, and time passes.  Returns:
 * whether there were some */
int peet__map_take_direct(struct peet_map *map, struct peet_map_core *core, struct peet_direct_run *run);
/** The machine is told that the core's run, if it is open, is over; so all sums are right. */
void peet__map_close_direct(struct peet_map *map, struct peet_map_core *core);
/** Machine code was left because its next block's turn was to come, and it has.  Returns: whether it has gone on */
int peet__map_goes_on(struct peet_map *map, struct peet_map_core *core);
/** All that have been taken are counted, and the machine knows. */
void peet__map_settle_direct(struct peet_map *map);

/* ---- ahead.c */
/** May hardware contexts run ahead of each other? */
void peet__map_ahead_init(struct peet_map *map, struct peet_program *program);
/** A core begins to run ahead.  Returns: no block begins at this time or later */
uint64_t peet__map_window(struct peet_map *map, struct peet_map_core *core);
/** Rolls a hardware context back, so that it has executed exactly what begins before @until.  Returns: whether anything was
 * undone */
int peet__map_go_back(struct peet_map *map, unsigned hw, uint64_t until);
/** What hardware contexts have done after the present moment is undone, for all of them are looked at. */
void peet__map_settle_ahead(struct peet_map *map);
/** What lies at an address changes: with observers that ask, no other hardware context is ahead of that. */
void peet__map_changes_data(struct peet_map *map);

/* ---- suppose.c */
int peet__suppose_new(struct peet_map *map, struct peet_error *error);
void peet__suppose_free(struct peet_map *map);
/** A core has executed this block since it was at @before, with @stalled: it has taken what is supposed. */
void peet__suppose_scale(struct peet_map *map, struct peet_map_core *core, const struct peet_block *block,
    uint64_t before, uint64_t stalled);
/** The core's context begins to wait for @o. */
void peet__suppose_wait(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o);
/** When a wait that ends at @cycles is over for who waits.  @o: what it waited for, or NULL */
uint64_t peet__suppose_grant(struct peet_map *map, const struct peet_map_context *c, struct peet_map_object *o,
    uint64_t cycles);
/** The core's context has come to something that others have left at @left_cycles, which is later than its clock,
 * although they acted before. Returns: 1: it waits, and is to be granted what it wants at that time */
int peet__suppose_after(struct peet_map *map, struct peet_map_core *core, struct peet_map_object *o,
    uint64_t left_cycles);

/* ---- loops.c */
/** Turns of a loop, at least one, up to a time; the event keeps what is left.  Returns: turns left */
uint64_t peet__map_run_loop(struct peet_map *map, unsigned hw, struct peet_map_core *core,
    struct peet_block_event *event, uint64_t limit);

/* ---- queue.c */
int peet__map_queue_new(struct peet_map *map);
void peet__map_queue_free(struct peet_map *map);
/** Blocks and loops that the machine has executed are for the followers.  @batch: by blocks(), not by block() */
void peet__map_queue_blocks(struct peet_map *map, unsigned hw, const struct peet_block_event *events, size_t n,
    uint64_t now, int batch);
void peet__map_queue_loop(struct peet_map *map, unsigned hw, const struct peet_block_event *event, uint64_t now);
/** Followers get all that is in the queue. */
void peet__map_tell_followers(struct peet_map *map);
/** The same, and their sums are right then. */
void peet__map_settle_followers(struct peet_map *map);
/** The program has ended: those that are away do what peet__map_module_finish() does for others. */
void peet__map_finish_followers(struct peet_map *map);

/* ---- map.c, mapstats.c */
/** The module's finish(), once. */
void peet__map_module_finish(struct peet_map_module *m);
/** What the module says of itself, under its name. */
int peet__map_module_json(struct peet_map *map, struct peet_map_module *m, json_t *root);

/* ---- deliver.c */
/** @is_machine: it is the machine, or follows it, and is what that machine would have been; @follower: its number, from
 * 1, if it follows */
int peet__map_module_new(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    int is_machine, unsigned follower, struct peet_map_module **out_module, struct peet_error *error);
void peet__map_module_free(struct peet_map_module *module);
/** When the run ends for a module: for a follower, when it has also done what it was given. */
uint64_t peet__map_end_of(const struct peet_map *map, const struct peet_map_module *m);

/* ---- memory_report.c */
/** The services for memory reports, of the machine and of observers. */
void peet__map_reports(struct peet_map *map, struct peet_env *env);

/* ---- data_services.c */
/** The services for data structures, of a module. */
void peet__map_data_services(struct peet_map *map, struct peet_env *env);
/** ALLOC or FREE is about to be delivered: a new block is known from now on.  Modules see the arguments of its type
 * alone. */
void peet__map_data_begin(struct peet_map *map, struct peet_abstract_event *event);
/** FREE has been delivered. */
void peet__map_data_end(struct peet_map *map);
/** Blocks of the source, rewritten for another layout (config.remap is there). */
void peet__map_remap(struct peet_map *map, struct peet_block_event *events, unsigned n);
/** The next piece of a range operation in another layout: args become its own, the context keeps the rest. */
void peet__map_remap_range(struct peet_map *map, struct peet_map_context *context, uint64_t args[4]);

/* ---- hot.c */
/** The functions and lines that executed most instructions.  NULL: no memory */
json_t *peet__hot_json(const struct peet_map *map);

/* ---- processors.c */
/** The services for costs of instructions. */
void peet__map_costs(struct peet_env *env);

/* ---- pull.c */
int peet__map_pull(const struct peet_env *env, unsigned hw, struct peet_pull *out_event);
void peet__map_pull_charge(const struct peet_env *env, unsigned hw, uint64_t cycles);
uint64_t peet__map_clock(const struct peet_env *env, unsigned hw);

/* ---- policy.c */
/** A context or a loop becomes ready at this time. */
void peet__map_arrive(struct peet_map *map, struct peet_map_context *context, struct peet_map_loop *loop,
    uint64_t cycles);
/** The next time at which something becomes ready by itself. */
uint64_t peet__map_next_arrival(const struct peet_map *map);
/** Let in all that is ready by map->now, and wake idle cores for it. */
void peet__map_arrivals(struct peet_map *map);
/** Find work for a core at its clock.  Returns: 1 found (and dispatched), 0 none, or a peet_err */
int peet__map_pick(struct peet_map *map, unsigned hw);
/** Would the core find work other than what it has? */
int peet__map_others_wait(struct peet_map *map, unsigned hw);

/* ---- doall.c */
/** A doall begins at the core's clock; its carrier leaves the core.  args: lo hi schedule chunk fn arg */
void peet__map_fork(struct peet_map *map, struct peet_map_core *core, const uint64_t *args);
/** A loop has arrived: its iterations can be had. */
void peet__map_offer(struct peet_map *map, struct peet_map_loop *loop);
/** The first loop with an iteration for this core, or NULL. */
struct peet_map_loop *peet__map_loop_for(struct peet_map *map, unsigned hw);
/** Begin the next iteration of a loop on a core.  Returns: 1 begun, 0 (marked loops) it does not exist, or a peet_err
 */
int peet__map_iterate(struct peet_map *map, struct peet_map_loop *loop, unsigned hw);
/** The iteration on the core is over, at the core's clock. */
void peet__map_finish(struct peet_map *map, struct peet_map_core *core);
void peet__map_loop_free(struct peet_map *map, struct peet_map_loop *loop);

#endif
