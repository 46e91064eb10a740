/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution stream mapper: N software contexts on n hardware contexts, least clock first.  It
 * draws events from a *source* (the live subject, or an array in a test), hands them to the machine
 * and the observers, and performs abstract events when they are delivered.
 *
 * TIME.  A hardware context's clock advances by what the machine returns for an event (busy), by
 * not_ready_until() and the cost of a switch (stalled), and by waiting for work (idle); at the end the
 * three add up to the end time on each.  The hardware context with the least clock acts next, ties by
 * index.  The effect of an abstract event takes place when its cost has been paid.
 *
 * ORDER OF WORK.  A free hardware context takes the software context that has been ready longest
 * (policy affinity: the one that ran on it last first, unless another one has waited for
 * spin_quantum_cycles; a context that yields or gives way belongs to no hardware context), then iterations of loops, innermost loop first.  Contexts inside a
 * loop always go before new iterations, so that nested loops do not pile up stacks; other contexts and
 * loops go by the time at which they became ready.
 *
 * LOOPS.  To modules both forms of doall look the same: DOALL_FORK by the carrier, DOALL_START and
 * DOALL_FINISH by each iteration, a software context of its own whose number is the loop's base plus
 * its place in the loop; DOALL_JOIN by the carrier when the last iteration is done.
 *
 * SYNCHRONISATION.  Requests (module.h) take effect in the order of the clocks of their hardware contexts, ties by
 * index.  A context that must wait leaves its hardware context; when its wait is over it becomes ready, and
 * SYNC_GRANT is the first thing that it does.  At equal times deadlines come first, then what becomes ready, then
 * hardware contexts.  A context that only polls or spins gives way after spin_quantum_cycles under each policy, any
 * other one after slice_cycles, since what it looks at may need somebody else.  When no context can go on, or every one
 * only spins, the run ends with PEET_EDEADLOCK.
 */
#ifndef PEET_MAPPER_H
#define PEET_MAPPER_H

#include "decode/decode.h"
#include <peet/counting.h>
#include <peet/error.h>
#include <peet/module.h>
#include <jansson.h>

/** What a new thread wants of its context. */
struct peet_source_thread {
    uint64_t fn, arg;
    uint64_t stack_address, stack_bytes; /* 0: the runtime's choice */
    uint32_t creator;                    /* the source's number of the context that makes it */
};

enum { PEET_REPEATS_NEVER = INT32_MAX, PEET_REPEATS_SLICES = 8 };

/**
 * Where the events of software contexts come from.  `context` is the source's own small number, given
 * out by the mapper and used again after retire(); 0 is the main context and exists from the start.
 */
