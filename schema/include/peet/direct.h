/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that peet takes in a machine's stead.  Of most blocks a machine does not want to know more than that they were
 * executed, and that each line that they touch was still where it was last.  A machine that says what that means for a
 * block gets neither an event nor a call for it: peet decodes the block, does this much and goes on with the next, all
 * in machine code.  What a machine has to do itself it does when it is called for one line, or in block() as ever.
 *
 * A machine offers this by struct peet_module's `direct`.  It is used while all others who look on at blocks let theirs
 * pass: an observer says (`observed`) for which executions of a block it need not be called, because nothing of it is
 * new to it.
 *
 * SEVERAL HARDWARE CONTEXTS.  A machine with ahead() and undo() lets each hardware context run beyond the time at which
 * another one is due, as far as it does nothing that another one can see, or prevent, or has to come after.  A *global
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

#define PEET_DIRECT_ABI 4

enum { PEET_DIRECT_LOOKS = 32 }; /* the most of a block */

/**
 * References of a block that lie together: they begin `before` bytes ahead of values[value] and have `span` bytes.
 * For the line that they are in, i = hints[line & hint_mask] is looked up; if keys[i], but for the bits `either`, is
 * line << 2 | 3, then all is done with used[i] = stamp + last (unless it is more than that already, and `later` is
 * set). Otherwise the machine's miss() is called.
 *
 * Or, with `cuts`, where the references lie in two lines often: both the line of the first byte and that of the last
 * are looked for like this, and `last` is lasts[0] for the first, lasts[1] for the second one (`later` for both), with
 * lasts = cuts[begin % bytes of a line]. If those are 0, other() is called.  Such a block is `whole`.
 */
struct peet_direct_look {
    uint16_t value, before, span;
    uint16_t last;
    uint8_t either, later;
    uint32_t site;            /* the machine's own name for it */
    const uint8_t (*cuts)[2]; /* NULL, or the machine's memory, which stays where it is */
};

/**
 * One way in which looks of a block lie in two lines, and what happens then: as many looks as there are lines, in their
 * order, each with a miss() of its own.  The names of the places where looks begin say that it is this one: those in
 * names[look << line_shift | begin % bytes of a line], together by `or`; looks of one byte have none.
 */
struct peet_direct_line {
    uint8_t look, second;  /* the line that this one begins in, or (1) the next */
    uint8_t either, later; /* as in a look */
    uint16_t last;
    uint32_t site;
};
struct peet_direct_cut {
    /* the machine's memory, which stays where it is; always the same for a block.  UINT64_MAX: other() is called */
    const uint64_t *names;
    uint64_t name;
    uint64_t time;   /* more than the block takes without, */
    uint32_t stamps; /* and by which the stamp goes forward */
    uint32_t nlines;
    uint64_t *taken; /* becomes one more; NULL: nobody wants to know */
    struct peet_direct_line lines[2 * PEET_DIRECT_LOOKS];
};
/** What other() may return. */
enum { PEET_DIRECT_CUT = INT32_MAX };

/** What a block does if nothing unusual happens. */
struct peet_direct_block {
    uint64_t time;   /* it takes, in the machine's unit */
    uint32_t stamps; /* by which the stamp goes forward */
    uint16_t nlooks;
    uint16_t whole; /* all lines are looked for before anything is done; if one is not found, the table's other() is
                       called and no miss(). Not for loops */
    struct peet_direct_look looks[PEET_DIRECT_LOOKS]; /* in their order */
    uint32_t reads, writes; /* table.logged: an execution adds them to run->reads and run->writes; below 2^31 */
};

/** What miss() returns. */
struct peet_direct_miss {
    uint64_t where; /* the line is now */
    /* so long, in the machine's unit; UINT64_MAX: not at all, but the run's limit is another one */
    uint64_t waited;
};

