/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with different signal masks, which run by turns.  A child sends a signal that only the first thread takes, which waits
 * for the others; they block it, and go on until its handler has run, in the way that the argument says.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int come;
static volatile int wrong;
static pthread_t first;
static const char *how;
static unsigned long turns;

static void on_signal(int signal)
{
    wrong |= signal != SIGUSR1 || !pthread_equal(pthread_self(), first);
    come = 1;
}

static void *run(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    if (strcmp(how, "counts") == 0) {
        for (int i = 0; i < 20000; i++) {
            pthread_mutex_lock(&mutex);
            turns++;
            pthread_mutex_unlock(&mutex);
        }
        come = 1;
    }
    while (!come) {
        if (strcmp(how, "locks") == 0) {
            pthread_mutex_lock(&mutex);
            turns++;
            pthread_mutex_unlock(&mutex);
        } else if (strcmp(how, "yields") == 0) {
            sched_yield();
        } else if (strcmp(how, "sleeps") == 0) {
            usleep(1000);
        } else if (strcmp(how, "waits") == 0) {
            static volatile char end[1];
            int pipes[2];
            if (pipe(pipes) != 0 || fork() == 0) { /* the host waits for the world outside */
                usleep(200000);
                _exit(0);
            }
            close(pipes[1]);
            if (read(pipes[0], (char *)end, 1) != 0)
                abort();
            close(pipes[0]);
        } /* else it spins */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    how = argc > 1 ? argv[1] : "spins";
    first = pthread_self();
    signal(SIGUSR1, on_signal);
    pid_t child = strcmp(how, "counts") == 0 ? -1 : fork();
    if (child == 0) {
        usleep(100000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    while (child > 0 && wait(NULL) > 0)
        ;
    puts(wrong || !come ? "wrong" : "right");
    return 0;
}
