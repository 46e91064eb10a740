#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Handlers of real signals, sent by another process, which come while the runtime waits inside of a library's function: they read the clock, which
# asks the machine, and call other library functions.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >handlers.c <<'END'
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile int *handled; /* the child sees it */
static volatile double sum;
static void handler(int signal)
{
    const int before = errno;
    struct timespec now;
    char text[40];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "%d", signal);
    sum += cos(*handled);
    ++*handled;
    errno = before;
}
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *work(void *arg)
{
    long length = 0;
    for (int k = 0; k < 100; k++) {
        int v[100];
        for (int i = 0; i < 100; i++)
            v[i] = i * 7919 % 211;
        qsort(v, 100, sizeof *v, by_value);
        char *text = malloc(100 + k);
        snprintf(text, 100, "%d %f", v[k], sin(k));
        length += (long)strlen(text);
        free(text);
    }
    return (char *)arg + length;
}
int main(int argc, char **argv)
{
    const int nthreads = argc > 1 ? atoi(argv[1]) : 0, flags = argc > 2 ? SA_RESTART : 0;
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    pthread_t threads[8];
    int ends[2], status;
    long got = 0;
    char byte;
    handled = mmap(NULL, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handled == MAP_FAILED)
        return 1;
    sigaction(SIGUSR1, &action, NULL);
    if (pipe(ends) != 0)
        return 1;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        for (int i = 0; i < 400 || (*handled <= 10 && i < 100000); i++) { /* several may be one where there is much to do */
            usleep(200);
            kill(parent, SIGUSR1);
            if (i < 400 && i % 40 == 0 && write(ends[1], "x", 1) != 1)
                _exit(1);
        }
        _exit(3);
    }
    close(ends[1]);
    for (int i = 0; i < nthreads; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (long n = 1; n;) {
        struct pollfd ready = {ends[0], POLLIN, 0};
        if (got % 3 == 0 && poll(&ready, 1, -1) < 0)
            continue;
        if ((n = read(ends[0], &byte, 1)) < 0 && errno != EINTR)
            return 2;
        got += n > 0;
        if (!work(NULL))
            return 3;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 4;
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %d %d\n", got, WEXITSTATUS(status), *handled > 10);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o handlers handlers.c -lm
for machine in "ideal" "bus --cores 2"; do
    for arguments in 0 3 "0 restart" "3 restart"; do
        # shellcheck disable=SC2086
        must timeout 100 "$peet" run -q --foreign=record --machine $machine -d out -- ./handlers $arguments >said.txt
        equal "$machine, $arguments" "$(cat said.txt)" "10 3 1"
    done
done
exit 0
