/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the program's own time goes: a timer interrupts the subject's world now and then, and the place is noted.  The
 * host asks for the places (unseen.h in mapper/host) and tells those that peet does not see from those that are
 * recorded.
 *
 * The event stream does not depend on it:
 *   1. The handler runs on the runtime's stack for signals, and writes nothing that the subject can see.
 *   2. Who goes to the subject's world sets the timer if it is due: the host that resumes a context, and the end of a
 *      visit.  There the handler sets it again.  While the host is at work it comes at most once.
 *   3. It restarts what it interrupts: the kernel does so with most calls, the handler with the others
 *      (peet__uc_restart()), and then does not set the timer, so that no time limit begins again for ever.  What lists a
 *      folder goes on in the handler.  It does not
 *      come while host or subject wait for the world outside, nor while a call moves more bytes than go at once: one
 *      that has moved some would end with these.  Not helped are bare system call instructions that move so much, or
 *      whose number is not a constant before them.  A program that has a handler for SIGPROF or views of memory is not
 *      looked at.
 *
 * SIGPROF, because debuggers let it pass.  Intervals begin with 25 microseconds, so that a program of a millisecond is
 * seen, and end with 10 milliseconds; a sample costs about 3 microseconds, where signals are slow (virtual machines,
 * tracers) ten times as much and more, and then intervals are eight times what it costs.  They grow with each one that
 * has passed, also while the host was at work: a program of many short visits is not interrupted in each.  They are
 * random by half, lest they fall in step with the program.  A sample says how long its interval was: the beginning of a
 * program has more of them than what follows.
 */
#include "views/domain_internal.h"
#include "signals/fatal.h"
#include "signals/signals.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 4096, LONGEST_NS = 10000000, STAY_SECONDS = 10 };

static struct peet_rt_sample samples[ROOM];
static volatile unsigned nsamples;
static volatile uint64_t nfired;
static uint64_t noise = 88172645463325252u;
static uint64_t cost_ns;            /* the least that two samples have been farther apart than was asked for */
static uint64_t asked_ns, asked_at; /* what was asked for, and when; 0: not by the handler */
static timer_t timer;
static int on;

static void arm(void)
{
    const uint64_t us = nfired < 64 ? 25 : nfired < 512 ? 100 : nfired < 4096 ? 1000 : 10000;
    const uint64_t least_ns = 8 * cost_ns < LONGEST_NS ? 8 * cost_ns : LONGEST_NS;
    const uint64_t ns = us * 1000 > least_ns ? us * 1000 : least_ns;
    struct itimerspec when;
    noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
    memset(&when, 0, sizeof when);
    asked_ns = ns / 2 + noise % ns;
    asked_at = 0;
    when.it_value.tv_nsec = (long)asked_ns;
    peet__rt.sample_due = 0;
    peet__raw_syscall(SYS_timer_settime, (long)timer, 0, (long)&when, 0, 0, 0);
}

/* Recorded code soon gives way to the host.  Other code that waits for a thread, and asks for nothing meanwhile, waits
 * for ever: that is said once.  Who waits in the kernel waits for the world outside, but for futexes. */
static void look_at_stay(const ucontext_t *uc, uint64_t now)
{
    static uint64_t since, last, resumes;
    static int told;
    const uint64_t pc = peet__uc_pc(uc);
    long call;
    if (peet__uc_waits(uc, &call) && call != SYS_futex)
        since += now - last;
    last = now;
    if (told || resumes != peet__rt.resumes) {
        resumes = peet__rt.resumes;
        since = now;
    } else if (now - since > STAY_SECONDS * 1000000000ull) {
        Dl_info image = {0};
        dladdr((void *)pc, &image);
        peet__report("the program has been for %d s in code that is not recorded (%s%s%s, 0x%lx): no simulated time "
                     "passes there, and no other thread goes on; if it waits for one, it waits for ever. "
                     "--foreign=record records libraries; peetcc what it compiles",
            STAY_SECONDS, image.dli_fname ? image.dli_fname : "no known image", image.dli_sname ? ", function " : "",
            image.dli_sname ? image.dli_sname : "", pc);
        told = 1;
    }
}

/* A folder is listed as far as there is room, or to its end, whether a sample was taken meanwhile or not: the kernel
 * leaves off at a signal, with what it has. */
static void list_on(ucontext_t *uc)
{
    long fd, more, room, n;
    while (peet__uc_listing(uc, SYS_getdents64, &fd, &more, &room) &&
        (n = peet__raw_syscall(SYS_getdents64, fd, more, room, 0, 0, 0)) > 0)
        peet__uc_listed(uc, n);
}

static void on_sample(int signal, siginfo_t *info, void *uc)
{
    struct peet__rt *rt = &peet__rt;
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &timer) {
        peet__fatal(signal, info, uc);
        return;
    }
    int restarted = peet__uc_restart(uc);
    if (!restarted)
        list_on(uc);
    if (!on || !rt->simulated)
        return;
    nfired++;
    if (!rt->in_subject) {
        rt->sample_due = 1;
        return;
    }
    const uint64_t now = peet__real_ns();
    if (asked_at) {
        const uint64_t more = now - asked_at > asked_ns ? now - asked_at - asked_ns : 0;
        cost_ns = cost_ns && cost_ns < more ? cost_ns : more;
    }
    if (nsamples < ROOM)
        samples[nsamples++] = (struct peet_rt_sample){peet__uc_pc(uc), asked_ns};
    look_at_stay(uc, now);
    if (restarted) {
        rt->sample_due = 1;
        return;
    }
    arm();
    asked_at = now;
}

void peet__sample_arm(void)
{
    if (on)
        arm();
}

PUBLIC void peet_rt_samples_begin(void)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = PEET_RT_SAMPLE_SIGNAL, .sigev_value = {.sival_ptr = &timer}};
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    const struct sigaction *wish = peet__signal_action(PEET_RT_SAMPLE_SIGNAL);
    if (on || wish->sa_handler != SIG_DFL || peet__domains_on() ||
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0)
        return;
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGSEGV);             /* contexts/pointer.c */
    sigaction(PEET_RT_SAMPLE_SIGNAL, &action, NULL); /* the host's call: the kernel's */
    on = 1;
    peet__rt.sample_due = 1;
}

void peet__sample_pause(void)
{
    struct itimerspec never;
    memset(&never, 0, sizeof never);
    if (!on || peet__rt.sample_due)
        return;
    peet__raw_syscall(SYS_timer_settime, (long)timer, 0, (long)&never, 0, 0, 0);
    peet__rt.sample_due = 1;
}

int peet__sample_taken(const siginfo_t *info)
{
    if (!on || info->si_signo != PEET_RT_SAMPLE_SIGNAL || info->si_code != SI_TIMER ||
        info->si_value.sival_ptr != &timer)
        return 0;
    peet__rt.sample_due = 1;
    return 1;
}

void peet__sample_end(void)
{
    if (on)
        peet__raw_syscall(SYS_timer_delete, (long)timer, 0, 0, 0, 0, 0);
    on = 0;
    peet__rt.sample_due = 0;
}

PUBLIC unsigned peet_rt_samples_take(struct peet_rt_sample *out_samples, unsigned room)
{
    unsigned n = nsamples < room ? nsamples : room;
    nsamples -= n; /* nobody notes one while the host is at work */
    memcpy(out_samples, samples + nsamples, n * sizeof *samples);
    return n;
}
