/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine "numa": nodes with processors, memory and a directory for that memory, and a network between them.  What
 * its files share.  module.c is what peet sees, access.c a processor's references, home.c transactions at a line's
 * home, nodes.c where pages are and what messages cost, report.c statistics and memory reports, check.c the checker.
 * docs/NUMA.md describes the model.
 *
 * Invariants:
 *   1  A reference that hits changes its own cache only (a stamp, E to M) and costs no time of anybody else's.
 *   2  Everything else is a transaction at the line's home: home.c performs it wholly, states first, when it is asked
 * for; peet asks in order of simulated time, so that a line's transactions are in that order, too. 3  States follow
 * dirproto.h's tables, of which numa->used counts each row.
 */
#ifndef PEET_NUMA_H
#define PEET_NUMA_H

#include <peet/module.h>
#include "common/ahead.h"
#include "common/directory.h"
#include "common/dirproto.h"
#include "common/dram.h"
#include "common/linemap.h"
#include "common/network.h"
#include "common/tags.h"

enum { NUMA_NODES_MAX = 256, NUMA_PROCESSORS_MAX = 4096, NUMA_NO_OWNER = 0xffff, NUMA_DISTANCE_LOCAL = 10 };
enum numa_placement { PLACE_FIRST_TOUCH, PLACE_INTERLEAVED, PLACE_ONE };
#define NUMA_PLACEMENTS "first-touch|interleaved|one"
enum numa_wires { WIRES_TABLE, WIRES_RING, WIRES_MESH };
#define NUMA_WIRES "table|ring|mesh"
enum numa_cost { COST_SCHEMA, COST_UNIT, COST_INSTRUCTIONS };
#define NUMA_COSTS "schema|unit|instructions"

/** Why a processor missed. */
enum numa_kind { KIND_COLD, KIND_REPLACED, KIND_INVALIDATED, KIND_UPGRADE, KINDS };

/** What a message carries: a command and an address, or a line as well. */
enum numa_message { NUMA_CONTROL, NUMA_DATA, NUMA_MESSAGES };

/** A line at its home; in a linemap.  Sets follow: sharers, who ever had it, who lost it to another's write. */
struct numa_line {
    uint8_t state;   /* enum peet_sim_home */
    uint8_t touched; /* somebody had it */
    uint16_t owner;  /* a processor, or NUMA_NO_OWNER if state is not OWNED or EXCLUSIVE */
    uint32_t home;   /* the node + 1; 0: nobody has asked for the line */
    uint64_t sets[];
};

struct numa_processor_stats {
    uint64_t reads, writes, read_misses, write_misses, kinds[KINDS];
    uint64_t local_memory, remote_memory, local_owner, remote_owner, upgrades_local, upgrades_remote; /* who answered */
    uint64_t invalidated, replaced_clean, replaced_dirty, stall_cycles, latency_local_cycles, latency_remote_cycles;
};

struct numa_processor {
    struct peet_sim_tags cache;
    uint64_t *keys;  /* of its slots: common/ahead.h, which takes hits by them */
    uint32_t *hints; /* [numa->hints_mask + 1] slots where lines were last, by their lowest bits */
    uint32_t number, node;
    struct numa_processor_stats stats;
};

struct numa_node {
    struct peet_sim_server controller; /* the home's directory */
    struct peet_sim_server port;       /* WIRES_TABLE: messages that leave */
    struct peet_sim_dram dram;
    uint64_t pages, local_requests, remote_requests, forwards, invalidations;
};

enum { NUMA_REPORTS = 256 };

/** The reference that is under way, for reports. */
struct numa_site {
    const struct peet_block *block;
    uint64_t address;
    uint32_t ref, bytes;
};

struct numa {
    struct peet_sim_ahead *ahead; /* the first member.  NULL: each processor's references come one by one */
    const struct peet_env *env;
    const struct peet_sim_dirproto *protocol;
    struct peet_sim_directory directory;
    uint32_t nhw, nnodes, line_bytes, line_shift, page_shift, set_words, sharer_words;
    enum numa_placement placement;
    enum numa_wires wires;
    enum numa_cost cost;
    uint32_t hit_cycles, home_cycles, probe_cycles, local_cycles, link_bytes, memory_cycles;
    uint32_t bytes[NUMA_MESSAGES], flits[NUMA_MESSAGES]; /* of a message */
    int flat, check, dead, watched, perfect;
    uint32_t hints_mask;
    uint8_t rights[PEET_SIM_COPIES]; /* by state: PEET_SIM_MAY_READ, PEET_SIM_MAY_WRITE */
    uint32_t *delay;                 /* WIRES_TABLE: cycles from node to node, nnodes x nnodes */
    uint32_t *distance;              /* as the user has them */
    struct numa_processor *processors;
    struct numa_node *nodes;
    struct peet_sim_network network;
    struct peet_sim_linemap lines, pages, versions; /* pages: node + 1 of each page; versions: for check */
    uint64_t messages[NUMA_MESSAGES], remote_messages[NUMA_MESSAGES], transactions[PEET_SIM_DIR_REQUESTS];
    struct numa_site site;
    uint32_t nreports;
    struct peet_memory_event reports[NUMA_REPORTS]; /* for observers; they do not know of them yet */
    struct {
        uint64_t cache[PEET_SIM_COPIES][PEET_SIM_DIR_OPS], home[PEET_SIM_HOMES][PEET_SIM_DIR_REQUESTS],
            owner[PEET_SIM_COPIES][PEET_SIM_FORWARDS];
    } used;
    uint64_t version; /* check: of the last write */
    uint64_t *copies; /* check: the version of each slot of each cache */
};

