/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random walks through the executions of a program: who goes on at each choice, by one of three strategies in turn.
 * Which bugs a strategy finds soon differs from program to program (Thomson, Donaldson, Betts, "Concurrency Testing
 * Using Controlled Schedulers", TOPC 2016), and nobody knows beforehand which one it will be.
 *
 *   stays       The same context goes on with a probability that is drawn once for the walk, else any; moves of a model
 *               (stores that are performed) likewise.
 *   orders      Each option gets a random priority when it comes up, and the highest is taken (partial order sampling,
 *               Yuan, Yang, Gu, CAV 2018, without its second drawing for steps that race): orders of few steps are
 *               equally likely, however long the contexts are that make them.
 *   priorities  Each context has a random priority, and the highest goes on; at some random steps whoever would go on
 *               becomes the lowest (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): a bug that needs d
 *               orderings among n contexts of k steps is met with a probability of at least 1 / (n k^(d - 1)).
 *
 * In half of the walks main goes on until it has to wait, as a rule for the threads that it has made: many bugs need
 * several of them at their beginnings.
 *
 * A walk depends on its seed, its number and the length that its execution is expected to have, and on nothing else;
 * so these three name it.
 */
#ifndef PEET_WALKS_H
#define PEET_WALKS_H

#include "consistency/explore.h"

enum { PEET_WALK_CHANGES = 4 /* of priorities, at most */ };

enum peet_walk_how { PEET_WALK_STAYS, PEET_WALK_ORDERS, PEET_WALK_PRIORITIES, PEET_WALK_HOWS };

struct peet_walk {
    uint64_t seed, number, length; /* length: choices that an execution is expected to have */
    uint64_t random, step;         /* step: of the walk, from 1 */
    enum peet_walk_how how;
    int first; /* main goes on until it has to wait */
    /* stays */
    uint32_t stay, moves; /* out of 16, how likely the same goes on, and a move is made */
    uint64_t last;
    /* orders: what could be taken at the step before, but for what was */
    uint32_t lag; /* priorities of moves have been halved so often */
    uint32_t nwaiting;
    struct peet_waiting {
        uint64_t id, priority;
    } waiting[PEET_OPTIONS_ROOM];
    /* priorities: changes[i] is a step, lowered[i] whom it made the lowest */
    uint32_t nchanges;
    uint64_t changes[PEET_WALK_CHANGES], lowered[PEET_WALK_CHANGES];
};

/** peet__walk_begin() - walk @number of a seed; @length: 0: not known */
void peet__walk_begin(struct peet_walk *walk, uint64_t seed, uint64_t number, uint64_t length);
/** peet__walk_choose() - Returns: the index of one of @n > 0 options */
unsigned peet__walk_choose(struct peet_walk *walk, const struct peet_option *options, unsigned n);

#endif
