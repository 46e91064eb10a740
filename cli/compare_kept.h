/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sequence that is too long to be kept in memory, in a file without a name: packed as a trace's words are, so that it
 * takes a small part of a byte for each element, and is read as often as need be without decoding the trace again.
 */
#ifndef PEET_CLI_COMPARE_KEPT_H
#define PEET_CLI_COMPARE_KEPT_H

#include <stddef.h>
#include <stdint.h>

struct peet_cli_kept;

/** peet_cli_kept_new() - an empty one.  Returns: 0, PEET_ENOMEM, or PEET_EIO: no temporary file can be made in TMPDIR */
int peet_cli_kept_new(struct peet_cli_kept **out_kept);
void peet_cli_kept_free(struct peet_cli_kept *kept);
/** peet_cli_kept_add() - append.  Returns: 0, PEET_ENOMEM, or PEET_EIO: the disk is full, say */
int peet_cli_kept_add(struct peet_cli_kept *kept, const uint64_t *symbols, size_t n);
/** peet_cli_kept_rewind() - reading begins anew; nothing is appended any more.  Returns: as _add() */
int peet_cli_kept_rewind(struct peet_cli_kept *kept);
/** peet_cli_kept_read() - the next ones.  Returns: how many, 0 at the end, or PEET_EIO, PEET_EFORMAT */
long peet_cli_kept_read(struct peet_cli_kept *kept, uint64_t *out_symbols, size_t room);

#endif
