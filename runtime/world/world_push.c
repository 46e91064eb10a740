/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel holds back of a connection.  TCP sends a small segment only when the one before it is acknowledged
 * (Nagle), and acknowledges up to 40 ms of host time later; in simulated time any time limit is over by then.  So what
 * has been sent goes at once, as TCP_NODELAY would have it, unless the program keeps it back itself.  What stays is
 * remembered, and the host waits for it, unless the other end has to read before.  So are connections that a full
 * queue of a listener of this computer's keeps waiting, for a second and more, and what has been sent over them.
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

/* So often is something looked at that does not change: 4 s, when a connection has been asked for three times. */
enum { HELD_MAX = 64, LOOKS = 400 };

static struct held {
    int fd, looks;
    int bytes; /* that have not arrived; -1 if it is not connected */
} held[HELD_MAX];
static unsigned nheld;

/** What an ioctl of sockets counts; 0 also if this is no such socket. */
static int count(int fd, unsigned long request)
{
    int bytes = 0;

    return syscall(SYS_ioctl, fd, request, &bytes) == 0 ? bytes : 0;
}

static int option(int fd, int which)
{
    int value = 0;
    socklen_t length = sizeof value;

    return REAL(getsockopt)(fd, IPPROTO_TCP, which, &value, &length) != 0 || value;
}

/** Bytes on their way that need nobody but the kernel to arrive; -1: it connects.  What was sent and not acknowledged
 * has arrived, unless nothing ever was: the other end acknowledges the first at once. */
static int on_the_way(int fd)
{
    enum { SYN_SENT = 2, ONLY_SYN = 1 };
    struct tcp_info info;
    socklen_t length = sizeof info;
    int all;

    if (REAL(getsockopt)(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
        length < offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd)
        return 0;
    if (info.tcpi_state == SYN_SENT)
        return -1;
    all = count(fd, SIOCOUTQ);
    if ((uint32_t)all > info.tcpi_snd_wnd)
        return 0;
    return info.tcpi_bytes_acked <= ONLY_SYN ? all : count(fd, SIOCOUTQNSD);
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
    held[i] = (struct held){fd, LOOKS, bytes};
}

ssize_t peet__fd_sent(int fd, int flags, ssize_t sent)
{
    const int saved_errno = errno, off = 0, on = 1;
    int bytes;

    if (sent < 0 && errno == EPIPE)
        peet__signal_keep(SIGPIPE);
    if (sent > 0 && count(fd, SIOCOUTQ) > 0) {
        if (count(fd, SIOCOUTQNSD) > 0 && !(flags & MSG_MORE) && !option(fd, TCP_CORK) && !option(fd, TCP_NODELAY)) {
            REAL(setsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            REAL(setsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof off);
        }
        bytes = on_the_way(fd);
        if (bytes > 0)
            remember(fd, bytes);
    }
    errno = saved_errno;
    return sent;
}

int peet__fd_connects(int fd, const struct sockaddr *to, int result)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)to;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)to;
    const int saved_errno = errno;

    if (result != 0 && errno == EINPROGRESS &&
        (to->sa_family == AF_INET           ? ntohl(four->sin_addr.s_addr) >> 24 == 127
                : to->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
                                            : 0) &&
        on_the_way(fd) < 0)
        remember(fd, -1);
    errno = saved_errno;
    return result;
}

PUBLIC int peet_rt_held_back(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < nheld; i++) {
        const int bytes = on_the_way(held[i].fd);

        if (bytes && bytes != held[i].bytes)
            held[i].looks = LOOKS;
        if (bytes && --held[i].looks >= 0) {
            held[kept] = held[i];
            held[kept++].bytes = bytes;
        }
    }
    nheld = kept;
    return nheld != 0;
}
