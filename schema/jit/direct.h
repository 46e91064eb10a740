/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code that decodes and simulates in one pass. It reads the words of a record, does the simulated machine's
 * work for the block (<peet/direct.h>), and jumps to the code of the next block. decode/direct.c calls it, and does the
 * rest.
 */
#ifndef PEET_DIRECT_CODE_H
#define PEET_DIRECT_CODE_H

#include "jit/jit.h"
#include "program/parts.h"
#include <peet/direct.h>
#include <peet/raw.h>

typedef void peet__direct_enter(struct peet_direct_run *run, const void *to);

/** A jump to a block's code; where that is, may change. */
struct peet__direct_patchable {
    uint8_t *from; /* after the jump, where it is written */
    uint32_t to;
};

/** A block that is counted, and may be shown to observers. */
struct peet__direct_counted_site {
    struct peet_block_event event;            /* but for context and turns */
    struct peet_direct_counted *only;         /* nobody else looks on; NULL: somebody does */
    struct peet_direct_watch *const *watches; /* by observer */
};

static inline struct peet_direct_counted *peet__direct_counted_of(const struct peet_direct_watch *w)
{
    return w ? w->counted : NULL;
}

/** What iterations of a loop are for observers with guards, once and for all. */
enum peet__iterations {
    PEET__ITERATIONS_UNKNOWN,
    PEET__ITERATIONS_COUNTED /* executions like others */,
    PEET__ITERATIONS_SHOWN
};

/** The code of a function. */
struct peet__direct_function {
    peet__direct_enter *enter;
    const void *leave;
    const void **table; /* of the function, which is its middle; before it, by plain word, where to go for such a
                           record, leave if there is no code; after it, by index, how often each block was taken */
    const void **sync;  /* the same for a record that says where it is */
    uint64_t *told;     /* by index: so many of those that were taken have been told, or came through loop() */
    struct peet_direct_watch **watches;      /* by index and observer: that the code goes by; NULL: none */
    struct peet__direct_counted_site *sites; /* by index */
    uint8_t *asked;                          /* by index: watches are known */
    uint32_t stale, patience; /* events of blocks whose watch is over; so many, and the code is made anew */
    const void **behind; /* by index: what comes after the block, which has happened: on to the next; NULL: no code */
    const void **strips; /* by index: where a loop goes on between two iterations; NULL: it cannot */
    uint8_t *counts;     /* by index: enum peet__iterations, when there is code */
    struct peet__direct_patchable *patchables;
    uint32_t npatchables, cpatchables;
    uint64_t together; /* so often all blocks were taken in one go, which is not among what the table says */
    uint32_t cut;      /* so often the machine said that it has more to say of a block's probes */
};

/** The word at the end of those that the code may take; no record begins with it. */
#define PEET__DIRECT_STOP UINT64_C(1)

/** Records that say where they are, met before. */
struct peet__direct_sync {
    uint64_t pc;
    const void *to;
};
enum { PEET__DIRECT_SYNCS = 1 << 15, PEET__SYNC_SHIFT = 2, PEET__DIRECT_OBSERVERS = 4, PEET__DIRECT_VALUES = 64 };
/** Which of them: calls are longer than that, so that places of one piece of code have one each. */
static inline uint32_t peet__direct_sync_index(uint64_t pc)
{
    return (uint32_t)(pc >> PEET__SYNC_SHIFT) % PEET__DIRECT_SYNCS;
}

/** A library's operation on ranges that the machine takes: its block, and what has happened since this was last told.
 */
struct peet__direct_range {
    const struct peet_block *block;
    uint64_t times, elements;
    /* with observers: */
    uint64_t counted; /* so many of `times` were counted for them */
    struct peet_direct_watch *watches[PEET__DIRECT_OBSERVERS];
    uint8_t asked, counts; /* they were asked; and all of them count */
    /* table.range_looks: */
    uint64_t time;         /* of its instructions */
    uint64_t masks[2];     /* what has to be right in a key: the bits that are not in `either` of a probe */
    uint32_t sites[2];     /* table.range_misses: of the first one's words, and bytes */
    uint8_t kind;          /* enum peet__range_kind */
    uint8_t first, second; /* where they are: these words of the record */
    uint8_t reads, writes; /* so many references an element makes; the first one of two reads */
};
enum peet__range_kind { PEET__RANGE_UNKNOWN, PEET__RANGE_ONE, PEET__RANGE_TWO };
enum { PEET__DIRECT_RANGES = PEET_SYNTHETIC_MORE + PEET_SYNTHETIC_COUNT, PEET__RANGE_ARGS = 4 };

