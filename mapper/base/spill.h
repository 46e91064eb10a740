/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files of a process that may not write them any more: the subject has given up its rights (setuid()), sees
 * another file system (chroot()), or has limited its descriptors or the size of files (setrlimit()).  `peet run` shares memory with it from the start; what cannot be created in the
 * results folder is put there, and `peet run`, which is what it was, makes the files when the process has ended.
 */
#ifndef PEET_SPILL_H
#define PEET_SPILL_H

#include <stddef.h>
#include <peet/error.h>

/** Address space only; memory is used as files come.  Less where no file may be so large, which holds for memory, too. */
#define PEET_SPILL_BYTES ((size_t)1 << 30)
/** The setting that says which descriptor it is. */
#define PEET_SPILL_SETTING "PEET_RESULTS_FD"

/** peet_spill_make() - in `peet run`.  Returns: a descriptor, closed on exec(), or -1 and errno */
int peet_spill_make(void);
/** peet_spill_share() - in the subject's process, at the start: files may go there from now on */
void peet_spill_share(int fd);
/** peet_spill_takes() - is there such memory, and is this errno of a failure to create a file one that it is for? */
int peet_spill_takes(int why);
/** peet_spill_needed() - has the subject limited how large files may be?  A write could end the process. */
int peet_spill_needed(void);
/** peet_spill_put() - one file, under the last part of its path.  Returns: 0 or PEET_EIO */
int peet_spill_put(const char *path, const void *data, size_t bytes, struct peet_error *error);
/** peet_spill_land() - in `peet run`, when the process has ended: make the files.  Names with a slash, and whatever
 * else is not as peet_spill_put() leaves it, are refused: the subject could write there too.  Returns: 0 or a peet_err
 */
int peet_spill_land(int fd, const char *folder, struct peet_error *error);

#endif
