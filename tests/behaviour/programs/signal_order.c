/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that wait, and the order in which handlers and sigtimedwait() get them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int sent[] = {SIGUSR2, SIGSEGV, SIGUSR1, 41, 40, 41};
enum { SENT = sizeof sent / sizeof *sent };

static void say(const siginfo_t *info, int masked)
{
    printf(" %d from %d with %d%s", info->si_signo, info->si_code,
        info->si_code == SI_QUEUE ? info->si_value.sival_int : 0, masked ? "," : ";");
}

static void handler(int signal, siginfo_t *info, void *context)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    say(info, sigismember(&mask, SIGUSR1));
}

static void send_all(int how)
{
    for (int i = 0; i < SENT; i++)
        if (how == 0)
            raise(sent[i]);
        else if (how == 1)
            pthread_kill(pthread_self(), sent[i]);
        else
            pthread_sigqueue(pthread_self(), sent[i], (union sigval){i + 10});
}

static void *sends(void *arg)
{
    static const struct timespec at_once;
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SENT; i++)
        sigaddset(&set, sent[i]);
    for (int how = 0; how < 3; how++)
        for (int full = 0; full < 2; full++) {
            struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
            siginfo_t info;
            if (full)
                sigfillset(&action.sa_mask);
            for (int i = 0; i < SENT; i++)
                sigaction(sent[i], &action, NULL);
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            send_all(how);
            printf("%d %d handled:", how, full);
            pthread_sigmask(SIG_UNBLOCK, &set, NULL);
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            send_all(how);
            printf("\n%d %d waited for:", how, full);
            while (sigtimedwait(&set, &info, &at_once) > 0)
                say(&info, 0);
            printf("\n");
            pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        }
    return arg;
}

int main(void)
{
    pthread_t thread;
    sends(NULL);
    pthread_create(&thread, NULL, sends, NULL);
    pthread_join(thread, NULL);
    return 0;
}
