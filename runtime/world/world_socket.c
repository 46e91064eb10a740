/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets.  With other contexts alive every call is made with MSG_DONTWAIT, and waits in simulated time until the
 * socket is ready; what the socket itself says about time (SO_RCVTIMEO, SO_SNDTIMEO) is simulated time.  Connections
 * may lead to another context of the same program or to the world outside.
 */
#include "world/world.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include <peet/module.h>
#include "program/program.h"

ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
void __chk_fail(void) __attribute__((noreturn));

/* When the socket's own patience ends: PEET_NEVER if it has no limit. */
static uint64_t deadline_of(int fd, int option)
{
    struct timeval limit = {0, 0};
    socklen_t length = sizeof limit;
    if (REAL(getsockopt)(fd, SOL_SOCKET, option, &limit, &length) != 0 || (limit.tv_sec == 0 && limit.tv_usec == 0))
        return PEET_NEVER;
    return peet__world_deadline_ns((uint64_t)limit.tv_sec * 1000000000u + (uint64_t)limit.tv_usec * 1000u);
}

/* Whether the call may simply block: nobody else is there, and no time limit. */
static int simple(int fd, int flags, uint64_t deadline)
{
    return (deadline == PEET_NEVER && !peet__world_concurrent()) || flags & MSG_DONTWAIT || peet__fd_nonblocking(fd);
}

