/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of the subject, under simulation only.
 *
 * A handler is compiled code that records itself, so it may run only where the interrupted code has no
 * record half written: at a check, at an event, or in a library that records nothing.  A signal that
 * arrives elsewhere (in recorded code, in the runtime, in the host) waits in a queue; lowering the limit
 * makes the next check come by, and the handler runs there.  Faults of the subject's own instructions cannot wait:
 * their handler runs at once.  SIGNAL_ENTER and SIGNAL_LEAVE in the stream tell the decoder.
 *
 * A fatal signal goes to fatal.c.
 */
#include "internal.h"
#include "fatal.h"
#include "images.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/module.h>

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
static sigaction_fn *real_sigaction;

static int begun;
static struct sigaction actions[NSIG]; /* as the subject set them */

/* ------------------------------------------------------------------------------------ deferred signals */

/* The handler below appends, delivery removes; both on one thread.  Signals that are already in the
 * queue are not queued again, as the kernel has it (realtime signals are). */
#define QUEUE 128u
static struct deferred {
    int signal;
    siginfo_t info;
    ucontext_t uc;
} queue[QUEUE];
static volatile unsigned head, tail;
static volatile char queued[NSIG];

static void defer(int signal, const siginfo_t *info, const ucontext_t *uc)
{
    if ((queued[signal] && signal < SIGRTMIN) || tail - head == QUEUE)
        return;
    struct deferred *d = &queue[tail % QUEUE];
    d->signal = signal;
    d->info = *info;
    d->uc = *uc;
    if (uc->uc_mcontext.fpregs) {
        memcpy(&d->uc.__fpregs_mem, uc->uc_mcontext.fpregs, sizeof d->uc.__fpregs_mem);
        d->uc.uc_mcontext.fpregs = &d->uc.__fpregs_mem;
    }
    queued[signal] = 1;
    tail++;
    peet__rt.signals = 1;
    if (peet__rt.in_subject)
        peet__ctl->limit = NULL;
}

static void install(int signal);

static void call_handler(int signal, siginfo_t *info, void *uc)
{
    struct sigaction action = actions[signal];
    uint64_t arg = (uint64_t)signal;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return; /* changed while it waited */
    if (action.sa_flags & (int)SA_RESETHAND) {
        actions[signal].sa_handler = SIG_DFL;
        install(signal);
    }
    peet_rt_note(PEET_ABSTRACT_SIGNAL_ENTER, 1, &arg);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, uc);
    else
        action.sa_handler(signal);
    peet_rt_note(PEET_ABSTRACT_SIGNAL_LEAVE, 1, &arg);
}

static void deliver_one(struct deferred *d)
{
    sigset_t mask, old;
    int saved_errno = errno;
    sigprocmask(SIG_SETMASK, NULL, &old);
    if (sigismember(&old, d->signal)) {
        /* blocked since it came: the kernel keeps it until it is not */
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), d->signal, &d->info);
        errno = saved_errno;
        return;
    }
    mask = actions[d->signal].sa_mask;
    if (!(actions[d->signal].sa_flags & SA_NODEFER))
        sigaddset(&mask, d->signal);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    call_handler(d->signal, &d->info, &d->uc);
    sigprocmask(SIG_SETMASK, &old, NULL);
    errno = saved_errno;
}

void peet__signals_deliver(void)
{
    /* The flag first: a signal that comes from now on sets it again. */
    peet__rt.signals = 0;
    __asm__ volatile("" ::: "memory");
    peet__ctl->limit = peet__rt.limit;
    while (head != tail) {
        struct deferred d = queue[head % QUEUE];
        if (d.uc.uc_mcontext.fpregs)
            d.uc.uc_mcontext.fpregs = &d.uc.__fpregs_mem;
        queued[d.signal] = 0;
        head++;
        deliver_one(&d);
    }
}

/* --------------------------------------------------------------------------------------------- arrival */

/* Loops may keep the cursor in a register: what the handler has recorded must not be overwritten when the
 * interrupted loop goes on.  Only recording code holds addresses of the ring, so a register that equals the
 * cursor is the cursor. */
