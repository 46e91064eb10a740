/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending signals from within the subject: raise(), kill() of the process itself, and what pthread_kill() and timers
 * need.  What the calling context takes at once goes through the kernel, which then interrupts it as ever; what is for
 * another context waits in that one, whose wait ends in simulated time.  What all block waits in the kernel.
 */
#include "signals/signals.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/module.h>
#include "signals/fatal.h"

extern void *__libc_malloc(size_t);

struct peet_ctx *peet__signal_taker(int signal)
{
    uint64_t bit = peet__signal_bit(signal);
    struct peet_ctx *found = NULL, *main_ctx = &peet__rt.main_ctx;
    if (main_ctx->counted && !(main_ctx->mask & bit))
        return main_ctx;
    for (struct peet_ctx *c = peet__ctx_list; c; c = c->next) /* the first is the youngest */
        if (c->counted && !(c->mask & bit))
            found = c;
    return found;
}

/* The kernel's order of signals that wait: what instructions raise comes first, then by number. */
static int rank(int signal)
{
    const uint64_t raised = peet__signal_bit(SIGSEGV) | peet__signal_bit(SIGBUS) | peet__signal_bit(SIGILL) |
        peet__signal_bit(SIGTRAP) | peet__signal_bit(SIGFPE) | peet__signal_bit(SIGSYS);
    return raised & peet__signal_bit(signal) ? signal : NSIG + signal;
}

int peet__signal_enqueue(struct peet_ctx *ctx, const siginfo_t *info)
{
    struct peet__waiting_signal **link = &ctx->signals, *w;
    for (; (w = *link) && rank(w->info.si_signo) <= rank(info->si_signo); link = &w->next)
        if (w->info.si_signo == info->si_signo && info->si_signo < SIGRTMIN)
            return 0;
    struct peet__visit visit = peet__visit_begin();
    w = __libc_malloc(sizeof *w);
    peet__visit_end(visit);
    if (!w)
        return EAGAIN;
    w->info = *info;
    w->next = *link;
    *link = w;
    if (!(ctx->mask & peet__signal_bit(info->si_signo)))
        ctx->poked |= PEET__POKE_SIGNAL;
    return 0;
}

void peet__signal_interrupt(struct peet_ctx *ctx)
{
    uint64_t number = ctx->number;
    if (ctx != peet__rt.current && ctx->state == PEET__CTX_SUSPENDED)
        peet_rt_event(PEET_ABSTRACT_INTERRUPT, 1, &number);
}

void peet__signal_keep(int signal)
{
    struct peet_ctx *ctx = peet__rt.current;
    const uint64_t bit = peet__signal_bit(signal);
    siginfo_t info;
    if (peet__signals_simulated() && ctx->mask & bit && peet__signal_from_kernel(bit, &info))
        peet__signal_enqueue(ctx, &info);
}

/* Through the kernel, to this thread: handlers see what they always see. */
static void to_self(int signal, const siginfo_t *info)
{
    long pid = peet__raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), tid = peet__raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    siginfo_t copy = *info;
    if (peet__raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)&copy, 0, 0) < 0)
        peet__raw_syscall(SYS_tgkill, pid, tid, signal, 0, 0, 0);
    if (peet__rt.simulated && peet__rt.signals)
        peet__signals_deliver();
}

/* The default action is the process's end, or nothing. */
static int by_default(int signal)
{
    const struct sigaction *action = peet__signal_action(signal);
    return action->sa_handler == SIG_DFL;
}

void peet__signal_default(int signal, const siginfo_t *info)
{
    struct peet_ctx *self = peet__rt.current;
    uint64_t mask = self->mask;
    peet__mask_set(self, mask & ~peet__signal_bit(signal), 1);
    to_self(signal, info);
    peet__mask_set(self, mask, 1);
}

int peet__signal_to_context(struct peet_ctx *ctx, int signal, const siginfo_t *info)
{
    uint64_t bit = peet__signal_bit(signal);
    int taken = !(ctx->mask & bit) && !(ctx->waits & bit);
    if (signal == SIGKILL || signal == SIGSTOP || (taken && ctx == peet__rt.current)) {
        to_self(signal, info);
        return 0;
    }
    if (taken && peet__signal_action(signal)->sa_handler == SIG_IGN)
        return 0;
    if (taken && by_default(signal)) { /* it is the process's affair: whoever runs takes it */
        peet__signal_default(signal, info);
        return 0;
    }
    int err = peet__signal_enqueue(ctx, info);
    if (!err && (!(ctx->mask & bit) || (ctx->waits & bit)))
        peet__signal_interrupt(ctx);
    return err;
}

int peet__signal_to_process(int signal, const siginfo_t *info)
{
    struct peet_ctx *self = peet__rt.current, *taker = self;
    if (self->mask & peet__signal_bit(signal))
        taker = peet__signal_taker(signal);
    if (taker)
        return peet__signal_to_context(taker, signal, info);
    siginfo_t copy = *info;
    long pid = peet__raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    if (peet__raw_syscall(SYS_rt_sigqueueinfo, pid, signal, (long)&copy, 0, 0, 0) < 0)
        peet__raw_syscall(SYS_kill, pid, signal, 0, 0, 0, 0);
    return 0;
}

/* ------------------------------------------------------------------------------------ the subject's calls */

