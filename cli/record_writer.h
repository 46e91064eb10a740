/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's end of a recording on the computer's own processors (runtime/plain/shared.h): blocks of words become
 * streams of a trace.
 */
#ifndef PEET_CLI_RECORD_WRITER_H
#define PEET_CLI_RECORD_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

struct peet_cli_record_writer;

/** What became of it. */
struct peet_cli_recorded {
    uint64_t threads, words, bytes;
    uint64_t unrecorded_threads, handlers;
    double cpu_s;      /* of the program */
    double ran_s;      /* the program, to its end or to when it was killed; 0: it did not begin */
    double waited_s;   /* threads, for the writer */
    double overhead_s; /* what recording cost the threads, all together */
    uint64_t lost;     /* slices whose thread is not known */
    int attached, stopped;
};

/** peet_cli_record_open() - the shared memory.  @bytes: of blocks.  Returns: 0, PEET_EIO, PEET_ENOMEM */
int peet_cli_record_open(uint64_t bytes, struct peet_cli_record_writer **out_writer, int *out_fd,
    struct peet_error *error);
/** peet_cli_record_begin() - begin the file, by the process that writes.  @program: NULL-terminated arguments, the
 * program first; @output: results folder */
int peet_cli_record_begin(struct peet_cli_record_writer *writer, const char *output, char *const *program, int level,
    struct peet_error *error);
/** peet_cli_record_step() - write what has come; waits up to @wait_ms for more.  Returns: how many blocks, or a
 * peet_err */
int peet_cli_record_step(struct peet_cli_record_writer *writer, unsigned wait_ms, struct peet_error *error);
/** peet_cli_record_starves() - after a step: for how long threads have waited for a block while nothing waits to be
 * written, since all are in threads' hands.  Returns: seconds */
double peet_cli_record_starves(struct peet_cli_record_writer *writer);
/** peet_cli_record_abandon() - writing has failed: the program's threads need not wait any more, and are not recorded
 * further */
void peet_cli_record_abandon(struct peet_cli_record_writer *writer);
/** peet_cli_record_end() - the program is gone: write what is left.  @wait_status, @usage: as of wait4() */
struct rusage;
int peet_cli_record_end(struct peet_cli_record_writer *writer, int wait_status, const struct rusage *usage,
    struct peet_cli_recorded *out_recorded, struct peet_error *error);

#endif
