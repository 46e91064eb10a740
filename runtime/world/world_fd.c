/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for descriptors in simulated time.  As long as no other context is alive, a call that blocks just
 * blocks, and takes no simulated time.  With others alive, a call first takes its turn and waits until the descriptor
 * is ready (IO_WAIT), so that the system call itself never stops the process.
 *
 * What comes from outside (descriptors that the program was started with, and those that a child shares) comes in
 * host time.  So that it makes no difference whether it has come a little earlier or later, the process is patient with
 * these first.
 */
#include "world/world.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/module.h>

enum { PATIENCE_MS = 200, INHERITED_MAX = 256 };

__attribute__((weak, visibility("hidden"))) int peet_rt_interrupted_restarts(void);
__attribute__((weak, visibility("hidden"))) void peet__timer_closed(int fd);

static uint8_t inherited[INHERITED_MAX];
static int forked;

static void has_forked(void)
{
    forked = 1;
}

void peet__fd_begin(void)
{
    if (!peet__rt.capturing)
        return;
    struct pollfd all[INHERITED_MAX];
    for (int fd = 0; fd < INHERITED_MAX; fd++)
        all[fd] = (struct pollfd){.fd = fd};
    const int known = syscall(SYS_poll, all, INHERITED_MAX, 0) >= 0; /* not where fewer may be open (RLIMIT_NOFILE) */
    for (int fd = 0; fd < INHERITED_MAX; fd++)
        inherited[fd] = known ? !(all[fd].revents & POLLNVAL) : syscall(SYS_fcntl, fd, F_GETFD) >= 0;
    pthread_atfork(NULL, has_forked, NULL);
}

void peet__fd_closed(int fd)
{
    if (fd >= 0 && fd < INHERITED_MAX)
        inherited[fd] = 0;
    if (peet__timer_closed)
        peet__timer_closed(fd);
}

static int from_outside(int fd)
{
    return forked || (fd >= 0 && fd < INHERITED_MAX && inherited[fd]);
}

enum peet__fd_kind peet__fd_kind(int fd)
{
    struct stat st;
    if (REAL(fstat)(fd, &st) != 0)
        return PEET__FD_OTHER;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFBLK:
        return PEET__FD_FILE;
    case S_IFIFO:
        return PEET__FD_PIPE;
    case S_IFSOCK:
        return PEET__FD_SOCKET;
    case S_IFCHR: /* who reads from a terminal of the program's own may be the program itself */
        return !from_outside(fd) && isatty(fd) ? PEET__FD_TERMINAL : PEET__FD_OTHER;
    default:
        return PEET__FD_OTHER;
    }
}

int peet__fd_nonblocking(int fd)
{
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    return flags >= 0 && flags & O_NONBLOCK;
}

void peet__world_order(void)
{
    if (peet__world_concurrent())
        peet_rt_order();
}

int peet__fd_wait_event(int fd, unsigned events, uint64_t deadline)
{
    uint64_t args[] = {(uint64_t)fd, events, deadline};
    uint64_t result = peet_rt_event(PEET_ABSTRACT_IO_WAIT, 3, args);
    if (result & PEET_FAILED)
        return (int)(result & ~PEET_FAILED);
    return result ? 0 : ETIMEDOUT;
}

/* Others that waited for the same may have been here first. */
static int gone(int fd, unsigned events)
{
    struct pollfd one = {.fd = fd, .events = (short)events};
    return poll(&one, 1, 0) == 0;
}

int peet__fd_wait(int fd, unsigned events, uint64_t deadline)
{
    if (deadline == PEET_NEVER && !peet__world_concurrent())
        return 0;
    if (peet__fd_nonblocking(fd)) {
        peet__world_order();
        return 0;
    }
    if (from_outside(fd)) {
        struct pollfd one = {.fd = fd, .events = (short)events};
        poll(&one, 1, PATIENCE_MS);
    }
    for (;;) {
        int error = peet__fd_wait_event(fd, events, deadline);
        if (!error && gone(fd, events))
            continue;
        if (error != EINTR)
            return error;
        peet__world_cancellation_point();
        /* as the kernel restarts calls that have no time limit, if all handlers say so */
        if (deadline != PEET_NEVER || !peet_rt_interrupted_restarts || !peet_rt_interrupted_restarts())
            return EINTR;
    }
}

int peet__world_back_off(uint64_t *inout_ns)
{
    enum { FIRST_NS = 1000, LAST_NS = 1000000, HOST_NS = 50000 };
    *inout_ns = *inout_ns == 0 ? FIRST_NS : *inout_ns < LAST_NS ? *inout_ns * 2 : *inout_ns;
    /* Somebody outside may be what we wait for: give it host time, too. */
    struct timespec host = {0, HOST_NS};
    syscall(SYS_nanosleep, &host, NULL);
    return peet__world_sleep_until(peet__world_deadline_ns(*inout_ns));
}

int peet__world_back_off_restarting(uint64_t *inout_ns)
{
    int error = peet__world_back_off(inout_ns);
    return error == EINTR && peet_rt_interrupted_restarts && peet_rt_interrupted_restarts() ? 0 : error;
}

/* ---------------------------------------------------------------------------------- bytes to and from */

ssize_t peet__fd_failed(int error)
{
    errno = error == ETIMEDOUT ? EAGAIN : error;
    return -1;
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking, a terminal one, and not one more for sure. */
ssize_t peet__pipe_write(int fd, const void *bytes, size_t n)
{
    size_t done = 0, room = peet__fd_kind(fd) == PEET__FD_TERMINAL ? 1 : PIPE_BUF;
    do {
        size_t piece = n - done < room ? n - done : room;
        int error = peet__fd_wait(fd, POLLOUT, PEET_NEVER);
        if (error)
            return done ? (ssize_t)done : peet__fd_failed(error);
        ssize_t wrote = peet__fd_sent(fd, 0, REAL(write)(fd, (const char *)bytes + done, piece));
        if (wrote < 0)
            return done ? (ssize_t)done : -1;
        done += (size_t)wrote;
        if (peet__fd_nonblocking(fd) && (size_t)wrote < piece)
            break;
    } while (done < n);
    return (ssize_t)done;
}
