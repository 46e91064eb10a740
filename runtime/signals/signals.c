/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of the subject, under simulation only: arrival, delivery, dispositions (masks, sending and waiting: see
 * signals.h).
 *
 * A handler is compiled code that records itself, so it may run only where the interrupted code has no
 * record half written: at a check, at an event, or in a library that records nothing.  A signal that
 * arrives elsewhere (in recorded code, in the runtime, in the host) waits in a queue; lowering the limit
 * makes the next check come by, and the handler runs there.  Faults of the subject's own instructions cannot wait:
 * their handler runs at once.  SIGNAL_ENTER and SIGNAL_LEAVE in the stream tell the decoder.
 *
 * What has come for the process is taken by the running context, unless it blocks it; then that context hands it to
 * one that does not, and ends that one's wait.
 *
 * A fatal signal goes to fatal.c.
 */
#include "arch/x86_64/float_control.h"
#include "signals/signals.h"
#include "plain/real.h"
#include "views/domain_internal.h"
#include "signals/fatal.h"
#include "images.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/module.h>

extern void __libc_free(void *);

/* Of the thread library's: acts on an asynchronous cancellation. */
extern void peet__thread_poked(void) __attribute__((weak));

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
static sigaction_fn *real_sigaction;

/* So long may the host keep a handler of the subject's waiting before it counts as hanging (fatal.h). */
enum { PATIENCE_SECONDS = 10 };

static int begun;
static struct sigaction actions[NSIG]; /* as the subject set them */

const struct sigaction *peet__signal_action(int signal)
{
    return &actions[signal];
}

/* ------------------------------------------------------------------------------------ deferred signals */

/* Signals to the process that have come.  Handlers fill free slots, also while delivery empties one: both on one
 * thread.  Signals that wait already do not wait twice, as the kernel has it (realtime signals do). */
#define SLOTS 128u
static struct deferred {
    volatile uint64_t order; /* 0: free */
    int signal;
    siginfo_t info;
    ucontext_t uc;
} slots[SLOTS];
static volatile uint64_t last_order;
static volatile unsigned lost;

static struct deferred *oldest(uint64_t set)
{
    struct deferred *found = NULL;
    if (!(peet__rt.pending & set))
        return NULL;
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i].order && (set & peet__signal_bit(slots[i].signal)) && (!found || slots[i].order < found->order))
            found = &slots[i];
    return found;
}

/* Empties the slot. */
static void take_slot(struct deferred *d, struct deferred *out_copy)
{
    uint64_t bit = peet__signal_bit(d->signal);
    *out_copy = *d;
    if (out_copy->uc.uc_mcontext.fpregs)
        out_copy->uc.uc_mcontext.fpregs = &out_copy->uc.__fpregs_mem;
    /* The bit first: if the same signal comes now, it sets it again. */
    peet__rt.pending &= ~bit;
    d->order = 0;
    for (unsigned i = 0; i < SLOTS; i++)
        if (slots[i].order && slots[i].signal == out_copy->signal)
            peet__rt.pending |= bit;
}

static void defer(int signal, const siginfo_t *info, const ucontext_t *uc)
{
    struct peet__rt *rt = &peet__rt;
    struct deferred *d = NULL;
    if ((rt->pending & peet__signal_bit(signal)) && signal < SIGRTMIN)
        return;
    for (unsigned i = 0; i < SLOTS && !d; i++)
        if (!slots[i].order)
            d = &slots[i];
    if (!d) {
        lost++;
        return;
    }
    d->signal = signal;
    d->info = *info;
    d->uc = *uc;
    if (uc->uc_mcontext.fpregs)
        memcpy(&d->uc.__fpregs_mem, uc->uc_mcontext.fpregs, sizeof d->uc.__fpregs_mem);
    d->order = ++last_order;
    rt->pending |= peet__signal_bit(signal);
    if (rt->in_subject) {
        rt->signals = 1;
        peet__ctl->limit = NULL;
    } else {
        peet__signal_wake();
    }
}