/** Where code asks an observer: a guard that does not hold; NO_GUARD: an execution that is due.  Or where it says that a
 * value has a mark. */
struct peet__direct_site {
    const struct peet_direct_observer *ops;
    void *self;
    const struct peet_block *block;
    struct peet_direct_watch *watch;
    uint32_t guard;
    const int64_t *strides; /* run->turns iterations have marks; NULL: one execution */
};
enum { PEET__DIRECT_NO_GUARD = 0x7fffffff };

struct peet__direct {
    const struct peet_direct *ops;
    void *self;
    struct peet_direct_table table; /* the machine's; with observers loop() goes by way of them */
    struct {
        const struct peet_direct_observer *ops;
        void *self;
        struct peet_direct_sums *sums; /* NULL: nothing is counted for it */
    } observers[PEET__DIRECT_OBSERVERS];
    uint32_t nobservers;
    /* commit.c: */
    uint8_t tells;   /* some of them are told of what is counted, */
    uint8_t commits; /* and may be told when it is final */
    uint32_t nhws;
    struct peet__direct_hw *hws, *live; /* with observers: by hardware context; whose sums are counted now */
    struct peet__direct_held *held;     /* held.c: by hardware context */
    uint8_t holds;                      /* some observer with guards is told at the commit */
    int (*held_other)(struct peet_direct_run *run, uint32_t block_id); /* then: the table's other() */
    struct {
        int (*other)(struct peet_direct_run *run, uint32_t block_id);
        struct peet_direct_miss (*miss)(struct peet_direct_run *run, uint32_t site, uint64_t line);
        int (*loop)(struct peet_direct_run *run, uint32_t block_id, uint64_t iterations, const int64_t *strides);
    } machine; /* its own, if what is waited in them is counted */
    /* the machine's */
    int (*loop)(struct peet_direct_run *run, uint32_t block_id, uint64_t iterations, const int64_t *strides);
    /* with observers: the loop that goes round, NULL: nobody wants to see it; its values, and who shows it */
    const struct peet_block *loop_block;
    uint64_t loop_observers;
    uint64_t values[PEET__DIRECT_VALUES];
    peet_decode_shown *shown;
    void *shown_arg;
    peet_decode_noted *noted; /* NULL: nobody performs notes */
    void *noted_host;
    uint32_t unwanted; /* notes of this type are passed over; PEET_ABSTRACT_NONE: all are wanted */
    struct peet__chunk *chunks;
    struct peet__direct_link *links; /* links.c: */
    uint64_t entered, learns_at;     /* so often code was entered; so often, and sites learn again */
    struct peet__direct_range ranges[PEET__DIRECT_RANGES]; /* calls, then what continues them */
    struct peet__direct_sync sync[PEET__DIRECT_SYNCS];
};

/** peet__direct_make() - code for a function, or new code if it has some.  Returns: it; NULL: not possible.  Lives as
 * long as the program */
struct peet__direct_function *peet__direct_make(struct peet__direct *direct, struct peet__function *function);
/** A block with code came as an event: new code is made if that was because of a watch that is over. */
void peet__direct_came(struct peet_program *program, struct peet__function *function, uint32_t index);

/** watch.c: code asks; run->values are the block's.  Returns: 0, or -1: the block is to come as an event */
int peet__direct_ask(struct peet_direct_run *run, const struct peet__direct_site *site);
/** Which observers have a watch of the block that is none of a counted block?  A bit each. */
uint32_t peet__direct_watchers_of(const struct peet__direct *direct, const struct peet__direct_function *compiled,
    uint32_t index);

/* held.c */
/** peet__direct_hold_init() - for so many hardware contexts.  Returns: 0, or PEET_ENOMEM */
int peet__direct_hold_init(struct peet__direct *direct, unsigned n);
/** peet__direct_hold_wrap() - after all else that wraps the table's other() */
void peet__direct_hold_wrap(struct peet__direct *direct);
void peet__direct_hold_free(struct peet__direct *direct);
/** peet__direct_hold_begin() - a run begins: run->values are set */
void peet__direct_hold_begin(struct peet__direct *direct, struct peet_direct_run *run);
/** peet__direct_mark() - for the code: a block whose values have marks has hit; run->values are its */
void peet__direct_mark(struct peet_direct_run *run, const struct peet__direct_site *site);
/** peet__direct_hold_loop() - so many iterations have been taken since run->time was @began; @observers: who
 * see them */
void peet__direct_hold_loop(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values,
    const int64_t *strides, uint64_t iterations, uint64_t began, uint32_t observers);
