/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted threads for tests of synchronisation: each thread is a list of blocks with their costs and of
 * requests; what each request returned is kept.  threads_script.c runs them through the mapper,
 * threads_reference.c by brute force.
 */
#ifndef PEET_TEST_THREADS_SCRIPT_H
#define PEET_TEST_THREADS_SCRIPT_H

#include "mapper.h"

enum { THREADS_OP_BLOCK = 1000, THREADS_COSTS = 64, THREADS_HANDLER = 7 /* cycles of a handler */ };

/** A block of a cost (type THREADS_OP_BLOCK, args[0]) or a request (type: enum peet_abstract_type). */
struct threads_op {
    uint32_t type;
    uint64_t args[6];
};

struct threads_program {
    struct threads_op *ops;
    unsigned n, room;
};

/** Thread 0 is the main context; THREAD_CREATE's function is the index of a program. */
struct threads_script {
    struct threads_program *programs;
    unsigned n;
};

void threads_add(struct threads_script *script, unsigned program, uint32_t type, unsigned nargs, ...);
void threads_clear(struct threads_script *script);

struct threads_record {
    uint64_t now;
    unsigned hw;
    uint32_t context, type;
    uint64_t args[6];
    unsigned nargs;
};

struct threads_result {
    int err;
    struct peet_error error;
    uint64_t end;
    struct threads_record *log; /* abstract events in the order in which they were delivered */
    size_t nlog, log_room;
    /* per context number: what its requests returned, in order; freed by threads_result_free() */
    struct {
        uint64_t *values;
        unsigned n, room;
    } *answers;
    unsigned nanswers;
    unsigned blocked, live, reports;
    int livelock;
    uint32_t circle[8];
    unsigned ncircle;
    char first_wait[200], first_report[300];
};
void threads_result_free(struct threads_result *result);
void threads_log(struct threads_result *result, struct threads_record one);
void threads_answer(struct threads_result *result, uint32_t context, uint64_t value);

/** A request was interrupted that goes on after a handler.  Returns: 1, and what it asks then */
int threads_interrupted(const struct threads_op *op, uint64_t answer, struct threads_op *out_again);

/** Cost of a request in the test's machine.  0: all are free */
extern int threads_costly;
static inline uint64_t threads_cost(uint32_t type)
{
    return threads_costly && type >= PEET_ABSTRACT_THREAD_CREATE && type != PEET_ABSTRACT_ATOMIC ? type * 7 % 4 : 0;
}

/** Hooks of single tests. */
struct threads_hooks {
    unsigned (*winner)(void *self, const uint32_t *waiters, unsigned n, uint64_t now);
    unsigned (*io_ready)(void *self, int descriptor, unsigned events, int64_t wait_ns);
    uint64_t modify_cycles, load_cycles, store_cycles; /* of the lock models' references; 0: there are none */
    uint64_t references[3];                            /* out: how many of each */
    uint64_t (*state)(void *self, uint32_t context);
};
extern struct threads_hooks threads_hooks;

/** @pull: with the pull form of the machine */
void threads_run(const struct threads_script *script, const struct peet_map_config *config, int pull,
    struct threads_result *out);
/** The same by brute force: events one by one, everything a list. */
void threads_reference(const struct threads_script *script, const struct peet_map_config *config,
    struct threads_result *out);

#endif