/* -------------------------------------------------------------------------------- what waits in a context */

uint64_t peet__signals_waiting(const struct peet_ctx *ctx)
{
    uint64_t set = peet__rt.pending;
    for (const struct peet__waiting_signal *w = ctx->signals; w; w = w->next)
        set |= peet__signal_bit(w->info.si_signo);
    return set;
}

static int take_own(struct peet_ctx *ctx, uint64_t set, siginfo_t *out_info)
{
    for (struct peet__waiting_signal **link = &ctx->signals, *w; (w = *link); link = &w->next) {
        if (!(set & peet__signal_bit(w->info.si_signo)))
            continue;
        *out_info = w->info;
        *link = w->next;
        struct peet__visit visit = peet__visit_begin();
        __libc_free(w);
        peet__visit_end(visit);
        return out_info->si_signo;
    }
    return 0;
}

int peet__signal_take(struct peet_ctx *ctx, uint64_t set, siginfo_t *out_info)
{
    int signal = ctx->signals ? take_own(ctx, set, out_info) : 0;
    struct deferred *d = signal ? NULL : oldest(set), copy;
    if (d) {
        take_slot(d, &copy);
        *out_info = copy.info;
        signal = copy.signal;
    }
    return signal;
}

/* A thread's waiting signals go with it, those that were handed to it too: POSIX leaves that open. */
void peet__signals_leave(struct peet_ctx *ctx)
{
    siginfo_t info;
    while (ctx->signals)
        take_own(ctx, ~(uint64_t)0, &info);
    peet__mask_leave(ctx);
}

void peet__signals_enter(struct peet_ctx *ctx, uint64_t mask)
{
    ctx->poked = 0;
    ctx->handled = ctx->waits = 0;
    peet__mask_enter(ctx, mask);
}

void peet__signals_switch_in(struct peet_ctx *ctx)
{
    peet__mask_tell(ctx->mask);
}

enum { LOOKS_EVERY = 64 };
static unsigned switches_left = LOOKS_EVERY;

/* The mask stays the context's: two calls of the kernel would cost more than all else that a switch takes.  What is only for
 * contexts that do not run waits in the kernel until the next look, or until the host waits. */
void peet__signals_switch_out(void)
{
    if (--switches_left == 0) {
        switches_left = LOOKS_EVERY;
        peet__mask_tell(peet__rt.all_block);
    }
}

void peet__signals_look_soon(void)
{
    switches_left = 1;
}

PUBLIC void peet_rt_waits_outside(void)
{
    peet__sample_pause();
    if (peet__rt.simulated && peet__rt.mixed && !peet__rt.in_subject)
        peet__mask_tell(peet__rt.all_block);
}

/* --------------------------------------------------------------------------------------------- delivery */

static void install(int signal);

struct handler_call {
    struct sigaction action;
    int signal;
    siginfo_t *info;
    ucontext_t *uc;
};

/* As from the kernel: a handler computes as a new program does, and what it sets ends with it. */
static void call_now(void *arg)
{
    const struct handler_call *call = arg;
    const uint32_t fresh = 0x1f80;
    const stack_t kernel = call->uc->uc_stack;
    uint32_t interrupted;
    struct peet__x87 x87;
    if (peet__rt.simulated && peet__rt.current)
        call->uc->uc_stack = peet__sigstack_of(peet__rt.current);
    peet__x87_keep(&x87);
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(interrupted) : "m"(fresh));
    if (call->action.sa_flags & SA_SIGINFO)
        call->action.sa_sigaction(call->signal, call->info, call->uc);
    else
        call->action.sa_handler(call->signal);
    peet__x87_restore(&x87);
    __asm__ volatile("ldmxcsr %0" : : "m"(interrupted));
    if (peet__rt.simulated) /* else a child has come out of the handler */
        call->uc->uc_stack = kernel;
}

