/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `races`: data races of a run.  Two accesses race if they touch a byte in common, one of them writes,
 * not both are atomic, and nothing orders one before the other: no lock, barrier, semaphore, condition, creation or
 * end of a thread, task or iteration, and no atomic access that publishes what another one reads.  Order is what
 * Lamport calls happened-before (CACM 1978), and is known by vector clocks as in FastTrack (Flanagan and Freund, PLDI
 * 2009).
 *
 * Invariants
 *   1. A *strand* is what the program itself executes in order: the main program, a thread, an OpenMP task, an
 *      iteration of a parallel loop.  Tasks and iterations that one thread executes one after the other are strands
 *      of their own, since another schedule would have executed them side by side.
 *   2. Strands that have ended leave their *slot* to later ones; a slot's clock never goes back.  clocks[slot] of a
 *      strand says up to which of that slot's clocks all has happened before.
 *   3. What is remembered of a word are the accesses that later ones may still race with, each until a later one of
 *      the same strand, or ordered behind it, would race with all that it could race with.  So a word on which there
 *      is a race has at least one reported.
 *   4. Libraries are taken on trust: of two accesses of libraries only those of functions that copy, fill, compare or
 *      search memory count, and none of an allocator to its own data.  What a library does is reported where the
 *      program has called it.
 */
#ifndef PEET_RACES_H
#define PEET_RACES_H

#include <peet/module.h>
#include "common/linemap.h"
#include "common/locks.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { RACES_NONE = UINT32_MAX, RACES_NAME = 200 };

/** What has happened before, for each slot. */
struct races_clocks {
    uint32_t n, room, *v;
};

enum races_strand_kind { RACES_MAIN, RACES_THREAD, RACES_TASK, RACES_ITERATION };

/** What a report says of a strand; kept when it has ended. */
struct races_name {
    uint64_t number;      /* of the context, the task, or the iteration */
    uint32_t slot, begin; /* its first clock */
    uint8_t kind;
};

/** Addresses from low to before high. */
struct races_range {
    uint64_t low, high;
};

struct races_strand {
    uint32_t id, slot; /* id: in races.names */
    uint32_t own;      /* so much of its own slot's past happened before it */
    uint32_t references;
    uint8_t over, kept, kind; /* kept: others will begin after its end */
    struct races_clocks clocks;
    struct races_clocks children, ended; /* ends of its tasks; of the tasks that were executed on top of it */
    uint32_t group, member_of;           /* the taskgroup that it is in now, and that it was made in; 0: none */
    struct races_clocks fence, looked; /* published by relaxed stores after a fence; seen by relaxed loads before one */
    struct races_strand *parent;
    struct races_range stack;    /* of its frames: tasks and iterations have another one's stack */
    struct races_strand **after; /* a task begins after these */
    uint32_t nafter, after_room;
    struct races_strand *below;        /* a task: what its context goes on with */
    struct races_strand *tasks, *next; /* that have ended, and are kept until it has waited for them */
    struct races_known_task *known;    /* a task: how it is found */
};

/** A software context. */
struct races_context {
    struct races_strand *base, *now; /* its own strand, or the iteration's; a task's while it is executed */
    uint32_t wait;                   /* enum peet_abstract_type of the request that is not answered yet */
    uint64_t object, argument;
    struct peet_sim_lock_request lock;
    uint64_t wakes;                      /* the semaphore of its next request orders nothing; 0: none is known */
    const struct peet_block *program;    /* the last block of the program's own */
    const struct peet_function *library; /* the last function of a library's since then; NULL: none */
    int allocates;                       /* since then an allocator's function has been executed */
    uint32_t loop;
    struct races_range thread_local_data;
};

/** A synchronisation object, or an atomic variable: what who acquires it knows. */
struct races_object {
    struct {
        uint64_t address, kind, more; /* more: an iteration, or a barrier's round */
    } key;
    struct races_clocks released, readers;
    struct peet_sim_lock lock;
    uint64_t round; /* of a barrier: its number, or who has not gone on yet */
    UT_hash_handle hh;
};

