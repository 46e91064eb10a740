/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module's store buffers and queues (simulators/consistency/model.c) in a world of a few bytes: a litmus test's threads and the model's
 * moves, one step at a time.  litmus_reach() makes all steps from all states, with no reduction at all: what peet finds by exploration
 * must be what it finds.  The unit tests walk by themselves.
 */
#ifndef PEET_LITMUS_WALK_H
#define PEET_LITMUS_WALK_H

#include "table.h"
#include <peet/consistency.h>

enum { WALK_STRIDE = 64, WALK_MOVES = 64 };

struct model;

/** Who wants to know what steps do. */
struct walk_hooks {
    void (*perform)(void *arg, uint64_t address, uint64_t n);                           /* a step that is no move: to whatever views */
    void (*load)(void *arg, unsigned processor, uint64_t address, uint64_t n);
    void (*depends)(void *arg, uint64_t first, uint64_t n, unsigned how);
    void *arg;
};

struct walk_state {
    struct peet_views views;
    uint8_t memory[THREADS_MOST + 1][LOCATIONS * WALK_STRIDE]; /* view 0 is main memory */
    const struct litmus_test *test;
    const struct walk_hooks *hooks; /* NULL: nobody */
    int moving;
    struct model *model;
    int pc[THREADS_MOST], regs[REGISTERS_MOST];
};

/** At the beginning of a test under a model, with buffers of @depth stores. */
void walk_begin(struct walk_state *s, const struct litmus_test *t, enum litmus_model kind, unsigned depth);
void walk_copy(struct walk_state *out, const struct walk_state *from);
void walk_end(struct walk_state *s);
/** Can this thread make its next step? */
int walk_ready(const struct walk_state *s, unsigned p);
void walk_step(struct walk_state *s, unsigned p);
unsigned walk_moves(const struct walk_state *s, struct peet_move out_moves[WALK_MOVES]);
void walk_move(struct walk_state *s, const struct peet_move *move);
/** The test is over: its outcome goes to a set.  Returns: 0 if threads or stores are left; ends the program if views differ then */
int walk_over(const struct walk_state *s, struct litmus_set *set);

/** What the model reaches. */
void litmus_reach(const struct litmus_test *t, enum litmus_model kind, unsigned depth, struct litmus_set *set);

#endif