static int is_stream(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;
    return REAL(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

/* Leave out the first n bytes of a vector. */
static void advance(struct msghdr *m, size_t n)
{
    while (m->msg_iovlen && n >= m->msg_iov->iov_len) {
        n -= m->msg_iov->iov_len;
        m->msg_iov++;
        m->msg_iovlen--;
    }
    if (m->msg_iovlen) {
        m->msg_iov->iov_base = (char *)m->msg_iov->iov_base + n;
        m->msg_iov->iov_len -= n;
    }
}

static size_t bytes_of(const struct msghdr *m)
{
    size_t n = 0;
    for (size_t k = 0; k < m->msg_iovlen; k++)
        n += m->msg_iov[k].iov_len;
    return n;
}

ssize_t peet__socket_send(int fd, const struct msghdr *message, int flags)
{
    uint64_t deadline = deadline_of(fd, SO_SNDTIMEO);
    if (simple(fd, flags, deadline)) {
        peet__world_in_parts(bytes_of(message));
        peet__world_order();
        return peet__fd_sent(fd, flags, REAL(sendmsg)(fd, message, flags));
    }
    if (message->msg_iovlen > IOV_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    struct iovec v[message->msg_iovlen + 1];
    struct msghdr m = *message;
    size_t all = bytes_of(message), done = 0;
    int stream = is_stream(fd);
    memcpy(v, message->msg_iov, message->msg_iovlen * sizeof *v);
    m.msg_iov = v;
    for (int waits = 0;; waits = 1) { /* poll(2) calls full what still takes a message */
        int error = 0;
        if (waits)
            error = peet__fd_wait(fd, POLLOUT, deadline);
        else
            peet__world_order();
        if (error)
            return done ? (ssize_t)done : peet__fd_failed(error);
        ssize_t sent = peet__fd_sent(fd, flags, REAL(sendmsg)(fd, &m, flags | MSG_DONTWAIT));
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            uint64_t wait = 0; /* ready, but not for so much */
            if (waits && peet__world_back_off_restarting(&wait) != 0)
                return done ? (ssize_t)done : peet__fd_failed(EINTR);
            continue;
        }
        if (sent < 0)
            return done ? (ssize_t)done : -1;
        done += (size_t)sent;
        if (!stream || done >= all)
            return (ssize_t)done;
        advance(&m, (size_t)sent);
        m.msg_control = NULL;
        m.msg_controllen = 0;
    }
}

ssize_t peet__socket_receive(int fd, struct msghdr *message, int flags)
{
    uint64_t deadline = deadline_of(fd, SO_RCVTIMEO);
    unsigned events = flags & MSG_OOB ? POLLPRI : flags & MSG_ERRQUEUE ? POLLERR : POLLIN;
    if (simple(fd, flags, deadline)) {
        peet__world_order();
        if (flags & MSG_WAITALL)
            peet__sample_pause();
        return REAL(recvmsg)(fd, message, flags);
    }
    if (message->msg_iovlen > IOV_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    struct iovec v[message->msg_iovlen + 1];
    struct msghdr m = *message;
    size_t all = bytes_of(message), done = 0;
    int whole = flags & MSG_WAITALL && !(flags & MSG_PEEK) && is_stream(fd);
    memcpy(v, message->msg_iov, message->msg_iovlen * sizeof *v);
    m.msg_iov = v;
    for (;;) {
        int error = peet__fd_wait(fd, events, deadline);
        if (error)
            return done ? (ssize_t)done : peet__fd_failed(error);
        ssize_t got = REAL(recvmsg)(fd, &m, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            continue; /* somebody else was faster */
        if (got < 0)
            return done ? (ssize_t)done : -1;
        if (!done) {
            message->msg_namelen = m.msg_namelen;
            message->msg_controllen = m.msg_controllen;
            message->msg_flags = m.msg_flags;
        }
        done += (size_t)got;
        if (!whole || done >= all || got == 0)
            return (ssize_t)done;
        advance(&m, (size_t)got);
        m.msg_control = NULL;
        m.msg_controllen = 0;
    }
}

/* ----------------------------------------------------------------------------------------------- calls */

static ssize_t noted(long number, unsigned what, const struct msghdr *m, ssize_t n)
{
    int saved_errno = errno;
    size_t left = n > 0 ? (size_t)n : 0;
    peet__syscall_note(number, left);
    for (size_t k = 0; k < m->msg_iovlen && left; k++) {
        size_t bytes = m->msg_iov[k].iov_len < left ? m->msg_iov[k].iov_len : left;
        peet__range(k ? what | PEET_SYNTHETIC_MORE : what, m->msg_iov[k].iov_base, m->msg_iov[k].iov_base, bytes);
        left -= bytes;
    }
    peet__world_cancellation_point();
    errno = saved_errno;
    return n;
}

static ssize_t receive(long number, int fd, struct msghdr *m, int flags)
{
    peet__world_cancellation_point();
    return noted(number, PEET_SYNTHETIC_READ, m, peet__socket_receive(fd, m, flags));
}

static ssize_t deliver(long number, int fd, const struct msghdr *m, int flags)
{
    peet__world_cancellation_point();
    return noted(number, PEET_SYNTHETIC_WRITE, m, peet__socket_send(fd, m, flags));
}

SIM(ssize_t, recv, int fd, void *bytes, size_t n, int flags)
{
    struct iovec one = {bytes, n};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1};
    return SUBJECT ? receive(SYS_recvfrom, fd, &m, flags) : REAL(recv)(fd, bytes, n, flags);
}

SIM(ssize_t, recvfrom, int fd, void *bytes, size_t n, int flags, struct sockaddr *from, socklen_t *length)
{
    struct iovec one = {bytes, n};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_name = from, .msg_namelen = from && length ? *length : 0};
    if (!SUBJECT)
        return REAL(recvfrom)(fd, bytes, n, flags, from, length);
    ssize_t got = receive(SYS_recvfrom, fd, &m, flags);
    if (got >= 0 && from && length)
        *length = m.msg_namelen;
    return got;
}

/* The kernel refuses what it cannot read. */
static int is_readable(const struct msghdr *m)
{
    return peet__world_readable(m, sizeof *m) &&
        (m->msg_iovlen == 0 || m->msg_iovlen > IOV_MAX ||
            peet__world_readable(m->msg_iov, m->msg_iovlen * sizeof *m->msg_iov));
}

SIM(ssize_t, recvmsg, int fd, struct msghdr *m, int flags)
{
    return SUBJECT && is_readable(m) ? receive(SYS_recvmsg, fd, m, flags) : REAL(recvmsg)(fd, m, flags);
}

SIM(ssize_t, __recv_chk, int fd, void *bytes, size_t n, size_t room, int flags)
{
    if (n > room)
        __chk_fail();
    return peet__sim_recv(fd, bytes, n, flags);
}

SIM(ssize_t, __recvfrom_chk, int fd, void *bytes, size_t n, size_t room, int flags, struct sockaddr *from,
    socklen_t *length)
{
    if (n > room)
        __chk_fail();
    return peet__sim_recvfrom(fd, bytes, n, flags, from, length);
}

SIM(ssize_t, send, int fd, const void *bytes, size_t n, int flags)
{
    struct iovec one = {(void *)bytes, n};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1};
    return SUBJECT ? deliver(SYS_sendto, fd, &m, flags) : REAL(send)(fd, bytes, n, flags);
}

SIM(ssize_t, sendto, int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to, socklen_t length)
{
    struct iovec one = {(void *)bytes, n};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_name = (void *)to, .msg_namelen = length};
    return SUBJECT ? deliver(SYS_sendto, fd, &m, flags) : REAL(sendto)(fd, bytes, n, flags, to, length);
}