static siginfo_t from_here(int signal, int code)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = code;
    info.si_pid = getpid();
    info.si_uid = getuid();
    return info;
}

static int valid(int signal)
{
    return signal > 0 && signal < NSIG && !(peet__signal_bit(signal) & PEET__SIGNALS_OF_LIBC);
}

static int result_of(int err)
{
    if (err == 0)
        return 0;
    errno = err;
    return -1;
}

PUBLIC int raise(int signal)
{
    static int (*real)(int);
    if (peet__signals_simulated()) {
        if (!valid(signal))
            return result_of(EINVAL);
        siginfo_t info = from_here(signal, SI_TKILL);
        return result_of(peet__signal_to_context(peet__rt.current, signal, &info));
    }
    if (!real)
        real = (int (*)(int))peet__next("raise");
    return real(signal);
}

PUBLIC int gsignal(int signal)
{
    return raise(signal);
}

PUBLIC int kill(pid_t pid, int signal)
{
    static int (*real)(pid_t, int);
    if (!real)
        real = (int (*)(pid_t, int))peet__next("kill");
    if (!peet__signals_simulated())
        return real(pid, signal);
    if (pid == getpid() && valid(signal)) {
        siginfo_t info = from_here(signal, SI_USER);
        return result_of(peet__signal_to_process(signal, &info));
    }
    int result = real(pid, signal);
    peet__signals_look_soon(); /* to the process's group, for instance */
    if (peet__rt.signals)
        peet__signals_deliver();
    return result;
}

PUBLIC int sigqueue(pid_t pid, int signal, const union sigval value)
{
    static int (*real)(pid_t, int, const union sigval);
    if (peet__signals_simulated() && pid == getpid() && valid(signal)) {
        siginfo_t info = from_here(signal, SI_QUEUE);
        info.si_value = value;
        return result_of(peet__signal_to_process(signal, &info));
    }
    if (!real)
        real = (int (*)(pid_t, int, const union sigval))peet__next("sigqueue");
    return real(pid, signal, value);
}

/* -------------------------------------------------------------------------------------- thread numbers */

/* The kernel's number of the thread that carries all contexts is no number of theirs. */
PUBLIC pid_t gettid(void)
{
    static pid_t (*real)(void);
    if (peet__signals_simulated())
        return getpid() + (pid_t)peet__rt.current->number;
    if (!real)
        real = (pid_t (*)(void))peet__next("gettid");
    return real();
}

struct peet_ctx *peet__ctx_of_tid(pid_t tid)
{
    uint32_t number = (uint32_t)(tid - getpid());
    if (number == 0)
        return &peet__rt.main_ctx;
    for (struct peet_ctx *c = peet__ctx_list; c; c = c->next)
        if (c->counted && c->number == number && c->state != PEET__CTX_NEW)
            return c;
    return NULL;
}

PUBLIC int tgkill(pid_t pid, pid_t tid, int signal)
{
    static int (*real)(pid_t, pid_t, int);
    if (peet__signals_simulated() && pid == getpid()) {
        struct peet_ctx *ctx = peet__ctx_of_tid(tid);
        siginfo_t info = from_here(signal, SI_TKILL);
        if (!ctx)
            return result_of(ESRCH);
        if (signal == 0)
            return 0;
        return result_of(valid(signal) ? peet__signal_to_context(ctx, signal, &info) : EINVAL);
    }
    if (!real)
        real = (int (*)(pid_t, pid_t, int))peet__next("tgkill");
    return real(pid, tid, signal);
}

/* What the kernel is to be asked about for thread @tid: the carrier for each of ours but the first, which has the process's
 * number.  Numbers of ours may be other processes' in the kernel's eyes. */
pid_t peet__kernel_tid(pid_t tid)
{
    return peet__signals_simulated() && tid > 0 && tid != getpid() && peet__ctx_of_tid(tid) ? 0 : tid;
}

/* -------------------------------------------------------------------------- scheduling, by number of a thread */

PUBLIC int sched_getscheduler(pid_t pid)
{
    return (int)syscall(SYS_sched_getscheduler, peet__kernel_tid(pid));
}

PUBLIC int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    return (int)syscall(SYS_sched_setscheduler, peet__kernel_tid(pid), policy, param);
}

PUBLIC int sched_getparam(pid_t pid, struct sched_param *param)
{
    return (int)syscall(SYS_sched_getparam, peet__kernel_tid(pid), param);
}

PUBLIC int sched_setparam(pid_t pid, const struct sched_param *param)
{
    return (int)syscall(SYS_sched_setparam, peet__kernel_tid(pid), param);
}

PUBLIC int sched_rr_get_interval(pid_t pid, struct timespec *out_interval)
{
    return (int)syscall(SYS_sched_rr_get_interval, peet__kernel_tid(pid), out_interval);
}

PUBLIC int getpriority(__priority_which_t which, id_t who)
{
    const long result =
        syscall(SYS_getpriority, which, which == PRIO_PROCESS ? (id_t)peet__kernel_tid((pid_t)who) : who);
    return result < 0 ? -1 : (int)(20 - result);
}

PUBLIC int setpriority(__priority_which_t which, id_t who, int value)
{
    return (int)syscall(SYS_setpriority, which, which == PRIO_PROCESS ? (id_t)peet__kernel_tid((pid_t)who) : who,
        value);
}
