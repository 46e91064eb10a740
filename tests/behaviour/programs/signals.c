/* SPDX-License-Identifier: Apache-2.0 */
/* Signals from outside the flow: a timer's handler, raise, blocked and pending signals, nested handlers, handlers that allocate. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, users, nested;
static volatile long work[256];

__attribute__((noinline)) static void busy(int n)
{
    for (int i = 0; i < n; i++)
        work[i & 255] += work[(i * 7) & 255] + i;
}

static void on_tick(int s)
{
    (void)s;
    busy(50);
    ticks++;
}

static void on_user(int s)
{
    users++;
    if (s == SIGUSR1 && users < 10)
        raise(SIGUSR2);
    if (s == SIGUSR2)
        nested++;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_user;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    sigset_t block, old, pending;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    sigprocmask(SIG_BLOCK, &block, &old);
    raise(SIGUSR2);
    raise(SIGUSR2);
    sigpending(&pending);
    int was_pending = sigismember(&pending, SIGUSR2), before = users;
    sigprocmask(SIG_SETMASK, &old, NULL);
    int after = users;
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 250}, {0, 250}};
    setitimer(ITIMER_REAL, &timer, NULL);
    while (ticks < 20)
        busy(1000);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    signal(SIGALRM, SIG_DFL);
    printf("%d %d %d %d %d\n", ticks >= 20, (int)nested, was_pending, after - before, (int)users);
    return 0;
}
