/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that peet executes without calling the machine.  For most blocks a machine need only know that they were
 * executed, and that each line that they touch was still in the frame where it was found last.  A machine that describes
 * what such an execution does to it gets neither an event nor a call: peet decodes the block, stamps its lines, adds its
 * time and goes on to the next block, all in machine code.  The machine is called for a line that is missing, or gets the
 * block through block() as without this interface.
 *
 * A machine offers this by struct peet_module's `direct`.  It is used if each observer that sees blocks can do without
 * events: an observer says (`observed`) for which executions of a block it need not be called, because they tell it
 * nothing new.
 *
 * SEVERAL HARDWARE CONTEXTS.  A machine with ahead() and undo() lets each hardware context run beyond the time at which
 * another one is due, as long as it does nothing that another one can see or prevent, or that must come first.  A *global
 * event* is what ends that: a block that needs more than hits, an abstract event, the end of the recorded words. Global
 * events happen in order of time, ties by index; see docs/ENGINE.md.
 */
#ifndef PEET_DIRECT_H
#define PEET_DIRECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peet_block;
struct peet_block_event;
struct peet_direct_run;
struct peet_direct_watch;

#define PEET_DIRECT_ABI 10

enum { PEET_DIRECT_LOOKS = 32 };      /* the most of a block */
#define PEET_DIRECT_TIMES 0x80000000u /* of an entry of a path: the next one is how often */

/**
 * A probe: references of a block that lie together.  They begin `before` bytes ahead of values[value] and span `span`
 * bytes.  For the line that they lie in, i = hints[peet_direct_hint(table, line)].  If keys[i], with the bits of the permission mask
 * `either` set, is line << 2 | 3, the line is found with the permission that is needed, and used[i] = stamp + last is
 * all that happens (if `later` is set, only if used[i] is less than that).  Otherwise the machine's miss() is called.
 *
 * With `units` and table.units, the line is found as well where keys[i] does not allow writes but allows reads, if
 * run->writable[i] has all bits of `units`, shifted left by the unit of the line in which the references begin; they begin at
 * a unit's first byte then.  A unit is 1 << table.unit_shift bytes.
 *
 * With `cuts`, for references that often lie in two lines, the line of the first byte and that of the last byte are both
 * probed.  With lasts = cuts[begin % bytes of a line], `last` is lasts[0] for the first and lasts[1] for the second line,
 * and `later` holds for both.  If those are 0, other() is called.  Such a block is `whole`.
 */
struct peet_direct_look {
    uint16_t value, before, span;
    uint16_t last;
    uint8_t either, later;
    uint32_t site;            /* the machine's own name for it */
    const uint8_t (*cuts)[2]; /* NULL, or the machine's memory, which stays where it is */
    uint64_t units;           /* 0: none; else without `either` */
};

/** What an execution of a block costs if all of its probes find their lines. */
struct peet_direct_block {
    uint64_t time; /* that it takes, in the machine's unit */
    /* NULL, or where the machine keeps the time, at least 1, which may change while no hardware context is ahead */
    const uint64_t *varies;
    uint32_t stamps; /* by which the stamp grows */
    uint16_t nlooks;
    uint16_t whole; /* all lines are looked up before anything is done; if one is not found, the table's other() is
                       called instead of miss(). Not for loops */
    struct peet_direct_look looks[PEET_DIRECT_LOOKS]; /* in their order */
    uint32_t reads, writes; /* table.logged: an execution adds them to run->reads and run->writes; below 2^31 */
};

/** What miss() returns. */
struct peet_direct_miss {
    uint64_t where; /* the frame that has the line now */
    /* time that the reference waited, in the machine's unit; UINT64_MAX: it did not wait, but run->limit has changed */
    uint64_t waited;
};