/** peet__direct_passes() - a block is to be taken without its code: is that as good as if observers had seen it?  What
 * must not fail, because it happens again, is held for them */
enum { PEET__DIRECT_SHOWN = 2 }; /* it will be shown to them */
int peet__direct_passes(struct peet_direct_run *run, struct peet__function *function, uint32_t index,
    const uint64_t *values);
/** peet__direct_passed() - it has been taken.  @how: what peet__direct_passes() said */
void peet__direct_passed(struct peet_direct_run *run, const struct peet__function *function, uint32_t index,
    const uint64_t *values, int how);
/** peet__direct_refused() - an observer refuses an execution that cannot come as an event: it is shown at the commit.
 * The code counts it all the same.  run->values are the block's.  Returns: 0, or -1: it is to be taken without code */
int peet__direct_refused(struct peet_direct_run *run, const struct peet_block *block);
/** peet__direct_tell_held() - observers are told what is final: all, or as far as that is known */
void peet__direct_tell_held(struct peet__direct *direct, struct peet_direct_run *run, int all);
/** peet__direct_commit_held() - all of the hardware context's is final */
void peet__direct_commit_held(struct peet__direct *direct, unsigned hw);
/** peet__direct_drop_held() - what is not final is undone */
void peet__direct_drop_held(struct peet__direct *direct, unsigned hw);

/* links.c */
/** peet__direct_unlink() - where words lead may have changed: no code goes straight to another block's any more */
void peet__direct_unlink(struct peet__direct *direct);
/** peet__direct_learn_again() - direct->entered is direct->learns_at: what usually comes next may have changed */
void peet__direct_learn_again(struct peet__direct *direct);

/* together.c */
/** peet__direct_count_together() - what was taken in one go is in the table now, block by block */
void peet__direct_count_together(const struct peet__function *function);

/* counted.c */
/** peet__direct_show() - so many iterations of a loop, or one execution, that began at run->began, are shown to
 * observers; then what the machine has to report of it is reported.  The run's limit may be 0 after that */
void peet__direct_show(struct peet_direct_run *run, struct peet__direct_counted_site *site, uint64_t iterations);
/** peet__direct_report() - what the machine has to report is of blocks that were shown or counted */
void peet__direct_report(struct peet_direct_run *run);
/** peet__direct_begins(), peet__direct_ends() - machine code begins to execute blocks, or ends to: observers for whom
 * blocks are counted are told.  @time: the run's.  @is_final: nothing of it will be undone */
void peet__direct_begin_counting(struct peet__direct *direct, struct peet_direct_run *run);
void peet__direct_end_counting(struct peet__direct *direct, struct peet_direct_run *run, uint64_t time, int is_final);
/** peet__direct_pauses(), peet__direct_goes_on() - the same for a run that may wait and go on, which observers hear
 * nothing of; peet_program_direct_close() ends it */
void peet__direct_pause_counting(struct peet__direct *direct, struct peet_direct_run *run, int is_final);
void peet__direct_go_on_counting(struct peet__direct *direct, struct peet_direct_run *run);
/** peet__direct_hw_of() - what is counted of the run's hardware context; NULL: nothing */
struct peet__direct_hw *peet__direct_hw_of(const struct peet__direct *direct, const struct peet_direct_run *run);
/** peet__direct_checkpoint() - the run sets a checkpoint: all up to here is final.  @function, @index: so is this block, which comes next
 * and is not counted yet; NULL: none */
void peet__direct_checkpoint(struct peet__direct *direct, struct peet_direct_run *run,
    const struct peet__function *function, uint32_t index);
/** peet__direct_undone() - the hardware context is at its last checkpoint */
void peet__direct_undone(struct peet__direct *direct, struct peet__direct_hw *hw);
/** peet__direct_defers() - may what observers are told of the run be undone? */
int peet__direct_defers(const struct peet_direct_run *run);
/** peet__direct_counts_ahead() - the block or loop is to be taken without code.  Returns: whether no observer wants to
 * see it */
int peet__direct_counts_ahead(struct peet_direct_run *run, struct peet__function *function, uint32_t index,
    const uint64_t *values);
/** peet__direct_count_ahead() - so many executions have been taken since run->time was @began */
void peet__direct_count_ahead(struct peet_direct_run *run, struct peet__function *function, uint32_t index,
    uint64_t began, uint64_t executions);
/** peet__direct_count_range() - the operation on ranges is counted for observers, for all of whom that is enough.
 *  @values: it is executed, with these; NULL: it has been, since run->began */
