/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poll(), select() and epoll_wait(): timeouts in simulated time.  To wait for many descriptors at once, an epoll
 * descriptor that watches them all is waited for in their place; poll(2) itself, which does not wait then, has the last
 * word.
 */
#include "world/world.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/module.h>

int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
void __chk_fail(void) __attribute__((noreturn));

/* Out of the way of the numbers that the subject expects to get. */
enum { WATCH_FD = 700 };

/* The entries of one descriptor are watched as one. */
static unsigned events_of(const struct pollfd *fds, nfds_t n, int fd)
{
    unsigned events = 0;
    for (nfds_t k = 0; k < n; k++)
        if (fds[k].fd == fd)
            events |= (unsigned short)fds[k].events;
    return events;
}

/* An epoll descriptor that becomes ready when one of these does; -1: none left to give. */
static int watch(const struct pollfd *fds, nfds_t n)
{
    int low = REAL(epoll_create1)(EPOLL_CLOEXEC),
        all = low < 0 ? -1 : (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, WATCH_FD);
    if (all < 0)
        all = low;
    else
        REAL(close)(low);
    for (nfds_t k = 0; all >= 0 && k < n; k++) {
        struct epoll_event event = {.events = (uint32_t)(unsigned short)fds[k].events};
        if (fds[k].fd >= 0 && REAL(epoll_ctl)(all, EPOLL_CTL_ADD, fds[k].fd, &event) != 0 && errno == EEXIST) {
            event.events = events_of(fds, n, fds[k].fd);
            REAL(epoll_ctl)(all, EPOLL_CTL_MOD, fds[k].fd, &event);
        }
    }
    return all;
}

static int any(const struct pollfd *fds, nfds_t n)
{
    for (nfds_t k = 0; k < n; k++)
        if (fds[k].fd >= 0)
            return 1;
    return 0;
}

static uint64_t asked_ns; /* the last time limit; who is alone has asked for it */

/* Wait once.  Returns: 0 look again, ETIMEDOUT, EINTR */
static int wait_for(const struct pollfd *fds, nfds_t n, uint64_t deadline)
{
    if (!any(fds, n) && deadline != PEET_NEVER)
        peet__world_children_run(asked_ns);
    if (!any(fds, n))
        return deadline == PEET_NEVER           ? peet__fd_wait_event(-1, 0, deadline)
            : peet__world_sleep_until(deadline) ? EINTR
                                                : ETIMEDOUT;
    int fd = watch(fds, n);
    if (fd < 0) {
        uint64_t wait = 0;
        return peet__world_back_off(&wait);
    }
    int error = peet__fd_wait_event(fd, POLLIN, deadline);
    REAL(close)(fd);
    return error;
}

/* @deadline: 0: do not wait.  Returns: as poll(2) */
static int poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline)
{
    for (;;) {
        int ready = REAL(poll)(fds, n, 0);
        if (ready != 0 || deadline == 0)
            return ready;
        if (deadline == PEET_NEVER && peet__world_alone())
            return REAL(poll)(fds, n, -1);
        int error = wait_for(fds, n, deadline);
        if (error == ETIMEDOUT)
            return REAL(poll)(fds, n, 0);
        if (error) {
            errno = error;
            return -1;
        }
    }
}

/* @ns: < 0: for ever.  The clock is read for its order too. */
static uint64_t deadline_ns(int64_t ns)
{
    asked_ns = ns > 0 ? (uint64_t)ns : 0;
    if (ns > 0)
        return peet__world_deadline_ns((uint64_t)ns);
    peet__world_order();
    return ns == 0 ? 0 : PEET_NEVER;
}

static int noted(long number, int result)
{
    int saved_errno = errno;
    peet__syscall_note(number, 0);
    peet__world_cancellation_point();
    errno = saved_errno;
    return result;
}

SIM(int, poll, struct pollfd *fds, nfds_t n, int timeout_ms)
{
    if (!SUBJECT)
        return REAL(poll)(fds, n, timeout_ms);
    peet__world_cancellation_point();
    return noted(SYS_poll, poll_until(fds, n, deadline_ns(timeout_ms < 0 ? -1 : (int64_t)timeout_ms * 1000000)));
}

SIM(int, __poll_chk, struct pollfd *fds, nfds_t n, int timeout_ms, size_t room)
{
    if (room / sizeof *fds < n)
        __chk_fail();
    return peet__sim_poll(fds, n, timeout_ms);
}

/* A relative timeout as a deadline.  Returns: 0 or EINVAL */
static int deadline_of(const struct timespec *timeout, uint64_t *out_deadline)
{
    asked_ns = timeout ? (uint64_t)timeout->tv_sec * 1000000000 + (uint64_t)timeout->tv_nsec : 0;
    if (timeout && (timeout->tv_sec || timeout->tv_nsec))
        return peet__world_deadline(timeout, out_deadline);
    *out_deadline = deadline_ns(timeout ? 0 : -1);
    return 0;
}

/* While waiting, another signal mask. */
static int poll_masked(struct pollfd *fds, nfds_t n, uint64_t deadline, const sigset_t *mask)
{
    sigset_t old;
    if (mask)
        sigprocmask(SIG_SETMASK, mask, &old);
    int result = poll_until(fds, n, deadline), saved_errno = errno;
    if (mask)
        sigprocmask(SIG_SETMASK, &old, NULL);
    errno = saved_errno;
    return result;
}

SIM(int, ppoll, struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    uint64_t deadline;
    if (!SUBJECT)
        return REAL(ppoll)(fds, n, timeout, mask);
    peet__world_cancellation_point();
    if (!timeout && peet__world_alone())
        return noted(SYS_ppoll, REAL(ppoll)(fds, n, timeout, mask));
    if (deadline_of(timeout, &deadline) != 0) {
        errno = EINVAL;
        return -1;
    }
    return noted(SYS_ppoll, poll_masked(fds, n, deadline, mask));
}