/* The end of the stack that the context has for handlers, if this one wants it; below what it interrupts, if that runs
 * there.  @interrupted: the stack pointer of that */
static void *stack_for(const struct peet_ctx *ctx, const struct sigaction *action, uint64_t interrupted)
{
    enum { RED_ZONE = 128, LEAST = 1024 };
    const stack_t *stack = ctx ? ctx->alternative : NULL;
    if (!stack || !(action->sa_flags & SA_ONSTACK))
        return NULL;
    const uint64_t lo = (uint64_t)stack->ss_sp;
    if (interrupted - lo >= stack->ss_size)
        return (void *)((lo + stack->ss_size) & ~(uint64_t)15);
    return interrupted - lo > RED_ZONE + LEAST ? (void *)((interrupted - RED_ZONE) & ~(uint64_t)15) : NULL;
}

/* The kernel's frame is as large as this processor's registers ask for, and so is what a handler that it calls finds below:
 * handlers begin this far below what they interrupt, on every host with a smaller frame. */
static void *stack_below(const struct peet_ctx *ctx, const ucontext_t *uc)
{
    enum { FRAME_BYTES = 8 << 10, OWN_BYTES = 512 };
    const uint64_t at = (uint64_t)uc->uc_mcontext.gregs[REG_RSP] - FRAME_BYTES, end = at & ~(uint64_t)15;
    return end + OWN_BYTES < (uint64_t)__builtin_frame_address(0) && end > ctx->stack.lo + FRAME_BYTES &&
            end < ctx->stack.hi
        ? (void *)end
        : NULL;
}

/* @stack_end: where the handler is to have its stack; NULL: here */
static void call_handler(int signal, siginfo_t *info, void *uc, void *stack_end)
{
    struct sigaction action = actions[signal];
    struct handler_call call = {action, signal, info, uc};
    uint64_t arg = (uint64_t)signal;
    peet__timer_taken(info);
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) { /* changed while it waited */
        if (action.sa_handler == SIG_DFL && peet__rt.simulated && peet__rt.current)
            peet__signal_default(signal, info);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND) {
        actions[signal].sa_handler = SIG_DFL;
        install(signal);
    }
    struct peet_ctx *ctx = peet__rt.current;
    uint8_t restarts = ctx && ctx->restarts && (action.sa_flags & SA_RESTART) != 0;
    peet_rt_note(PEET_ABSTRACT_SIGNAL_ENTER, 1, &arg);
    if (stack_end)
        peet__call_on(stack_end, call_now, &call);
    else
        call_now(&call);
    peet_rt_note(PEET_ABSTRACT_SIGNAL_LEAVE, 1, &arg);
    if (ctx) { /* the handler's own events have said other things */
        ctx->restarts = restarts;
        ctx->handled++;
    }
}

static uint64_t handler_mask(int signal, uint64_t mask)
{
    mask |= peet__signal_set(&actions[signal].sa_mask);
    return actions[signal].sa_flags & SA_NODEFER ? mask : mask | peet__signal_bit(signal);
}

static int deliver_own(struct peet_ctx *ctx);

/* As the kernel does, which makes a frame for all that it may deliver: what has come for the context and this handler does
 * not block interrupts it before its first instruction. */
static void deliver_one(int signal, siginfo_t *info, ucontext_t *uc)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t mask = ctx->mask;
    int saved_errno = errno;
    peet__mask_set(ctx, handler_mask(signal, mask), 1);
    while (ctx->signals && deliver_own(ctx))
        ;
    void *here = __builtin_frame_address(0), *end = stack_for(ctx, &actions[signal], (uint64_t)here);
    call_handler(signal, info, uc, end && end > here ? end : NULL);
    if (peet__rt.simulated)
        peet__mask_set(ctx, mask, 1);
    else /* a child has come out of the handler */
        peet__raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
    errno = saved_errno;
}