/** A taskgroup: the ends of its tasks, and the group around it. */
struct races_group {
    struct races_clocks ended;
    uint32_t outer;
};

/** A doall loop that is being executed. */
struct races_loop {
    int64_t lo, hi;
    uint64_t started;
    struct races_strand *parent;
    struct races_clocks begin, end;
};

enum races_how { RACES_WRITE = 1, RACES_ATOMIC = 2 };

/** An access that later ones may race with. */
struct races_cell {
    uint32_t next, clock, strand, site; /* next: of the same word; index, 0: none */
    uint8_t mask, how;                  /* bytes of the word */
};

/** Where an access is. */
struct races_site {
    struct {
        const struct peet_function *function, *library; /* library: that made the access for it; NULL: none */
        uint64_t line, how, size_bytes;                 /* how: enum races_how */
    } key;
    uint32_t index;
    uint8_t copies;  /* the library's function copies, fills, compares or searches */
    uint8_t reaches; /* ... by vectors, of which the last one may reach beyond what it is asked for */
    UT_hash_handle hh;
};

struct races_race {
    uint64_t key;                    /* both sites */
    uint32_t sites[2], strands[2];   /* of its first occurrence, the earlier access first */
    uint64_t address, times, cycles; /* cycles: when */
    uint32_t bytes;
    char name[RACES_NAME]; /* of the data */
    UT_hash_handle hh;
};

struct races {
    const struct peet_env *env;
    uint64_t limit, accesses;
    int failed, volatile_is_atomic;

    struct races_name *names;
    uint32_t nnames, names_room;
    uint32_t *free_slots, nfree, first_free, free_room, nslots; /* a ring: the slot that is free longest comes first */
    uint32_t *slot_clocks, slots_room;

    struct races_context *contexts;
    uint32_t ncontexts;
    struct races_loop *loops;
    uint32_t nloops, loops_room;
    struct races_strand **threads; /* by number: what a thread begins with, or ended with */
    uint32_t nthreads;
    struct races_known_task *tasks; /* uthash, by number */
    struct races_group *groups;     /* from 1 */
    uint32_t ngroups, groups_room;
    struct races_object *objects;       /* uthash */
    void *blocks;                       /* blocks.c */
    struct races_late *late;            /* uthash */
    uint64_t now;                       /* of the event that is looked at */
    struct races_clocks input, signals; /* what has been written to files and sockets; sent */

    struct peet_sim_linemap words; /* by word of 8 bytes: its first cell */
    struct races_cell *cells;
    uint32_t ncells, cells_room, free_cell;
    struct races_site **sites, *sites_by_key;           /* by index, from 1 */
    uint32_t nsites, sites_room, **sites_of, nsites_of; /* by block and reference: 0: not met yet */
    struct races_race *races;                           /* uthash, in the order in which they were found */
    uint64_t dropped;
};

/* ---- clocks.c */
void races_no_memory(struct races *r);
/** races_grow() - room for @wanted elements; new ones are 0.  Returns: 0, or -1: no memory, and the run has failed */
int races_grow(struct races *r, void *list, uint32_t *room, uint64_t wanted, size_t bytes);
int races_lengthen(struct races *r, struct races_clocks *c, uint32_t n);
/** races_join() - @into knows what @from knows */
void races_join(struct races *r, struct races_clocks *into, const struct races_clocks *from);
void races_copy(struct races *r, struct races_clocks *into, const struct races_clocks *from);
static inline uint32_t races_clock(const struct races_clocks *c, uint32_t slot)
{
    return slot < c->n ? c->v[slot] : 0;
}
void races_clocks_free(struct races_clocks *c);

/* ---- strands.c */
/** races_strand_new() - begins after @begin; NULL: after what @parent has done so far, if there is one.  The caller
 * holds a reference */
struct races_strand *races_strand_new(struct races *r, uint8_t kind, uint64_t number, struct races_strand *parent,
    const struct races_clocks *begin);