SIM(int, __ppoll_chk, struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t room)
{
    if (room / sizeof *fds < n)
        __chk_fail();
    return peet__sim_ppoll(fds, n, timeout, mask);
}

/* ----------------------------------------------------------------------------------------------- select */

/* Sets may be longer than FD_SETSIZE; they are arrays of words. */
static int is_in(const fd_set *set, int fd)
{
    return set && ((const unsigned long *)set)[fd / 64] >> (fd % 64) & 1;
}

/* The descriptors of three sets, as poll() wants them.  Returns: how many */
static nfds_t gather(int n, const fd_set *in, const fd_set *out, const fd_set *except, struct pollfd *fds)
{
    nfds_t count = 0;
    for (int fd = 0; fd < n; fd++) {
        int events = (is_in(in, fd) ? POLLIN : 0) | (is_in(out, fd) ? POLLOUT : 0) | (is_in(except, fd) ? POLLPRI : 0);
        if (events)
            fds[count++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    return count;
}

/* Wait until select() would say something; then it is asked, without waiting. */
static int select_until(int n, fd_set *in, fd_set *out, fd_set *except, uint64_t deadline, const sigset_t *mask)
{
    struct timeval none = {0, 0};
    if (n < 0) {
        errno = EINVAL;
        return -1;
    }
    if (deadline != 0) {
        struct pollfd *fds = malloc(((size_t)n + 1) * sizeof *fds);
        if (!fds) {
            errno = ENOMEM;
            return -1;
        }
        int ready = poll_masked(fds, gather(n, in, out, except, fds), deadline, mask);
        int saved_errno = errno;
        free(fds);
        errno = saved_errno;
        if (ready < 0)
            return -1;
    }
    return REAL(select)(n, in, out, except, &none);
}

SIM(int, select, int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
    uint64_t deadline;
    struct timespec limit;
    if (!SUBJECT)
        return REAL(select)(n, in, out, except, timeout);
    peet__world_cancellation_point();
    if (!timeout && peet__world_alone())
        return noted(SYS_select, REAL(select)(n, in, out, except, NULL));
    if (timeout)
        limit = (struct timespec){timeout->tv_sec + timeout->tv_usec / 1000000, timeout->tv_usec % 1000000 * 1000};
    if (deadline_of(timeout ? &limit : NULL, &deadline) != 0) {
        errno = EINVAL;
        return -1;
    }
    int result = noted(SYS_select, select_until(n, in, out, except, deadline, NULL));
    if (timeout && deadline != 0) { /* what is left of it, as Linux has it */
        uint64_t now = peet_rt_now();
        peet__world_timespec(deadline > now ? deadline - now : 0, &limit);
        *timeout = (struct timeval){limit.tv_sec, limit.tv_nsec / 1000};
    }
    return result;
}

SIM(int, pselect, int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout, const sigset_t *mask)
{
    uint64_t deadline;
    if (!SUBJECT)
        return REAL(pselect)(n, in, out, except, timeout, mask);
    peet__world_cancellation_point();
    if (!timeout && peet__world_alone())
        return noted(SYS_pselect6, REAL(pselect)(n, in, out, except, timeout, mask));
    if (deadline_of(timeout, &deadline) != 0) {
        errno = EINVAL;
        return -1;
    }
    return noted(SYS_pselect6, select_until(n, in, out, except, deadline, mask));
}

/* ----------------------------------------------------------------------------------------------- epoll */

static int epoll_until(int fd, struct epoll_event *events, int room, uint64_t deadline, const sigset_t *mask)
{
    sigset_t old;
    for (;;) {
        int ready = REAL(epoll_wait)(fd, events, room, 0);
        if (ready != 0 || deadline == 0)
            return ready;
        if (deadline == PEET_NEVER && peet__world_alone())
            return REAL(epoll_pwait)(fd, events, room, -1, mask);
        if (mask)
            sigprocmask(SIG_SETMASK, mask, &old);
        int error = peet__fd_wait_event(fd, POLLIN, deadline);
        if (mask)
            sigprocmask(SIG_SETMASK, &old, NULL);
        if (error == ETIMEDOUT)
            return REAL(epoll_wait)(fd, events, room, 0);
        if (error) {
            errno = error;
            return -1;
        }
    }
}

SIM(int, epoll_pwait, int fd, struct epoll_event *events, int room, int timeout_ms, const sigset_t *mask)
{
    if (!SUBJECT)
        return REAL(epoll_pwait)(fd, events, room, timeout_ms, mask);
    peet__world_cancellation_point();
    uint64_t deadline = deadline_ns(timeout_ms < 0 ? -1 : (int64_t)timeout_ms * 1000000);
    return noted(SYS_epoll_pwait, epoll_until(fd, events, room, deadline, mask));
}

SIM(int, epoll_wait, int fd, struct epoll_event *events, int room, int timeout_ms)
{
    return SUBJECT ? peet__sim_epoll_pwait(fd, events, room, timeout_ms, NULL)
                   : REAL(epoll_wait)(fd, events, room, timeout_ms);
}

SIM(int, epoll_pwait2, int fd, struct epoll_event *events, int room, const struct timespec *timeout,
    const sigset_t *mask)
{
    uint64_t deadline;
    if (!SUBJECT)
        return REAL(epoll_pwait2)(fd, events, room, timeout, mask);
    peet__world_cancellation_point();
    if (deadline_of(timeout, &deadline) != 0) {
        errno = EINVAL;
        return -1;
    }
    return noted(SYS_epoll_pwait, epoll_until(fd, events, room, deadline, mask));
}