/* A signal that was sent to a context has no interrupted registers; handlers that look find the sender's place. */
static int deliver_own(struct peet_ctx *ctx)
{
    siginfo_t info;
    ucontext_t uc;
    int signal = take_own(ctx, ~ctx->mask, &info);
    if (!signal)
        return 0;
    memset(&uc, 0, sizeof uc);
    *(uint64_t *)&uc.uc_sigmask = ctx->mask;
    peet__uc_set_frame(&uc, __builtin_return_address(0), __builtin_frame_address(0));
    deliver_one(signal, &info, &uc);
    return 1;
}

/* What this context blocks and another takes.  Returns: whether it handed one over */
static int hand_on(struct peet_ctx *ctx)
{
    struct deferred *d = oldest(ctx->mask & ~peet__rt.all_block), copy;
    if (!d)
        return 0;
    struct peet_ctx *taker = peet__signal_taker(d->signal);
    if (!taker || taker == ctx)
        return 0;
    take_slot(d, &copy);
    if (peet__signal_enqueue(taker, &copy.info) == 0)
        peet__signal_interrupt(taker);
    return 1;
}

/* What waits for the context, and what its handlers send to their own thread while their masks keep it back. */
static void deliver_all_own(struct peet_ctx *ctx)
{
    while (ctx->signals && deliver_own(ctx))
        ;
}

void peet__signals_deliver(void)
{
    struct peet__rt *rt = &peet__rt;
    struct peet_ctx *ctx = rt->current;
    /* The flag first: a signal that comes from now on sets it again. */
    rt->signals = 0;
    __asm__ volatile("" ::: "memory");
    peet__ctl->limit = rt->limit;
    if (ctx->poked & PEET__POKE_CANCEL) {
        ctx->poked &= (uint8_t)~PEET__POKE_CANCEL;
        if (peet__thread_poked)
            peet__thread_poked();
    }
    ctx->poked &= (uint8_t)~PEET__POKE_SIGNAL;
    for (struct deferred *d, copy;;) {
        deliver_all_own(ctx);
        if (!(d = oldest(~ctx->mask)))
            break;
        take_slot(d, &copy);
        deliver_one(copy.signal, &copy.info, &copy.uc);
    }
    while (hand_on(ctx))
        ;
    if (lost) {
        peet__report("%u signals were lost: more than %u waited at once", lost, SLOTS);
        lost = 0;
    }
}

/* --------------------------------------------------------------------------------------------- arrival */

/* Loops may keep the cursor in a register: what the handler has recorded must not be overwritten when the
 * interrupted loop goes on.  Only recording code holds addresses of the ring, so a register that equals the
 * cursor is the cursor. */
static void carry_cursor(ucontext_t *uc, const uint64_t *before)
{
    peet__uc_replace(uc, (uint64_t)before, (uint64_t)peet__ctl->cursor);
}

/* A handler called by the kernel, which has set the mask and puts the old one back. */
static void handle_here(int signal, siginfo_t *info, ucontext_t *uc)
{
    struct peet__rt *rt = &peet__rt;
    struct peet_ctx *ctx = rt->current;
    if (!rt->simulated || !ctx || !rt->in_subject) {
        call_handler(signal, info, uc, NULL);
        return;
    }
    /* It may have interrupted a library's function that the runtime has called, as one that waits in the kernel is. */
    const uint64_t world = peet__foreign_world;
    const uint64_t interrupted = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
    const int began = peet__sigstack_leave(ctx, __builtin_frame_address(0), interrupted);
    void *end = stack_for(ctx, &actions[signal], interrupted);
    peet__foreign_world = (uint64_t)peet__foreign_on;
    peet__mask_set(ctx, handler_mask(signal, ctx->mask), 0);
    rt->kernel_mask = ctx->mask;
    call_handler(signal, info, uc, end ? end : stack_below(ctx, uc));
    if (!rt->simulated) /* a child has come out of the handler */
        return;
    peet__mask_set(ctx, *(uint64_t *)&uc->uc_sigmask, 0);
    deliver_all_own(ctx);
    peet__foreign_world = world;
    rt->kernel_mask = ctx->mask;
    peet__sigstack_back(began);
}

