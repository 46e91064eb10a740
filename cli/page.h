/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an architect wants to see of a run first, on one page of a terminal: time, instructions for each cycle, misses
 * by level and kind, waiting for memory and for each other, the worst places of the program.  Of several runs the same,
 * side by side with differences.  All of it comes from the figures (figures.h), so it is there for every machine.
 */
#ifndef PEET_CLI_PAGE_H
#define PEET_CLI_PAGE_H

#include <stddef.h>
#include <jansson.h>

/** peet_cli_page() - Returns: an array of tables for module_tables.h, of one run; the caller's.  NULL: no memory */
json_t *peet_cli_page(const json_t *figures);

/**
 * peet_cli_side_by_side() - n runs, each with its difference from the first
 * @names: what the runs are called
 * @top: how many functions, lines, locks and structures
 * Returns: as peet_cli_page()
 */
json_t *peet_cli_side_by_side(json_t *const *figures, const char *const *names, size_t n, int top);

#endif
