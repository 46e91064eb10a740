/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: where the time went.  Every cycle of every hardware context is charged to one category, and those in which
 * instructions retired or were waited for also to a function and source line.  The sums are exact: x86_stack_check()
 * adds them up at the end of every run.
 *
 * A *place* is a function and a source line.  A hardware context's stack covers its clock; a software context's covers
 * the cycles that it had a hardware context, and what it waited for besides.
 */
#ifndef PEET_X86_STACK_H
#define PEET_X86_STACK_H

#include <peet/module.h>

/* X(name, key, text) */
#define X86_CATEGORIES(X) \
    X(BASE, "base", "instructions retired as fast as they are dispatched") \
    X(DEPENDENCE, "dependence", "waiting for operands, and latencies of operations") \
    X(UNITS, "units", "waiting for an execution unit") \
    X(L1, "l1", "latency of L1D hits and of forwarding from stores") \
    X(L2, "l2", "served by the L2") \
    X(L3, "l3", "served by the L3") \
    X(DRAM, "dram", "served by DRAM") \
    X(COHERENCE, "coherence", "waiting for other cores' caches") \
    X(TLB, "tlb", "translation beyond the first-level TLB") \
    X(FETCH, "fetch", "instructions not in the L1I, or not decoded yet (fetch_uops)") \
    X(BRANCH, "branch", "refill after mispredicted branches, bubbles of unknown targets") \
    X(FENCE, "fence", "fences, locked and serialising operations, pauses") \
    X(ESTIMATED, "estimated", "sampled timing: instructions between windows, but for their misses and mispredictions") \
    X(SYNC, "sync", "calls of the thread library, besides their instructions and waits") \
    X(LOCK, "lock_wait", "waiting for mutexes and read-write locks") \
    X(BARRIER, "barrier_wait", "waiting for others at barriers, joins and ends of parallel loops") \
    X(SIGNAL, "signal_wait", "waiting for conditions, semaphores, doacross posts, once") \
    X(SLEEP, "sleep_wait", "sleeping, waiting for input or output") \
    X(SYSTEM, "system", "switches of context, system calls: what the mapper charges") \
    X(IDLE, "idle", "no software context to run; of a software context: ready, but no hardware context")

enum x86_category {
#define X(name, key, text) CPI_##name,
    X86_CATEGORIES(X)
#undef X
        CPI_CATEGORIES
};

/** What is charged to one function and line. */
struct x86_place {
    const struct peet_function *function;
    uint32_t line;
    uint64_t instructions;
    uint64_t cycles[CPI_CATEGORIES];
};

/** A software context. */
struct x86_software {
    uint32_t number, place; /* where it was last */
    uint8_t known, forked;
    uint64_t start, end;           /* its life */
    uint64_t run[CPI_CATEGORIES];  /* on hardware contexts, without waits */
    uint64_t wait[CPI_CATEGORIES]; /* not running, or its hardware context idle */
    uint64_t fork_cycles;
    uint64_t last; /* when it left the hardware context on which it was last */
    uint32_t hw;   /* ... or has not left it yet */
};

struct x86_stacks {
    struct x86_place *places;
    uint32_t nplaces, places_room;
    uint32_t *buckets, nbuckets;   /* of places by function and line */
    struct x86_software *software; /* by number; those beyond the listed ones share the last */
    uint32_t nsoftware;
};

enum { X86_LISTED = 1000 }; /* software contexts that are listed one by one */

int x86_stacks_init(struct x86_stacks *s);
void x86_stacks_fini(struct x86_stacks *s);

/** x86_stacks_place() - number of a place, made if need be; UINT32_MAX: out of memory */
uint32_t x86_stacks_place(struct x86_stacks *s, const struct peet_function *function, uint32_t line);

/** x86_stacks_software() - the record of a software context; that of all the others beyond X86_LISTED.  NULL: out of
 * memory */
struct x86_software *x86_stacks_software(struct x86_stacks *s, uint32_t number);

struct x86;
/** x86_stack_check() - do all sums agree?  Returns: 1, or 0 after env->fail() */
int x86_stack_check(const struct x86 *x);
/** x86_stack_stats() - stacks of hardware contexts, software contexts, functions and lines, and tables for people */
void x86_stack_stats(const struct x86 *x, const struct peet_env *env, struct peet_stats *node);
/** x86_stack_files() - the same as x86-stacks.csv in the results folder.  Returns: 0, or -1 after env->fail() */
int x86_stack_files(const struct x86 *x);

extern const char *const x86_category_keys[CPI_CATEGORIES], *const x86_category_texts[CPI_CATEGORIES];

#endif
