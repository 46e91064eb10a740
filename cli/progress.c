/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line; see progress.h. */
#include "progress.h"

#include "number.h"
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

double peet_cli_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int peet_cli_progress_open(struct peet_cli_progress *progress, struct peet_error *error)
{
    *progress =
        (struct peet_cli_progress){.fd = memfd_create("peet-progress", MFD_CLOEXEC), .started_s = peet_cli_now_s()};
    void *page = MAP_FAILED;
    if (progress->fd >= 0 && ftruncate(progress->fd, PEET_PROGRESS_BYTES) == 0)
        page = mmap(NULL, PEET_PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, progress->fd, 0);
    if (page == MAP_FAILED) {
        int err = peet_error_set(error, PEET_EIO, "cannot make the progress page: %s", strerror(errno));
        peet_cli_progress_close(progress);
        return err;
    }
    progress->page = page;
    struct stat st;
    if (isatty(STDERR_FILENO) && fstat(STDERR_FILENO, &st) == 0)
        progress->page[PEET_PROGRESS_TERMINAL] = st.st_rdev;
    return 0;
}

void peet_cli_progress_close(struct peet_cli_progress *progress)
{
    if (progress->page)
        munmap((void *)(uintptr_t)progress->page, PEET_PROGRESS_BYTES);
    if (progress->fd >= 0)
        close(progress->fd);
    progress->page = NULL;
    progress->fd = -1;
}

int peet_cli_progress_begun(const struct peet_cli_progress *progress)
{
    return progress->page[PEET_PROGRESS_EVENTS] || progress->page[PEET_PROGRESS_INSTRUCTIONS] ||
        progress->page[PEET_PROGRESS_DONE];
}

/* The share of the work that is done; below 0: not known. */
static double share_done(const struct peet_cli_progress *progress)
{
    const volatile uint64_t *page = progress->page;
    double share = -1;
    if (page[PEET_PROGRESS_ALL])
        share = (double)page[PEET_PROGRESS_DONE] / (double)page[PEET_PROGRESS_ALL];
    else if (progress->expected_instructions)
        share = (double)page[PEET_PROGRESS_INSTRUCTIONS] / (double)progress->expected_instructions;
    return share > 1 ? -1 : share; /* it does more than it did */
}

static int columns_of_terminal(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* In the place of the line that is there. */
static void write_line(const char *line, int columns)
{
    fprintf(stderr, "\r\033[K%.*s", columns - 1, line); /* one that is wrapped could not be taken away */
    fflush(stderr);
}

static void clear_line(void)
{
    fputs("\r\033[K", stderr);
}

void peet_cli_progress_show(struct peet_cli_progress *progress)
{
    volatile uint64_t *page = progress->page;
    char cycles[PEET_CLI_NUMBER_BYTES], instructions[PEET_CLI_NUMBER_BYTES], ahead[60] = "", line[240];
    const double seconds = peet_cli_now_s() - progress->started_s, share = share_done(progress);
    const int columns = columns_of_terminal();
    if (share >= 0.01)
        snprintf(ahead, sizeof(ahead), "%.0f %%, about %.0f s to go; ", 100 * share, seconds * (1 - share) / share);
    else if (page[PEET_PROGRESS_DONE] && !page[PEET_PROGRESS_ALL])
        snprintf(ahead, sizeof(ahead), "%llu executions, ", (unsigned long long)page[PEET_PROGRESS_DONE]);
    snprintf(line, sizeof(line), "peet: %s%s cycles, %s instructions, %llu context%s, %.0f s", ahead,
        peet_cli_short(cycles, (double)page[PEET_PROGRESS_CYCLES]),
        peet_cli_short(instructions, (double)page[PEET_PROGRESS_INSTRUCTIONS]),
        (unsigned long long)page[PEET_PROGRESS_CONTEXTS], page[PEET_PROGRESS_CONTEXTS] == 1 ? "" : "s", seconds);
    /* The subject may still be making what it is about to write: the first time that it has the line, nothing is shown. */
    static int is_subjects;
    const int was_subjects = is_subjects;
    is_subjects = page[PEET_PROGRESS_LINE] == PEET_LINE_SUBJECT;
    if (is_subjects && !was_subjects)
        return;
    /* The subject may have begun a line: so many blanks go over its end to the next line, or fill an empty one, which
     * is then cleared. */
    if (__atomic_exchange_n(&page[PEET_PROGRESS_LINE], PEET_LINE_SHOWN, __ATOMIC_ACQ_REL) == PEET_LINE_SUBJECT)
        fprintf(stderr, "%*s", columns, "");
    write_line(line, columns);
}

void peet_cli_progress_clear(struct peet_cli_progress *progress)
{
    if (progress->page &&
        __atomic_exchange_n(&progress->page[PEET_PROGRESS_LINE], PEET_LINE_NONE, __ATOMIC_ACQ_REL) == PEET_LINE_SHOWN)
        clear_line();
}

/* ------------------------------------------------------------------------------------------ a command's own work */

static struct {
    double began_s, next_s, share;
    int shown;
} work = {.share = 2};

void peet_cli_work(const char *what, double share)
{
    const double now = peet_cli_now_s();
    char line[240], left[40] = "";
    if (share < work.share) {
        work.began_s = now;
        work.next_s = now + 2e-3 * PEET_CLI_PROGRESS_INTERVAL_MS;
    }
    work.share = share;
    if (now < work.next_s || !isatty(STDERR_FILENO))
        return;
    work.next_s = now + 1e-3 * PEET_CLI_PROGRESS_INTERVAL_MS;
    work.shown = 1;
    if (share >= 0.01)
        snprintf(left, sizeof(left), ", about %.0f s to go", (now - work.began_s) * (1 - share) / share);
    snprintf(line, sizeof(line), "peet: %s: %.0f %%%s", what, 100 * share, left);
    write_line(line, columns_of_terminal());
}

void peet_cli_work_clear(void)
{
    if (work.shown)
        clear_line();
    work.shown = 0;
    work.share = 2;
}