/* nodes.c */
/** peet__numa_nodes_init() - nodes, distances, memory.  Returns: 0, or -1 after env->fail() */
struct numa_memory {
    uint32_t channels, banks, cas_cycles, burst_cycles, overhead_cycles;
};
int peet__numa_nodes_init(struct numa *n, const char *distances, uint32_t hop_cycles, const struct numa_memory *memory);
void peet__numa_nodes_fini(struct numa *n);
/** peet__numa_node_of() - where a line is; @node: who touches it, if nobody has */
uint32_t peet__numa_node_of(struct numa *n, uint64_t line, uint32_t node);
/** peet__numa_send() - a message.  Returns: when it has arrived */
static inline uint64_t peet__numa_send(struct numa *n, uint32_t from, uint32_t to, enum numa_message what, uint64_t now)
{
    n->messages[what]++;
    if (from == to)
        return now + n->local_cycles;
    n->remote_messages[what]++;
    if (n->wires != WIRES_TABLE)
        return peet_sim_network_send(&n->network, from, to, n->bytes[what], now);
    return peet_sim_server_request(&n->nodes[from].port, now, n->flits[what]) + n->flits[what] +
        n->delay[from * n->nnodes + to];
}
/** peet__numa_memory() - one line of a node's memory.  Returns: when it is read or written */
uint64_t peet__numa_memory(struct numa *n, uint32_t node, uint64_t line, int write, uint64_t now);

/* home.c */
/** peet__numa_miss() - a reference that is no hit; @slot: of the line's copy, or PEET_SIM_NO_SLOT.  Returns: when it is
 * served */
uint64_t peet__numa_miss(struct numa *n, struct numa_processor *p, uint64_t line, enum peet_sim_dir_op op,
    uint64_t slot, uint64_t now);
struct numa_line *peet__numa_line(struct numa *n, uint64_t line);
/** peet__numa_set() - the copy in a slot of a processor's cache has this state now; PEET_SIM_COPY_I: it is gone */
static inline void peet__numa_set(const struct numa *n, struct numa_processor *p, uint64_t slot, uint8_t state)
{
    p->cache.states[slot] = state;
    p->keys[slot] = state == PEET_SIM_COPY_I ? 0 : p->cache.numbers[slot] << PEET_SIM_KEY_SHIFT | n->rights[state];
}

static inline union peet_sim_sharers *peet__numa_sharers(struct numa_line *l)
{
    return (union peet_sim_sharers *)(void *)l->sets;
}

/* check.c */
int peet__numa_check_init(struct numa *n);
void peet__numa_check_fini(struct numa *n);
/** The copy in a slot now has what memory has, or what another slot has. */
void peet__numa_check_fill(struct numa *n, const struct numa_processor *p, uint64_t slot, uint64_t line,
    const struct numa_processor *from, uint64_t from_slot);
void peet__numa_check_memory_takes(struct numa *n, const struct numa_processor *p, uint64_t slot, uint64_t line);
/** After a reference of a line: everything that must hold does.  It has just made a copy, so that a home that takes
 * everybody for a sharer (directory=broadcast) is not expected to know of none. */
void peet__numa_check_reference(struct numa *n, const struct numa_processor *p, uint64_t line, int write);
void peet__numa_violated(struct numa *n, uint64_t line, const char *what);

/* report.c */
void peet__numa_report_init(struct numa *n);
/** peet__numa_report() - observers get what is kept for them: before they see the block */
void peet__numa_report(struct numa *n);
void peet__numa_report_miss(struct numa *n, const struct numa_processor *p, enum numa_kind kind, int write,
    uint32_t other, uint64_t cycles, uint64_t now);
void peet__numa_report_removed(struct numa *n, const struct numa_processor *p, uint64_t line,
    const struct numa_processor *by, int dirty, uint64_t now);
void peet__numa_stats(struct numa *n, const struct peet_env *env, struct peet_stats *node);

/* access.c */
extern const struct peet_direct peet__numa_direct;
uint64_t peet__numa_block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now);
uint64_t peet__numa_blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t count, uint64_t now,
    uint64_t until, size_t *out_done);
uint64_t peet__numa_loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
    uint64_t *out_turns);

#endif