static void carry_cursor(ucontext_t *uc, const uint64_t *before)
{
    static const int registers[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if ((uint64_t)uc->uc_mcontext.gregs[registers[i]] == (uint64_t)before)
            uc->uc_mcontext.gregs[registers[i]] = (greg_t)peet__ctl->cursor;
}

static void on_signal(int signal, siginfo_t *info, void *uc)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t pc = (uint64_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
    int saved_errno = errno;
    if (peet__fatal_is_fault(signal, info)) {
        if (rt->simulated && !rt->in_subject)
            peet__fatal(signal, info, uc); /* a fault of the host is not the subject's to handle */
        else {
            const uint64_t *before = peet__ctl->cursor;
            call_handler(signal, info, uc);
            if (rt->simulated)
                carry_cursor(uc, before);
        }
    } else if (!rt->simulated || (rt->in_subject && !rt->busy && !rt->current->between && peet__image_records_nothing(pc))) {
        call_handler(signal, info, uc);
    } else {
        defer(signal, info, uc);
    }
    errno = saved_errno;
}

/* Tell the kernel what the subject's wish amounts to. */
static void install(int signal)
{
    const struct sigaction *wish = &actions[signal];
    struct sigaction action = *wish;
    if (wish->sa_handler == SIG_DFL) {
        if (peet__rt.simulated && peet__fatal_by_default(signal)) {
            action.sa_sigaction = peet__fatal;
            action.sa_flags = SA_SIGINFO | SA_ONSTACK;
            sigfillset(&action.sa_mask);
        }
    } else if (wish->sa_handler != SIG_IGN) {
        action.sa_sigaction = on_signal;
        action.sa_flags = (wish->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    }
    real_sigaction(signal, &action, NULL);
}

void peet__signals_begin(void)
{
    if (!real_sigaction)
        real_sigaction = (sigaction_fn *)peet__next("sigaction");
    peet__images_find();
    peet__fatal_begin();
    begun = 1;
    peet__rt.simulated = 1;
    int sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction *action = &actions[signal];
        if (real_sigaction(signal, NULL, action) != 0 || action->sa_handler == SIG_IGN)
            continue;
        if (sanitized && action->sa_handler != SIG_DFL) { /* the sanitizer's, not the subject's */
            peet__fatal_host_handler(signal, action);
            action->sa_handler = SIG_DFL;
        }
        install(signal);
    }
}

void peet__signals_end(void)
{
    for (int signal = 1; begun && signal < NSIG; signal++)
        if (actions[signal].sa_handler == SIG_DFL && peet__fatal_by_default(signal))
            install(signal);
    head = tail;
    peet__rt.signals = 0;
}

/* ------------------------------------------------------------------------------------ the subject's calls */

PUBLIC int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    if (!real_sigaction)
        real_sigaction = (sigaction_fn *)peet__next("sigaction");
    if (!begun || !peet__rt.simulated || !peet__is_subject())
        return real_sigaction(signal, act, old);
    if (signal <= 0 || signal >= NSIG || signal == SIGKILL || signal == SIGSTOP) {
        return real_sigaction(signal, act, old);
    }
    struct sigaction before = actions[signal];
    if (act) {
        struct sigaction probe;
        if (real_sigaction(signal, NULL, &probe) != 0) /* libc keeps some for itself */
            return -1;
        actions[signal] = *act;
        install(signal);
    }
    if (old)
        *old = before;
    return 0;
}

PUBLIC int __sigaction(int signal, const struct sigaction *act, struct sigaction *old)
    __attribute__((alias("sigaction")));

static sighandler_t set_handler(int signal, sighandler_t handler, int flags, int mask_itself)
{
    struct sigaction act = {.sa_flags = flags}, old;
    act.sa_handler = handler;
    sigemptyset(&act.sa_mask);
    if (handler == SIG_ERR || (mask_itself && sigaddset(&act.sa_mask, signal) != 0)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return sigaction(signal, &act, &old) == 0 ? old.sa_handler : SIG_ERR;
}

PUBLIC sighandler_t signal(int number, sighandler_t handler)
{
    if (!begun || !peet__rt.simulated || !peet__is_subject()) /* as siginterrupt() has it */
        return ((sighandler_t(*)(int, sighandler_t))peet__next("signal"))(number, handler);
    return set_handler(number, handler, SA_RESTART, 1);
}

PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler);
PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, SA_RESTART, 1);
}

PUBLIC sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER, 0);
}

PUBLIC sighandler_t __sysv_signal(int number, sighandler_t handler);
PUBLIC sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER, 0);
}
