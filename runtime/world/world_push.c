/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel holds back of a connection.  TCP sends a small segment only when the one before it is acknowledged
 * (Nagle), and acknowledges up to 40 ms of host time later; in simulated time any time limit is over by then.  So what
 * has been sent goes at once, as TCP_NODELAY would have it, unless the program keeps it back itself.  What stays
 * is remembered: the host waits for it, unless the other end has to read before.
 */
#include "world/world.h"
#include "signals/signals.h"

#include <signal.h>
#include <stddef.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/sockios.h>
#include <linux/tcp.h>

enum { HELD_MAX = 64 };

static struct {
    int fd, bytes;
} held[HELD_MAX];
static unsigned nheld;

/** Bytes that have not left; 0 also if this is no such socket. */
static int unsent(int fd)
{
    int bytes = 0;

    return syscall(SYS_ioctl, fd, SIOCOUTQNSD, &bytes) == 0 ? bytes : 0;
}

static int option(int fd, int which)
{
    int value = 0;
    socklen_t length = sizeof value;

    return getsockopt(fd, IPPROTO_TCP, which, &value, &length) != 0 || value;
}

static void remember(int fd, int bytes)
{
    unsigned i = 0;

    while (i < nheld && held[i].fd != fd)
        i++;
    if (i == HELD_MAX)
        return;
    if (i == nheld)
        nheld++;
    held[i].fd = fd;
    held[i].bytes = bytes;
}

ssize_t peet__fd_sent(int fd, int flags, ssize_t sent)
{
    const int saved_errno = errno, off = 0, on = 1;
    int bytes;

    if (sent < 0 && errno == EPIPE)
        peet__signal_keep(SIGPIPE);
    if (sent > 0 && unsent(fd) > 0) {
        if (!(flags & MSG_MORE) && !option(fd, TCP_CORK) && !option(fd, TCP_NODELAY)) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off);
        }
        bytes = unsent(fd);
        if (bytes > 0)
            remember(fd, bytes);
    }
    errno = saved_errno;
    return sent;
}

/** Whether more was sent than the other end has room for. */
static int has_no_room(int fd)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    int bytes = 0;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd ||
        syscall(SYS_ioctl, fd, SIOCOUTQ, &bytes) != 0 || (uint32_t)bytes > info.tcpi_snd_wnd;
}

PUBLIC int peet_rt_held_back(int forget)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < nheld; i++) {
        const int bytes = unsent(held[i].fd);

        if (bytes > 0 && !(forget && bytes == held[i].bytes) && !has_no_room(held[i].fd)) {
            held[kept].fd = held[i].fd;
            held[kept++].bytes = bytes;
        }
    }
    nheld = kept;
    return nheld != 0;
}
