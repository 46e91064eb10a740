/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directory coherence protocols as tables of stable states, for machines whose transactions are atomic: a home performs
 * one request for a line after the other.  A machine looks up what a cache does (cache), what the line's home does
 * (home), and what an owner does that the home has forwarded a request to (owner); it keeps the states, and knows what
 * each step costs.  The tables know nothing of time, networks or sharer sets.
 *
 * Source: D. J. Sorin, M. D. Hill, D. A. Wood, A Primer on Memory Consistency and Cache Coherence, chapter 8: MSI
 * (8.2), MESI (8.3), MOESI (8.4), without the transient states.  Three things differ, and none changes which states may
 * stand side by side: a cache that has a copy asks for the right to write with UPGRADE and gets no data; an owner in
 * state E that another cache wants to read from becomes a sharer and sends no data home, where they are; and the home's
 * states E and M are one, EXCLUSIVE, as a home cannot know whether a copy in E has been written.
 *
 * Invariants: at most one owner, in E, M or O; beside E and M there is no other copy; home's state is INVALID if there
 * is no copy, SHARED if all copies are in S, OWNED if one is in O, EXCLUSIVE if one is in E or M; memory is up to date
 * unless a copy is in M or O.
 */
#ifndef PEET_SIM_DIRPROTO_H
#define PEET_SIM_DIRPROTO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** States of a copy. */
enum peet_sim_copy {
    PEET_SIM_COPY_I,
    PEET_SIM_COPY_S,
    PEET_SIM_COPY_O,
    PEET_SIM_COPY_E,
    PEET_SIM_COPY_M,
    PEET_SIM_COPIES
};
/** What a cache wants of a line. */
enum peet_sim_dir_op { PEET_SIM_LOAD, PEET_SIM_STORE, PEET_SIM_REPLACE, PEET_SIM_DIR_OPS };
/** What a cache asks of a line's home.  OWNER_UPGRADE: by the owner itself, which has state O. */
enum peet_sim_dir_request {
    PEET_SIM_GETS,
    PEET_SIM_GETM,
    PEET_SIM_UPGRADE,
    PEET_SIM_OWNER_UPGRADE,
    PEET_SIM_PUTS,
    PEET_SIM_PUTE,
    PEET_SIM_PUTO,
    PEET_SIM_PUTM,
    PEET_SIM_DIR_REQUESTS,
    PEET_SIM_NO_REQUEST = PEET_SIM_DIR_REQUESTS
};
/** States of a line at its home. */
enum peet_sim_home {
    PEET_SIM_HOME_INVALID,
    PEET_SIM_HOME_SHARED,
    PEET_SIM_HOME_OWNED,
    PEET_SIM_HOME_EXCLUSIVE,
    PEET_SIM_HOMES
};
/** What a home forwards to the owner. */
enum peet_sim_forward {
    PEET_SIM_FORWARD_GETS,
    PEET_SIM_FORWARD_GETM,
    PEET_SIM_FORWARDS,
    PEET_SIM_NO_FORWARD = PEET_SIM_FORWARDS
};
/** What the home notes of who asked. */
enum peet_sim_dir_note { PEET_SIM_NOTE_NONE, PEET_SIM_NOTE_SHARER, PEET_SIM_NOTE_OWNER, PEET_SIM_NOTE_GONE };

/** A cache: state x operation.  A request's new state is the home's to say. */
struct peet_sim_cache_row {
    uint8_t can_be;  /* 0: never happens */
    uint8_t request; /* enum peet_sim_dir_request; PEET_SIM_NO_REQUEST: a hit, */
    uint8_t next;    /* ... after which the copy is in this state */
};
/** A home: state x request. */
struct peet_sim_home_row {
    uint8_t can_be;
    uint8_t from_memory; /* the home sends the line */
    uint8_t forward;    /* enum peet_sim_forward, to the owner, which sends the line, and whose row says the home's next
                           state */
    uint8_t invalidate; /* all copies but the requester's, and but that of an owner that was forwarded to, go */
    uint8_t to_memory;  /* the request brings the line, and memory takes it */
    uint8_t note;       /* enum peet_sim_dir_note */
    uint8_t copy;       /* the requester's state */
    uint8_t next;       /* the home's state, */
    uint8_t next_empty; /* ... and if no copy is left */
};
/** An owner: state x forwarded request. */
struct peet_sim_owner_row {
    uint8_t can_be;
    uint8_t next;      /* its copy's state */
    uint8_t to_memory; /* it sends the line home, too */
    uint8_t home;      /* the home's next state */
};

struct peet_sim_dirproto {
    const char *name;
    struct peet_sim_cache_row cache[PEET_SIM_COPIES][PEET_SIM_DIR_OPS];
    struct peet_sim_home_row home[PEET_SIM_HOMES][PEET_SIM_DIR_REQUESTS];
    struct peet_sim_owner_row owner[PEET_SIM_COPIES][PEET_SIM_FORWARDS];
};

enum peet_sim_dirproto_id { PEET_SIM_DIR_MSI, PEET_SIM_DIR_MESI, PEET_SIM_DIR_MOESI, PEET_SIM_DIRPROTOS };
/** In that order, for the range of a module's parameter. */
#define PEET_SIM_DIRPROTO_NAMES "msi|mesi|moesi"

/** peet_sim_dirproto() - the tables of a protocol; constant, and nobody's to free */
const struct peet_sim_dirproto *peet_sim_dirproto(enum peet_sim_dirproto_id id);

#ifdef __cplusplus
}
#endif
#endif
