/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing result files: to a temporary name beside the final one, renamed only when every byte has
 * been accepted by the system, so that nothing half-written can pass for a result (whole.h).  A process that may not create it
 * any more hands it to `peet run` (spill.h).
 */
#ifndef PEET_FILES_H
#define PEET_FILES_H

#include <stdio.h>
#include <peet/error.h>

struct peet_file {
    FILE *stream; /* write here */
    char *path;
    struct peet_whole *whole;
    char *handed; /* its contents, if it is to be handed over; else NULL */
    size_t handed_bytes;
    int hands;
};

/** peet_file_check() - can a file of that name be made?  Asked before work whose result it will hold.  @what: for the message.  Returns:
 * 0 or PEET_EIO / PEET_ENOMEM */
int peet_file_check(const char *path, const char *what, struct peet_error *error);
/** peet_file_create() - begin a file.  Returns: 0 or PEET_EIO / PEET_ENOMEM */
int peet_file_create(const char *path, struct peet_file *out_file, struct peet_error *error);
/** peet_file_commit() - finish it under its name; on failure nothing remains of it */
int peet_file_commit(struct peet_file *file, struct peet_error *error);
/** peet_file_discard() - forget it */
void peet_file_discard(struct peet_file *file);
/** peet_file_end() - peet_file_commit() if @ok, else peet_file_discard() and PEET_EIO, with the caller's message */
int peet_file_end(struct peet_file *file, int ok, struct peet_error *error);

#endif
