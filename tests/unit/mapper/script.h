/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted source for tests of the mapper, and a machine that logs what it is shown.  A program is a
 * body (a list of blocks with their costs, and of loops); a loop has a body per iteration.
 */
#ifndef PEET_TEST_SCRIPT_H
#define PEET_TEST_SCRIPT_H

#include "mapper.h"

enum { SCRIPT_COSTS = 32, SCRIPT_OPS = 24, SCRIPT_LOOPS = 64, SCRIPT_BODIES = 2000 };

enum script_kind { SCRIPT_BLOCK, SCRIPT_FORK, SCRIPT_YIELD, SCRIPT_EXIT, SCRIPT_HANG };

struct script_op {
    enum script_kind kind;
    unsigned value; /* BLOCK: cost in cycles; FORK: the loop */
};

struct script_body {
    unsigned n;
    struct script_op ops[SCRIPT_OPS];
};

struct script_loop {
    int64_t lo, hi;
    enum peet_schedule schedule;
    uint64_t chunk;
    int marked;
    unsigned first_body; /* body of iteration lo; the others follow */
    unsigned missing;    /* marked: so many iterations at the end do not exist */
};

struct script {
    struct script_body main;
    unsigned nloops, nbodies;
    int batches; /* the source hands out blocks in batches where it can; 2: equal ones as loops */
    struct script_loop loops[SCRIPT_LOOPS];
    struct script_body bodies[SCRIPT_BODIES];
};

/** What every abstract event costs in the logging machine, and in the reference. */
static inline uint64_t script_cost(uint32_t type)
{
    switch (type) {
    case PEET_ABSTRACT_DOALL_FORK:
        return 3;
    case PEET_ABSTRACT_DOALL_START:
        return 1;
    case PEET_ABSTRACT_DOALL_FINISH:
        return 2;
    default:
        return 0;
    }
}
/** Blocks of some costs stall their hardware context for so long afterwards. */
static inline uint64_t script_stall(unsigned cost)
{
    return cost % 7 == 3 ? 5 : 0;
}

struct script_record {
    unsigned hw;
    uint32_t context, type; /* abstract type, or 1000 + block's cost */
    uint64_t now;
};
struct script_log {
    struct script_record *records;
    size_t n, room;
};
void script_log_add(struct script_log *log, struct script_record record);
void script_log_free(struct script_log *log);

struct script_result {
    int err;
    struct peet_error error;
    uint64_t end;
    unsigned nhw;
    struct peet_map_hw hw[64];
    struct peet_map_totals totals;
    int status;
    unsigned live_sources; /* contexts that the source still has */
};

/** script_run() - a script through the mapper.  @pull: with the pull form of the machine */
void script_run(const struct script *script, const struct peet_map_config *config, int pull, struct script_log *log,
    struct script_result *out);

/** reference_run() - the same by brute force, cycle by cycle (reference.c) */
void reference_run(const struct script *script, const struct peet_map_config *config, struct script_log *log,
    struct script_result *out);

/** The same machine for tests of their own; its state is the log of the last script_run(). */
extern struct peet_module script_machine, script_pull_machine;
extern const struct peet_source_ops script_ops;

#endif
