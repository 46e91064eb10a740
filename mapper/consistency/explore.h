/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exploration: another engine than "least clock first".  Each context runs until it stands before something that others
 * can notice: an atomic or volatile access, a request to a synchronisation object, a system call.  Then a *chooser*
 * says who goes on, or which pending store is performed.  A step is all that a context does from one such point to the
 * next.  Clocks stay in order: a context that was kept waiting was stalled for so long, so each execution is one of a
 * machine whose processors are held up now and then.
 */
#ifndef PEET_EXPLORE_H
#define PEET_EXPLORE_H

#include "consistency/consistency.h"

enum {
    PEET_OPTIONS_MOST = 96,   /* at one choice of an exhaustive search, and moves of a model */
    PEET_OPTIONS_ROOM = 4096, /* at any choice */
    PEET_EXPLORE_LOOKS = 32,  /* at one place, by a context that waits and counts */
};

/** What executions could not vary; a mask. */
enum peet_explore_gap {
    PEET_GAP_WHOLE = 1,      /* a read-modify-write without a lock was one step */
    PEET_GAP_PROCESSORS = 2, /* a context waited for a processor */
    PEET_GAP_TIME = 4,       /* something went by the time */
    PEET_GAP_LOOPS = 8,      /* a loop that counts was made to wait */
    PEET_GAP_UNSEEN = 16,    /* code that is not recorded was called while others were alive */
};

/** Something that can happen next.  A context that signals a condition has an option for each that waits. */
struct peet_option {
    /* the same option has the same number wherever it stands in a list; of a context: its number, above it that of the
     * one it wakes, + 1, or 0 */
    uint64_t id;
    uint32_t hw; /* whose: the hardware context that goes on, or the processor of the move */
    uint32_t is_move;
    struct peet_move move;
};

/** Whose an option is: the same number for all that a context can do next. */
static inline uint64_t peet_option_owner(uint64_t id)
{
    return id >> 63 ? id : id & UINT32_MAX;
}

enum { PEET_CHOICE_ABANDON = -1 };

/** A step as it was made, for an explanation. */
struct peet_step {
    const struct peet_option *option;
    int64_t context;                         /* -1: the processor of a move has none any more */
    uint32_t source;                         /* the context's number as the source has it; of a move: nobody's */
    const struct peet_abstract_event *event; /* before which the context stood; NULL: a move */
    const struct peet_made *made;
    uint32_t nmade, more; /* the latter: references that are not in @made */
};

struct peet_map_chooser {
    /** choose() - one of n > 0 options.  Returns: its index, or PEET_CHOICE_ABANDON: the run ends here */
    int (*choose)(void *arg, const struct peet_option *options, unsigned n);
    /** done() - the chosen step has been made */
    void (*done)(void *arg, const struct peet_footprint *footprint);
    uint64_t steps_most;
    void *arg;
    /** stands() - the step is about to be made, by a context that is still where it stood; NULL: nobody wants it */
    void (*stands)(void *arg, const struct peet_step *step);
    /** explain() - the step in words' terms; NULL: nobody wants it.  Views are as the step has left them */
    void (*explain)(void *arg, const struct peet_step *step);
};

/** peet_map_set_chooser() - explore instead of following the clocks; needs peet_map_set_consistency(); borrowed */
void peet_map_set_chooser(struct peet_map *map, const struct peet_map_chooser *chooser);

/** Why an exploring run ended, beyond what peet_map_run() says. */
enum peet_explore_end { PEET_EXPLORE_ENDED, PEET_EXPLORE_ABANDONED, PEET_EXPLORE_STEPS, PEET_EXPLORE_SPINNING };
enum peet_explore_end peet_map_explore_end(const struct peet_map *map);
/** enum peet_explore_gap, of the execution so far. */
uint32_t peet_map_explore_gaps(const struct peet_map *map);

/** peet_map_view_read() - what a processor sees, -1: main memory.  Returns: 0, or not 0 if it is not mapped */
int peet_map_view_read(struct peet_map *map, int processor, uint64_t address, void *bytes, size_t n);
/** peet_map_context_on() - Returns: the number of the context on a processor, or -1 */
int64_t peet_map_context_on(const struct peet_map *map, unsigned processor);

/** The engine; map.c calls it. */
void peet__explore_engine(struct peet_map *map);

#endif
