/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that modules leave in their statistics: an array "tables" of { "title": text, "columns": [texts],
 * "rows": [[text or number, ...], ...] }.  Shown when a run is over, and by `peet report`.
 */
#ifndef PEET_CLI_MODULE_TABLES_H
#define PEET_CLI_MODULE_TABLES_H

#include <stdio.h>
#include <jansson.h>

/** peet_cli_module_table() - one table, no wider than @columns: names are cut, then the columns go on below.  What is
 * malformed is left out */
void peet_cli_module_table(FILE *out, const json_t *table, int columns);

/** peet_cli_module_tables() - all tables of a module's node */
void peet_cli_module_tables(FILE *out, const json_t *node, int columns);

#endif