/** What is the same for all blocks; all zero if no block has probes. */
struct peet_direct_table {
    uint32_t hint_mask, line_shift;
    /** miss() - a probe does not find its line.  @run: time and stamp from before the block; the time includes what
     * the block has waited since */
    struct peet_direct_miss (*miss)(struct peet_direct_run *run, uint32_t site, uint64_t line);
    /** other() - the references of a probe lie in two lines, or (`whole`) a line is not found; nothing of the block
     * has happened.  @run: the addresses at which the probes begin
     * Returns: 0: the block has been executed, except that its own time and stamps are still to be added (@run's time
     * and stamp may have grown by more than these); -1: the block shall come through event(); n > 0: as 0, and for the
     * n-th time it could have been done by probes with `cuts`, so ask often() whether it can be described better */
    int (*other)(struct peet_direct_run *run, uint32_t block_id);
    /** loop() - a loop of one block with so many iterations; value i grows by strides[i] from one to the next.  @run:
     * the addresses at which the probes begin in the first iteration.  May be NULL.
     * Returns: 0: all iterations have been executed, time and stamp included; -1: nothing has happened, the loop shall
     * come through the module's loop() */
    int (*loop)(struct peet_direct_run *run, uint32_t block_id, uint64_t turns, const int64_t *strides);
    /** range() - an operation of the C library on ranges of memory.  @block: a block of the image "peet", all of
     * whose references are ranges; @values: as in its event.  Does what event() would do.  May be NULL: then such blocks
     * come through event() */
    void (*range)(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values);
    /** If not 0, peet does some of them itself: those in which all elements of each reference lie in one line, and
     * probes find all these lines.  Each element then takes one stamp and touch_time, each instruction insn_time, and
     * elements are added to run->reads and run->writes. */
    int range_looks;
    uint64_t insn_time, touch_time;
    /** If not 0, and only the first reference's line is not found, peet calls miss() for it, after which all elements
     * of the reference hit.  range_sites: the @site for that call, by whether the reference stores and whether its
     * elements are bytes */
    int range_misses;
    uint32_t range_sites[2][2];
    /** Each use of a line is written to run->log before it happens.  All blocks are `whole` then. */
    int logged;
    /** If not 0, writes to some units of a line may be hits although its key allows no writes: see `units` of a probe.
     * For blocks that are `whole`. */
    int units;
    uint32_t unit_shift; /* a line has at most 64 units */
    /** iterations() - for a run of ahead(): executes as many of a loop's next iterations as it may.  It ends before
     * an iteration that begins at run->limit or later, and before one that begins at run->until or later and does more
     * than hit.  May be NULL: then a loop comes iteration by iteration.
     * Returns: how many it has executed; time, stamp, reads and writes have grown */
    uint64_t (*iterations)(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
        const int64_t *strides, uint64_t turns);
    /** go_back() - provided by peet, for a machine with ahead(): rolls hardware context @hw back, so that it has
     * executed exactly the blocks that begin before @until.  To be called before a line, a permission or a waiting time
     * of @hw changes; never for the hardware context that acts.
     * Returns: whether anything was undone; if so, the hardware context that acts must return soon, even before
     * run->until, because @hw may be due first now */
    int (*go_back)(void *host, unsigned hw, uint64_t until);
    void *host;
    /** done() - provided by peet, to be called in other() of a machine with ahead(): the block has been executed, and
     * did more than hit; it and all before it are final.  @run: time and stamp as when other() returns 0; the other
     * arguments: as block() has described the block */
    void (*done)(struct peet_direct_run *run, uint64_t block_time, uint64_t block_stamps, uint64_t block_reads,
        uint64_t block_writes);
    uint32_t clock_shift;       /* a cycle is 1 << clock_shift of the machine's units of time */
    int whole_cycles;           /* 1: the times of blocks and of waits are whole cycles */
    const uint32_t *unreported; /* *unreported is not 0 while report() has something to report.  NULL: never */
    /** If not 0, a line's hint is not hints[line & hint_mask], but lines far apart may have others; see
     * peet_direct_hint().  Not with range_looks */
    uint32_t hint_factor, hint_shift;
    /** If not 0, executions are written to run->path in their order, also those that are undone later: the block's id, or with
     * PEET_DIRECT_TIMES its id, and then how often in a row.  Blocks that come through event() are not */
    int paths;
};

