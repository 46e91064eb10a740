/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verbs of the peet command share: how they complain, their exit statuses, the place of the
 * installation, and output that notices a full disk.
 */
#ifndef PEET_CLI_COMMON_H
#define PEET_CLI_COMMON_H

#include <stdio.h>
#include <peet/error.h>
#include <sys/types.h>

/** Exit statuses of peet itself; `peet run` otherwise ends as the subject did. */
enum peet_cli_status {
    PEET_CLI_OK = 0,
    PEET_CLI_FAILED = 1,   /* peet could not do it: no memory, no disk, lost results */
    PEET_CLI_USAGE = 2,    /* what was given is wrong: options, configuration, program, schema, module */
    PEET_CLI_DEADLOCK = 3, /* the subject deadlocked (given by the run itself) */
    /* 4, 5: an exploration found an execution that fails; it was interrupted (mapper/host/consistency.h) */
};

/** peet_cli_complain() - "peet: ..." and a newline on standard error */
void peet_cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** peet_cli_fail() - complain with an error's message.  Returns: the exit status for its code */
int peet_cli_fail(const struct peet_error *error);

/** peet_cli_lib_dir() - <prefix>/lib, from the place of this program.  Returns: 0 or PEET_EIO, PEET_ELIMIT */
int peet_cli_lib_dir(char *out_path, size_t bytes, struct peet_error *error);

/** peet_cli_finish_stdout() - flush; a full disk or closed pipe is an error.
 *  Returns: @status, or PEET_CLI_FAILED after a complaint, which is said once: @status again when it has been */
int peet_cli_finish_stdout(int status);

/** peet_cli_file_limit_is_error() - a file that would grow beyond RLIMIT_FSIZE is an error from now on, as a full disk
 *  is, and does not end the process */
void peet_cli_file_limit_is_error(void);

/** peet_cli_file_limit_as_before() - in a child, before it becomes another program */
void peet_cli_file_limit_as_before(void);
/** peet_cli_end_with() - in a child: it gets TERM when its parent ends, by a signal say */
void peet_cli_end_with(pid_t parent);

/** peet_cli_memory_file() - a file in memory with @bytes of @data.  Returns: its descriptor or a negative peet_err */
int peet_cli_memory_file(const char *name, const void *data, size_t bytes, struct peet_error *error);
/** peet_cli_memory_limit() - what to say of the limit that a file in memory met, after errno's text; "": of none */
const char *peet_cli_memory_limit(int why);

/** The verbs.  argv[0] is the verb.  Return the exit status. */
int peet_cli_run(int argc, char **argv);
int peet_cli_record(int argc, char **argv);
int peet_cli_compare(int argc, char **argv);
int peet_cli_trace(int argc, char **argv);
int peet_cli_sims(int argc, char **argv);
int peet_cli_schema(int argc, char **argv);
int peet_cli_costs(int argc, char **argv);
int peet_cli_report(int argc, char **argv);
int peet_cli_diff(int argc, char **argv);
int peet_cli_sweep(int argc, char **argv);
int peet_cli_whatif(int argc, char **argv);
int peet_cli_locality(int argc, char **argv);

#endif
