/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the mapper and a consistency model (peet/consistency.h): which stores it is told of, where orderings stand,
 * and what each step of a context has touched.  consistency.c does it for a run with a model; without one, only the
 * footprints of an exploration are taken.  Hooked into map.c; host.c provides the views.  Nobody outside the mapper
 * includes this.
 *
 * Processor p is hardware context p, its view is domain p + 1.  A context that is alone runs in main memory itself.
 */
#ifndef PEET_MAP_CONSISTENCY_H
#define PEET_MAP_CONSISTENCY_H

#include "state/map.h"
#include <peet/consistency.h>

enum { PEET_FOOTPRINT_MOST = 48 };

/** Views of a location: those of processors are from 1 on. */
enum {
    PEET_VIEW_ALL = 0,
    PEET_VIEW_OTHERS = 128,  /* + v: all but v */
    PEET_VIEW_LIBRARY = 253, /* all, by a function of the C library, whose references are made together */
    PEET_VIEW_ONE = 254,     /* what is the same in all views: stacks */
    PEET_VIEW_MEMORY = 255   /* main memory alone */
};

/**
 * Beyond enum peet_dependence: locked operations of one kind on the same bytes, whose result nobody looks at, leave the
 * same whatever their order. With everything else they are writes.
 */
enum { PEET_HOW_ADDS = 16, PEET_HOW_ANDS, PEET_HOW_ORS, PEET_HOW_XORS };

struct peet_access {
    uint64_t address, bytes;
    uint8_t view, how; /* how: enum peet_dependence, or one of the above */
};

/** What a step has touched: two steps whose footprints do not conflict can be exchanged. */
struct peet_footprint {
    uint32_t n;
    uint32_t all; /* too much to list, or not known */
    /* A call of a library empties its processor's buffer, which the program has not asked for.  Processors, a bit each:
     * this is a store that leaves for such a call; a reference behind one, with no fence of the program's between */
    uint64_t emptied, behind;
    struct peet_access accesses[PEET_FOOTPRINT_MOST];
};

/* Things without an address: beyond those of user space; a model's own are beyond these. */
#define PEET_TOKEN_OUTPUT (1ull << 62)
#define PEET_TOKEN_THREAD (PEET_TOKEN_OUTPUT + 16) /* + its number */
#define PEET_TOKEN_MODEL (1ull << 63)

/** What two steps are to each other. */
enum peet_relation {
    PEET_RELATION_NONE,  /* they can be exchanged */
    PEET_RELATION_RACE,  /* the other order is another execution */
    PEET_RELATION_WAITS, /* the second one waits for the first, as enum peet_dependence says */
    PEET_RELATION_NEEDS, /* there is no other order */
};

void peet__footprint_add(struct peet_footprint *footprint, uint64_t address, uint64_t bytes, unsigned view,
    unsigned how);
/** What a model's move writes, also where something later hides it; its own things the model says itself. */
void peet__footprint_move(struct peet_footprint *footprint, const struct peet_move *move);
enum peet_relation peet__footprint_relation(const struct peet_footprint *earlier, const struct peet_footprint *later);
/** Do two steps race for something that one of them refers to in this view?  PEET_VIEW_ONE: it does not go through the
 * model */
int peet__footprint_meets(const struct peet_footprint *a, const struct peet_footprint *b, unsigned view);
/** Do two steps race for bytes of the program, not only for what the model keeps about them? */
int peet__footprint_shares(const struct peet_footprint *a, const struct peet_footprint *b);
/** Steps that are both possible: is their order seen? */
int peet__footprint_conflict(const struct peet_footprint *a, const struct peet_footprint *b);

/** A reference that a step has made, for who wants to read of it. */
struct peet_made {
    uint64_t address, bytes;
    uint8_t kind, locked; /* kind: enum peet_ref_kind */
    uint32_t line;
    uint32_t hw;
    const struct peet_function *function;
};
enum { PEET_MADE_MOST = 4096 };

/** What a processor has read, since explore.c emptied the list. */
enum { PEET_LOOKED_MOST = 64 };
struct peet_looked {
    uint64_t framed; /* stores of its functions to their own frames, so far */
    uint32_t n;
    uint8_t more;                     /* than there is room for */
    uint8_t outside;                  /* code that is not seen has been called, and may have read something */
    const struct peet_block *calling; /* the last block, if it ended with a call */
    struct peet_read {
        uint64_t address, bytes, value; /* value: a hash of more than 8 bytes */
    } reads[PEET_LOOKED_MOST];
    struct peet_read modified; /* by its last locked operation: what that has left */
    uint8_t as_left;           /* it stood there still when the step under way began */
};