struct peet_source_ops {
    /** next() - next event of a context, running it if need be.
     *  Returns: enum peet_event_kind > 0, or 0 = the context is done, or a peet_err */
    int (*next)(void *self, uint32_t context, struct peet_event *out_event, struct peet_error *error);
    /** result() - the value that the context's pending abstract event returns */
    void (*result)(void *self, uint32_t context, uint64_t value);
    /** spawn() - a new context that calls fn(a, b).  Starts when next() is first called on it. */
    int (*spawn)(void *self, uint32_t context, uint64_t fn, uint64_t a, uint64_t b, struct peet_error *error);
    /** marked() - a context whose events are those of one marked iteration of `carrier` (marker form
     *  of doall): the source runs the carrier as far as needed and keeps the words per iteration.
     *  Returns: 0, PEET_ENOTFOUND if the loop ended without that iteration, or another peet_err */
    int (*marked)(void *self, uint32_t context, uint32_t carrier, uint64_t iteration, struct peet_error *error);
    /** retire() - a context is over */
    void (*retire)(void *self, uint32_t context);
    /** spawn_iterations() - a new context that runs iterations of `carrier`'s doall: it calls the loop body's
     *  trampoline with (fn, arg); NULL: spawn() is called with the body itself */
    int (*spawn_iterations)(void *self, uint32_t context, uint32_t carrier, uint64_t fn, uint64_t arg,
        struct peet_error *error);
    /** blocks() - next blocks of a context, up to so many, as can be had before anything else; may be NULL.
     *  They are the mapper's to number and live until the next call for this context.
     *  Returns: how many, 0: next() must be asked */
    unsigned (*blocks)(void *self, uint32_t context, unsigned most, struct peet_block_event **out_events);
    /** spawn_thread() - a thread that calls fn(arg, 0) on a stack of its own, or on the one given; NULL: spawn()
     *  Returns: 0, PEET_ENOTFOUND: a piece of a trace begins with it already, or another peet_err */
    int (*spawn_thread)(void *self, uint32_t context, const struct peet_source_thread *thread,
        struct peet_error *error);
    /** synthetic() - a block of enum peet_synthetic (decode.h); may be NULL: lock models then make no traffic */
    const struct peet_block *(*synthetic)(void *self, unsigned what);
    /** state() - a hash of what a suspended context has on its stack; may be NULL */
    uint64_t (*state)(void *self, uint32_t context);
    /** io_ready() - poll a descriptor for these poll(2) events.  @wait_ns: how long to block the whole process at
     *  most, 0: just look, < 0: until something happens.  Returns: the events that are ready, or 0; may be NULL */
    unsigned (*io_ready)(void *self, int descriptor, unsigned events, int64_t wait_ns);
    /** io_wait() - the same for several: @events[i] becomes what is ready of it.  Returns: how many are ready, or
     *  -1 if a signal for the subject came in between; may be NULL */
    int (*io_wait)(void *self, unsigned n, const int *descriptors, unsigned *events, int64_t wait_ns);
    /** outside() - can somebody outside, a child process, still wake a context by a signal or change its memory?  May
     * be NULL */
    int (*outside)(void *self);
    /** block_of_turn() - the block that begins with the access (or fence) before which a context waits; may be NULL */
    const struct peet_block *(*block_of_turn)(void *self, uint64_t runtime_pc);
    /** words() - makes sure that there are words to decode, and lets the context run if there are none; may be NULL, as
     * the next two.  Returns: 0 if there are none, or enum peet_decode_ahead (decode.h) */
    int (*words)(void *self, uint32_t context);
    /** dry() - must the program run for the context's next event?  May be NULL: only round robin preempts then */
    int (*dry)(void *self, uint32_t context);
    /** direct() - executes blocks in machine code (direct.h) from the context's words.  Returns: 1 if there were some,
     * else 0 */
    int (*direct)(void *self, uint32_t context, struct peet_direct_run *run, peet_decode_sink *sink,
        peet_decode_shown *shown, void *arg);
    /** undo() - rolls the context back to the checkpoint of its last run of direct() (peet_decode_undo()) */
    void (*undo)(void *self, uint32_t context, peet_decode_undone *fn, void *arg);
    /** executed() - calls @fn for each block that machine code has executed since the last call */
    void (*executed)(void *self, peet_program_executed *fn, void *arg);
    /** begin() - the @index-th context of the middle at which the run begins is this one; not NULL if there is a middle
     */
    int (*begin)(void *self, uint32_t context, size_t index, struct peet_error *error);
    /** goes_on() - when the context went on then, or UINT64_MAX if nothing more is known of it; as begin() */
    uint64_t (*goes_on)(void *self, uint32_t context);
    /**
     * repeat() - the context, which has no words left, waits at the ATOMIC event with which its rounds begin; these have had
     * @slices ATOMIC and YIELD events each.  Gives its words for @times more rounds, as they are while the memory that it
     * looks at stays as it is; if that changes, peet_map_looks_again() is called.  May be NULL
     * @slices: up to PEET_REPEATS_SLICES
     * Returns: up to how many such events that goes, of which only the last one comes; 0: it must run;
     * PEET_REPEATS_NEVER: and there is no use in asking for rounds like these
     */
    unsigned (*repeat)(void *self, uint32_t context, unsigned slices, unsigned times);
    /** cut() - no more of this than what has begun.  Returns: up to how many such events that goes, of which the last one
     * comes; 0: nothing has begun, and it must run */
    unsigned (*cut)(void *self, uint32_t context);
    /** function_of_pc() - for modules; may be NULL */
    const struct peet_function *(*function_of_pc)(void *self, uint64_t runtime_pc);
};

enum peet_policy { PEET_POLICY_FCFS, PEET_POLICY_RR, PEET_POLICY_AFFINITY };
enum peet_schedule { PEET_SCHEDULE_STATIC, PEET_SCHEDULE_DYNAMIC, PEET_SCHEDULE_GUIDED, PEET_SCHEDULE_DEFAULT };

/** Who gets a synchronisation object, unless the machine has a pick_winner(). */
enum peet_winner { PEET_WINNER_FCFS, PEET_WINNER_LIFO, PEET_WINNER_RANDOM };
/** What locking and unlocking a mutex does to the machine's memory. */
enum peet_lock_model { PEET_LOCK_NONE, PEET_LOCK_TAS, PEET_LOCK_TTAS, PEET_LOCK_TICKET, PEET_LOCK_MCS };

struct peet_datamap;
struct peet_remap;

