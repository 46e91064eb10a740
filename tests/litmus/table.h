/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The litmus table in memory, and sets of outcomes.  Shared by the tool (generator, enumerators) and the unit test of the models.
 */
#ifndef PEET_LITMUS_TABLE_H
#define PEET_LITMUS_TABLE_H

#include <stddef.h>

enum { THREADS_MOST = 6, OPS_MOST = 8, REGISTERS_MOST = 16, LOCATIONS = 4, OUTCOME_BYTES = 96, TESTS_MOST = 200 };

enum litmus_kind { OP_LOAD, OP_STORE, OP_XCHG, OP_ADD, OP_MFENCE, OP_SFENCE };

struct litmus_op {
    enum litmus_kind kind;
    int location, value, reg; /* reg -1: none */
    char order;               /* ' ' relaxed, r a s */
};

struct litmus_test {
    char name[40], condition[60], verdicts[80];
    int nthreads, nregs, line;
    int nops[THREADS_MOST];
    struct litmus_op ops[THREADS_MOST][OPS_MOST];
    unsigned used; /* mask of locations */
};

enum litmus_model { LITMUS_SC, LITMUS_TSO, LITMUS_PSO, LITMUS_PC, LITMUS_WO, LITMUS_RC, LITMUS_MODELS };
extern const char *const litmus_models[LITMUS_MODELS];

/** All tests of a file.  Returns: how many; ends the program with a message if a line cannot be read */
int litmus_read(const char *path, struct litmus_test *out_tests);

/** Sorted outcomes without doubles: "r0 r1 ... x=.. y=..". */
struct litmus_set {
    char (*texts)[OUTCOME_BYTES];
    size_t n, room;
};
void litmus_add(struct litmus_set *set, const struct litmus_test *t, const int *regs, const int *memory);
int litmus_holds(const struct litmus_set *set, const char *outcome);
void litmus_free(struct litmus_set *set);
/** Does an outcome meet the test's condition? */
int litmus_meets(const struct litmus_test *t, const char *outcome);

/** What the models allow: by walking an abstract machine (sc, tso, pso), by axioms over candidate executions (all). */
void litmus_machine(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set);
void litmus_axioms(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set);

/** A small test by chance, of two or three threads; its condition is empty. */
void litmus_random(struct litmus_test *t, unsigned seed);
/** Threads that store, order, and end with something other than a store. */
void litmus_random_ends(struct litmus_test *t, unsigned seed);
/** As a line of the table, to standard output. */
void litmus_print(const struct litmus_test *t);

static inline int litmus_reads(const struct litmus_op *o)
{
    return o->kind == OP_LOAD || o->kind == OP_XCHG || o->kind == OP_ADD;
}
static inline int litmus_writes(const struct litmus_op *o)
{
    return o->kind == OP_STORE || o->kind == OP_XCHG || o->kind == OP_ADD;
}
static inline int litmus_locked(const struct litmus_op *o)
{
    return o->kind == OP_XCHG || o->kind == OP_ADD;
}

#endif
