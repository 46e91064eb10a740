/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcomes of an exploration: how executions ended and what they wrote, each once, with the token of the first that
 * ended so; and what the exploration did not do, by name.  explore.c adds them; the results become JSON here.
 */
#ifndef PEET_HOST_OUTCOMES_H
#define PEET_HOST_OUTCOMES_H

#include "consistency/explore.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/** How an execution ended. */
struct peet_outcome_end {
    enum peet_explore_end end;
    int deadlock; /* the engine says so */
    int status;   /* of waitpid() */
};

/** An execution's outcome, as it is noted. */
struct peet_outcome_note {
    struct peet_outcome_end how;
    const char *before, *output, *report; /* before: what was written before the first choice; report: what peet said */
    size_t before_bytes, output_bytes;
    uint64_t execution, choices;
    char *token; /* taken */
};

/** peet_outcomes_note() - Returns: 1 if it is a failure, 0 if not, -1 out of memory */
int peet_outcomes_note(const struct peet_outcome_note *note);
/** peet_outcomes_end_json() - {"end", "status", "output", "report"} of one execution; NULL: out of memory */
json_t *peet_outcomes_end_json(const struct peet_outcome_note *note);
/** How many executions have failed so far: by a signal, a deadlock, a livelock, or an exit status other than 0. */
uint64_t peet_outcomes_failures(void);
/** peet_outcomes_json() - the list, most frequent first, as far as it is listed; frees the outcomes.  @out_n: how many
 * there were */
json_t *peet_outcomes_json(uint64_t *out_n);

/** peet_outcomes_gap() - one thing that was not explored: {"what", "text"} appended to a list */
void peet_outcomes_gap(json_t *list, const char *what, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