/** What is the same for all blocks; zero if no block has looks. */
struct peet_direct_table {
    uint32_t hint_mask, line_shift;
    /** miss() - a look does not find its line.  @run: time and stamp before the block, time with all that has been
     * waited since */
    struct peet_direct_miss (*miss)(struct peet_direct_run *run, uint32_t site, uint64_t line);
    /** other() - some look's references lie in two lines, or (`whole`) are not found; nothing has happened.  @run:
     * addresses of all looks' beginnings Returns: 0: done, but for the block's own time and stamps (both of @run may
     * have gone forward); -1: the block shall come through event(); n > 0: as 0, but it may be too often: it was the
     * n-th time that it could have been done by looks with `cuts`; PEET_DIRECT_CUT: as 0, and cut() says how it can be
     * done without */
    int (*other)(struct peet_direct_run *run, uint32_t block_id);
    /** loop() - a block went round so many times, value i growing by strides[i] each time.  @run: addresses of all
     * looks' beginnings in the first turn.  May be NULL.  Returns: 0: all done, in time and stamp too; -1: nothing has
     * happened, the loop shall come through loop() */
    int (*loop)(struct peet_direct_run *run, uint32_t block_id, uint64_t turns, const int64_t *strides);
    /** range() - a library's operation on ranges: @block: of the image "peet", all of whose references are ranges;
     * @values: as of its event. What it does is what event() would do.  May be NULL: then they come through event() */
    void (*range)(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values);
    /** Not for all of them, if range_looks is set: each of a range's elements is a stamp and takes touch_time, each
     * instruction insn_time.  Where all elements of a reference lie in one line, and all such lines are found as by
     * looks, that is all.  They are added to run->reads and run->writes. */
    int range_looks;
    uint64_t insn_time, touch_time;
    /** If range_misses is set, too, and the first reference's line is not found, miss() brings it, after which all of
     * its elements do find it.  The site: by whether it stores, and whether its elements are bytes */
    int range_misses;
    uint32_t range_sites[2][2];
    /** Each use of a line is written to run->log before it happens.  All blocks are `whole` then, and without `cuts`.
     */
    int logged;
    /** turns() - what loop() does not do all of, for a run of ahead(): so many turns as begin before the limit and
     * (those that do not begin before run->until) do nothing but hit.  May be NULL: then loops come one turn by one
     * turn.  Returns: how many; time, stamp, reads and writes have gone forward */
    uint64_t (*turns)(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
        const int64_t *strides, uint64_t turns);
    /** go_back() - peet's, for a machine with ahead(): what hardware context @hw has done in blocks that begin at
     * @until or later is undone. Called before anything of it changes; not for the one that acts.  Returns: whether
     * there was something; the one that acts must return soon then, even if run->until is not reached. */
    int (*go_back)(void *host, unsigned hw, uint64_t until);
    void *host;
    /** done() - peet's, for other() of a machine with ahead(): the block that it was asked for has happened, with more
     * than hits; it and all before it are final.  @run: time and stamp as when other() returns 0; the others: as of
     * block() */
    void (*done)(struct peet_direct_run *run, uint64_t block_time, uint64_t block_stamps, uint64_t block_reads,
        uint64_t block_writes);
    uint32_t clock_shift;       /* a cycle is 1 << clock_shift of the machine's units of time */
    int whole_cycles;           /* all times are whole cycles: of blocks, and what is waited */
    const uint32_t *unreported; /* not 0: report() has something to report.  NULL: never */
};

/** A use of a line: used[frame] was this before. */
struct peet_direct_use {
    uint64_t frame, used;
};

/** A hardware context's state while blocks are taken; the machine's, but for what is peet's. */
struct peet_direct_run {
    uint64_t time;  /* so far, in the machine's unit */
    uint64_t limit; /* no block begins at this time or later */
    uint64_t stamp;
    const uint32_t *hints;
    const uint64_t *keys;
    uint64_t *used;
    const struct peet_direct_table *table;
    void *machine;
    uint64_t addresses[PEET_DIRECT_LOOKS];
    uint64_t reads, writes; /* table.range_looks, table.logged: begin() and ahead() set them to 0 */
    uint64_t until;         /* ahead(): a block that begins at this time or later does nothing but hit */
    /* ahead(), table.logged: the machine's memory, with room for PEET_DIRECT_LOOKS more at the end */
    struct peet_direct_use *log_begin, *log_end;
    struct peet_direct_use *log; /* the next one is written here; peet sets it to log_begin where it marks */
    /* ahead(): where undo() goes back to, as the run was there; set by peet */
    struct {
        uint64_t time, stamp, reads, writes;
    } mark;
    uint32_t runs_ahead; /* set by peet: by ahead() */
    uint32_t hw;         /* set by peet: which hardware context */
    /* peet's, for observers: the time at which the block, loop or range began, and the last counted block before it;
     * NULL: none in this run */
    uint64_t began;
    const struct peet_block *previous;
    uint32_t waits; /* other() sets it, with a limit of 0: the block's turn is to come.  When it has, other() is called
                       again, with the same addresses and another `until`, and the code goes on behind it */
    uint32_t final; /* turns() sets it after a turn that does more than hit: all up to there is final.  When the run is
                       over: nothing was done ahead */
    /* peet's: */
    const uint64_t *at, *end;
    uint64_t bound; /* the limit, or behind the time if that is at the limit */
    uint64_t *regs;
    const void *const *blocks;
    const void *sync;
    int64_t last, tail;
    uint64_t instructions, turns;
    uint64_t found[PEET_DIRECT_LOOKS], second[PEET_DIRECT_LOOKS], lasts[PEET_DIRECT_LOOKS], other;
    uint32_t context;
    int64_t tail_here;                        /* other(): the block comes as a tail; -1: it does not */
    const void *again;                        /* other() did not take the block: where the code goes on when it has */
    struct peet_direct_watch *const *missing; /* of the block for which miss() is called */
    uint32_t repeats; /* it does again what was undone, in the middle of what another one does */
    void *decoder;
};