/** Where the hint of a line is. */
static inline uint32_t peet_direct_hint(const struct peet_direct_table *table, uint64_t line)
{
    return table->hint_factor != 0 ? (uint32_t)line * table->hint_factor >> table->hint_shift
                                   : (uint32_t)line & table->hint_mask;
}

/** A use of a line: used[frame] was this before. */
struct peet_direct_use {
    uint64_t frame, used;
};

/** The state of a hardware context while machine code executes its blocks.  The machine owns it and sets what is not
 * marked as peet's. */
struct peet_direct_run {
    uint64_t time;  /* since the run began, in the machine's unit */
    uint64_t limit; /* no block begins at this time or later */
    uint64_t now;   /* the hardware context's clock in cycles at time 0 */
    uint64_t stamp;
    const uint32_t *hints;
    const uint64_t *keys;
    uint64_t *used;
    const uint64_t *writable; /* table.units: of each frame, a bit for each unit that may be written */
    const struct peet_direct_table *table;
    void *machine;
    uint64_t addresses[PEET_DIRECT_LOOKS];
    uint64_t reads, writes; /* table.range_looks, table.logged: begin() and ahead() set them to 0 */
    uint64_t until;         /* ahead(): a block that begins at this time or later does nothing but hit */
    uint32_t *path;         /* table.paths: the machine's memory, with room for all that can happen before `stop` */
    uint64_t stop; /* ahead(): no block begins at this time or later whatever the limit is; 0: there is no such time */
    /* ahead(), table.logged: the machine's memory, with room for PEET_DIRECT_LOOKS more at the end */
    struct peet_direct_use *log_begin, *log_end;
    struct peet_direct_use *log; /* the next use is written here; peet sets it to log_begin at each checkpoint */
    /* ahead(): set by peet: the run as it was at its checkpoint, to which undo() returns */
    struct {
        uint64_t time, stamp, reads, writes;
    } checkpoint;
    uint32_t runs_ahead; /* set by peet: by ahead() */
    uint32_t hw;         /* set by peet: which hardware context */
    /* peet's, for observers: the time at which the block, loop or range began, and the last counted block before it;
     * NULL: none in this run */
    uint64_t began;
    const struct peet_block *previous;
    uint32_t waits; /* other() sets it, and the limit to 0, if the block is not due yet.  When it is due, other() is
                       called again with the same addresses and another `until`, and the code goes on after the block */
    uint32_t final; /* iterations() sets it after an iteration that did more than hit: all up to there is final.  If it
                       is set when the run is over, nothing was done ahead of time */
    /* peet's: */
    const uint64_t *at, *end;
    uint64_t bound; /* the limit, or beyond the time if that is at the limit */
    uint64_t *regs;
    const void *const *blocks;
    const void *sync;
    int64_t last, tail;
    uint64_t instructions, turns, rest; /* rest: iterations of the loop under way that are left */
    uint64_t found[PEET_DIRECT_LOOKS], second[PEET_DIRECT_LOOKS], lasts[PEET_DIRECT_LOOKS], other;
    uint32_t context;
    int64_t tail_here;                        /* other(): the block comes as a tail; -1: it does not */
    const void *again;                        /* the block waits: where the code goes on once other() has executed it */
    struct peet_direct_watch *const *missing; /* of the block for which miss() is called */
    uint32_t repeats; /* it executes again what was undone, while another hardware context acts */
    uint64_t *values; /* of the block for which an observer or the machine is asked */
    void *decoder;
    struct peet_direct_sums *alone; /* of the observer that has shown_alone(), if that is called; NULL: it is not */
};

