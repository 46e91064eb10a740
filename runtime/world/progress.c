/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject writes to the terminal that shows the progress line of `peet run`: the line is taken away first, and
 * `peet run` hears of it, so that it does not write over the beginning of a line of the subject's.
 */
#include "world/world.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile uint64_t *page;

void peet__progress_begin(void)
{
    const char *fd = peet_rt_setting("PEET_PROGRESS_FD");
    if (!fd)
        return;
    long at = syscall(SYS_mmap, NULL, (size_t)PEET_PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0L);
    page = at == -1 ? NULL : (volatile uint64_t *)at;
}

int peet__progress_shown(void)
{
    return page && page[PEET_PROGRESS_TERMINAL];
}

void peet__progress_yield(int fd)
{
    static const char away[] = "\r\033[K";
    struct stat st;
    if (!peet__progress_shown() || page[PEET_PROGRESS_LINE] == PEET_LINE_SUBJECT)
        return;
    int saved_errno = errno;
    if (REAL(fstat)(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == page[PEET_PROGRESS_TERMINAL] &&
        __atomic_exchange_n(&page[PEET_PROGRESS_LINE], PEET_LINE_SUBJECT, __ATOMIC_ACQ_REL) == PEET_LINE_SHOWN)
        syscall(SYS_write, fd, away, sizeof away - 1);
    errno = saved_errno;
}
