/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet-time: run one command and print what it cost: user and system CPU seconds of it and all its children,
 * elapsed seconds, largest resident set in KiB; tab-separated.
 *
 *   peet-time [-o FILE] [-e FILE] COMMAND ARGS...
 *
 * -o and -e send the command's output and errors to files.  Ends with the command's own status; a command that
 * a signal ended gives 128 + signal, one that cannot be started 127.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void send_to(const char *file, int fd)
{
    if (!file)
        return;
    int to = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (to < 0 || dup2(to, fd) < 0) {
        fprintf(stderr, "peet-time: %s: %s\n", file, strerror(errno));
        _exit(127);
    }
    close(to);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    const char *out = NULL, *err = NULL;
    int option;
    while ((option = getopt(argc, argv, "+o:e:")) != -1) {
        if (option == 'o')
            out = optarg;
        else if (option == 'e')
            err = optarg;
        else
            return 2;
    }
    if (optind >= argc) {
        fprintf(stderr, "usage: peet-time [-o FILE] [-e FILE] COMMAND ARGS...\n");
        return 2;
    }
    struct timespec before, after;
    struct rusage usage;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &before);
    pid_t child = fork();
    if (child == 0) {
        send_to(out, STDOUT_FILENO);
        send_to(err, STDERR_FILENO);
        execvp(argv[optind], argv + optind);
        fprintf(stderr, "peet-time: %s: %s\n", argv[optind], strerror(errno));
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        fprintf(stderr, "peet-time: %s\n", strerror(errno));
        return 127;
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%.6f\t%.6f\t%.6f\t%ld\n", seconds(usage.ru_utime), seconds(usage.ru_stime),
        (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9, usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
