/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line; see progress.h. */
#include "progress.h"

#include "number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
    *progress = (struct peet_cli_progress){ .fd = memfd_create("peet-progress", MFD_CLOEXEC), .started_s = peet_cli_now_s() };
    void *page = MAP_FAILED;
    if (progress->fd >= 0 && ftruncate(progress->fd, PEET_CLI_PROGRESS_BYTES) == 0)
        page = mmap(NULL, PEET_CLI_PROGRESS_BYTES, PROT_READ, MAP_SHARED, progress->fd, 0);
    if (page == MAP_FAILED) {
        int err = peet_error_set(error, PEET_EIO, "cannot make the progress page: %s", strerror(errno));
        peet_cli_progress_close(progress);
        return err;
    }
    progress->page = page;
    return 0;
}

void peet_cli_progress_close(struct peet_cli_progress *progress)
{
    if (progress->page)
        munmap((void *)(uintptr_t)progress->page, PEET_CLI_PROGRESS_BYTES);
    if (progress->fd >= 0)
        close(progress->fd);
    progress->page = NULL;
    progress->fd = -1;
}

void peet_cli_progress_show(struct peet_cli_progress *progress)
{
    char cycles[PEET_CLI_NUMBER_BYTES], instructions[PEET_CLI_NUMBER_BYTES];
    fprintf(stderr, "\rpeet: %s cycles, %s instructions, %llu context%s, %.0f s\033[K",
        peet_cli_short(cycles, (double)progress->page[0]), peet_cli_short(instructions, (double)progress->page[1]),
        (unsigned long long)progress->page[3], progress->page[3] == 1 ? "" : "s", peet_cli_now_s() - progress->started_s);
    fflush(stderr);
    progress->shown = 1;
}

void peet_cli_progress_clear(struct peet_cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
}