struct peet_direct {
    uint32_t abi;         /* PEET_DIRECT_ABI */
    uint32_t struct_size; /* sizeof(struct peet_direct) */
    /** table() - Returns: 0, or -1: not as the machine is configured */
    int (*table)(void *self, struct peet_direct_table *out_table);
    /** block() - @values: as of one execution, perhaps none that happened.  Returns: 0, or -1: this one comes through
     * event() */
    int (*block)(void *self, const struct peet_block *block, const uint64_t *values,
        struct peet_direct_block *out_block);
    /** often() - a good part of the block's executions come to other() that need not.  May be NULL.  Returns: 0:
     * block() says it better now, or -1 */
    int (*often)(void *self, const struct peet_block *block);
    /** cut() - how the block was cut when other() was called for it just now.  Returns: 0, or -1: it shall come to
     * other() as ever. NULL if other() never returns PEET_DIRECT_CUT */
    int (*cut)(void *self, const struct peet_block *block, struct peet_direct_cut *out_cut);
    /** begin() - blocks begin to be taken.  @now, @until: as for peet_module.blocks() */
    struct peet_direct_run *(*begin)(void *self, unsigned hw, uint64_t now, uint64_t until);
    /** event() - a block among them that has no machine code: one turn of it, like peet_module.block(); run->time goes
     * on by all that it takes, with what it waits */
    void (*event)(void *self, unsigned hw, struct peet_direct_run *run, const struct peet_block_event *event);
    /** end() - Returns: their cycles, as peet_module.blocks() does */
    uint64_t (*end)(void *self, unsigned hw);
    /** executed() - a block was taken so many times since this was last said; before finish() and stats().  May be NULL
     */
    void (*executed)(void *self, const struct peet_block *block, uint64_t times);
    /** ahead() - as begin(), for one of several hardware contexts.  May be NULL: then each goes no further than the
     * next one.
     *  @until: run->until; another one is due then.  @limit: no block begins at this time or later */
    struct peet_direct_run *(*ahead)(void *self, unsigned hw, uint64_t now, uint64_t until, uint64_t limit);
    /** undo() - all that the hardware context did since run->mark is undone; there were only hits.  Returns: its clock
     * there */
    uint64_t (*undo)(void *self, unsigned hw);
    /** clock() - May be NULL: then nothing is counted for observers (struct peet_direct_counted).
     *  Returns: the hardware context's clock at @time of the run, in cycles: what it was when that began, and
     * @time >> table.clock_shift */
    uint64_t (*clock)(void *self, unsigned hw, uint64_t time);
    /** report() - what the machine has to report so far is reported.  May be NULL if table.unreported is */
    void (*report)(void *self);
};

/** What an observer compares: values[value], less base, rotated right by `shift` bits, is below span.  Of executions
 * that are taken tally[values[value] & tally_mask] is how many there were, unless it is NULL. */
struct peet_direct_guard {
    uint64_t base, span;
    uint64_t *tally;
    uint32_t tally_mask;
    uint16_t value;
    uint8_t shift;
};

/**
 * What code counts for an observer that wants to know what all blocks came to, but sees only some of them: calls, say.
 * Sums are over all blocks since begins(); the memory is the observer's.  Before an execution is added to
 * them, it is shown (struct peet_direct_observer, shown()) wherever control may have come from another function, or from
 * another execution of the same one: at functions' entries and first instructions, after calls and returns, and after jumps that
 * leave a function.
 */