SIM(ssize_t, sendmsg, int fd, const struct msghdr *m, int flags)
{
    return SUBJECT && is_readable(m) ? deliver(SYS_sendmsg, fd, m, flags) : REAL(sendmsg)(fd, m, flags);
}

static int noted_call(long number, int result)
{
    int saved_errno = errno;
    peet__syscall_note(number, 0);
    peet__world_cancellation_point();
    errno = saved_errno;
    return result;
}

/* Accept without waiting, and wait: a connection may be gone again when its turn comes. */
static int accept_any(int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    uint64_t deadline = deadline_of(fd, SO_RCVTIMEO);
    peet__world_cancellation_point();
    int error = simple(fd, 0, deadline) ? 0 : peet__fd_wait(fd, POLLIN, deadline);
    if (error)
        return (int)peet__fd_failed(error);
    peet__world_order();
    return noted_call(SYS_accept4, REAL(accept4)(fd, from, length, flags));
}

SIM(int, accept, int fd, struct sockaddr *from, socklen_t *length)
{
    return SUBJECT ? accept_any(fd, from, length, 0) : REAL(accept)(fd, from, length);
}

SIM(int, accept4, int fd, struct sockaddr *from, socklen_t *length, int flags)
{
    return SUBJECT ? accept_any(fd, from, length, flags) : REAL(accept4)(fd, from, length, flags);
}

/* Until a connection under way stands or has failed. */
static int finish_connect(int fd, uint64_t deadline)
{
    int error = peet__fd_wait_event(fd, POLLOUT, deadline), status = 0;
    socklen_t length = sizeof status;
    if (error) {
        errno = error == ETIMEDOUT ? EINPROGRESS : error;
        return -1;
    }
    REAL(getsockopt)(fd, SOL_SOCKET, SO_ERROR, &status, &length);
    errno = status;
    return status ? -1 : 0;
}

SIM(int, connect, int fd, const struct sockaddr *to, socklen_t length)
{
    uint64_t wait = 0, deadline;
    int result;
    if (!SUBJECT)
        return REAL(connect)(fd, to, length);
    peet__world_cancellation_point();
    deadline = deadline_of(fd, SO_SNDTIMEO);
    if (simple(fd, 0, deadline)) {
        peet__world_order();
        return noted_call(SYS_connect, peet__fd_connects(fd, to, REAL(connect)(fd, to, length)));
    }
    peet__world_order();
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    /* A local socket whose listener's queue is full says EAGAIN */
    while ((result = REAL(connect)(fd, to, length)) != 0 && errno == EAGAIN &&
        peet__world_back_off_restarting(&wait) == 0)
        peet__world_cancellation_point();
    if (peet__fd_connects(fd, to, result) != 0 && errno == EINPROGRESS)
        result = finish_connect(fd, deadline);
    int saved_errno = errno;
    fcntl(fd, F_SETFL, flags);
    errno = saved_errno;
    return noted_call(SYS_connect, result);
}
