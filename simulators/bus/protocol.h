/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a coherence protocol: one constant state table, read by the engine (engine.c) and by
 * nobody else.  The tables are in protocols.c, each with its source.
 */
#ifndef PEET_BUS_PROTOCOL_H
#define PEET_BUS_PROTOCOL_H

#include <stdint.h>

/* X(NAME, stats key, text): transactions on the bus */
#define BUS_OPS(X) \
    X(NONE, "none", "no transaction") \
    X(READ, "read", "line read, to share") \
    X(READX, "read_exclusive", "line read, to own; others invalidate") \
    X(INVALIDATE, "invalidate", "address only; others invalidate") \
    X(WRITE, "write_word", "the written words go to memory; others invalidate or take them") \
    X(UPDATE, "update", "the written words go to the other copies, memory is not written") \
    X(WRITE_BACK, "write_back", "a line goes to memory")

enum bus_op {
#define X(name, key, text) OP_##name,
    BUS_OPS(X)
#undef X
        BUS_OPS_COUNT
};

enum { BUS_STATES_MAX = 6, BUS_INVALID = 0 };

enum bus_state_flags {
    BUS_ONLY = 1,  /* no other cache has a copy */
    BUS_DIRTY = 2, /* this cache answers for the line: memory may be stale; written back when replaced */
};

/** What a processor's reference does to the line in its own cache. */
struct bus_processor_row {
    uint8_t op;     /* enum bus_op; OP_NONE: done without the bus */
    uint8_t alone;  /* next state if no other cache keeps a copy */
    uint8_t shared; /* next state if some other cache keeps one (the "shared" wire) */
    uint8_t again;  /* the reference is not done: look it up again in the next state */
};

enum bus_snoop_flags {
    BUS_NEVER = 1,   /* cannot happen: a state that excludes this transaction by another */
    BUS_SUPPLY = 2,  /* sends the line to the requester (in place of memory) */
    BUS_REFLECT = 4, /* memory takes the line too, in the same transaction */
    BUS_TAKE = 8,    /* takes the written words into its copy */
    BUS_REFUSE = 16, /* the requester must try again, after this cache wrote the line back */
};

/** What a transaction by another cache does to the line in this cache. */
struct bus_snoop_row {
    uint8_t next;
    uint8_t flags; /* enum bus_snoop_flags */
};

struct bus_protocol {
    const char *name, *source;
    unsigned nstates;
    struct {
        const char *name;
        unsigned flags; /* enum bus_state_flags */
    } states[BUS_STATES_MAX];
    struct bus_processor_row processor[BUS_STATES_MAX][2];     /* [state][is a write] */
    struct bus_snoop_row snoop[BUS_STATES_MAX][BUS_OPS_COUNT]; /* [state][op]; state INVALID is not looked up */
};

/** The order is that of the parameter "protocol". */
enum bus_protocol_id {
    PROTOCOL_WRITE_ONCE,
    PROTOCOL_SYNAPSE,
    PROTOCOL_BERKELEY,
    PROTOCOL_ILLINOIS,
    PROTOCOL_MESI, /* the same table */
    PROTOCOL_MSI,
    PROTOCOL_MOESI,
    PROTOCOL_FIREFLY,
    PROTOCOL_DRAGON,
    PROTOCOL_THROUGH,
    PROTOCOLS
};
#define BUS_PROTOCOL_NAMES "write-once|synapse|berkeley|illinois|mesi|msi|moesi|firefly|dragon|through"

/** peet__bus_protocol() - the table; @allocate: whether a write miss brings the line in (THROUGH only) */
const struct bus_protocol *peet__bus_protocol(enum bus_protocol_id id, int allocate);

#endif
