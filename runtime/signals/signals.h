/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of the subject, as the runtime's files share them: signals.c (arrival, delivery, dispositions), sigmask.c
 * (masks), sigsend.c (sending), sigwait.c (waiting), timers.c.
 *
 * All contexts share one kernel thread, whose mask is the running context's; while the host waits, and after every so many
 * switches, it is what all contexts block.  So a signal to the process waits in the kernel as long as nobody would take
 * it, and comes to signals.c soon after somebody would, though that one may be suspended.  A signal to one thread never
 * reaches the kernel: it waits in the context.
 */
#ifndef PEET_SIGNALS_H
#define PEET_SIGNALS_H

#include "internal.h"

/** A signal in masks. */
static inline uint64_t peet__signal_bit(int signal)
{
    return (uint64_t)1 << (signal - 1);
}

/** What the C library keeps for itself can be neither blocked nor waited for. */
#define PEET__SIGNALS_OF_LIBC ((uint64_t)3 << 31)

static inline uint64_t peet__signal_set(const sigset_t *set)
{
    return *(const uint64_t *)set & ~PEET__SIGNALS_OF_LIBC;
}

/** A signal that waits in a context. */
struct peet__waiting_signal {
    struct peet__waiting_signal *next;
    siginfo_t info;
};

/** Whether the caller's signals are simulated: a context of the subject. */
static inline int peet__signals_simulated(void)
{
    return __builtin_expect(peet__rt.simulated, 0) && peet__is_subject();
}

/* ------------------------------------------------------------------------------------- signals.c */

/** What the subject wants done, as sigaction() would say. */
const struct sigaction *peet__signal_action(int signal);
/** Change it, and tell the kernel. */
void peet__signal_set_action(int signal, const struct sigaction *action);
/** Take the first signal of this set that waits in the context, or in the runtime for the process.  Returns: 0: none */
int peet__signal_take(struct peet_ctx *ctx, uint64_t set, siginfo_t *out_info);
/** Signals that wait in the context or in the runtime for the process. */
uint64_t peet__signals_waiting(const struct peet_ctx *ctx);
/** At the next switch the host takes what any context does. */
void peet__signals_look_soon(void);
/** Subject world, at a safe point: run the handlers of what waits, hand on what others are to take. */
void peet__signals_deliver(void);

/* ------------------------------------------------------------------------------------ sigstack.c */

/** Memory for a stack, which is taken as it is used.  Ends the process on failure. */
void *peet__sigstack_reserve(size_t bytes);
/** From now on the kernel has a stack of ours. */
void peet__sigstack_begin(void);
/**
 * A handler of the runtime's, called by the kernel, is about to let other contexts go on: if it runs on a stack of ours, the
 * kernel gets another one.
 * @here: a place on the caller's stack.  @interrupted: the context's stack pointer
 * Returns: for peet__sigstack_back()
 */
int peet__sigstack_leave(const struct peet_ctx *ctx, const void *here, uint64_t interrupted);
/** It is about to return to what it has interrupted.  All signals that can be blocked are: the kernel puts the mask back. */
void peet__sigstack_back(int left);
/** What the context has set by sigaltstack(), as its handlers see it. */
stack_t peet__sigstack_of(const struct peet_ctx *ctx);
/** The process is the kernel's again: it gets what the context has set. */
void peet__sigstack_plain(const struct peet_ctx *ctx);
/** The context is over. */
void peet__sigstack_forget(struct peet_ctx *ctx);

/* ------------------------------------------------------------------------------------- sigmask.c */

/** A context begins to count, with this mask; it ends. */
void peet__mask_enter(struct peet_ctx *ctx, uint64_t mask);
void peet__mask_leave(struct peet_ctx *ctx);
/** Change a context's mask; the kernel's too if it is the running one and @tell. */
void peet__mask_set(struct peet_ctx *ctx, uint64_t mask, int tell);
/** Give the kernel this mask, unless it has it. */
void peet__mask_tell(uint64_t mask);

/* ------------------------------------------------------------------------------------- sigsend.c */

/** A signal to one context; it interrupts the context's wait.  Returns: 0 or an errno value */
int peet__signal_to_context(struct peet_ctx *ctx, int signal, const siginfo_t *info);
/** A signal to the process: to the caller if it takes it, else to the first that does. */
int peet__signal_to_process(int signal, const siginfo_t *info);
/** A context that takes this signal, the main one first; NULL: all block it. */
struct peet_ctx *peet__signal_taker(int signal);
/** Let the kernel do by this signal what it does by default: end the process, stop it, or nothing. */
void peet__signal_default(int signal, const siginfo_t *info);
/** Put it into a context, for the context to find. */
int peet__signal_enqueue(struct peet_ctx *ctx, const siginfo_t *info);
/** One of these signals that waits in the kernel, and is the subject's (unseen.c), is taken.  Returns: which; 0: none */
int peet__signal_from_kernel(uint64_t set, siginfo_t *out_info);
/** The kernel has sent this for what the running context did (SIGPIPE), and the context may block it: then it waits in
 *  the context, as in a thread, and not in the kernel, where the next context to run would take it.  What is none of the
 *  subject's (unseen.c) is gone. */
void peet__signal_keep(int signal);
/** End a context's wait, if it is one that signals interrupt. */
void peet__signal_interrupt(struct peet_ctx *ctx);

/* ------------------------------------------------------------------------------------- sigwait.c */

/** The cycle so long from now, 0 for no time at all (timers.c). */
uint64_t peet__timer_deadline(uint64_t s, uint64_t ns);

/** A context takes this signal: if it is a timer's, it says from now on how often the timer has run out since (timers.c). */
void peet__timer_taken(siginfo_t *info);

/** This number names another descriptor from now on, or none (timers.c). */
void peet__timer_closed(int fd);

/** From a handler that came in the host's world: wake whoever waits for no descriptor but for signals. */
void peet__signal_wake(void);

/** The context whose thread gettid() numbers so; NULL: there is none. */
struct peet_ctx *peet__ctx_of_tid(pid_t tid);
/** What the kernel is to be asked about for thread @tid, which may be one of the subject's. */
pid_t peet__kernel_tid(pid_t tid);

#endif
