/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs' option parsers have in common: whole numbers and plain arguments.  For argp's parser functions: each of
 * these ends the command by argp_error() if what was given is wrong.
 */
#ifndef PEET_CLI_ARGUMENTS_H
#define PEET_CLI_ARGUMENTS_H

#include <argp.h>
#include <stdint.h>

/** peet_cli_count() - @text as a whole number from @least to @most, in decimal digits; @option: "--top", for the message */
uint64_t peet_cli_count(const struct argp_state *state, const char *option, const char *text, uint64_t least,
    uint64_t most);

/** peet_cli_one() - *inout_name = @text, of a verb that takes one @what ("trace") */
void peet_cli_one(const struct argp_state *state, const char *what, char *text, const char **inout_name);

/** peet_cli_trace_and_output() - the arguments TRACE and OUTPUT; for each key that the parser itself does not know
 * Returns: as a parser; at ARGP_KEY_END both names are there */
error_t peet_cli_trace_and_output(int key, char *text, struct argp_state *state, const char *names[static 2]);

#endif