/** peet_direct_went() - for a table with paths: a block has been executed so often in a row */
static inline void peet_direct_went(struct peet_direct_run *run, uint32_t block_id, uint64_t times)
{
    for (uint64_t n; times != 0; times -= n) {
        n = times < UINT32_MAX ? times : UINT32_MAX;
        *run->path++ = block_id | PEET_DIRECT_TIMES;
        *run->path++ = (uint32_t)n;
    }
}

struct peet_direct {
    uint32_t abi;         /* PEET_DIRECT_ABI */
    uint32_t struct_size; /* sizeof(struct peet_direct) */
    /** table() - Returns: 0, or -1: not as the machine is configured */
    int (*table)(void *self, struct peet_direct_table *out_table);
    /** block() - describes a block.  @values: those of one execution, which need not have happened.
     * Returns: 0, or -1: this block always comes through event() */
    int (*block)(void *self, const struct peet_block *block, const uint64_t *values,
        struct peet_direct_block *out_block);
    /** often() - many executions of the block come to other() that a better description would avoid.  May be NULL.
     * Returns: 0: block() describes it better now; -1: there is no better description */
    int (*often)(void *self, const struct peet_block *block);
    /** begin() - blocks begin to be taken.  @now, @until: as for peet_module.blocks().  If it sets run->limit to 0, none are
     * taken now: they come as events, and end() is not called */
    struct peet_direct_run *(*begin)(void *self, unsigned hw, uint64_t now, uint64_t until);
    /** event() - one execution of a block that has no machine code, as peet_module.block(); run->time grows by all that
     * it takes, waiting included */
    void (*event)(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event);
    /** end() - Returns: their cycles, as peet_module.blocks() does */
    uint64_t (*end)(void *self, unsigned hw);
    /** executed() - machine code has executed a block so many times since the last call for it; called before finish()
     * and stats().  May be NULL */
    void (*executed)(void *self, const struct peet_block *block, uint64_t times);
    /** ahead() - as begin(), for one of several hardware contexts.  May be NULL: then none runs beyond the time at
     * which the next one is due.
     *  @until: run->until, when another one is due.  @limit: no block begins at this time or later */
    struct peet_direct_run *(*ahead)(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit);
    /** pause() - a run of ahead() has come to its limit.  It will go on with another `until` and `limit`, or end() is
     * called; until then the machine may add to run->now what the hardware context has to wait longer */
    void (*pause)(void *self, unsigned hw);
    /** undo() - undoes all that the hardware context did since its checkpoint, which was nothing but hits of blocks with so
     * many instructions in all.  Returns: its clock at the checkpoint */
    uint64_t (*undo)(void *self, unsigned hw, uint64_t instructions);
    /** report() - sends the memory reports that the machine holds back.  May be NULL if table.unreported is */
    void (*report)(void *self);
};

/** A guard: it holds if (values[value] - base), rotated right by `shift` bits, is below span.  The value has a mark
 * then if marks[(values[value] - marks_base) >> marks_shift] is not 0 (the watch's `marked`).  Marks are for a few places
 * in a wide range of which the observer wants to hear.  tally[values[value] & tally_mask] counts the executions that the
 * observer does not see, unless it is NULL. */
struct peet_direct_guard {
    uint64_t base, span;
    uint64_t *tally;
    uint32_t tally_mask;
    uint16_t value;
    uint8_t shift, marks_shift; /* marks_shift: always the same for a watch */
    const uint8_t *marks;
    uint64_t marks_base;
};

/**
 * Sums that machine code keeps for an observer that needs totals over all blocks but sees only some of them: calls, say.
 * They are over all blocks since begins(); the memory is the observer's.  An execution is shown (struct
 * peet_direct_observer, shown()), before it is added, wherever control may have come from another function or from
 * another activation of the same one: at functions' entries and first instructions, after calls and returns, and after
 * jumps that leave a function.  Where the machine takes libraries' operations on ranges (table.range), these are counted
 * and shown like other blocks, if all who look on count.
 */
