/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consistency models and explorations in the host: the runtime's views for the mapper, and executions in processes of
 * their own. Called by host.c.
 */
#ifndef PEET_HOST_CONSISTENCY_H
#define PEET_HOST_CONSISTENCY_H

#include "config/config.h"
#include "mapper.h"
#include "host/source.h"

/** peet_host_consistency() - what the configuration asks for; after the observers, before the first event.  Returns: 0
 * or a peet_err */
int peet_host_consistency(const struct peet_config *config, struct peet_map *map, struct peet_source *source,
    struct peet_error *error);

/** peet_host_explores() - does this run explore, or repeat an execution? */
int peet_host_explores(const struct peet_config *config);

/** peet_host_explains() - are steps explained: of a token, or of two? */
int peet_host_explains(const struct peet_config *config);

/** peet_host_execution() - is this process one of an exploration's executions? */
int peet_host_execution(void);

/**
 * peet_host_explore() - peet_map_run() by an exploration's choices
 * With `explore`, or two tokens to compare, the first choice is where executions part: each goes on in a process of its
 * own.
 * @out_found: in the process that was here before: what was found, for stats.json (the caller's); in an execution's
 *   own process, and when a token is repeated, NULL: the program has run, as after peet_map_run()
 * @out_execution: this is an execution's own process: it ends with its program, and leaves no results
 * Returns: as peet_map_run()
 */
int peet_host_explore(const struct peet_config *config, struct peet_map *map, struct peet_program *program,
    const struct peet_source *source, json_t **out_found, int *out_execution, struct peet_error *error);

/** peet_host_explore_unseen() - as peet_host_unseen_shares(); what is called is remembered for the results */
int peet_host_explore_unseen(const struct peet_block *caller, int called);

/** Exit statuses of an exploration, in `.exploration.status`; 0: no execution has failed. */
enum { PEET_EXPLORE_FOUND = 4, PEET_EXPLORE_INTERRUPTED = 5 };

/** peet_host_explore_crashed() - the program has crashed before there was anything to choose: that is its one outcome.
 *  Returns: what was found, for stats.json (the caller's); NULL: this is no such crash */
json_t *peet_host_explore_crashed(int signal);

#endif
