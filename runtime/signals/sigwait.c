/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for signals: pause(), sigsuspend(), sigwait() and its relatives.  To the mapper these are waits for
 * descriptors: for a signalfd, which is ready when the kernel has a blocked signal for the process, or for a
 * descriptor that nothing but the arrival of a signal makes ready.  A signal from another context interrupts the wait.
 */
#include "signals/signals.h"
#include "signals/fatal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <peet/module.h>

/* Of the thread library's: acts on a cancellation. */
extern void peet__cancellation_point(void) __attribute__((weak));

static void cancellation_point(void)
{
    if (peet__cancellation_point)
        peet__cancellation_point();
}

/* Where no descriptor of the subject's is disturbed: numbers are given out from below. */
static int out_of_the_way(int fd)
{
    struct rlimit limit;
    int most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 4096 ? (int)limit.rlim_cur : 4096;
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, most > 64 ? most - 64 : fd);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* ------------------------------------------------------------------------- waiting for some handler to run */

static volatile int wake_fd = -1; /* ready since the last time that somebody looked */

void peet__signal_wake(void)
{
    uint64_t one = 1;
    if (wake_fd >= 0)
        peet__raw_syscall(SYS_write, wake_fd, (long)&one, sizeof one, 0, 0, 0);
}

static void wait_for_handler(void)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t handled = ctx->handled;
    peet__signals_deliver(); /* what the mask lets in */
    if (wake_fd < 0)
        wake_fd = out_of_the_way(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    while (ctx->handled == handled) {
        uint64_t args[] = {(uint64_t)wake_fd, POLLIN, PEET_NEVER}, drained;
        cancellation_point();
        peet_rt_event(PEET_ABSTRACT_IO_WAIT, 3, args);
        peet__raw_syscall(SYS_read, wake_fd, (long)&drained, sizeof drained, 0, 0, 0);
        if (peet__rt.pending)
            peet__signals_deliver();
    }
    cancellation_point();
}

PUBLIC int pause(void)
{
    if (!peet__signals_simulated())
        return ((int (*)(void))peet__next("pause"))();
    wait_for_handler();
    errno = EINTR;
    return -1;
}

PUBLIC int sigsuspend(const sigset_t *set)
{
    if (!peet__signals_simulated())
        return ((int (*)(const sigset_t *))peet__next("sigsuspend"))(set);
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t mask = ctx->mask;
    peet__mask_set(ctx, peet__signal_set(set), 1);
    wait_for_handler();
    peet__mask_set(ctx, mask, 1);
    errno = EINTR;
    return -1;
}

PUBLIC int __sigsuspend(const sigset_t *set);
PUBLIC int __sigsuspend(const sigset_t *set)
{
    return sigsuspend(set);
}

/* sigpause() by another name takes a mask, BSD's, or a signal, System V's. */
PUBLIC int __sigpause(int signal_or_mask, int is_signal);
PUBLIC int __sigpause(int signal_or_mask, int is_signal)
{
    sigset_t set;
    if (!peet__signals_simulated())
        return ((int (*)(int, int))peet__next("__sigpause"))(signal_or_mask, is_signal);
    sigemptyset(&set);
    if (is_signal) {
        *(uint64_t *)&set = peet__rt.current->mask;
        if (sigdelset(&set, signal_or_mask) != 0)
            return -1;
    } else {
        *(uint64_t *)&set = (unsigned)signal_or_mask;
    }
    return sigsuspend(&set);
}

PUBLIC int __xpg_sigpause(int signal);
PUBLIC int __xpg_sigpause(int signal)
{
    return __sigpause(signal, 1);
}

/* --------------------------------------------------------------------------------- waiting for the signal */

int peet__signal_from_kernel(uint64_t set, siginfo_t *out_info)
{
    static const struct timespec at_once;
    long signal;
    do
        signal = peet__raw_syscall(SYS_rt_sigtimedwait, (long)&set, (long)out_info, (long)&at_once, sizeof set, 0, 0);
    while (signal > 0 && peet__sample_taken(out_info));
    return signal > 0 ? (int)signal : 0;
}

/* Returns: the signal, or -errno */
static int wait_for(uint64_t set, siginfo_t *out_info, uint64_t deadline)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t handled = ctx->handled;
    sigset_t wanted;
    int fd = -1, signal;
    sigemptyset(&wanted);
    *(uint64_t *)&wanted = set;
    cancellation_point();
    for (;;) {
        signal = peet__signal_take(ctx, set, out_info);
        if (!signal)
            signal = peet__signal_from_kernel(set, out_info);
        if (signal || deadline == 0) {
            signal = signal ? signal : -EAGAIN;
            break;
        }
        if (ctx->handled != handled) {
            signal = -EINTR;
            break;
        }
        if (fd < 0)
            fd = out_of_the_way(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
        uint64_t args[] = {(uint64_t)(int64_t)fd, POLLIN, deadline};
        ctx->waits = set;
        uint64_t ready = peet_rt_event(PEET_ABSTRACT_IO_WAIT, 3, args);
        ctx->waits = 0;
        if (ready == 0)
            deadline = 0; /* a last look */
        /* a cancellation interrupts the wait, too, and may not leave the descriptor behind */
        if (ready & PEET_FAILED) {
            close(fd);
            fd = -1;
            cancellation_point();
        }
    }
    if (fd >= 0)
        close(fd);
    cancellation_point();
    if (signal > 0)
        peet__timer_taken(out_info);
    if (signal > 0 && out_info->si_code == SI_TKILL) /* so says the C library of what a thread has sent */
        out_info->si_code = SI_USER;
    return signal;
}

PUBLIC int sigwaitinfo(const sigset_t *set, siginfo_t *out_info)
{
    siginfo_t info;
    if (!peet__signals_simulated())
        return ((int (*)(const sigset_t *, siginfo_t *))peet__next("sigwaitinfo"))(set, out_info);
    int signal = wait_for(peet__signal_set(set), out_info ? out_info : &info, PEET_NEVER);
    if (signal > 0)
        return signal;
    errno = -signal;
    return -1;
}

PUBLIC int sigtimedwait(const sigset_t *set, siginfo_t *out_info, const struct timespec *timeout)
{
    siginfo_t info;
    uint64_t deadline = PEET_NEVER;
    if (!peet__signals_simulated())
        return ((int (*)(const sigset_t *, siginfo_t *, const struct timespec *))peet__next("sigtimedwait"))(set,
            out_info, timeout);
    if (timeout) {
        if (timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000 || timeout->tv_sec < 0) {
            errno = EINVAL;
            return -1;
        }
        deadline = peet__timer_deadline((uint64_t)timeout->tv_sec, (uint64_t)timeout->tv_nsec);
    }
    int signal = wait_for(peet__signal_set(set), out_info ? out_info : &info, deadline);
    if (signal > 0)
        return signal;
    errno = -signal;
    return -1;
}

PUBLIC int sigwait(const sigset_t *set, int *out_signal)
{
    siginfo_t info;
    int signal;
    if (!peet__signals_simulated())
        return ((int (*)(const sigset_t *, int *))peet__next("sigwait"))(set, out_signal);
    do
        signal = wait_for(peet__signal_set(set), &info, PEET_NEVER);
    while (signal == -EINTR);
    if (signal < 0)
        return -signal;
    *out_signal = signal;
    return 0;
}
