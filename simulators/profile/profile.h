/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `profile`: what each function, source line, call site and call path costs, itself and with all that it
 * calls.  module.c receives the events, stack.c follows calls and returns of each software context, tables.c holds what
 * grows, report.c writes the results.
 *
 * Invariants
 *   1. c->sum holds all costs of a context so far.  Costs are only ever added there.  When a call begins, c->sum is
 *      subtracted from its edge, and when the call ends, c->sum is added to it.  So an edge has the inclusive cost of
 *      its calls, as soon as none of them goes on.
 *   2. All else follows from that, when the results are written (derive.c).  What control brings into a node, by calls
 *      and by returns, less what it takes out of it, is what the node costs itself: the sum over the edges that lead
 *      there, less the sum over those that begin there.  So the sums over functions and over paths equal the totals.
 *   3. An edge keeps outermost calls of a function apart from those within it: the function's inclusive cost is the sum
 *      of the former over all edges to it.
 *   4. No node has an ancestor of its own function: recursion goes back to the first node of the function.  So the
 *      tree of paths stays as small as the program's call graph allows, however deep the recursion is.  Contexts that
 *      are listed apart have a tree each; the results have one.
 *
 *   5. While code takes blocks for one context (peet/direct.h), and libraries' operations on ranges among them, it counts what they come to: the block's own cycles in
 *      place->counted, instructions, reads and writes in p->sums.  What a shown block comes with, and its hardware
 *      context's base, are the context's costs in all; c->sum is as much before anybody else uses it.  Only where a
 *      block is shown c->node changes.
 *   6. What the memory system reports of a hardware context that is not in the middle of a block belongs to what its
 *      context did last.  So the reports on all hardware contexts are booked after each event, whosever it is.
 *
 * The rules of calls are callgrind's (Weidendorfer, Kowarschik and Trinitis, ICCS 2004; Valgrind's callgrind/bbcc.c): a
 * jump to a function's first instruction, also from within, is a call that returns together with its caller; what leaves several frames at
 * once ends all of them.
 */
#ifndef PEET_PROFILE_H
#define PEET_PROFILE_H

#include <peet/counting.h>
#include <peet/direct.h>
#include <peet/module.h>

#include <string.h>

enum { PROFILE_LEVELS = 6, PROFILE_CAUSES = PEET_MISS_CAUSES + 1 /* the last: instruction fetches */ };
enum profile_measure {
    INSTRUCTIONS,
    READS,
    WRITES,
    CYCLES,
    RARE, /* from here on: what changes with few blocks */
    WAITED = RARE,
    STALLED,
    FIRST_MISS,
    MEASURES = FIRST_MISS + PROFILE_LEVELS * PROFILE_CAUSES
};
enum { NOTHING = UINT32_MAX };

struct cost {
    uint64_t
        version; /* of a context's sum, and of copies of it: it is another one whenever a rare measure has changed */
    uint64_t of[MEASURES];
};

/** How control leaves a block, and how it comes to the next one shown: what one can tell from the blocks alone. */
enum ways {
    CALLS = 1,     /* by a call */
    RETURNS = 2,   /* by a return, and in no other way */
    CONTINUES = 4, /* somewhere in a function */
    ENTERS = 8,    /* at its entry */
    LIBRARY = 16,  /* a library's function, which is a block */
    FROM = CALLS | RETURNS,
    TO = CONTINUES | ENTERS | LIBRARY
};

/** A block of the program. */
struct place {
    const struct peet_block *block; /* NULL: never executed */
    struct peet_counts each, varying;
    uint64_t executions, cycles, waited;
    struct cost *insns; /* misses and stalls by instruction; NULL: none so far */
    uint32_t routine;   /* its function's id */
    uint32_t edge;      /* that was taken last from here, or of a library's, to here; 0: none */
    /* how it ends; tails: by a jump that leaves the function, if it is taken; leaves: returns or tails */
    uint8_t returns, jumps, tails, leaves;
    uint8_t library; /* what a library's function references */
    uint8_t calls;   /* ends in a call: what is entered next has been called */
    uint8_t entry;   /* of its function, and nothing else */
    uint8_t ways;    /* all that in one: enum ways */
    uint8_t first;   /* not the entry, but the function's first instruction: a jump there is a call, also from within */
    /* what code counts of executions that do not come as events; watch is the last member, for its guards */
    struct peet_direct_counted counted;
    struct peet_direct_watch watch;
};

