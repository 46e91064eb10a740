/* SPDX-License-Identifier: Apache-2.0 */
/* The page that a run ends with: the main figures of its stats.json, for people. */
#ifndef PEET_CLI_TABLE_H
#define PEET_CLI_TABLE_H

#include <stdio.h>
#include <jansson.h>

/** peet_cli_table_page() - the page itself; @columns: so wide; @seconds 0: how long the run took is not known */
void peet_cli_table_page(FILE *out, const json_t *stats, double seconds, int columns);

/** peet_cli_say_end() - a line that says how the run in @folder ended, if not by itself */
void peet_cli_say_end(FILE *out, const char *folder, const json_t *stats);

/**
 * peet_cli_table_print() - the page, and where the results are: 80 columns, or as wide as the terminal
 * @stats: the contents of stats.json; what is missing there is left out
 * @seconds: how long the run took on the host
 * @folder: where the results are, as the user calls it
 */
void peet_cli_table_print(FILE *out, const json_t *stats, double seconds, const char *folder);

#endif
