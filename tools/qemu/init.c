/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of the small system that peet-qemu boots.  /programs has a line for each program: its path and arguments, between them the
 * character 037.  All are started at once, and when the last has ended the machine is switched off.  Statically linked: there is nothing else in that system.
 */
#include <peet/marker.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 64, PROGRAMS_MAX = 1024 };

static pid_t programs[PROGRAMS_MAX];

static void start(char *line, int number)
{
    char *arguments[ARGUMENTS_MAX + 1], *at = line;
    int n = 0;

    line[strcspn(line, "\n")] = 0;
    while (n < ARGUMENTS_MAX && (arguments[n] = strsep(&at, "\037")) != NULL)
        n++;
    arguments[n] = NULL;
    pid_t child = fork();
    if (child != 0) {
        if (number <= PROGRAMS_MAX)
            programs[number - 1] = child;
        return;
    }
    execv(arguments[0], arguments);
    printf("peet-init: program %d: %s: cannot be started: %m\n", number, arguments[0]);
    _exit(127);
}

/** How a process ended, if not with status 0. */
static void tell(pid_t pid, int status)
{
    const char *what = "process";
    int number = (int)pid;

    for (int i = 0; i < PROGRAMS_MAX; i++)
        if (programs[i] == pid) {
            what = "program";
            number = i + 1;
        }
    if (WIFSIGNALED(status))
        printf("peet-init: %s %d was killed by signal %d\n", what, number, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("peet-init: %s %d ended with status %d\n", what, number, WEXITSTATUS(status));
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    FILE *list;
    int number = 0, status;
    pid_t pid;

    peet_marker(0); /* from here on the plug-in looks at each instruction */
    mkdir("/proc", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mkdir("/tmp", 0777);
    setvbuf(stdout, NULL, _IOLBF, 0);
    list = fopen("/programs", "re");
    while (list && getline(&line, &room, list) > 0)
        start(line, ++number);
    while ((pid = wait(&status)) > 0)
        tell(pid, status);
    puts("peet-init: done");
    reboot(RB_POWER_OFF);
    return 1;
}
