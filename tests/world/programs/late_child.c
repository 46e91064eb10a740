// SPDX-License-Identifier: Apache-2.0
// A thread waits for a child that takes its time, then for a byte from one; the file says how many milliseconds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* By the child, whose instructions nobody sees. */
static void take_time(void)
{
    int milliseconds;
    FILE *f = fopen("milliseconds", "r");
    if (!f || fscanf(f, "%4d", &milliseconds) != 1)
        _exit(1);
    usleep((useconds_t)milliseconds * 1000);
}

static void *wait_for_child(void *unused)
{
    int status, out[2];
    char c = 0;
    pid_t child;
    if (pipe(out) != 0)
        abort();
    child = fork();
    if (child == 0) {
        take_time();
        _exit(4);
    }
    waitpid(child, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    child = fork();
    if (child == 0) {
        take_time();
        _exit(write(out[1], "x", 1) != 1);
    }
    if (read(out[0], &c, 1) != 1 || waitpid(child, &status, 0) != child)
        abort();
    printf("byte %c, status %d\n", c, WEXITSTATUS(status));
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, wait_for_child, NULL);
    pthread_join(t, NULL);
    return 0;
}
