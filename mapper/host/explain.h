/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replayed execution did, step by step: who, where in the source, which variable, which value; under a model
 * when stores leave buffers, and which loads see an old value.  explore.c hands the steps on; the list goes to
 * stats.json, `.explanation`.
 */
#ifndef PEET_HOST_EXPLAIN_H
#define PEET_HOST_EXPLAIN_H

#include "consistency/explore.h"
#include "decode/decode.h"

#include <jansson.h>

/** peet_explain_begin() - from now on; both borrowed */
void peet_explain_begin(struct peet_map *map, struct peet_program *program);
/** peet_explain_step() - as the chooser's explain() */
void peet_explain_step(void *arg, const struct peet_step *step);
/** peet_explain_json() - the list so far, a reference for the caller; NULL: there is none */
json_t *peet_explain_json(void);

#endif
