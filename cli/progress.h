/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line: numbers that the host inside the subject leaves in a shared page, shown on a
 * terminal now and then.
 */
#ifndef PEET_CLI_PROGRESS_H
#define PEET_CLI_PROGRESS_H

#include <stdint.h>
#include <peet/error.h>

enum { PEET_CLI_PROGRESS_BYTES = 4096, PEET_CLI_PROGRESS_INTERVAL_MS = 250 };

struct peet_cli_progress {
    int fd;                        /* memfd for the subject */
    const volatile uint64_t *page; /* cycles, instructions, events, contexts alive */
    int shown;                     /* a line stands on the terminal */
    double started_s;
};

/** peet_cli_progress_open() - make the page.  Returns: 0 or PEET_EIO */
int peet_cli_progress_open(struct peet_cli_progress *progress, struct peet_error *error);
void peet_cli_progress_close(struct peet_cli_progress *progress);

/** peet_cli_progress_show() / _clear() - draw the line on standard error, take it away */
void peet_cli_progress_show(struct peet_cli_progress *progress);
void peet_cli_progress_clear(struct peet_cli_progress *progress);

/** peet_cli_now_s() - seconds of the monotonic clock */
double peet_cli_now_s(void);

#endif
