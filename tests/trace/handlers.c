/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of signals interrupt two threads; with an argument, children are made by fork(), too. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long hits, work[64];

static void handler(int s)
{
    for (int i = 0; i < 64; i++)
        work[i] += s;
    hits++;
}

static void *other(void *arg)
{
    for (int i = 0; i < 300; i++) {
        work[i % 64]++;
        if (i % 50 == 49)
            pthread_kill(pthread_self(), SIGUSR1);
    }
    return arg;
}

static void child(void)
{
    for (int k = 0; k < 1000; k++)
        work[k % 64] += k;
    printf("child %ld\n", work[3]);
    fflush(stdout);
    _exit(3);
}

int main(int argc, char **argv)
{
    pthread_t t;
    int status;

    (void)argv;
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    pthread_create(&t, NULL, other, NULL);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 300; k++)
            work[k % 64] += k;
        raise(SIGUSR2);
        pthread_kill(t, SIGUSR1);
    }
    pthread_join(t, NULL);
    for (int c = 0; argc > 1 && c < 2; c++) {
        const pid_t pid = fork();

        if (!pid)
            child();
        waitpid(pid, &status, 0);
        work[0] += WEXITSTATUS(status);
    }
    printf("%ld %ld\n", hits, work[0]);
    return 0;
}
