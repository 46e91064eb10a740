/* SPDX-License-Identifier: Apache-2.0 */
/* The result table: the main figures of a run's stats.json, for people. */
#ifndef PEET_CLI_TABLE_H
#define PEET_CLI_TABLE_H

#include <stdio.h>
#include <jansson.h>

/**
 * peet_cli_table_print() - at most 100 columns
 * @stats: the contents of stats.json; what is missing there is left out
 * @seconds: how long the run took on the host
 * @folder: where the results are, as the user calls it
 */
void peet_cli_table_print(FILE *out, const json_t *stats, double seconds, const char *folder);

#endif