void races_strand_hold(struct races_strand *s);
void races_strand_drop(struct races *r, struct races_strand *s);
/** races_strand_over() - it does nothing more: its slot is free */
void races_strand_over(struct races *r, struct races_strand *s);
/** races_release() - who acquires it knows what the strand has done so far */
void races_release(struct races *r, struct races_strand *s, struct races_clocks *into);
void races_acquire(struct races *r, struct races_strand *s, const struct races_clocks *from);

/* ---- objects.c */
enum races_object_kind {
    RACES_LOCK,
    RACES_BARRIER,
    RACES_ROUND,
    RACES_CONDITION,
    RACES_SEMAPHORE,
    RACES_ONCE,
    RACES_POST,
    RACES_ATOM
};
void races_objects_free(struct races *r);
/** races_object_free() - it is no object any more */
void races_object_free(struct races *r, struct races_object *o);
/** races_object() - NULL: it is not there, or no memory */
struct races_object *races_object(struct races *r, uint64_t address, uint8_t kind, uint64_t more, int make);

/* ---- tasks.c */
void races_tasks_free(struct races *r);
/** races_task() - a note of TASK */
void races_task(struct races *r, struct races_context *c, const uint64_t *args);
/** races_tasks_waited() - nobody can ask for tasks any more that were made by the strand and have ended */
void races_tasks_waited(struct races *r, struct races_strand *s);

/* ---- sync.c */
struct races_context *races_context(struct races *r, uint32_t number);
void races_abstract(struct races *r, const struct peet_abstract_event *event);
/** races_resume() - the context goes on, perhaps with this event; NULL: with a block */
void races_resume(struct races *r, struct races_context *c, const struct peet_abstract_event *grant);
/** races_reads_atom(), races_writes_atom() - before and after an atomic access.  @order: enum peet_order */
void races_reads_atom(struct races *r, struct races_strand *s, uint64_t address, uint8_t order);
void races_writes_atom(struct races *r, struct races_strand *s, uint64_t address, int replaces, uint8_t order);
void races_fence(struct races *r, struct races_strand *s);

/* ---- shadow.c */
void races_access(struct races *r, struct races_strand *s, uint64_t address, uint64_t bytes, uint8_t how,
    uint32_t site);
/** races_forget() - other things will lie there */
void races_forget(struct races *r, uint64_t address, uint64_t bytes);
/** races_forget_range() - the same; nothing if low is not below high */
void races_forget_range(struct races *r, const struct races_range *range);

/* ---- blocks.c */
/** races_alloc(), races_free() - events of ALLOC and FREE */
void races_alloc(struct races *r, const struct peet_abstract_event *event);
void races_free(struct races *r, const struct peet_abstract_event *event);
void races_blocks_free(struct races *r);

/* ---- sites.c */
int races_is_library(const struct peet_function *function);
/** races_executes() - a context executes this function: whether the program, a library, or in it an allocator */
void races_executes(struct races_context *c, const struct peet_block *block);
/** races_site() - where a reference of a block is; @c: who makes it.  Returns: 0: no memory, a library's before the
 * program has begun, or an allocator's to its own data */
uint32_t races_site(struct races *r, const struct races_context *c, const struct peet_block *block, uint32_t ref,
    uint8_t how);
/** races_begins_atomic() - is the site a plain load with which an atomic operation begins that the processor does not
 * have (on a floating-point number), and that compilers make of a load, the operation, and a loop of
 * compare-and-exchanges? */
int races_begins_atomic(const struct races *r, uint32_t site);
void races_sites_free(struct races *r);

/* ---- report.c */
/** races_found() - @earlier and the access by @s at @site race */
void races_found(struct races *r, const struct races_cell *earlier, const struct races_strand *s, uint64_t address,
    uint32_t bytes, uint32_t site);
/** races_take_back() - what was found there since that many cycles was none */
void races_take_back(struct races *r, uint64_t address, uint64_t bytes, uint64_t cycles);
void races_races_free(struct races *r);
void races_stats(const struct races *r, const struct peet_env *env, struct peet_stats *node);

#endif
