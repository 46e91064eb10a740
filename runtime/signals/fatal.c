/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fatal.h.  A signal that somebody sends while the host is at work waits until the host next resumes a
 * context, because the host's own data are not in order before; another one does not wait, if it comes a second later.  If no context is
 * resumed for seconds, a module hangs: the host is told, and ends the run (hooks.failed).
 */
#include "signals/fatal.h"
#include "views/domain_internal.h"
#include "signals/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <peet/module.h>

#define CRASH_BYTES (8ul << 20) /* the host writing its results */

static char *crash_stack;
static volatile int crashing;
static volatile int keeping; /* peet_rt_keep_interrupts() */
static int in_turn;          /* peet_rt_crash_in_turn() */
static volatile int waiting; /* a signal that came while the host was at work */
static siginfo_t waiting_info;
static uint64_t *crash_end;
static struct sigaction host_actions[NSIG]; /* sa_sigaction NULL: none */

enum { HANG_SECONDS = 2, WAIT_SECONDS = 10, AGAIN_SECONDS = 1 };
static timer_t watch_timer;
static int watch_made;
static volatile unsigned long watch_resumes; /* how many there were when it began */
static uint64_t watch_ns;                    /* of processor time, likewise */
static int watch_left;                       /* so many looks, until it counts as hanging without having worked */

struct crash {
    int signal;
    uint64_t pc, address;
    char why[300];
};

int peet__fatal_by_default(int signal)
{
    switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return 0;
    default:
        return signal < 32; /* realtime signals are left alone: libc uses the first of them */
    }
}

int peet__fatal_is_fault(int signal, const siginfo_t *info)
{
    return info->si_code > 0 &&
        (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP ||
            signal == SIGSYS);
}

void peet__fatal_begin(void)
{
    crash_stack = peet__sigstack_reserve(CRASH_BYTES);
    peet__sigstack_begin();
}

/* ----------------------------------------------------------------------------------------------- the end */

__attribute__((noreturn)) static void die_by(int signal)
{
    struct sigaction act = {.sa_flags = 0};
    sigset_t set;
    act.sa_handler = SIG_DFL;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigaction(signal, &act, NULL); /* not simulated any more: the kernel's */
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    peet__real_exit(128 + signal);
}

static void call_hook(void *arg)
{
    struct crash *crash = arg;
    peet__rt.hooks.crashed(peet__rt.current, crash->signal, crash->pc, crash->address, crash->why);
}

/* Somebody, at a terminal or by kill(), has ended the run: where the program was at that moment is nothing to look for.
 */
static int from_outside(int signal, const siginfo_t *info)
{
    if (info->si_code == SI_KERNEL)
        return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGTERM;
    return info->si_code <= 0 && info->si_code != SI_TIMER && info->si_pid != getpid();
}

static void explain(struct crash *crash, const siginfo_t *info)
{
    const struct peet_ctx *ctx = peet__rt.current;
    const struct peet__stack *stack = &ctx->stack;
    int fault = peet__fatal_is_fault(crash->signal, info);
    if (fault && (crash->signal == SIGSEGV || crash->signal == SIGBUS) && crash->address >= stack->guard_lo &&
        crash->address < stack->lo)
        snprintf(crash->why, sizeof crash->why, "stack overflow: context %u has used up its stack of %lu bytes; %s",
            ctx->number, stack->hi - stack->lo,
            ctx == &peet__rt.main_ctx ? "ulimit -s or --stack gives it more"
                : ctx->in_iteration   ? "iterations of a doall loop get no more"
                                      : "its thread's attributes (OMP_STACKSIZE in OpenMP) can give it more");
    else if (fault && (crash->signal == SIGSEGV || crash->signal == SIGBUS))
        snprintf(crash->why, sizeof crash->why, "%s at address 0x%lx in context %u", strsignal(crash->signal),
            crash->address, ctx->number);
    else if (from_outside(crash->signal, info))
        snprintf(crash->why, sizeof crash->why, "%s: the run was ended from outside", strsignal(crash->signal));
    else
        snprintf(crash->why, sizeof crash->why, "%s in context %u", strsignal(crash->signal), ctx->number);
}

PUBLIC uint64_t *peet_rt_crash_end(void)
{
    return crash_end;
}

/* In a handler, where the kernel blocks all: faults, and what says that nobody wants to wait for those who go on. */
static void let_ends_come(int signal)
{
    peet__rt.kernel_mask = ~0ul;
    peet__mask_tell(~(peet__signal_bit(SIGSEGV) | peet__signal_bit(SIGBUS) | peet__signal_bit(SIGFPE) |
        peet__signal_bit(SIGILL) | peet__signal_bit(SIGINT) | peet__signal_bit(SIGTERM) | peet__signal_bit(SIGHUP) |
        peet__signal_bit(signal)));
}