enum { PEET_DIRECT_SUMS = 3 };
struct peet_direct_sums {
    uint64_t of[PEET_DIRECT_SUMS]; /* peet's: since begins() */
    uint64_t now;                  /* peet's, for shown_alone() */
    uint64_t stop;                 /* peet's: the next one is shown */
    uint64_t unsettled;            /* not 0: the observer waits for settled() */
};
struct peet_direct_counted {
    struct peet_direct_sums *sums;
    uint32_t adds[PEET_DIRECT_SUMS]; /* an execution adds so much to each; below 2^31 */
    /* peet's: the block is always shown; or only if sums->stop is not 0, which a block that `stops` sets */
    uint8_t always, stops, asked;
    uint64_t each; /* table.whole_cycles: an execution takes so many cycles, if it does not wait */
    /* cycles of the executions that executed() tells next; the observer then sets it to 0 */
    uint64_t cycles;
    /* of a library's operation on ranges: what each element adds beside that; and, as for cycles, how many there were */
    uint32_t element_adds[PEET_DIRECT_SUMS];
    uint64_t elements;
};

/**
 * The executions of a block that an observer need not see: those for which all guards hold, until there have been `until`
 * of them.  All others come through its block().  The memory is the observer's and stays where it is until destroy().  At any time while it is called, the observer may change base, span, marks and until.  For other guards it makes
 * another watch: the old one's `until` becomes 0 for good, and `over` says that peet may ask again.
 */
struct peet_direct_watch {
    const uint64_t *taken; /* peet's: how many executions it has not seen; NULL: there is no machine code yet */
    uint64_t until;
    uint32_t nguards;
    uint8_t over;
    uint8_t marked; /* 1: while a guard holds, it has marks */
    uint8_t turns;  /* 1, without guards: iterations of a loop are executions like others.  If there were fewer than
                      `until` before the loop, it need not see any of its iterations, and loop() is not called */
    struct peet_direct_counted *counted; /* not NULL: there are no guards, `until` has no meaning, and all executions
                                            are counted in machine code.  Always the same */
#ifdef __cplusplus                       /* which knows such members as an extension only */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
    struct peet_direct_guard guards[];
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
};
enum { PEET_DIRECT_GUARDS = 16 }; /* the most of a block; one with more comes as an event */

