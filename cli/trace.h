/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of peet trace share. */
#ifndef PEET_CLI_TRACE_H
#define PEET_CLI_TRACE_H

#include "trace/recording.h"

/** peet_cli_trace_open() - a file, or the trace in a results folder */
int peet_cli_trace_open(const char *name, struct peet_recording **out_recording, struct peet_error *error);

/** peet_cli_trace_program() - the images of a recording as a program.  The caller frees it, also after a failure */
struct peet_program;
int peet_cli_trace_program(struct peet_recording *recording, struct peet_program **out_program,
    struct peet_error *error);

/** peet_cli_event_text() - what an abstract event is called */
const char *peet_cli_event_text(unsigned type);

/** The words of the verb that trace_insns.c has. */
int peet_cli_trace_print(int argc, char **argv);
int peet_cli_trace_convert(int argc, char **argv);
int peet_cli_trace_cut(int argc, char **argv);

/** The end of each word's --help. */
#define PEET_CLI_TRACE_IS "\vTRACE is a results folder of \"peet run --observe trace\", or a file."

#endif
