/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of the small system that peet-qemu boots.  /programs has a line for each program: its path and arguments.  All are started at once,
 * and when the last has ended the machine is switched off.  Statically linked: there is nothing else in that system.
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

enum { ARGUMENTS_MAX = 64 };

static void start(char *line, int number)
{
    char *arguments[ARGUMENTS_MAX + 1], *at = line;
    int n = 0;

    line[strcspn(line, "\n")] = 0;
    while (n < ARGUMENTS_MAX && (arguments[n] = strsep(&at, " ")) != NULL)
        n += *arguments[n] != 0;
    arguments[n] = NULL;
    if (!n || fork() != 0)
        return;
    execv(arguments[0], arguments);
    printf("peet-init: program %d: %s: cannot be started: %m\n", number, arguments[0]);
    _exit(127);
}

int main(void)
{
    char line[4096];
    FILE *list;
    int number = 0, status;
    pid_t pid;

    peet_marker(0); /* from here on the plug-in looks at each instruction */
    mkdir("/proc", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mkdir("/tmp", 0777);
    setvbuf(stdout, NULL, _IOLBF, 0);
    list = fopen("/programs", "re");
    while (list && fgets(line, sizeof line, list))
        start(line, ++number);
    while ((pid = wait(&status)) > 0)
        if (status)
            printf("peet-init: process %d ended with status %x\n", (int)pid, (unsigned)status);
    puts("peet-init: done");
    reboot(RB_POWER_OFF);
    return 1;
}
