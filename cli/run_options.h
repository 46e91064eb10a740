/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `peet run`, and how they become a configuration: the files of -c first, then what
 * stands on the command line, so that the command line always has the last word.
 */
#ifndef PEET_CLI_RUN_OPTIONS_H
#define PEET_CLI_RUN_OPTIONS_H

#include "config/config.h"

#include <argp.h>

struct peet_cli_run_options {
    struct peet_config config; /* resolved: the effective configuration */
    int quiet;
    int json;                       /* on standard error */
    const char *json_file;          /* of the command line; NULL: none */
    uint64_t expected_instructions; /* of the whole run, for the progress line; 0: not said */
};

/**
 * peet_cli_run_options_read() - parse, merge and check everything but the program itself
 * Ends the process with status 2 on an unknown option, as argp does.
 * Returns: 0; then free with peet_config_fini(&out_options->config); or a peet_err
 */
int peet_cli_run_options_read(int argc, char **argv, struct peet_cli_run_options *out_options,
    struct peet_error *error);

/**
 * peet_cli_run_skipped() - for a verb that has options of its own beside those of `peet run`
 * Returns: a child parser that knows the options of `peet run`, leaves them alone, and does not show them in --help
 */
const struct argp *peet_cli_run_skipped(void);

#endif
