/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a run, in one shape for every machine and observer: groups ("run", "processor", "level", "function",
 * "lock", ...) of named items, each with numbers by name.  The terminal page, comparisons, sweeps and CSV files read
 * these and no others, so that all of them agree.
 *
 * Machines are told apart by what they leave in stats.json, never by their names: see levels_of() in figures.c for the
 * shapes.
 */
#ifndef PEET_CLI_FIGURES_H
#define PEET_CLI_FIGURES_H

#include <stddef.h>
#include <jansson.h>

/**
 * peet_cli_figures() - all figures of a run
 * @stats: the contents of stats.json; what is missing there, or malformed, is left out
 * Returns: { group: { item: { measure: number } } }, in the order in which people want to see it; the caller's.  NULL:
 * no memory
 */
json_t *peet_cli_figures(const json_t *stats);

/** peet_cli_figure() - one number.  Returns: @otherwise if there is none */
double peet_cli_figure(const json_t *figures, const char *group, const char *item, const char *measure,
    double otherwise);

/** peet_cli_number_of() - a number of stats.json; counts above 63 bits stand there as decimal text */
double peet_cli_number_of(const json_t *value);

/** peet_cli_machine_node() - the object that the run's machine has left in stats.json; NULL: none */
const json_t *peet_cli_machine_node(const json_t *stats);

/** peet_cli_stats_load() - stats.json of a results folder, or a file of that kind given by its own name.
 *  Returns: its contents, the caller's; NULL after a complaint */
json_t *peet_cli_stats_load(const char *folder);

/** peet_cli_run_name() - "shallow on 4 processors of bus"; cut to fit */
void peet_cli_run_name(const json_t *stats, char *out, size_t bytes);

/** peet_cli_rank() - items of a group, the one with most of a measure first
 *  Returns: an array of { "name": item, "value": number }, only those above 0; the caller's */
json_t *peet_cli_rank(const json_t *figures, const char *group, const char *measure);

#endif
