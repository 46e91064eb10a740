/* SPDX-License-Identifier: Apache-2.0 */
/* peet run --from: the configuration of a run that takes its events from a trace. */
#ifndef PEET_CLI_REPLAY_H
#define PEET_CLI_REPLAY_H

#include "config/config.h"

/**
 * peet_cli_replay_config() - a run as the one that the trace was taken of, but for the folder of its results and the
 * observer `trace`
 * @config: with its defaults; config->from is set
 * Returns: 0, or a peet_err with a message
 */
int peet_cli_replay_config(struct peet_config *config, struct peet_error *error);

/** peet_cli_replay_check() - after everything has been read: what a trace cannot do is refused.  Returns: 0 or
 * PEET_EINVALID */
int peet_cli_replay_check(const struct peet_config *config, struct peet_error *error);

/** peet_cli_replay_program() - the program that is started in place of the recorded one; free() it.  Returns: 0 or a
 * peet_err */
int peet_cli_replay_program(char **out_path, struct peet_error *error);

#endif
