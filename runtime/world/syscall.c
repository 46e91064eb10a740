/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall(): system calls by number.  Those that the runtime stands in front of go where the function of that name
 * goes; those that would make or end a thread behind the thread library's back, or move the thread pointer, are refused
 * by name; all others are the kernel's.  Also clone(), which is one of these.  Within this library syscall() is the
 * kernel's (the linker's --wrap).
 */
#include "signals/signals.h"
#include "world/world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Of the thread library's. */
extern long peet__futex(uint32_t *word, int op, uint32_t value, const struct timespec *wants, uint32_t *other,
    uint32_t bits) __attribute__((weak));

/** What the exported function leads to under simulation. */
#define SIMULATED(name) ((__typeof__(&name))peet__world_to[PEET__WORLD_##name])

static long kernel(long number, const long *a)
{
    long result = peet__raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if ((unsigned long)result < -4095ul)
        return result;
    errno = (int)-result;
    return -1;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    return kernel(number, a);
}

static long refuse(const char *what, const char *instead, const void *caller)
{
    peet__report("%s at %p is refused under simulation: %s", what, caller, instead);
    errno = ENOSYS;
    return -1;
}

#define NO_THREADS \
    "it makes a thread that the simulated machine does not know; pthread_create(), C11 threads and OpenMP are simulated"

/* ------------------------------------------------------------------------------------- signals, by number */

/* The kernel's form of struct sigaction. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static long action(int signal, const struct kernel_action *act, struct kernel_action *old)
{
    struct sigaction new_action, old_action;
    memset(&new_action, 0, sizeof new_action);
    if (act) {
        new_action.sa_handler = (void (*)(int))act->handler;
        new_action.sa_flags = (int)(act->flags & ~0x04000000ul); /* SA_RESTORER: the C library has its own */
        *(uint64_t *)&new_action.sa_mask = act->mask;
    }
    if (sigaction(signal, act ? &new_action : NULL, &old_action) != 0)
        return -1;
    if (old)
        *old = (struct kernel_action){
            (void *)old_action.sa_handler, (unsigned)old_action.sa_flags, NULL, *(uint64_t *)&old_action.sa_mask};
    return 0;
}

/* A set of the kernel's, 8 bytes, as one of the C library's. */
static sigset_t *set_of(long address, sigset_t *out_set)
{
    if (!address)
        return NULL;
    memset(out_set, 0, sizeof *out_set);
    memcpy(out_set, (const void *)address, sizeof(uint64_t));
    return out_set;
}

static long signals(long number, const long *a)
{
    sigset_t set, old;
    long result;
    switch (number) {
    case SYS_rt_sigaction:
        return action((int)a[0], (const struct kernel_action *)a[1], (struct kernel_action *)a[2]);
    case SYS_rt_sigprocmask:
        /* What can only fail, fails in the kernel: with EFAULT if the set cannot be read.  Abseil asks so whether memory is
         * there. */
        if (a[3] != sizeof(uint64_t) || (a[1] && a[0] != SIG_BLOCK && a[0] != SIG_UNBLOCK && a[0] != SIG_SETMASK))
            return kernel(number, a);
        result = sigprocmask((int)a[0], set_of(a[1], &set), &old);
        if (result == 0 && a[2])
            memcpy((void *)a[2], &old, sizeof(uint64_t));
        return result;
    case SYS_rt_sigpending:
        result = sigpending(&set);
        if (result == 0)
            memcpy((void *)a[0], &set, sizeof(uint64_t));
        return result;
    case SYS_rt_sigsuspend:
        return sigsuspend(set_of(a[0], &set));
    case SYS_rt_sigtimedwait:
        return sigtimedwait(set_of(a[0], &set), (siginfo_t *)a[1], (const struct timespec *)a[2]);
    case SYS_kill:
        return kill((pid_t)a[0], (int)a[1]);
    case SYS_tkill:
        return tgkill(getpid(), (pid_t)a[0], (int)a[1]);
    case SYS_tgkill:
        return tgkill((pid_t)a[0], (pid_t)a[1], (int)a[2]);
    case SYS_sigaltstack:
        return sigaltstack((const stack_t *)a[0], (stack_t *)a[1]);
    case SYS_pause:
        return pause();
    case SYS_alarm:
        return (long)alarm((unsigned)a[0]);
    case SYS_setitimer:
        return setitimer((__itimer_which_t)a[0], (const struct itimerval *)a[1], (struct itimerval *)a[2]);
    case SYS_getitimer:
        return getitimer((__itimer_which_t)a[0], (struct itimerval *)a[1]);
    case SYS_timerfd_create:
        return timerfd_create((int)a[0], (int)a[1]);
    case SYS_timerfd_settime:
        return timerfd_settime((int)a[0], (int)a[1], (const struct itimerspec *)a[2], (struct itimerspec *)a[3]);
    case SYS_timerfd_gettime:
        return timerfd_gettime((int)a[0], (struct itimerspec *)a[1]);
    default:
        return kernel(number, a);
    }
}