enum { PEET_DIRECT_SUMS = 3 };
struct peet_direct_sums {
    uint64_t of[PEET_DIRECT_SUMS]; /* peet's: since begins() */
    uint64_t stop;                 /* peet's: the next one is shown */
    uint64_t unsettled;            /* not 0: the observer waits for settled() */
};
struct peet_direct_counted {
    struct peet_direct_sums *sums;
    uint32_t adds[PEET_DIRECT_SUMS]; /* an execution adds so much to each; below 2^31 */
    /* peet's: it is always shown, or if sums->stop is not 0, which an execution makes it if this one `stops` */
    uint8_t always, stops, asked;
    uint64_t each; /* table.whole_cycles: an execution takes so many cycles, if it does not wait */
    /* the clock went on by so much in executions that were told by executed(); the observer sets it to 0 then */
    uint64_t cycles;
};

/**
 * Executions of a block that an observer does not want to see: those for which all guards hold, as long as fewer than
 * `until` were taken.  All others come through its block().  It is the observer's memory and stays where it is until
 * destroy().  At any time while it is called, the observer may change base, span and until.  For other guards it makes
 * another watch: the old one's `until` becomes 0 for good, and `over` says that peet may ask again.
 */
struct peet_direct_watch {
    const uint64_t *taken; /* peet's: so many executions of the block were taken; NULL: no code knows it yet */
    uint64_t until;
    uint32_t nguards;
    uint8_t over;
    uint8_t turns; /* 1, without guards: turns of a loop are executions like others.  If fewer than `until` were taken
                      before, all of a loop's turns may be taken; no loop() is called for them then */
    struct peet_direct_counted *counted; /* not NULL: there are no guards, and `until` means nothing: all executions
                                            are taken and counted.  Always the same */
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
    /** watch() - what it wants of a block, whose turns in loops come through loop().
     *  @values: as of one execution, perhaps none that happened
     *  @out_watch: NULL: it wants to see no execution of the block, nor turns; executed() says how many there were.
     * Always the same for a block Returns: 0, or -1: all executions come through block() */
    int (*watch)(void *self, const struct peet_block *block, const uint64_t *values,
        struct peet_direct_watch **out_watch);
    /** executed() - a block without watch, or a counted one, was taken so many times since this was last said; before finish() and
     * stats().  May be NULL */
    void (*executed)(void *self, const struct peet_block *block, uint64_t times);
    /** moved() - a guard does not hold for this value.  May be NULL.
     *  Returns: 0: now it does, or -1: the execution comes through block() */
    int (*moved)(void *self, const struct peet_block *block, struct peet_direct_watch *watch, uint32_t guard,
        uint64_t value);
    /** due() - all guards hold, but `until` were taken.  It may be that this execution is not taken yet, for the
     * machine's sake, and comes through block(). May be NULL.  Returns: 0: it has been looked at and may be taken, or
     * -1: it comes through block() */
    int (*due)(void *self, const struct peet_block_event *event, struct peet_direct_watch *watch);
    /** begins() - blocks begin to be taken, and counted.  The first one is shown */
    void (*begins)(void *self, unsigned hw);
    /** shown() - one of those that are counted: an execution, or all turns of a loop.  It is added to the sums after
     * that.  What the machine reports of it comes later, until settled() is called.
     *  @event: without values.  @previous: the last one that was counted since begins(); NULL: none
     *  @now: the clock at which it began, in cycles.  @sums: since begins() */
    void (*shown)(void *self, unsigned hw, const struct peet_block_event *event, const struct peet_block *previous,
        uint64_t now, const uint64_t sums[PEET_DIRECT_SUMS]);
    /** settled() - what the machine has reported so far, of any hardware context, is of blocks that were counted
     * already */
    void (*settled)(void *self, unsigned hw);
    /** ends() - what comes next comes another way.  @previous, @sums: as for shown(); NULL: nothing was taken */
    void (*ends)(void *self, unsigned hw, const struct peet_block *previous, uint64_t now,
        const uint64_t sums[PEET_DIRECT_SUMS]);
    /** undone() - a block was taken so many times that did not happen.  May be NULL if the observer is told at_commit,
     * else no hardware context runs ahead of another one then.  With it the observer does not care about order.
     *  @values: of a block that is not PEET_BLOCK_SIMPLE, and has come through block() */
    void (*undone)(void *self, const struct peet_block *block, const uint64_t *values, uint64_t times);
    /** configured() - before anything else.  May be NULL.  Returns: 0, or -1: as it is configured it sees all blocks,
     * one by one */
    int (*configured)(void *self);
    /** 1: hardware contexts may run ahead of each other all the same.  begins(), shown() and ends() say what is final,
     * for each hardware context in its order; those of others may have been told more or less.  Abstract events, other
     * blocks and memory reports come after all that their hardware context, and what they are of, did before */
    int at_commit;
};

#ifdef __cplusplus
}
#endif
#endif