/** What an observer offers, in struct peet_module's `observed`; such an observer has loop(). */
struct peet_direct_observer {
    uint32_t abi;         /* PEET_DIRECT_ABI */
    uint32_t struct_size; /* sizeof(struct peet_direct_observer) */
    /** watch() - which executions of a block it has to see; iterations of a loop come through loop(), but those that machine code
     * takes ahead of other hardware contexts may be executions like others.  An observer with
     * shown() is asked of libraries' operations on ranges, too, which are counted or come through block().
     *  @values: those of one execution, which need not have happened
     *  @out_watch: NULL: none, nor iterations; executed() then says how many there were.  Always the same for a block
     *  Returns: 0, or -1: it has to see all executions, through block() */
    int (*watch)(void *self, const struct peet_block *block, const uint64_t *values,
        struct peet_direct_watch **out_watch);
    /** executed() - a block without a watch, or a counted one, was executed so many times since the last call for it;
     * called before finish() and stats().  May be NULL */
    void (*executed)(void *self, const struct peet_block *block, uint64_t times);
    /** moved() - a guard does not hold for this value.  May be NULL.
     *  Returns: 0: now it does, or -1: the execution comes through block() */
    int (*moved)(void *self, const struct peet_block *block, struct peet_direct_watch *watch, uint32_t guard,
        uint64_t value);
    /** due() - all guards hold, but there have been `until` executions.  May be NULL.
     *  Returns: 0: the observer has seen this execution, and machine code may perform it (if the machine needs the event
     * it comes through block() all the same); -1: it comes through block() */
    int (*due)(void *self, const struct peet_block_event *event, struct peet_direct_watch *watch);
    /** begins() - machine code begins to execute and count blocks.  The first one is shown */
    void (*begins)(void *self, unsigned hw);
    /** shown() - an execution of a counted block, or all iterations of a loop, before it is added to the sums.  What the
     * machine reports of it comes later, before settled() is called.
     *  @event: without values.  @previous: the last one that was counted since begins(); NULL: none
     *  @now: the clock at which it began, in cycles.  @sums: since begins() */
    void (*shown)(void *self, unsigned hw, const struct peet_block_event *event, const struct peet_block *previous,
        uint64_t now, const uint64_t sums[PEET_DIRECT_SUMS]);
    /** settled() - what the machine has reported so far, of any hardware context, is of blocks that were counted
     * already */
    void (*settled)(void *self, unsigned hw);
    /** ends() - machine code is left; what follows comes as events.  @previous, @sums: as for shown(); NULL: it has
     * executed no block */
    void (*ends)(void *self, unsigned hw, const struct peet_block *previous, uint64_t now,
        const uint64_t sums[PEET_DIRECT_SUMS]);
    /** undone() - so many executions of a block, which machine code has counted, are rolled back.  An observer that has
     * it must not depend on the order of blocks of different hardware contexts.  If it is NULL and the observer is not
     * told at_commit, no hardware context runs ahead of another one.
     *  @values: of a block that is not PEET_BLOCK_SIMPLE, and has come through block(); and for observers with
     * marked() of every execution.  NULL: they were iterations of a loop, of which loop() has not told */
    void (*undone)(void *self, const struct peet_block *block, const uint64_t *values, uint64_t times);
    /** range() - if no other observer looks on: a library's operation on ranges happens, whose block would come through block(), unless the
     * machine does not take it.  May be NULL: all do; not for observers with undone(), shown() or at_commit.
     *  @references: that it makes.  Returns: 0: that is enough, or -1: it comes through block() */
    int (*range)(void *self, const struct peet_block *block, uint64_t references);
    /** configured() - before anything else.  May be NULL.  Returns: 0, or -1: as it is configured it sees all blocks,
     * one by one */
    int (*configured)(void *self);
    /** 1: hardware contexts may run ahead of each other all the same.  begins(), shown() and ends() say what is final,
     * for each hardware context in its order; those of others may have been told more or less.  Abstract events, other
     * blocks and memory reports come after all that their hardware context, and what they are of, did before.  If its
     * guards have marks, moved() and due() may be asked of executions that are undone later, and loop() says what is
     * final.  Where the module needs PEET_NEEDS_DATA, no hardware context is ahead of another one while it changes what
     * lies at an address */
    int at_commit;
    /** marked() - an execution for which all guards hold has happened, and is final; some of its values may have marks.
     * What the machine reports of it has been reported, and all that came before on this hardware context; executions of
     * others, on lines that neither has written since, may come in another order.  May be NULL: marks say nothing then.
     *  @values: all of the block's, whatever its guards are now */
    void (*marked)(void *self, unsigned hw, const struct peet_block *block, const uint64_t *values);
    /** known() - an execution for which marked() would be called hits, and may be undone later.  May be NULL.
     *  Returns: 1: marked() would change nothing, and will not until the machine reports something of these lines; so it is not called.  0: it is
     * called */
    int (*known)(void *self, unsigned hw, const struct peet_block *block, const uint64_t *values);
    /** shown_alone() - does the same as shown(), in fewer instructions of the caller's; called in its place while nobody else
     * looks on and nothing can be undone.  May be NULL.
     *  @counted: what the observer's watch has for the block; its sums are those of now, and sums->now the clock */
    void (*shown_alone)(void *self, const struct peet_direct_counted *counted, const struct peet_block *previous,
        const struct peet_block_event *event, unsigned hw);
};

#ifdef __cplusplus
}
#endif
#endif