void peet__direct_count_range(struct peet_direct_run *run, struct peet__direct_range *range, const uint64_t *values,
    uint64_t elements);
void peet__direct_commit_free(struct peet__direct *direct);
/** watch.c: what observers want of a block; @time: it takes without waiting.  Returns: 0, or -1: to see it */
int peet__direct_ask_observers(struct peet__direct *direct, struct peet__direct_function *compiled,
    const struct peet__function *function, uint32_t index, const uint64_t *values, uint64_t time);
/** peet__direct_ask_of_range() - the same of a library's operation on ranges: does all it takes for that, or nothing */
void peet__direct_ask_of_range(struct peet__direct *direct, struct peet__direct_range *range, const uint64_t *values);
static inline void peet__direct_begins(struct peet__direct *direct, struct peet_direct_run *run)
{
    if (direct->nobservers != 0)
        peet__direct_begin_counting(direct, run);
}
static inline void peet__direct_ends(struct peet__direct *direct, struct peet_direct_run *run, uint64_t time,
    int is_final)
{
    if (direct->nobservers != 0)
        peet__direct_end_counting(direct, run, time, is_final);
}
static inline void peet__direct_pauses(struct peet__direct *direct, struct peet_direct_run *run, int is_final)
{
    if (direct->nobservers != 0)
        peet__direct_pause_counting(direct, run, is_final);
}
static inline void peet__direct_goes_on(struct peet__direct *direct, struct peet_direct_run *run)
{
    if (direct->nobservers != 0)
        peet__direct_go_on_counting(direct, run);
}

/* probes.c */
/** peet__direct_often() - for the code: what the machine's other() returned is more than 0.  Returns: 0 */
int peet__direct_often(struct peet_direct_run *run, uint32_t block_id, uint32_t times);

/* ranges.c */
/** The record of a range operation, as a word. */
#define PEET__RANGE_RECORD PEET_RAW_ABSTRACT(PEET_ABSTRACT_RANGE, PEET__RANGE_ARGS)
/** peet__direct_range() - for the code: the records of range operations at run->at, as far as they go; run->at moves
 * after them, or does not: then decode/direct.c sees to it.  Returns: their instructions */
uint64_t peet__direct_range(struct peet_direct_run *run);

/** Is this word the head of a note that is passed over? */
static inline int peet__direct_unwanted(const struct peet__direct *direct, uint64_t word)
{
    return direct->unwanted != PEET_ABSTRACT_NONE && PEET_RAW_IS_ABSTRACT(word) &&
        PEET_RAW_TYPE(word) == direct->unwanted;
}
/** peet__direct_notes() - for the code: the records of notes at run->at, as far as they are performed; run->at moves
 * after them.  Returns: 0, of their instructions */
uint64_t peet__direct_notes(struct peet_direct_run *run);

/* decode/direct.c */
/** peet__decode_done() - done() of struct peet_direct_table */
void peet__decode_done(struct peet_direct_run *run, uint64_t block_time, uint64_t block_stamps, uint64_t block_reads,
    uint64_t block_writes);
/** peet__direct_emit_ranges() - the code that does this for a record at rbp whose lines are where they were last; all
 * others come out at its end.
 *  @miss: the code that calls the machine's.  @next: where to go on after the record */
struct peet__emit;
void peet__direct_emit_ranges(struct peet__emit *e, struct peet__direct *direct, const uint8_t *leave,
    const uint8_t *miss, const uint8_t *next);
/** peet__direct_range_known() - the machine takes such operations: here is the block.  @what: enum peet_synthetic,
 * PEET_SYNTHETIC_MORE */
void peet__direct_range_known(struct peet__direct *direct, unsigned what, const struct peet_block *block);
/** What peet_program_direct_executed() says of them. */
void peet__direct_ranges_executed(struct peet__direct *direct, peet_program_executed *fn, void *arg);

/** Where a plain record of a block leads. */
static inline const void **peet__direct_entry(const struct peet__direct_function *d, uint32_t index)
{
    return &d->table[-1 - (int64_t)index];
}

/** How often a block was taken. */
static inline uint64_t *peet__direct_taken(const struct peet__direct_function *d, uint32_t index)
{
    return (uint64_t *)&d->table[1 + index];
}

/** Whose run it is, while blocks are taken. */
static inline struct peet__direct *peet__direct_of(const struct peet_direct_run *run)
{
    return (struct peet__direct *)((uintptr_t)run->table - offsetof(struct peet__direct, table));
}

static inline struct peet__function *peet__direct_function_of(const void *const *table)
{
    return (struct peet__function *)(uintptr_t)table[0];
}

#endif
