/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executions to make: stateless model checking by re-execution.  An execution is a list of choices; the search
 * keeps the list of the last one as a stack, and makes the next one differ at the last place where another option has
 * not been tried.  *Sleep sets* leave out what would only be another order of steps that do not touch the same things:
 * an option that has been tried sleeps until a step that conflicts with it (footprints) has been made; an execution in
 * which all that could go on sleeps is abandoned.  *Source sets* say which options are worth trying at all: such as
 * bring two steps that conflict into the other order.
 *
 * The same chooser serves random walks and the repetition of a token.  A *token* names an execution: "c" and the
 * choices, where there was one, or "r" and what names a walk (walks.h).  Executions run in processes of their own: what
 * one of them finds goes through a record that both see.
 */
#ifndef PEET_SEARCH_H
#define PEET_SEARCH_H

#include "consistency/explore.h"

enum peet_search_kind { PEET_SEARCH_ALL, PEET_SEARCH_RANDOM, PEET_SEARCH_TOKEN };

enum { PEET_SEARCH_CHOICES_MOST = 1 << 14 /* of an execution of PEET_SEARCH_ALL that are varied */ };

struct peet_search;

/** peet_search_new() - @seed: of random walks.  Returns: NULL if out of memory */
struct peet_search *peet_search_new(enum peet_search_kind kind, uint64_t seed, uint64_t steps_most);
void peet_search_free(struct peet_search *search);

/** peet_search_set_token() - the choices of a token are to be repeated; PEET_SEARCH_TOKEN
 * Returns: 0 or PEET_EINVALID */
int peet_search_set_token(struct peet_search *search, const char *token, struct peet_error *error);

/** peet_search_chooser() - for the execution that comes next; borrowed.  arg is the search */
const struct peet_map_chooser *peet_search_chooser(struct peet_search *search);

/** Before an execution, in the process that outlives it. */
void peet_search_begin(struct peet_search *search);
/** After it, there too.  Returns: 1 if there is another execution to be made, 0: all have been */
int peet_search_end(struct peet_search *search);

/** About the execution that is over. */
int peet_search_abandoned(const struct peet_search *search); /* nothing new came of it */
/* it had more choices, or more at once, than there is room for: not all are made */
int peet_search_crowded(const struct peet_search *search);
/* the choices did not fit: another program, or one that is not deterministic */
int peet_search_mismatch(const struct peet_search *search);
/* so far, steps of some execution have raced for what does not go through the model */
int peet_search_unmodelled(const struct peet_search *search);
/* ... on both sides of a call of a library, which has emptied the buffer between them */
int peet_search_emptied(const struct peet_search *search);
/* ... for what a function of the C library refers to, all of it in one step */
int peet_search_library(const struct peet_search *search);
uint64_t peet_search_choices(const struct peet_search *search);
/** The token of the execution that is over.  Returns: a string for the caller to free, or NULL: out of memory */
char *peet_search_get_token(const struct peet_search *search);

#endif
