/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exploration has found, for people: one paragraph for each outcome.  Called by run.c.
 */
#ifndef PEET_CLI_OUTCOMES_H
#define PEET_CLI_OUTCOMES_H

#include <stdio.h>
#include <jansson.h>

/** peet_cli_outcomes_print() - @exploration: the object of that name in stats.json; @file: where all of it stands */
void peet_cli_outcomes_print(FILE *out, const json_t *exploration, const char *file);

#endif
