/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.bin of a results folder, read with care: it may be damaged. */
#ifndef PEET_CLI_TIMELINE_H
#define PEET_CLI_TIMELINE_H

#include <stddef.h>
#include <peet/error.h>
#include <peet/timeline.h>

struct peet_cli_timeline {
    struct peet_timeline_header header;
    /* header.slices, all in order: begin < end <= end_cycles, known states, hw in range */
    struct peet_timeline_slice *slices;
};

/** peet_cli_timeline_read() - @path: of the file.  Returns: 0 and fini is due; PEET_ENOTFOUND: there is none;
 * PEET_EFORMAT, PEET_EIO, PEET_ENOMEM */
int peet_cli_timeline_read(const char *path, struct peet_cli_timeline *out, struct peet_error *error);

/** peet_cli_timeline_parse() - the same from memory */
int peet_cli_timeline_parse(const void *data, size_t bytes, struct peet_cli_timeline *out, struct peet_error *error);
void peet_cli_timeline_fini(struct peet_cli_timeline *timeline);

#endif