/* ------------------------------------------------------------------------------------ the world outside */

static long negative(int err)
{
    if (err == 0)
        return 0;
    errno = err;
    return -1;
}

static long world(long number, const long *a)
{
    switch (number) {
    case SYS_read:
        return SIMULATED(read)((int)a[0], (void *)a[1], (size_t)a[2]);
    case SYS_write:
        return SIMULATED(write)((int)a[0], (const void *)a[1], (size_t)a[2]);
    case SYS_readv:
        return SIMULATED(readv)((int)a[0], (const struct iovec *)a[1], (int)a[2]);
    case SYS_writev:
        return SIMULATED(writev)((int)a[0], (const struct iovec *)a[1], (int)a[2]);
    case SYS_close:
        return SIMULATED(close)((int)a[0]);
    case SYS_poll:
        return SIMULATED(poll)((struct pollfd *)a[0], (nfds_t)a[1], (int)a[2]);
    case SYS_clock_gettime:
        return SIMULATED(clock_gettime)((clockid_t)a[0], (struct timespec *)a[1]);
    case SYS_clock_getres:
        return SIMULATED(clock_getres)((clockid_t)a[0], (struct timespec *)a[1]);
    case SYS_gettimeofday:
        return SIMULATED(gettimeofday)((struct timeval *)a[0], (void *)a[1]);
    case SYS_time:
        return SIMULATED(time)((time_t *)a[0]);
    case SYS_nanosleep:
        return SIMULATED(nanosleep)((const struct timespec *)a[0], (struct timespec *)a[1]);
    case SYS_clock_nanosleep:
        return negative(SIMULATED(clock_nanosleep)((clockid_t)a[0], (int)a[1], (const struct timespec *)a[2],
            (struct timespec *)a[3]));
    case SYS_getrandom:
        return SIMULATED(getrandom)((void *)a[0], (size_t)a[1], (unsigned)a[2]);
    case SYS_copy_file_range:
        return SIMULATED(copy_file_range)((int)a[0], (off64_t *)a[1], (int)a[2], (off64_t *)a[3], (size_t)a[4],
            (unsigned)a[5]);
    case SYS_sendfile:
        return SIMULATED(sendfile64)((int)a[0], (int)a[1], (off64_t *)a[2], (size_t)a[3]);
    case SYS_splice:
        return SIMULATED(splice)((int)a[0], (off64_t *)a[1], (int)a[2], (off64_t *)a[3], (size_t)a[4], (unsigned)a[5]);
    case SYS_getdents64: /* a sample's signal would end it early */
        peet__sample_pause();
        __attribute__((fallthrough));
    default:
        if (peet__world_takes_turn(number))
            peet__world_order();
        return kernel(number, a);
    }
}

static long futex(const long *a)
{
    int op = (int)a[1];
    long result = -ENOSYS;
    if (peet__futex)
        result = peet__futex((uint32_t *)a[0], op, (uint32_t)a[2], (const struct timespec *)a[3], (uint32_t *)a[4],
            (uint32_t)a[5]);
    if (result >= 0)
        return result;
    if (result == -ENOSYS)
        peet__report("syscall(SYS_futex) with operation %d is not simulated", op & FUTEX_CMD_MASK);
    errno = (int)-result;
    return -1;
}

/* -------------------------------------------------------------------------------------- a thread's number */

/* Argument @which is a number of a thread, which may be one of ours. */
static long of_thread(long number, const long *a, int which)
{
    long b[6];
    memcpy(b, a, sizeof b);
    b[which] = peet__kernel_tid((pid_t)a[which]);
    return kernel(number, b);
}

/* --------------------------------------------------------------------------------------------- the calls */

