/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replayed execution did, step by step: who, where in the source, which variable, which value; under a model
 * when stores leave buffers, and which loads see an old value.  explore.c hands the steps on; the list goes to
 * stats.json, `.explanation`.
 */
#ifndef PEET_HOST_EXPLAIN_H
#define PEET_HOST_EXPLAIN_H

#include "consistency/explore.h"
#include "data/datamap.h"
#include "decode/decode.h"
#include "host/source.h"

#include <jansson.h>

/**
 * peet_explain_begin() - from now on; all borrowed
 * @data: what memory belongs to; NULL: symbol tables have to do
 * @fd: each step goes there as a line of JSON, that another process may read, instead of into the list; -1: none
 */
void peet_explain_begin(struct peet_map *map, struct peet_program *program, const struct peet_source *source,
    struct peet_datamap *data, int fd);
/** peet_explain_stands(), peet_explain_step() - as the chooser's stands() and explain() */
void peet_explain_stands(void *arg, const struct peet_step *step);
void peet_explain_step(void *arg, const struct peet_step *step);
/** peet_explain_json() - the list so far, a reference for the caller; NULL: there is none */
json_t *peet_explain_json(void);
/** peet_explain_parse() - the list from the lines of a file; a reference for the caller, or NULL */
json_t *peet_explain_parse(const char *lines);
/** peet_explain_common() - with how many steps that are the same do two executions begin?  Returns: entries of the
 * lists */
size_t peet_explain_common(const json_t *first, const json_t *second);

#endif