/** A function that takes `factor` of its time. */
struct peet_map_scaled {
    const char *function;
    double factor;
};

/** A context that is there when a replay begins in the middle of the recorded run. */
struct peet_map_begun {
    uint32_t number;
    uint8_t detached;
    uint8_t over;          /* a thread that has ended and may still be joined: nothing runs */
    uint64_t ready_cycles; /* when it goes on */
    const uint64_t *held;  /* what it has got before: requests, each {type, number of arguments, arguments...} */
    size_t nheld;          /* words; well formed */
};

/** The middle of a run; deadlines of requests are later by shift_cycles than the run's clock. */
struct peet_map_middle {
    const struct peet_map_begun *contexts; /* those that are not over first; one at least is not */
    size_t n;
    uint32_t next_number; /* of contexts that are made from now on */
    uint64_t shift_cycles;
};

struct peet_map_config {
    uint32_t cores;
    enum peet_policy policy;
    uint64_t quantum_cycles;     /* round robin: a context is preempted after so long if others wait */
    uint64_t slice_cycles;       /* the other policies: ... when its words are used up; 0: never */
    uint64_t switch_cycles;      /* cost of running another software context than before */
    enum peet_schedule schedule; /* of loops with PEET_SCHEDULE_DEFAULT */
    uint64_t chunk;              /* of those, unless they say one; 0: the schedule's own */
    uint64_t seed;
    enum peet_winner winner;
    enum peet_lock_model lock_model;
    uint64_t spin_quantum_cycles; /* a spinning context is preempted after so long if others wait; 0: 10000 */
    uint64_t poll_cycles;         /* between two looks at the descriptors that contexts wait for; 0: 10000 */
    uint64_t syscall_cycles;      /* cost of a system call, */
    double io_cycles_per_byte;    /* ... and of each byte that it moves */
    uint64_t frequency_hz;        /* of the simulated clock; 0: 1e9 */
    /** report() - the subject did something that it must not; may be NULL.  @source: the context's number in the source
     */
    void (*report)(void *arg, uint32_t source, const char *text);
    /** note() - a module says something to the user; may be NULL */
    void (*note)(const char *text);
    /** name_of() - what the subject calls an address, "table+8".  Returns: 1, or 0 if it has no name; may be NULL */
    int (*name_of)(void *arg, uint64_t address, char *out_name, size_t bytes);
    void *report_arg;
    uint8_t roi_only;                     /* modules see blocks inside regions of interest only */
    uint8_t memory_reports;               /* an observer will want to hear of the machine's memory system, */
    uint8_t memory_fills;                 /* and all who do know PEET_MEMORY_FILL, */
    uint8_t memory_no_losses;             /* or do not care which lines leave the caches */
    const struct peet_map_middle *middle; /* where the run begins; borrowed; NULL: at its beginning, with one context */
    uint8_t replayed;          /* the source has no memory of the subject's: nothing is to be written there */
    struct peet_datamap *data; /* the subject's data structures (datamap.h); NULL: nobody asks for them */
    uint8_t perfect;           /* some of them shall have single-cycle memory */
    struct peet_remap *remap;  /* another layout of them (remap.h), or NULL */
    const char *output_dir;    /* borrowed; may be NULL */
    const char *costs_path;    /* table of instruction costs; borrowed; NULL: the one that came with this peet */
    uint64_t *progress;        /* {cycles, instructions, events, live contexts}, or NULL */
    /* What is supposed (engine/suppose.c); borrowed. */
    const char *const *free; /* nfree locks and barriers for which waits take no time: names, "locks", "barriers" */
    size_t nfree;
    const struct peet_map_scaled *scaled;
    size_t nscaled;
};

struct peet_map;

/** peet_map_new() - @config is copied, @ops and @source are borrowed */
int peet_map_new(const struct peet_map_config *config, const struct peet_source_ops *ops, void *source,
    struct peet_map **out_map, struct peet_error *error);
void peet_map_free(struct peet_map *map);

/**
 * peet_map_set_machine(), peet_map_add_observer() - create an instance of a module
 * The machine comes first: it says how many hardware contexts there are.
 * @module, @values: borrowed until peet_map_free(), @values from peet_modhost_values()
 */
int peet_map_set_machine(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error);
int peet_map_add_observer(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error);

/** peet_map_set_picker(), _judge() - this observer's pick_context(), pick_winner() decide, and not the machine's or the
 * policy
 *  @observer: in the order in which they were added; it has the function */
void peet_map_set_picker(struct peet_map *map, unsigned observer);
void peet_map_set_judge(struct peet_map *map, unsigned observer);