static long simulated(long number, const long *a, const void *caller)
{
    switch (number) {
    case SYS_exit_group:
        _exit((int)a[0]);
    case SYS_exit:
        if (peet__rt.current != &peet__rt.main_ctx)
            pthread_exit(NULL);
        _exit((int)a[0]);
    case SYS_gettid:
        return gettid();
    case SYS_futex:
        return futex(a);
    case SYS_sched_yield:
        return sched_yield();
    case SYS_sched_setaffinity:
    case SYS_sched_getaffinity:
    case SYS_sched_getscheduler:
    case SYS_sched_setscheduler:
    case SYS_sched_getparam:
    case SYS_sched_setparam:
    case SYS_sched_rr_get_interval:
    case SYS_sched_getattr:
    case SYS_sched_setattr:
        return of_thread(number, a, 0);
    case SYS_getpriority:
    case SYS_setpriority:
        return a[0] == PRIO_PROCESS ? of_thread(number, a, 1) : kernel(number, a);
    case SYS_ioprio_get:
    case SYS_ioprio_set:
        return a[0] == 1 /* IOPRIO_WHO_PROCESS */ ? of_thread(number, a, 1) : kernel(number, a);
    case SYS_getcpu:
        if (a[0])
            *(unsigned *)a[0] = peet_rt_cpu();
        if (a[1])
            *(unsigned *)a[1] = 0;
        return 0;
    case SYS_rseq: /* it would say on which of the computer's processors this runs */
        errno = ENOSYS;
        return -1;
    case SYS_mmap:
        return (long)mmap((void *)a[0], (size_t)a[1], (int)a[2], (int)a[3], (int)a[4], a[5]);
    case SYS_munmap:
        return munmap((void *)a[0], (size_t)a[1]);
    case SYS_mremap:
        return (long)mremap((void *)a[0], (size_t)a[1], (size_t)a[2], (int)a[3], (void *)a[4]);
    case SYS_brk:
        brk((void *)a[0]);
        return (long)sbrk(0);
    case SYS_execve:
        return execve((const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
    case SYS_execveat:
        return execveat((int)a[0], (const char *)a[1], (char *const *)a[2], (char *const *)a[3], (int)a[4]);
    case SYS_fork:
    case SYS_vfork:
        return fork();
    case SYS_clone:
        if ((a[0] & ~(long)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) == SIGCHLD && a[1] == 0)
            return fork();
        return refuse("syscall(SYS_clone)", NO_THREADS, caller);
    case SYS_clone3:
        return refuse("syscall(SYS_clone3)", NO_THREADS, caller);
    case SYS_arch_prctl:
        if (a[0] == ARCH_SET_FS || a[0] == ARCH_SET_GS)
            return refuse("syscall(SYS_arch_prctl)", "the thread pointer belongs to the C library and the runtime",
                caller);
        return kernel(number, a);
    case SYS_timer_create:
    case SYS_timer_settime:
    case SYS_timer_gettime:
    case SYS_timer_delete:
    case SYS_timer_getoverrun:
        return refuse("syscall(SYS_timer_...)", "timer_create() and the functions beside it are simulated", caller);
    default:
        return (number >= SYS_rt_sigaction && number <= SYS_rt_sigreturn) || number == SYS_pause ||
                number == SYS_alarm || number == SYS_getitimer || number == SYS_setitimer || number == SYS_kill ||
                number == SYS_tkill || number == SYS_tgkill || number == SYS_sigaltstack ||
                number == SYS_timerfd_create || number == SYS_timerfd_settime || number == SYS_timerfd_gettime ||
                (number >= SYS_rt_sigpending && number <= SYS_rt_sigsuspend)
            ? signals(number, a)
            : world(number, a);
    }
}

PUBLIC long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!peet__signals_simulated())
        return kernel(number, a);
    if (peet__rt.busy)
        return kernel(number, a);
    return simulated(number, a, __builtin_return_address(0));
}

/* ---------------------------------------------------------------------------------------------- clone() */

struct start {
    int (*fn)(void *);
    void *arg;
};

/* In a child that has memory of its own: it is not simulated. */
static int run_child(void *arg)
{
    struct start start = *(struct start *)arg;
    peet__exit_forked();
    return start.fn(start.arg);
}

typedef int clone_fn(int (*)(void *), void *, int, void *, ...);

PUBLIC int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    static clone_fn *real;
    va_list args;
    va_start(args, arg);
    pid_t *parent_tid = va_arg(args, pid_t *);
    void *tls = va_arg(args, void *);
    pid_t *child_tid = va_arg(args, pid_t *);
    va_end(args);
    if (!real)
        real = (clone_fn *)peet__next("clone");
    if (!peet__signals_simulated())
        return real(fn, stack, flags, arg, parent_tid, tls, child_tid);
    if (flags & (CLONE_VM | CLONE_THREAD | CLONE_SETTLS))
        return (int)refuse("clone()", NO_THREADS, __builtin_return_address(0));
    struct start start = {fn, arg};
    peet__rt.others = 1;
    return real(run_child, stack, flags & ~CLONE_VFORK, &start, parent_tid, tls, child_tid);
}