/** A function of the program. */
struct routine {
    const struct peet_function *function; /* NULL: never executed */
    /* derived: */
    uint64_t calls;
    struct cost inclusive; /* each cycle once, however deep the recursion */
};

/** From one call site to one function. */
struct arc {
    uint32_t caller, callee;       /* functions; caller NOTHING: code that was not compiled by peetcc */
    const struct peet_block *site; /* the block that ends with the call; NULL: none */
    uint32_t next;                 /* in its chain */
    /* derived: */
    uint64_t calls;
    struct cost inclusive; /* of each call, as callgrind has it: recursion counts again */
};

/** A call path. */
struct node {
    uint32_t parent, routine; /* NOTHING: a root */
    uint32_t arc;
    uint32_t edges, group;
};

/** What follows a node when a site calls a function: mostly a child, an ancestor if it is recursion. */
struct edge {
    uint32_t from, node, routine, arc;
    const struct place *site;
    uint32_t next;
    uint64_t calls;
    /* inclusive cost: [0]: of outermost calls of the function, [1]: of others */
    uint64_t of[2][RARE];
    uint64_t *rare[2]; /* the rare measures; NULL: all 0 */
};

/** A call that goes on. */
struct frame {
    struct place *last;     /* of the caller */
    uint32_t edge, routine; /* who is called */
    uint8_t tail;           /* returns when its caller does */
    uint8_t back;           /* jumps from the function to its first instruction, all from one place */
    struct cost enter;      /* the context's sum when it began: cycles, and the rare measures */
    uint64_t times;         /* so many jumps back; in enter the sum over them: of instructions, reads and writes */
};

/** A function, as one context sees it. */
struct routine_seen {
    uint32_t depth;       /* so often on the stack */
    uint32_t called_back; /* by code that is not seen, at least once */
};

/** A software context while it is there. */
struct thread {
    struct place *last; /* of the last block; NULL: none so far */
    struct frame *frames;
    struct routine_seen *on; /* by function id */
    uint32_t nframes, frames_room, on_room;
    uint32_t number, node, group;
    uint64_t asked;          /* the time of its last event, */
    struct hardware *hw;     /* and where that was */
    uint8_t waits;           /* its last event may have taken it off its processor */
    uint8_t signal;          /* a signal handler comes next */
    struct cost sum, booked; /* booked: what the group's root has of it */
};

/** Contexts whose functions are listed apart: the first ones by themselves, all others together. */
struct group {
    struct cost came; /* in all, to the root */
    uint32_t root;    /* its node; NOTHING: none so far */
};

struct hardware {
    struct thread *thread;
    struct place *place;
    uint64_t last;
    uint8_t open, missed;
    struct cost misses;
    /* code takes blocks of this context; NULL: none, or none was shown since it began to */
    struct thread *running;
    uint64_t base[RARE]; /* its costs are the code's sums and so much more; cycles: the clock and so much more */
};

struct profile {
    const struct peet_env *env;
    enum peet_convention convention;
    uint32_t nlevels, measures; /* in use */
    const struct peet_memory_level *levels;
    struct place **places;    /* by block id */
    struct routine *routines; /* by function id */
    struct arc *arcs;
    struct node *nodes;
    struct edge *edges;
    struct thread **threads; /* by number */
    struct group *groups;
    struct hardware *hw;
    uint32_t *chains; /* of arcs, by hash */
    uint32_t nplaces, nroutines, narcs, arcs_room, nnodes, nodes_room, nedges, edges_room, nthreads, ngroups, nchains;
    uint64_t *transfers;          /* lines that the cache of one hardware context gave to another: from * n + to */
    struct cost nowhere;          /* of no block of the program: misses, stalls, cycles, waits */
    struct peet_direct_sums sums; /* instructions, reads and writes of the context for which code takes blocks */
    /* the last of struct hardware's that were set; of the only one, as long as shown_alone() is called */
    struct thread *running;
    uint64_t base[RARE];
    int failed;
};

