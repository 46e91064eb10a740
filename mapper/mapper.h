/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution stream mapper: N software contexts on n hardware contexts, least clock first.  It
 * draws events from a *source* (the live subject, or an array in a test), hands them to the machine
 * and the observers, and performs abstract events when they are delivered.
 */
#ifndef PEET_MAPPER_H
#define PEET_MAPPER_H

#include "decode.h"
#include <peet/error.h>
#include <peet/module.h>
#include <jansson.h>

/** Where the events of software contexts come from. */
struct peet_source_ops {
    /** next() - next event of a context, running it if need be.
     *  Returns: enum peet_event_kind > 0, or 0 = the context is done, or a peet_err */
    int (*next)(void *self, uint32_t context, struct peet_event *out_event, struct peet_error *error);
    /** result() - the value that the context's pending abstract event returns */
    void (*result)(void *self, uint32_t context, uint64_t value);
    /** spawn() - a new context that calls fn(a, b).  Starts when next() is first called on it. */
    int (*spawn)(void *self, uint32_t context, uint64_t fn, uint64_t a, uint64_t b, struct peet_error *error);
    /** marked() - a context whose events are those of one marked iteration of `carrier` (marker form
     *  of doall): the source runs the carrier as far as needed and keeps the words per iteration */
    int (*marked)(void *self, uint32_t context, uint32_t carrier, uint64_t iteration, struct peet_error *error);
    /** retire() - a context is over */
    void (*retire)(void *self, uint32_t context);
};

enum peet_policy { PEET_POLICY_FCFS, PEET_POLICY_RR, PEET_POLICY_AFFINITY };
enum peet_schedule { PEET_SCHEDULE_STATIC, PEET_SCHEDULE_DYNAMIC, PEET_SCHEDULE_GUIDED, PEET_SCHEDULE_DEFAULT };

#endif
