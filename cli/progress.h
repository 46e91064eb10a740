/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line: numbers that the host inside the subject leaves in a shared page, shown on a
 * terminal now and then; and that of a command that works for a while itself.
 */
#ifndef PEET_CLI_PROGRESS_H
#define PEET_CLI_PROGRESS_H

#include <stdint.h>
#include <peet/error.h>

enum { PEET_CLI_PROGRESS_INTERVAL_MS = 250 };

struct peet_cli_progress {
    int fd;                  /* memfd for the subject */
    volatile uint64_t *page; /* enum peet_rt_progress */
    double started_s;
    uint64_t expected_instructions; /* those of an earlier run of the same program; 0: not known */
};

/** peet_cli_progress_open() - make the page.  Returns: 0 or PEET_EIO */
int peet_cli_progress_open(struct peet_cli_progress *progress, struct peet_error *error);
void peet_cli_progress_close(struct peet_cli_progress *progress);

/** peet_cli_progress_begun() - whether the program has executed anything */
int peet_cli_progress_begun(const struct peet_cli_progress *progress);

/**
 * peet_cli_progress_show() / _clear() - draw the line on standard error, take it away
 * The subject writes to the same terminal: the page says whose turn it is (runtime/world/progress.c).  Where the work
 * is known, or was in an earlier run, the line says what share of it is done and when it will be.
 */
void peet_cli_progress_show(struct peet_cli_progress *progress);
void peet_cli_progress_clear(struct peet_cli_progress *progress);

/**
 * peet_cli_work() / _clear() - of a command's own work: the share that is done, 0 to 1; take the line away
 * Nothing if standard error is no terminal, and for work that is over at once.  A smaller share than before begins other work.
 */
void peet_cli_work(const char *what, double share);
void peet_cli_work_clear(void);

/** peet_cli_now_s() - seconds of the monotonic clock */
double peet_cli_now_s(void);

#endif
