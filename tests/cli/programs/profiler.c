/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a profiler of its own: SIGPROF from setitimer(), from timer_create(), and sent to itself; a handler that is taken away again.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, from_user, strange;
static double sink; /* not volatile: with a timer, each access would take a turn */
#define KEEP __asm__ volatile("" : "+x"(sink))

static void tick(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal != SIGPROF)
        strange++;
    if (info->si_code == SI_USER || info->si_code == SI_TKILL)
        from_user++;
    else
        ticks++;
}

__attribute__((noinline)) static void work(int n)
{
    for (int i = 0; i < n; i++) {
        sink += i;
        KEEP;
    }
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
    work(2000000); /* time for samples before */
    if (sigaction(SIGPROF, &action, &old) || old.sa_handler != SIG_DFL)
        return 1;
    for (int i = 0; i < 3; i++)
        raise(SIGPROF);
    kill(getpid(), SIGPROF);
    if (from_user != 4 || ticks)
        return 2;
    struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
    if (setitimer(ITIMER_PROF, &every, NULL))
        return 3;
    for (long i = 0; ticks < 20 && i < 2000000; i++)
        work(1000);
    if (setitimer(ITIMER_PROF, &none, NULL) || ticks < 20)
        return 4;
    const int before = ticks;
    work(20000000);
    if (ticks > before + 1 || from_user != 4 || strange)
        return 5; /* ticks after the end: somebody else's */
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
    struct itimerspec spec = { { 0, 1000000 }, { 0, 1000000 } };
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &spec, NULL))
        return 6;
    for (long i = 0; ticks < before + 20 && i < 2000000; i++)
        work(1000);
    timer_delete(timer);
    if (ticks < before + 20)
        return 7;
    signal(SIGPROF, SIG_IGN); /* and now it must not end the program */
    for (int i = 0; i < 5; i++)
        raise(SIGPROF);
    work(5000000);
    struct sigaction now;
    if (sigaction(SIGPROF, NULL, &now) || now.sa_handler != SIG_IGN)
        return 8;
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGPROF);
    signal(SIGPROF, SIG_DFL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    work(5000000);
    if (sigpending(&set) || sigismember(&set, SIGPROF))
        return 9; /* a sample that the program sees */
    puts("ours");
    return 0;
}