static void on_signal(int signal, siginfo_t *info, void *uc)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t pc = peet__uc_pc(uc);
    peet__fs_settle();
    const uint64_t from = peet__foreign_from;
    int saved_errno = errno;
    if (peet__fatal_watched(signal, info, uc))
        return;
    if (peet__fatal_is_fault(signal, info)) {
        info->si_addr = (void *)peet__domain_primary((uint64_t)info->si_addr);
        if (rt->simulated && !rt->in_subject)
            peet__fatal(signal, info, uc); /* a fault of the host is not the subject's to handle */
        else {
            const uint64_t *before = peet__ctl->cursor;
            handle_here(signal, info, uc);
            if (rt->simulated)
                carry_cursor(uc, before);
        }
    } else if (!rt->simulated ||
        (rt->in_subject && !rt->busy && !rt->current->between &&
            (peet__image_records_nothing(pc) || peet__foreign_after_system_call(pc)))) {
        handle_here(signal, info, uc);
    } else {
        defer(signal, info, uc);
        if (rt->simulated && !rt->in_subject && (signal == SIGINT || signal == SIGTERM))
            peet__fatal_watch(signal, PATIENCE_SECONDS);
    }
    errno = saved_errno;
    peet__foreign_from = from;
}

/* The subject handles no SIGSEGV: the switch counts on that (contexts/pointer.c). */
static void on_fault(int signal, siginfo_t *info, void *uc)
{
    if (!peet__fs_found())
        peet__fatal(signal, info, uc);
}

/* Tell the kernel what the subject's wish amounts to: in a child, that. */
static void install(int signal)
{
    const struct sigaction *wish = &actions[signal];
    struct sigaction action = *wish;
    if (!peet__rt.simulated) {
        real_sigaction(signal, wish, NULL);
        return;
    }
    if (wish->sa_handler == SIG_DFL) {
        if (peet__fatal_by_default(signal)) {
            action.sa_sigaction = signal == SIGSEGV ? on_fault : peet__fatal;
            action.sa_flags = SA_SIGINFO | SA_ONSTACK;
            sigfillset(&action.sa_mask);
        }
    } else if (wish->sa_handler != SIG_IGN) {
        action.sa_sigaction = on_signal;
        action.sa_flags = (wish->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    }
    real_sigaction(signal, &action, NULL);
}

void peet__signal_set_action(int signal, const struct sigaction *action)
{
    if (signal == PEET_RT_SAMPLE_SIGNAL)
        peet__sample_end();
    peet__fs_settle(); /* the handler of SIGSEGV may change */
    actions[signal] = *action;
    install(signal);
}

void peet__signals_begin(void)
{
    uint64_t mask = 0;
    peet__raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, sizeof mask, 0, 0);
    peet__rt.kernel_mask = mask;
    peet__mask_enter(&peet__rt.main_ctx, mask);
    if (!real_sigaction)
        real_sigaction = (sigaction_fn *)peet__next("sigaction");
    peet__images_find();
    peet__fatal_begin();
    begun = 1;
    peet__rt.simulated = 1;
    int sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
    peet__fs_begin(sanitized || dlsym(RTLD_DEFAULT, "__tsan_init"));
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
        if (actions[signal].sa_handler == SIG_DFL ? peet__fatal_by_default(signal)
                                                  : actions[signal].sa_handler != SIG_IGN)
            install(signal);
    for (unsigned i = 0; i < SLOTS; i++)
        slots[i].order = 0;
    peet__rt.pending = 0;
    peet__rt.signals = 0;
    if (peet__rt.current) /* a child has none of those that wait for its parent's thread */
        peet__rt.current->signals = NULL;
}