static void report_crash(int signal, const siginfo_t *info, ucontext_t *uc)
{
    struct peet__rt *rt = &peet__rt;
    struct crash crash = {.signal = signal};
    crash.pc = uc ? peet__uc_pc(uc) : 0;
    crash.address = peet__fatal_is_fault(signal, info) ? peet__domain_primary((uint64_t)info->si_addr) : 0;
    const int outside = from_outside(signal, info);
    if (outside)
        crash.pc = PEET_RT_OUTSIDE;
    explain(&crash, info);
    crash_end = rt->in_subject ? peet__ctl->cursor : NULL;
    peet__fs_keep(); /* other contexts may go on for the results, with all signals blocked */
    rt->in_subject = 0;
    peet__park_cursor();
    rt->current->fault = uc;
    uint64_t fs = peet__fs_base_now();
    if (fs != rt->thread) /* the host's */
        peet__set_fs(rt->thread);
    if (crash_end && uc) { /* those who go on may crash, too: crashes_meanwhile() */
        peet__sigstack_leave(rt->current, __builtin_frame_address(0), (uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
        let_ends_come(signal);
        if (outside)
            peet__fatal_watch(signal, HANG_SECONDS);
    }
    if (rt->hooks.crashed)
        peet__call_on(crash_stack + CRASH_BYTES, call_hook, &crash);
    else
        peet__report("%s", crash.why);
    if (fs != rt->thread) /* the instruction that failed fails again */
        peet__set_fs(fs);
}

void peet__fatal_host_handler(int signal, const struct sigaction *action)
{
    host_actions[signal] = *action;
}

static void report_host_fault(int signal, const siginfo_t *info, const ucontext_t *uc)
{
    uint64_t pc = peet__uc_pc(uc);
    Dl_info image = {0};
    dladdr((void *)pc, &image);
    peet__report("a simulator or peet itself failed: %s at address %p, pc 0x%lx in %s%s%s; no results are written",
        strsignal(signal), info->si_addr, pc, image.dli_fname ? image.dli_fname : "no known image",
        image.dli_sname ? ", function " : "", image.dli_sname ? image.dli_sname : "");
}

static uint64_t processor_ns(void)
{
    struct timespec used = {0};
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void set_watch(int seconds)
{
    const struct itimerspec when = {.it_value = {.tv_sec = seconds}, .it_interval = {.tv_sec = seconds}};
    syscall(SYS_timer_settime, watch_timer, 0, &when, NULL);
}

/* The timer sends the same signal, whose handler is known to be ours and which nobody blocks or it would not have come.
 */
void peet__fatal_watch(int signal, int seconds)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal, .sigev_value = {.sival_ptr = &watch_timer}};
    if (watch_made || !peet__rt.hooks.failed)
        return;
    watch_resumes = peet__rt.resumes;
    watch_ns = processor_ns();
    watch_left = seconds < WAIT_SECONDS ? WAIT_SECONDS / seconds : 1;
    watch_made = syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &watch_timer) == 0;
    if (watch_made)
        set_watch(seconds);
}

int peet__fatal_watched(int signal, const siginfo_t *info, void *uc)
{
    struct peet__rt *rt = &peet__rt;
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &watch_timer)
        return 0;
    if (crashing && rt->simulated) { /* results are written; who goes on for them may be in a loop without end */
        if (rt->in_subject && rt->resumes == watch_resumes) {
            rt->simulated = 0;
            die_by(signal);
        }
        watch_resumes = rt->resumes;
        return 1;
    }
    if (rt->simulated && !rt->in_subject && rt->resumes == watch_resumes) {
        /* with much else to do the computer may have let it work for a moment only; or it sleeps */
        if (processor_ns() - watch_ns > HANG_SECONDS * 900000000u || --watch_left <= 0)
            rt->hooks.failed(signal, 0, uc, 1);
    } else if (watch_made) { /* it has come back: the signal takes its ordinary way */
        watch_made = 0;
        syscall(SYS_timer_delete, watch_timer);
    }
    return 1;
}

