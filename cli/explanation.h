/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a replayed execution (peet run --replay-token --explain), as a table. */
#ifndef PEET_CLI_EXPLANATION_H
#define PEET_CLI_EXPLANATION_H

#include <jansson.h>
#include <stdio.h>

/** @list: `.explanation` of stats.json */
void peet_cli_explanation_print(FILE *out, const json_t *list);

#endif