/* ---------------------------------------------------------------- recorded on the computer's own processors */

static void on_recorded(int signal, siginfo_t *info, void *uc)
{
    struct handler_call call = {actions[signal], signal, info, uc};
    int paused = peet__real_pauses(1);
    call_now(&call);
    peet__real_goes_on(paused);
}

static int is_function(const struct sigaction *action)
{
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* A handler may come between two words of a record, so it runs with the recording off. */
static int recorded_action(int signal, const struct sigaction *act, struct sigaction *old)
{
    struct sigaction before = actions[signal], ours;
    if (act)
        ours = *act;
    if (act && is_function(act)) {
        actions[signal] = *act;
        ours.sa_flags |= SA_SIGINFO;
        ours.sa_sigaction = on_recorded;
    }
    int err = real_sigaction(signal, act ? &ours : NULL, old);
    if (err)
        actions[signal] = before;
    else if (old && old->sa_sigaction == on_recorded)
        *old = before;
    return err;
}

/* ------------------------------------------------------------------------------------ the subject's calls */

PUBLIC int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
    if (!real_sigaction)
        real_sigaction = (sigaction_fn *)peet__next("sigaction");
    if (!begun && peet__real_on() && signal > 0 && signal < NSIG)
        return recorded_action(signal, act, old);
    if (!begun || !peet__rt.simulated || !peet__is_subject())
        return real_sigaction(signal, act, old);
    const int of_libc = signal >= SIGSYS + 1 && signal < SIGRTMIN; /* it keeps some for itself */
    if (signal <= 0 || signal >= NSIG || signal == SIGKILL || signal == SIGSTOP || of_libc)
        return real_sigaction(signal, act, old);
    struct sigaction before = actions[signal];
    if (act)
        peet__signal_set_action(signal, act);
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

/* What siginterrupt() has been told: signal() follows it. */
static uint64_t interrupts;

PUBLIC int siginterrupt(int number, int interrupt)
{
    static int (*real)(int, int);
    if (begun && peet__signals_simulated() && number > 0 && number < NSIG) {
        struct sigaction act = actions[number];
        if (interrupt) {
            interrupts |= peet__signal_bit(number);
            act.sa_flags &= ~(int)SA_RESTART;
        } else {
            interrupts &= ~peet__signal_bit(number);
            act.sa_flags |= SA_RESTART;
        }
        peet__signal_set_action(number, &act);
        return 0;
    }
    if (!real)
        real = (int (*)(int, int))peet__next("siginterrupt");
    return real(number, interrupt);
}

PUBLIC sighandler_t signal(int number, sighandler_t handler)
{
    if (number <= 0 || number >= NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (!peet__real_on() && (!begun || !peet__signals_simulated()))
        return ((sighandler_t (*)(int, sighandler_t))peet__next("signal"))(number, handler);
    return set_handler(number, handler, interrupts & peet__signal_bit(number) ? 0 : SA_RESTART, 1);
}

PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler);
PUBLIC sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return set_handler(number, handler, interrupts & peet__signal_bit(number) ? 0 : SA_RESTART, 1);
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

/* System V's: the disposition with or without the mask. */
PUBLIC sighandler_t sigset(int number, sighandler_t handler)
{
    sigset_t set, old;
    struct sigaction before;
    sigemptyset(&set);
    if (handler == SIG_ERR || sigaddset(&set, number) != 0) {
        errno = EINVAL;
        return SIG_ERR;
    }
    int hold = handler == SIG_HOLD;
    if (sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, &old) != 0 || sigaction(number, NULL, &before) != 0)
        return SIG_ERR;
    if (!hold && set_handler(number, handler, 0, 0) == SIG_ERR)
        return SIG_ERR;
    return sigismember(&old, number) ? SIG_HOLD : before.sa_handler;
}

PUBLIC int sigignore(int number)
{
    return set_handler(number, SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}
