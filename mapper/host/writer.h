/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder (trace/recording.h) in a process of its own, so that predicting and compressing words takes a processor
 * that the run does not need.  What record.c says goes through a ring in shared memory; the process at its other end
 * calls the recorder.
 *
 * It is a process and not a thread because the program that is recorded shares the C library with the host: with a
 * second thread the C library would lock where it does not lock in a program of one thread, and recorded code would do
 * other things because somebody records. The kernel does not tell the program of it: no signal comes at its end, and
 * waiting for any child does not meet it.
 *
 * After a kill of the recorded process, what is in the ring still goes to the file.  All functions are those of
 * recording.h, but that a failure shows later: at the latest in peet_writer_sync() and peet_writer_close().
 */
#ifndef PEET_HOST_WRITER_H
#define PEET_HOST_WRITER_H

#include "trace/recording.h"

struct peet_writer;

/** peet_host_fork_apart() - a process beside this one, which shares no memory with it, whatever views of memory there are.
 * No signal comes at its end.  Returns: as fork() */
int64_t peet_host_fork_apart(void);

/** peet_writer_open() - Returns: 0; PEET_EIO, PEET_ENOMEM with a message */
int peet_writer_open(const char *path, const char *description, int level, struct peet_writer **out_writer,
    struct peet_error *error);
void peet_writer_image(struct peet_writer *writer, const struct peet_recorded_image *image);
/** peet_writer_stream() - Returns: its number */
uint32_t peet_writer_stream(struct peet_writer *writer, const struct peet_stream_info *info);
void peet_writer_slice(struct peet_writer *writer, uint32_t stream, const struct peet_slice *slice,
    uint64_t instructions);
void peet_writer_state(struct peet_writer *writer, uint32_t stream, const uint64_t *words, size_t n,
    uint64_t instructions);
void peet_writer_end(struct peet_writer *writer, uint32_t stream);
void peet_writer_answer(struct peet_writer *writer, const struct peet_recorded_answer *answer);
void peet_writer_early(struct peet_writer *writer, const uint64_t *words, size_t n);
void peet_writer_paths(struct peet_writer *writer, const void *items, size_t n);
void peet_writer_flush(struct peet_writer *writer);
/** peet_writer_sync() - wait until all that was said has been done.  Returns: NULL, or why recording has failed */
const char *peet_writer_sync(struct peet_writer *writer);
/** peet_writer_counts() - as of the last sync */
void peet_writer_counts(const struct peet_writer *writer, struct peet_recorder_counts *out_counts);
/** peet_writer_close() - as peet_recorder_close(); waits for the process's end */
int peet_writer_close(struct peet_writer *writer, const char *ending, struct peet_error *error);

#endif