/**
 * peet_map_add_follower() - a machine that watches the run and does not steer it; after the machine
 * It gets what observers get: each block after the machine has executed it.  It has clocks of its own: a block begins at
 * the time at which it began on the machine, or when the follower has finished what that hardware context did before,
 * whichever is later.  The machine alone decides which context runs where, and what waits.  A follower's memory reports
 * reach no observer.  It has the machine's seed, so a second instance of the machine gets the machine's results.
 * Returns: 0; PEET_EINVALID if it has,
 * or the machine has, a main loop, if it needs abstract events, or if their hardware contexts differ
 */
int peet_map_add_follower(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    struct peet_error *error);

/**
 * peet_map_start_crew() - followers get processes of their own, before the run begins: on other processors of the host, if
 * there are some.  Their results are those that they have without.
 * @nblocks: of the program now; @fork_apart: forks, so that the processes share no memory
 * Returns: 0, or -1: they remain in this process
 */
int peet_map_start_crew(struct peet_map *map, uint32_t nblocks, int64_t (*fork_apart)(void));

/** Views of the subject's memory, as the runtime has them (runtime/domain.h); view 0 is main memory. */
struct peet_map_views {
    int (*read)(void *arg, unsigned view, uint64_t address, void *bytes, size_t n);
    int (*perform)(void *arg, uint64_t to, uint64_t address, const void *bytes, size_t n);
    void (*stored)(void *arg, unsigned view, uint64_t address, size_t n);
    int (*shared)(void *arg, uint64_t address); /* may views differ there? */
    int (*concurrent)(void *arg);               /* is more than one context alive? */
    size_t (*commit)(void *arg, unsigned view, uint64_t to);
    void (*refresh)(void *arg, unsigned view);
    void *arg;
    /** unseen() - does this block's last instruction lead to code that is not recorded, and may refer to what others
     * share?  @called: it has led to something that is not recorded; NULL: nobody wants to know */
    int (*unseen)(void *arg, const struct peet_block *caller, int called);
};

struct peet_consistency;

/**
 * peet_map_set_consistency() - a consistency model, or (module NULL) only what an exploration wants to know; after the
 * observers
 * @world: borrowed
 */
int peet_map_set_consistency(struct peet_map *map, const struct peet_module *module, const struct peet_consistency *ops,
    const union peet_value *values, const struct peet_map_views *world, int sync_only, int exploring,
    struct peet_error *error);
/** peet_map_alone() - only one context is left: all that is pending is performed */
void peet_map_alone(struct peet_map *map);
int peet_map_consistency_stats(struct peet_map *map, json_t *root);

/**
 * peet_map_not_met() - did the program have what supposition @i names (those of `scaled` first, then those of `free`)?
 * Returns: 0 it had; 1 it had not; -1 there is no such supposition
 */
int peet_map_not_met(const struct peet_map *map, size_t i, const char **out_option, const char **out_name);

/** peet_map_wants_addresses() - does any module need them? */
int peet_map_wants_addresses(const struct peet_map *map);

/** peet_map_wants_loops() - can all modules take many iterations of a loop in one event? */
int peet_map_wants_loops(const struct peet_map *map);

/**
 * peet_map_direct() - may blocks be executed in machine code, without an event?  Not if an observer has to see each one
 * peet_map_set_direct() - makes it so, if the machine as it is configured agrees.  Returns: 0, or a peet_err
 */
int peet_map_direct(const struct peet_map *map);
int peet_map_set_direct(struct peet_map *map, struct peet_program *program);

/**
 * peet_map_run() - to the end of the program
 * Returns: 0, PEET_EDEADLOCK (peet_map_blocked() says who), the source's error, or a module's
 */
int peet_map_run(struct peet_map *map, struct peet_error *error);

/**
 * peet_map_go_on() - take up a run that was left inside the source's next() or blocks(), not to return there
 * For a crash of the subject: the source gives what is left of the words, and then the program's end.
 * Returns: as peet_map_run(); PEET_EINVALID in the pull form, whose main loop cannot be entered again
 */
int peet_map_go_on(struct peet_map *map, struct peet_error *error);

/** peet_map_error() - what has ended the run, if it was left in the middle.  Returns: its code */
int peet_map_error(const struct peet_map *map, struct peet_error *error);

/**
 * peet_map_conclude() - after a run that a module has ended: the books are closed, and those modules that can be called
 * get their finish() May be called again if it was left in the middle.
 */
void peet_map_conclude(struct peet_map *map);

