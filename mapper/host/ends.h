/* SPDX-License-Identifier: Apache-2.0 */
/* How a run has ended: reports and JSON of a deadlock and of an exit; see ends.c. */
#ifndef PEET_HOST_ENDS_H
#define PEET_HOST_ENDS_H

#include "host/source.h"
#include "mapper.h"

#include <jansson.h>
#include <peet/error.h>

struct peet_program;

/** A run that has come to an end; nothing in it is owned. */
struct peet_host_run {
    struct peet_program *program;
    struct peet_source *source;
    struct peet_map *map;
};

/** Reports a deadlock or livelock: @error's message, a circle of contexts that wait for each other, where each stands.
 * Returns: the same as JSON, the caller's */
json_t *peet_host_deadlock(const struct peet_host_run *run, const struct peet_error *error);

/** Reports the threads that the program's end has cut off, for their work is not in the results.  @status: the exit
 * status.  @other: the program that it has executed in its own place, or NULL.  Returns: the end as JSON, the caller's */
json_t *peet_host_exited(const struct peet_host_run *run, int status, const char *other);

#endif
