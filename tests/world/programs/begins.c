/* SPDX-License-Identifier: Apache-2.0 */
/* A parent gives its child a second to begin, by whatever means, before it sends a signal. */
#include <signal.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void handler(int signal)
{
    (void)signal;
    _exit(7);
}

static int child_ends(int how)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const struct timespec late = {0, 30000000};
        nanosleep(&late, NULL); /* the computer may be busy */
        signal(SIGUSR1, handler);
        for (;;)
            pause();
    }
    if (how == 0)
        sleep(1);
    else
        select(0, NULL, NULL, NULL, &(struct timeval){1, 0});
    kill(child, SIGUSR1);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    printf("%d %d\n", child_ends(0), child_ends(1));
    return 0;
}
