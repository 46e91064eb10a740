/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: the memory system, as the cores see it.  Private L1I, L1D and L2 for each core, a shared sliced L3 with a
 * directory, TLBs, prefetchers, DRAM.  A core asks at the simulated time at which its access would leave the
 * address unit; the answer is when the data is there.  Times need not be in order: what is shared keeps
 * reservations (simulators/common/server.h), so that an access that comes late in the host's order finds the gap
 * that it would have found.
 *
 * Left to others: everything inside the core (core.h): queues, forwarding, the window.  A core's memory-level
 * parallelism is bounded here, by its MSHRs.
 */
#ifndef PEET_X86_MEMORY_H
#define PEET_X86_MEMORY_H

#include <peet/module.h>

struct x86_memory;
struct x86_memory_config; /* memory_config.h: sizes, latencies, protocol, from the module's parameters */

enum x86_access_kind { X86_LOAD, X86_STORE, X86_MODIFY, X86_FETCH, X86_PREFETCH };

/** One access inside one line. */
struct x86_access {
    uint64_t address;
    uint32_t size_bytes;
    uint32_t core; /* physical core: SMT threads share its caches */
    uint32_t hw;   /* hardware context, for reports */
    uint8_t kind;  /* enum x86_access_kind */
    uint8_t locked;
    uint32_t ref;                   /* in block->refs */
    const struct peet_block *block; /* may be NULL */
};

/** Where an access was served: what a CPI stack charges. */
enum x86_served { X86_L1, X86_L2, X86_L3, X86_REMOTE /* another core's cache */, X86_DRAM, X86_SERVED };

struct x86_outcome {
    uint64_t done_cycles;      /* loads: the data is there; stores: the line is there to be written */
    uint32_t tlb_cycles;       /* of that time, translation beyond the first-level TLB */
    uint32_t coherence_cycles; /* ... and waiting for other cores' caches */
    uint8_t served;            /* enum x86_served */
    uint8_t missed; /* 0: the line was in the first-level cache with the right that it takes, or on its way there */
};

/**
 * x86_memory_new() - the memory system of so many cores
 * @env: for reports, data structures that are to be perfect, and refusals.  Returns: NULL after env->fail()
 */
struct x86_memory *x86_memory_new(const struct peet_env *env, const struct x86_memory_config *config, unsigned cores);
void x86_memory_free(struct x86_memory *memory);

/** x86_memory_access() - an access that begins at this time */
void x86_memory_access(struct x86_memory *memory, const struct x86_access *access, uint64_t now,
    struct x86_outcome *out);

/** x86_memory_l1_cycles() - load-to-use latency of an L1D hit */
unsigned x86_memory_l1_cycles(const struct x86_memory *memory);

/** x86_memory_stats() - counters of caches, TLBs, prefetchers, network, DRAM below this object */
void x86_memory_stats(const struct x86_memory *memory, const struct peet_env *env, struct peet_stats *node);

/** x86_memory_check() - do the caches and the directory agree?  Returns: 1, or 0 after env->fail() with what is wrong
 */
int x86_memory_check(const struct x86_memory *memory);

#endif