void profile_cost_copy_rare(const struct profile *p, struct cost *to, const struct cost *sum);

static inline void cost_add_all(const struct profile *p, struct cost *to, const struct cost *cost)
{
    for (uint32_t i = 0; i < p->measures; i++)
        to->of[i] += cost->of[i];
}

/* ---- tables.c: all return NULL (or NOTHING) after env->fail() */
int profile_grow_to(struct profile *p, void *list, uint32_t *room, size_t wanted, size_t bytes);
/** Room for @wanted entries, the new ones 0.  Returns: 0, or -1 after env->fail() */
static inline int profile_grow(struct profile *p, void *list, uint32_t *room, size_t wanted, size_t bytes)
{
    return wanted <= *room ? 0 : profile_grow_to(p, list, room, wanted, bytes);
}
struct place *profile_place_new(struct profile *p, const struct peet_block *block);
struct thread *profile_thread(struct profile *p, uint32_t number);
void profile_thread_over(struct profile *p, struct thread *c);
int profile_routine(struct profile *p, const struct peet_function *function);
struct cost *profile_insn(struct profile *p, struct place *place, uint32_t insn);
void profile_free(struct profile *p);

static inline struct place *profile_place(struct profile *p, const struct peet_block *block)
{
    if (__builtin_expect(block->id < p->nplaces && p->places[block->id] != NULL, 1))
        return p->places[block->id];
    return profile_place_new(p, block);
}

/* ---- stack.c */
/** The context enters a block that does not simply follow the last one in its function. */
void profile_move(struct profile *p, struct thread *c, struct place *place);
/** The same for an entry after a block that ends in a call, without a signal. */
void profile_call(struct profile *p, struct thread *c, const struct place *place);
/** The same for what is no entry, after a block that returns.  Returns: 0: it is not the end of one call, which was no
 * jump, so that profile_move() has to look */
int profile_return(struct profile *p, struct thread *c, const struct place *place);
/** Both in one, where this is so and nothing has to be looked for: after the block @last, whatever c->last is.
 * @base, @sums: the context's costs are both together; c->sum need not be so far.
 * Returns: 0: nothing has happened, the others are to see to it */
int profile_step(struct profile *p, struct thread *c, struct place *last, const struct place *place,
    const uint64_t base[RARE], const uint64_t sums[RARE]);
/** The context is in the block, by a jump from its own function, and so many times again by jumps of the block to itself:
 * calls, as callgrind has it, for it is the function's first one.  @from: the block before, or NULL */
void profile_back(struct profile *p, struct thread *c, struct place *place, struct place *from, uint64_t turns);
/** All calls end. */
void profile_unwind(struct profile *p, struct thread *c);

/** shown_alone() of struct peet_direct_observer, for the one context for which code takes blocks. */
void profile_shown_alone(void *self, const struct peet_direct_counted *counted, const struct peet_block *previous,
    const struct peet_block_event *event, unsigned hw);

/* ---- module.c */
/** The same for what is not simply a call or a return. */
void profile_shown_otherwise(void *self, const struct peet_direct_counted *counted, const struct peet_block *previous,
    const struct peet_block_event *event, unsigned hw);

/* ---- derive.c */
/** What follows from the edges. */
struct profile_path {
    uint32_t parent, routine, arc; /* of routine NOTHING: the root, which is the first */
    uint64_t calls;
    struct cost self;
};
struct profile_derived {
    struct profile_path *paths; /* of all contexts; each is followed by those below it, in the order of arcs */
    uint32_t npaths;
    struct cost *self;      /* what each node costs itself */
    uint32_t *first, *next; /* the nodes of each group that are functions'; NOTHING: no more */
    uint32_t *arcs;         /* in the order of callers, sites and callees */
};
/** Costs of routines, arcs, paths and groups; nothing may go on.  Returns: 0, or -1 after env->fail(); in any case
 * profile_derived_free() follows */
int profile_derive(struct profile *p, struct profile_derived *out);
void profile_derived_free(struct profile_derived *d);

/* ---- report.c */
void profile_stats(struct profile *p, const struct peet_env *env, struct peet_stats *node, int paths);

#endif
