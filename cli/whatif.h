/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet whatif: one program, run again and again with one thing changed: memory that is perfect for a data structure,
 * another layout of it, more processors, another lock or schedule, another parameter of the machine, a lock or barrier
 * for which nobody waits, a function that takes half of its time.  whatif.c has the options and shows what came of it;
 * whatif_plan.c chooses what is tried; whatif_run.c makes the runs, each by this same program's verb `run`.
 */
#ifndef PEET_CLI_WHATIF_H
#define PEET_CLI_WHATIF_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <peet/error.h>

/** What all runs have in common. */
struct peet_cli_whatif {
    char **options; /* of `peet run` */
    size_t noptions;
    char **program; /* and its arguments; none: the configuration file has them */
    size_t nprogram;
    const char *output; /* folder; each run has one of its own in it */
    int observed;       /* the options have dtrack already */
    int silent;         /* the first run's output goes to a file too */
    /* contexts go back to their processors in all runs, as they do where something is supposed: else that alone would be
     * a difference */
    int affine;
};

/** One run and what it changes. */
struct peet_cli_whatif_run {
    char **changes; /* "perfect=grid", "pad=grid:64", "cores=8", "machine.cache=64KiB", ...; several at once are several
                       entries */
    size_t nchanges;
    unsigned number; /* 0: the baseline; name of its folder */
    json_t *stats;
    int status; /* as wait() has it */
};

/** A change, or several at once, and what came of it. */
struct peet_cli_whatif_trial {
    struct peet_cli_whatif_run run;
    char *label;
    double cycles, instructions;
    int differs; /* it ended otherwise than the first run, so that the cycles are those of another computation */
};

/** What shall be tried. */
struct peet_cli_whatif_wanted {
    size_t top;   /* so many structures, locks, functions */
    int wide;     /* more than structures */
    char **tries; /* the user's own, in place of structures: "cores=8", "perfect=a+perfect=b"; none: what the first run
                     suggests */
    size_t ntries;
};

/**
 * peet_cli_whatif_plan() - trials, from the statistics of the first run
 * @inout_trials: those that there are, on the heap; the new ones follow
 * Returns: 0 or PEET_ENOMEM
 */
int peet_cli_whatif_plan(const json_t *stats, const struct peet_cli_whatif_wanted *wanted,
    struct peet_cli_whatif_trial **inout_trials, size_t *inout_n);

/**
 * peet_cli_whatif_go() - make a run and read its statistics into run->stats
 * The baseline has the subject's standard files, the others' output goes to DIR/NUMBER.txt; input that is a file is
 * read from its beginning by each.
 * Returns: 0 or a peet_err; PEET_ENOTFOUND: it could be started, but has left no statistics, and is not the baseline
 */
int peet_cli_whatif_go(const struct peet_cli_whatif *whatif, struct peet_cli_whatif_run *run, struct peet_error *error);

#endif