/** peet_map_module() - the machine (0), or observer number @i from 1; NULL: there are no more */
const struct peet_module *peet_map_module(const struct peet_map *map, unsigned i);
/** peet_map_module_ending() - the one whose finish() or stats() is being called; @out_stats: which; NULL: none's */
const struct peet_module *peet_map_module_ending(const struct peet_map *map, int *out_stats);
/** peet_map_module_broke() - it has failed and must not be called any more; @why is copied, the run ends with
 * PEET_EMODULE */
void peet_map_module_broke(struct peet_map *map, const struct peet_module *module, const char *why);
/** peet_map_module_error() - why module @i gives no results; NULL: it does */
const char *peet_map_module_error(const struct peet_map *map, unsigned i);

/** peet_map_asked_data() - has the machine asked for data structures?  One that does not knows no perfect memory */
int peet_map_asked_data(const struct peet_map *map);

/** How the program ended; valid after peet_map_run() == 0. */
int peet_map_exit_status(const struct peet_map *map);
/** The source number of the context that has ended it; UINT32_MAX: it has not, as a trace has no more of it. */
uint32_t peet_map_exit_source(const struct peet_map *map);
uint64_t peet_map_cycles(const struct peet_map *map);

/** Cycles per second: as the user said, else as the machine says, else 10^9. */
uint64_t peet_map_frequency_hz(const struct peet_map *map);

/** Numbers of one hardware context, closed at the end time (or at the present one). */
struct peet_map_hw {
    uint64_t busy_cycles, stalled_cycles, idle_cycles, instructions, switches;
};
unsigned peet_map_nhw(const struct peet_map *map);
/** peet_map_hw() - @end_cycles: peet_map_cycles(), which looks at all of them */
void peet_map_hw(const struct peet_map *map, unsigned hw, uint64_t end_cycles, struct peet_map_hw *out_hw);

struct peet_map_totals {
    uint64_t blocks, events, contexts, loops, iterations, skipped_iterations;
    struct peet_counts counts; /* callgrind's convention */
};
void peet_map_totals(const struct peet_map *map, struct peet_map_totals *out_totals);

/** peet_map_livelock() - after PEET_EDEADLOCK: was it one in which contexts spin? */
int peet_map_livelock(const struct peet_map *map);

/** A context that cannot go on. */
struct peet_map_blocked {
    uint32_t context, source; /* its number; the source's number for it */
    char waits_for[200];
};
/** peet_map_blocked() - the i-th blocked context.  Returns: 0, or PEET_ENOTFOUND beyond the last */
int peet_map_blocked(const struct peet_map *map, unsigned i, struct peet_map_blocked *out_blocked);

/**
 * peet_map_cycle() - contexts each of which waits for the next, the last one for the first
 * Returns: how many, 0: there is no such cycle; the first @room of them are written
 */
unsigned peet_map_cycle(const struct peet_map *map, uint32_t *out_contexts, unsigned room);

/** peet_map_left() - threads that the program's end has cut off; waits_for is "" for those that were not waiting
 *  Returns: how many; the first @room of them are written */
unsigned peet_map_left(const struct peet_map *map, unsigned room, struct peet_map_blocked *out_left);

/** peet_map_current() - the hardware context that acts */
unsigned peet_map_current(const struct peet_map *map);

/** peet_map_regions() - how many regions of interest have begun */
uint64_t peet_map_regions(const struct peet_map *map);

/** peet_map_counts_own() - are the instructions that peet_map_progress() tells the program's own, without a lock model's?
 */
int peet_map_counts_own(const struct peet_map *map);

/** peet_map_forced() - how many waits were ended because nobody who is left could have ended them (struct
 * peet_map_middle) */
uint64_t peet_map_forced(const struct peet_map *map);

/** peet_map_progress() - the simulated time now, and how many instructions a source's context has executed */
void peet_map_progress(const struct peet_map *map, uint32_t source, uint64_t *out_cycle, uint64_t *out_instructions);
/** peet_map_executed() - how often a block was executed so far */
uint64_t peet_map_executed(struct peet_map *map, const struct peet_block *block);

/** peet_map_looks_again() - the memory that a source's context looks at has just changed: of the rounds that repeat() has
 * given, those that begin later do not count */
void peet_map_looks_again(struct peet_map *map, uint32_t source);
/** peet_map_number() - the number under which modules know a source's context at present */
uint32_t peet_map_number(const struct peet_map *map, uint32_t source);

/** peet_map_stats() - add .time .totals .hw .contexts and an object per module to @root; that of a module that has
 * failed says why, as .failed: peet_map_module_error() */
int peet_map_stats(struct peet_map *map, json_t *root, struct peet_error *error);

#endif
