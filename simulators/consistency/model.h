/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store buffers and incoming queues: one machine for all models.  A store stands in its processor's buffer until it
 * goes to main memory (*committed*: this fixes its place among all stores to its location).  Under sc, tso and pso
 * everybody sees it at that moment; under pc, wo and rc it goes into a queue in front of each other processor, which
 * goes on seeing the old value until it is *applied*.
 *
 *            leaves the buffer                applied from the queue                    acquire, release, full
 *   sc       at once                          -                                         nothing to do
 *   tso      in order                         -                                         empties the buffer (full only)
 *   pso      in order for each location       -                                         full empties the buffer; a
 *                                                                                       release store waits for all
 *                                                                                       before
 *   pc       in order                         in order for each sender and location     acquire empties the queue, full
 *                                                                                       both
 *   wo       in order for each location       in order for each location                all are full
 *   rc       as wo; a release store waits     as wo                                     acquire empties the queue,
 *                                                                                       release the buffer, full both
 *
 * A processor's own pending stores hide those of others, byte by byte: they will be later in the order of their
 * location.  Used by module.c and by the unit tests; knows views only through struct peet_views.
 */
#ifndef PEET_CONSISTENCY_MODEL_H
#define PEET_CONSISTENCY_MODEL_H

#include <peet/consistency.h>

enum model_kind { MODEL_SC, MODEL_TSO, MODEL_PSO, MODEL_PC, MODEL_WO, MODEL_RC };
enum model_drain { DRAIN_EAGER, DRAIN_LAZY, DRAIN_TIMED, DRAIN_RANDOM };
enum { MODEL_STORE_BYTES = 64 };

struct model_config {
    enum model_kind kind;
    enum model_drain drain;
    uint32_t depth;          /* stores that a buffer holds, and a queue */
    uint64_t delay_cycles;   /* DRAIN_TIMED: from the end of the store to its commit, and on to each application */
    uint64_t visible_cycles; /* a store is seen by everybody so long after it, at the latest; 0: no bound */
    uint64_t odds;           /* DRAIN_RANDOM: one in so many steps performs something */
    uint64_t seed;
};

struct model_statistics {
    uint64_t overdue; /* performed because of visible_cycles; interaction at synchronisations: how often */
    /* waits: orders that had to perform something; full: commits for want of room */
    uint64_t stores, locked, orders, waits, full;
    uint64_t commits, applications, hidden_bytes; /* hidden: never seen, as something later had been seen before */
    uint64_t deepest, longest;                    /* buffer, queue */
};

struct model;

/** model_new() - @views: borrowed.  Returns: NULL if out of memory */
struct model *model_new(const struct model_config *config, const struct peet_views *views);
void model_free(struct model *model);

/* As struct peet_consistency says. */
/* 0, -1: out of memory */
int model_store(struct model *model, unsigned processor, const struct peet_store *store, uint64_t now);
void model_order(struct model *model, unsigned processor, unsigned ordering, uint64_t now);
void model_step(struct model *model, unsigned processor, uint64_t now);
void model_synchronise(struct model *model, unsigned processor, unsigned ordering, uint64_t now);
unsigned model_moves(const struct model *model, struct peet_move *out_moves, unsigned room);
void model_move(struct model *model, const struct peet_move *move);
int model_waits(const struct model *model, unsigned processor, unsigned ordering);

const struct model_statistics *model_statistics(const struct model *model);

#endif
