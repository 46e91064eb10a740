/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet sweep: many runs of a plan.  sweep.c has the options and the course of a sweep, sweep_plan.c reads the plan,
 * sweep_run.c carries out runs and starts those that do, sweep_table.c collects.
 *
 * The folder of a sweep holds plan.json (the runs, in order), runs/KEY (results of those that are done), runs/KEY.part
 * (under way, or interrupted), failed/KEY (message and status of those that failed), table.csv and table.json.  KEY is
 * a digest of the run's settings, so a sweep goes on where it was, also when its plan has grown.
 */
#ifndef PEET_CLI_SWEEP_H
#define PEET_CLI_SWEEP_H

#include <jansson.h>
#include <peet/error.h>

enum { PEET_CLI_SWEEP_KEY = 17, PEET_CLI_SWEEP_RUNS = 1000000 };

/**
 * peet_cli_sweep_plan() - the runs that a file asks for
 * @path: libconfig's syntax: "grid" (options of peet run, each with a list of values) and "list" (groups of options)
 * @program: words after "--"; may be empty if the plan has "program"
 * Returns: { "runs": [ { "key", "settings": {name: text}, "command": [words after "peet run"] } ], "varying": [names]
 * }; NULL: see error
 */
json_t *peet_cli_sweep_plan(const char *path, char **program, struct peet_error *error);

/** peet_cli_sweep_one() - carry out run number @index (from 1) of the plan in a folder.  Returns: 0, or 1 if it failed
 */
int peet_cli_sweep_one(const char *folder, size_t index);

/* ---- sweep_share.c: runs that differ in their machine only, with the plan's "share" */
enum peet_cli_sweep_part {
    PEET_CLI_SWEEP_ALONE,
    PEET_CLI_SWEEP_LEADS /* it leaves a trace */,
    PEET_CLI_SWEEP_FOLLOWS /* from the trace, if it may */
};
enum peet_cli_sweep_part peet_cli_sweep_part(const json_t *plan, size_t index);
/** The trace of the run's group.  Returns: whether it is there */
int peet_cli_sweep_trace(const char *folder, const json_t *plan, size_t index, char *path, size_t room);
/** A run that leads has left its results in @part: the trace is kept where others can use it, else it goes. */
void peet_cli_sweep_keep(const char *folder, const json_t *plan, size_t index, const char *part);
/** All is done: the traces go. */
void peet_cli_sweep_forget(const char *folder);
/** A replay has left its results in @part.  Returns: whether they are those of a run of its own */
int peet_cli_sweep_same(const char *part);

/** What has become of a run. */
enum peet_cli_sweep_state { PEET_CLI_SWEEP_TODO, PEET_CLI_SWEEP_DONE, PEET_CLI_SWEEP_FAILED };
enum peet_cli_sweep_state peet_cli_sweep_state(const char *folder, const char *key);

/** How runs are started: side by side here, by GNU parallel, or as a Slurm job array; `words`: its options. */
enum peet_cli_sweep_way { PEET_CLI_SWEEP_LOCAL, PEET_CLI_SWEEP_PARALLEL, PEET_CLI_SWEEP_SLURM };

/** peet_cli_sweep_runs() - carry out these runs (numbers from 1) of the plan.  Returns: 0, or a peet_err; runs that
 * fail are no error */
int peet_cli_sweep_runs(const char *folder, const json_t *plan, const size_t *numbers, size_t n,
    enum peet_cli_sweep_way way, unsigned jobs, const char *words, struct peet_error *error);

/** peet_cli_sweep_plot_check() - can the plan's cycles be drawn into this file?  Returns: 0, or a peet_err */
int peet_cli_sweep_plot_check(const json_t *plan, const char *path, struct peet_error *error);

/** peet_cli_sweep_table() - write table.csv and table.json of a sweep's folder, and print a table.
 *  @plot: draw the cycles into this file, by gnuplot, which peet_cli_sweep_plot_check() allows; or NULL */
int peet_cli_sweep_table(const char *folder, const json_t *plan, const char *plot, int json, struct peet_error *error);

#endif
