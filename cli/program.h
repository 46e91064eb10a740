/* SPDX-License-Identifier: Apache-2.0 */
/* The subject before it runs: where it is, and whether it can be run by peet. */
#ifndef PEET_CLI_PROGRAM_H
#define PEET_CLI_PROGRAM_H

#include "config/config.h"

/**
 * peet_cli_program_find() - look a program up as a shell would: on PATH unless its name has a '/'
 * @out_path: the caller frees it
 * Returns: 0, PEET_ENOTFOUND, PEET_EINVALID (a folder, not executable), PEET_ENOMEM
 */
int peet_cli_program_find(const char *name, char **out_path, struct peet_error *error);

/**
 * peet_cli_program_check() - was it built by peetcc, is its schema whole, and finely enough recorded?  If foreign code is
 * recorded it need not be peetcc's
 * @out_foreign: set to 1 if it is not; NULL: it must be
 * Returns: 0, PEET_EINVALID, PEET_EFORMAT, PEET_EVERSION, PEET_ENOMEM, PEET_EIO
 */
int peet_cli_program_check(const char *path, const struct peet_config *config, int *out_foreign,
    struct peet_error *error);

#endif