uint64_t peet__real_ns(void)
{
    struct timespec now = {0};
    peet__raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether a signal from outside asks once more for what was asked just before.  One request may come several times: sent to the
 * process group, as timeout(1) does, it comes directly and by peet run, which forwards it.  Who waits longer and asks again
 * does not want to wait for results. */
static int is_repeated(int signal)
{
    static volatile uint64_t asked_ns;
    if (!peet__rt.simulated || (signal != SIGINT && signal != SIGTERM && signal != SIGHUP))
        return 0;
    const uint64_t now = peet__real_ns();
    if (asked_ns && (crashing || waiting))
        return now - asked_ns < AGAIN_SECONDS * 1000000000ull;
    asked_ns = now;
    return 0;
}

/* arch/x86_64/look.S */
int peet__look_same(const void *at, const void *copy, size_t bytes);
int peet__look_copy(void *to, const void *from, size_t bytes);
extern const char peet__look_words[], peet__look_bytes[], peet__look_load[], peet__look_store[], peet__look_fails[];

/* Would a fault end the process? */
static int must_not_look(void)
{
    const uint64_t faults = peet__signal_bit(SIGSEGV) | peet__signal_bit(SIGBUS);
    if (__builtin_expect(peet__rt.kernel_mask & faults, 0) && peet__rt.simulated && !peet__rt.in_subject)
        peet__mask_tell(peet__rt.all_block); /* it may be the last context's */
    return __builtin_expect(peet__rt.kernel_mask & faults, 0) || peet__signal_action(SIGSEGV)->sa_handler == SIG_IGN ||
        peet__signal_action(SIGBUS)->sa_handler == SIG_IGN;
}

PUBLIC int peet_rt_same(const void *at, const void *copy, size_t bytes)
{
    return !must_not_look() && peet__look_same(at, copy, bytes);
}

PUBLIC int peet_rt_copy(void *to, const void *from, size_t bytes)
{
    return !must_not_look() && peet__look_copy(to, from, bytes);
}

/* Could what is looked at not be read or written?  Then peet_rt_same() or peet_rt_copy() goes on and says so. */
static int look_fails(int signal, ucontext_t *uc)
{
    const char *const accesses[] = {peet__look_words, peet__look_bytes, peet__look_load, peet__look_store};
    const uint64_t pc = peet__uc_pc(uc);
    unsigned i = 0;
    while (i < 4 && pc != (uint64_t)accesses[i])
        i++;
    if ((signal != SIGSEGV && signal != SIGBUS) || i == 4)
        return 0;
    peet__uc_set_frame(uc, peet__look_fails, (const void *)uc->uc_mcontext.gregs[REG_RSP]);
    return 1;
}

/* Others may act between what the context has done last and its end. */
static void take_turn(int signal, const siginfo_t *info, const ucontext_t *uc)
{
    struct peet__rt *rt = &peet__rt;
    const uint64_t arg = (uint64_t)signal;
    if (!in_turn || crashing || !rt->simulated || !rt->in_subject || rt->busy || rt->current->between ||
        from_outside(signal, info))
        return;
    peet__sigstack_leave(rt->current, __builtin_frame_address(0), (uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
    rt->kernel_mask = ~0ul; /* of this handler */
    peet__mask_tell(rt->current->mask);
    peet_rt_note(PEET_ABSTRACT_SIGNAL_ENTER, 1, &arg); /* the record before may be cut */
    peet_rt_order();
}

/* A context has crashed, and another one that went on for the results crashes, too, and earlier in simulated time, as all threads
 * of a team may do in the same way.  What it has done counts, and the program ends with it. */
static void crashes_meanwhile(int signal, const siginfo_t *info, const ucontext_t *uc)
{
    struct peet__rt *rt = &peet__rt;
    if (!crashing || !rt->simulated || !rt->in_subject || !peet__fatal_is_fault(signal, info))
        return;
    peet__sigstack_leave(rt->current, __builtin_frame_address(0), (uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
    rt->current->crash_status = (uint8_t)(128 + signal);
    let_ends_come(signal);
    peet__leave(PEET_YIELD_FULL);
    peet__die(127, "internal error: a context that had crashed was resumed");
}

void peet__fatal(int signal, siginfo_t *info, void *uc)
{
    struct peet__rt *rt = &peet__rt;
    peet__fs_settle();
    if (look_fails(signal, uc))
        return;
    crashes_meanwhile(signal, info, uc);
    if (peet__fatal_watched(signal, info, uc) || is_repeated(signal))
        return;
    take_turn(signal, info, uc);
    if (keeping && !rt->in_subject && (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)) {
        waiting_info = *info;
        waiting = signal;
        return;
    }
    if (rt->simulated && !crashing && !rt->in_subject && rt->hooks.failed &&
        (peet__fatal_is_fault(signal, info) || signal == SIGABRT))
        rt->hooks.failed(signal, peet__fatal_is_fault(signal, info) ? (uint64_t)info->si_addr : 0, uc, 0);
    if (rt->simulated && !crashing && !waiting) {
        if (rt->in_subject) {
            crashing = 1;
            peet__foreign_world = 0; /* from here on nothing is the program's */
            report_crash(signal, info, uc);
        } else if (peet__fatal_is_fault(signal, info) || signal == SIGABRT) {
            crashing = 1;
            if (host_actions[signal].sa_sigaction) {
                host_actions[signal].sa_sigaction(signal, info, uc);
                return;
            }
            report_host_fault(signal, info, uc);
        } else {
            waiting_info = *info;
            waiting = signal;
            peet__fatal_watch(signal, HANG_SECONDS);
            return;
        }
    }
    rt->simulated = 0;
    if (peet__fatal_is_fault(signal, info) && signal != SIGTRAP && !in_turn) {
        /* let the instruction fault again, so that a core file shows it; what others have done may keep it from that */
        struct sigaction act = {.sa_flags = 0};
        act.sa_handler = SIG_DFL;
        sigaction(signal, &act, NULL);
        return;
    }
    die_by(signal);
}

PUBLIC void peet_rt_crash_in_turn(int on)
{
    in_turn = on;
}

PUBLIC void peet_rt_keep_interrupts(int on)
{
    keeping = on;
    if (!on)
        waiting = 0;
}

PUBLIC int peet_rt_interrupted(void)
{
    return waiting;
}

void peet__fatal_deferred(void)
{
    int signal = waiting;
    if (!signal)
        return;
    crashing = 1;
    report_crash(signal, &waiting_info, NULL);
    peet__rt.simulated = 0;
    die_by(signal);
}
