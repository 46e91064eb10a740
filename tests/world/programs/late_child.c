// SPDX-License-Identifier: Apache-2.0
// A thread waits for a child that takes its time, then for a byte from one; the file says how many milliseconds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int milliseconds;

static void *wait_for_child(void *unused)
{
    int status, out[2];
    char c = 0;
    pid_t child;
    if (pipe(out) != 0)
        abort();
    child = fork();
    if (child == 0) {
        usleep((useconds_t)milliseconds * 1000);
        _exit(4);
    }
    waitpid(child, &status, 0);
    printf("status %d\n", WEXITSTATUS(status));
    child = fork();
    if (child == 0) {
        usleep((useconds_t)milliseconds * 1000);
        _exit(write(out[1], "x", 1) != 1);
    }
    if (read(out[0], &c, 1) != 1 || waitpid(child, &status, 0) != child)
        abort();
    printf("byte %c, status %d\n", c, WEXITSTATUS(status));
    return NULL;
}

int main(void)
{
    FILE *f = fopen("milliseconds", "r");
    pthread_t t;
    if (!f || fscanf(f, "%4d", &milliseconds) != 1)
        return 1;
    fclose(f);
    pthread_create(&t, NULL, wait_for_child, NULL);
    pthread_join(t, NULL);
    return 0;
}
