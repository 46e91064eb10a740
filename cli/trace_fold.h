/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What contexts hold and have made by a moment of a recorded run, event by event: locks, values of semaphores, what has
 * been posted, threads, blocks of memory.  peet trace cut needs it where a piece begins.
 */
#ifndef PEET_CLI_TRACE_FOLD_H
#define PEET_CLI_TRACE_FOLD_H

#include "trace/recording.h"

#include <jansson.h>
#include <peet/module.h>

struct peet_fold;

int peet_fold_new(struct peet_fold **out_fold);
void peet_fold_free(struct peet_fold *fold);
/**
 * peet_fold_event() - an event has had its effect
 * @context: number of the context, as observers saw it; @result: what it was answered
 * Returns: 0 or PEET_ENOMEM
 */
int peet_fold_event(struct peet_fold *fold, uint32_t context, const struct peet_abstract_event *event, uint64_t result);

/** peet_fold_held() - what a context has got: requests that would give it that, [[type, argument...]...] */
json_t *peet_fold_held(struct peet_fold *fold, uint32_t context);
/** peet_fold_shared() - the same of what is nobody's: values, places in orders */
json_t *peet_fold_shared(struct peet_fold *fold);
/** peet_fold_next() - the number of the next context */
uint32_t peet_fold_next(const struct peet_fold *fold);
void peet_fold_set_next(struct peet_fold *fold, uint32_t next);
/** peet_fold_joined(), _detached() - has the thread of this number been joined or detached? */
int peet_fold_joined(const struct peet_fold *fold, uint32_t number);
int peet_fold_detached(const struct peet_fold *fold, uint32_t number);
/** peet_fold_blocks() - the blocks of memory that are there, as notes for peet_recorder_early().  Returns: 0 or a peet_err
 */
int peet_fold_blocks(const struct peet_fold *fold, struct peet_recorder *to);

#endif
