/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet report: the data profile of one or several runs, boiled down to what figures and tables show: for each run the
 * structures with most misses (DS1, DS2, ...), the stack and the rest.  report.c reads the runs and has the options,
 * report_dtrack.c makes profiles and tables, report_stacks.c the accounts of cycles and theirs, report_plot.c draws.
 */
#ifndef PEET_CLI_REPORT_H
#define PEET_CLI_REPORT_H

#include <stdio.h>
#include <jansson.h>
#include <peet/error.h>

enum { PEET_CLI_REPORT_TOP = 10, PEET_CLI_REPORT_PARTS = PEET_CLI_REPORT_TOP + 2, PEET_CLI_REPORT_LEVELS = 8 };

/** One run.  Parts: the first `top` are structures, then the stack, then the rest; instruction fetches and page walks
 * are not data. */
struct peet_cli_profile {
    char program[40];
    const json_t *dtrack;                          /* its node in stats.json */
    const json_t *structures[PEET_CLI_REPORT_TOP]; /* NULL: there are not so many */
    int top, parts, nlevels;
    const char *levels[PEET_CLI_REPORT_LEVELS];
    double accesses[PEET_CLI_REPORT_PARTS], stalls[PEET_CLI_REPORT_PARTS];
    double misses[PEET_CLI_REPORT_LEVELS][PEET_CLI_REPORT_PARTS];
    double same[PEET_CLI_REPORT_LEVELS], other[PEET_CLI_REPORT_LEVELS]; /* premature evictions */
};

/** peet_cli_profile() - @stats: of a run that dtrack observed; borrowed.  Returns: 0, or PEET_ENOTFOUND without dtrack
 */
int peet_cli_profile(const json_t *stats, int top, struct peet_cli_profile *out_profile, struct peet_error *error);

/** peet_cli_part_name() - "DS1", "stack", "rest" */
const char *peet_cli_part_name(const struct peet_cli_profile *profile, int part, char out_name[static 8]);
double peet_cli_sum(const double *parts, int n);
/** What a figure shows of each part: accesses of a level (those that the level before misses), its misses, stall cycles
 * (of all levels). */
const double *peet_cli_accesses_of(const struct peet_cli_profile *profile, int level);
const double *peet_cli_misses_of(const struct peet_cli_profile *profile, int level);
const double *peet_cli_stalls_of(const struct peet_cli_profile *profile, int level);

/** peet_cli_profile_tables() - Returns: an array of tables for module_tables.h; the caller's.  NULL: no memory */
json_t *peet_cli_profile_tables(const struct peet_cli_profile *profiles, size_t n);

struct peet_cli_account; /* report_stacks.h */

/** peet_cli_report_plot() - bars and curves in one picture, by gnuplot; its type by the file's ending: .svg, .png,
 * .pdf.
 *  @profiles, @accounts: of n runs each, or NULL */
int peet_cli_report_plot(const struct peet_cli_profile *profiles, const struct peet_cli_account *accounts, size_t n,
    const char *path, struct peet_error *error);

#endif
