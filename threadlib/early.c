/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that constructors of shared objects make (pools of libraries), before there is a machine to run them.  They
 * exist at once, and begin when the main context does: as simulated threads, in the order in which they were made.  If
 * a constructor waits for something before, it may be for them: then those that there are run as the C library's, beside
 * the simulation, unseen, and simulated threads do not wake them.  A constructor that computes for longer than PATIENCE_S
 * may be waiting for one in a loop.
 */
#include "real.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { PATIENCE_S = 2 };

static struct peet__thread *first, **last = &first;
static unsigned nreal;

static void begin_all(void)
{
    for (struct peet__thread *t = first, *next; t; t = next) {
        next = t->next_early; /* it may be over when the next one begins */
        peet__thread_announce(t, NULL);
    }
}

static void *run_real(void *thread)
{
    return peet__thread_call(thread);
}

static void run_all_real(void)
{
    for (struct peet__thread *t = first; t; t = t->next_early) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        if (t->detached)
            pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        if (t->stack_bytes)
            pthread_attr_setstacksize(&attr, t->stack_bytes);
        if (PEET__REAL(pthread_create)(&t->real, &attr, run_real, t) == 0)
            nreal++;
        pthread_attr_destroy(&attr);
    }
}

static void expect_loop(int seconds);

static void decided(int begins)
{
    peet__rt.early_threads = NULL;
    expect_loop(0);
    if (begins)
        begin_all();
    else
        run_all_real();
    first = NULL;
    last = &first;
}

static void loops(int signal)
{
    (void)signal;
    peet__early_waits();
}

/* Of the processor's time, so that it makes no difference how much else the computer has to do.  @seconds 0: not any more */
static void expect_loop(int seconds)
{
    static struct sigaction before;
    const struct sigaction action = {.sa_handler = loops, .sa_flags = SA_RESTART};
    const struct itimerval time = {.it_value.tv_sec = seconds};
    if (seconds)
        PEET__REAL(sigaction)(SIGVTALRM, &action, &before);
    peet__raw_syscall(SYS_setitimer, ITIMER_VIRTUAL, (long)&time, 0, 0, 0, 0);
    if (!seconds)
        PEET__REAL(sigaction)(SIGVTALRM, &before, NULL);
}

void peet__early_add(struct peet__thread *t)
{
    *last = t;
    last = &t->next_early;
    if (!peet__rt.early_threads)
        expect_loop(PATIENCE_S);
    peet__rt.early_threads = decided;
}

struct peet__thread *peet__early_real(pthread_t thread)
{
    struct peet__thread *t = nreal ? peet__thread_of(thread) : NULL;
    return t && t->real ? t : NULL;
}