/** Places of locked operations, and what stood there when the step under way began. */
enum { PEET_BEFORE_MOST = 32 };
struct peet_before {
    uint32_t n, next; /* next: to be forgotten for another one */
    struct peet_read places[PEET_BEFORE_MOST];
};

struct peet_map_consistency {
    const struct peet_module *module;
    const struct peet_consistency *ops; /* NULL: no model */
    void *self;
    struct peet_map_module *instance;
    struct peet_views views;
    const struct peet_map_views *world;
    uint8_t sync_only, exploring;
    uint8_t moving; /* a move is under way ... */
    uint8_t unseen; /* ... that is no step of its own */
    /* exploring: processors that a context has come to, or gone on at, and that see everything before its next step */
    uint64_t came;
    uint64_t emptied;                 /* exploring: see struct peet_footprint; a processor each */
    uint8_t locked;                   /* sync_only: the access under way is a locked one */
    uint32_t gaps;                    /* exploring: enum peet_explore_gap */
    uint64_t memory_epoch;            /* grows whenever somebody's view changes */
    uint64_t frame_stores;            /* of these, by stores of functions to their own frames */
    struct peet_footprint *footprint; /* of the step under way; NULL: nobody wants it */
    uint64_t events, stores, private_stores;
    uint8_t commuting;          /* PEET_HOW_...: the locked store under way is one; 0: not */
    struct peet_made *made;     /* explaining: of the step under way, the first so many; NULL: nobody wants them */
    uint32_t nmade, more;       /* the latter: for which there was no room */
    struct peet_looked *looked; /* exploring: of each processor; NULL: nobody wants it */
    struct peet_before before;  /* exploring without a model */
};

/** peet__consistency_value() - what a processor sees there now, as struct peet_read has it.  Returns: 0, or not 0: it
 * cannot be read */
int peet__consistency_value(const struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes,
    uint64_t *out_value);

/** A step begins: what stands at places of locked operations is looked at. */
void peet__consistency_step(struct peet_map *map);
/** Has a locked operation of this step left what stood there when it began?  0 also: that is not known.  before.c */
int peet__consistency_as_before(struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes);

/** The next block of a context that waits for its turn: what it orders; 0: nothing.  @pc: ATOMIC's argument */
unsigned peet__consistency_ordering(struct peet_map *map, uint64_t pc);
/** Will a context that joins this thread wait? */
int peet__consistency_runs(struct peet_map *map, uint64_t number);
/** Does a context take its turn here for what lies outside of memory, a stream or a file? */
int peet__consistency_outside(const struct peet_abstract_event *event);
/** Does it depend on the time, which exploration does not vary? */
int peet__consistency_timed(const struct peet_abstract_event *event);
/** What an abstract event orders, as the context asks for it. */
unsigned peet__consistency_meaning(struct peet_map *map, const struct peet_abstract_event *event);
/** Blocks that the core's context has just executed, in its view. */
void peet__consistency_blocks(struct peet_map *map, struct peet_map_core *core, const struct peet_block_event *events,
    unsigned n);
/** What a function of the C library has referred to; a block of its references, after the function has run. */
void peet__consistency_library(struct peet_map *map, struct peet_map_core *core, const struct peet_block_event *event);
/** An abstract event of the core's context is about to be performed. */
void peet__consistency_event(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event);
/** The core's context goes on with the access before which it has waited (ATOMIC): what it orders is done now, as
 * nobody acts in between. */
void peet__consistency_access(struct peet_map *map, struct peet_map_core *core);
/** Exploring: those that have come, and are still there, see everything. */
void peet__consistency_came(struct peet_map *map);
/** A context comes onto a core, which another one had before. */
void peet__consistency_switch(struct peet_map *map, unsigned hw);
/** Would an event of this core have to wait until something is performed? */
int peet__consistency_waits(struct peet_map *map, unsigned hw, const struct peet_abstract_event *event);
void peet__consistency_free(struct peet_map *map);

/** Does it look at each reference? */
static inline int peet__consistency_references(const struct peet_map *map)
{
    return map->consistency->exploring || !map->consistency->sync_only;
}

static inline int peet__consistency_on(const struct peet_map *map)
{
    return __builtin_expect(map->consistency != NULL, 0);
}

#endif
