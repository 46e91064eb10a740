/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are there whole or not at all; see whole.h. */
#include "whole.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct peet_whole {
    struct peet_whole *next; /* of those that a signal removes */
    char *path;              /* links are followed */
    char *temporary;         /* NULL: it is written in place */
};

static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
static struct peet_whole *guarded;
static pid_t guard; /* 0: nobody removes them */

static int is_stream(const struct stat *file, int fd)
{
    struct stat stream;

    return fstat(fd, &stream) == 0 && stream.st_dev == file->st_dev && stream.st_ino == file->st_ino;
}

/** @out_path: NULL: no memory.  Returns: whether it is written where it is, as a link to nothing is, too */
static int settle(const char *path, char **out_path)
{
    struct stat link, file;
    const int is_link = lstat(path, &link) == 0 && S_ISLNK(link.st_mode), is_there = stat(path, &file) == 0;
    const int in_place = is_there
        ? !S_ISREG(file.st_mode) || is_stream(&file, STDOUT_FILENO) || is_stream(&file, STDERR_FILENO)
        : is_link;

    *out_path = is_link && !in_place ? realpath(path, NULL) : strdup(path);
    return in_place;
}

struct peet_whole *peet_whole_new(const char *path)
{
    struct peet_whole *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    if (!settle(path, &w->path) && w->path && asprintf(&w->temporary, "%s.tmp%ld", w->path, (long)getpid()) < 0) {
        free(w->path);
        w->path = NULL;
    }
    if (!w->path) {
        free(w);
        return NULL;
    }
    if (guard == getpid()) {
        w->next = guarded;
        __atomic_store_n(&guarded, w, __ATOMIC_RELEASE);
    }
    return w;
}

const char *peet_whole_name(const struct peet_whole *w)
{
    return w->temporary ? w->temporary : w->path;
}

int peet_whole_stream(const struct peet_whole *w)
{
    struct stat file;

    if (w->temporary || stat(w->path, &file) != 0)
        return -1;
    return is_stream(&file, STDOUT_FILENO) ? STDOUT_FILENO : is_stream(&file, STDERR_FILENO) ? STDERR_FILENO : -1;
}

static void whole_free(struct peet_whole *w)
{
    struct peet_whole **at = &guarded;
    sigset_t held, before;

    if (guard == getpid()) {
        sigemptyset(&held);
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            sigaddset(&held, ends[i]);
        sigprocmask(SIG_BLOCK, &held, &before);
        while (*at && *at != w)
            at = &(*at)->next;
        if (*at)
            *at = w->next;
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    free(w->temporary);
    free(w->path);
    free(w);
}

int peet_whole_place(struct peet_whole *w)
{
    const int why = w->temporary && rename(w->temporary, w->path) ? errno : 0;

    if (why)
        unlink(w->temporary);
    whole_free(w);
    return why;
}

void peet_whole_drop(struct peet_whole *w)
{
    if (!w)
        return;
    if (w->temporary)
        unlink(w->temporary);
    whole_free(w);
}

static void clear(int number)
{
    if (getpid() == guard) /* a child that has not yet become another program removes nothing */
        for (const struct peet_whole *w = guarded; w; w = w->next)
            if (w->temporary)
                unlink(w->temporary);
    signal(number, SIG_DFL);
    raise(number); /* when this handler is over */
}

void peet_whole_guard(void)
{
    const struct sigaction action = {.sa_handler = clear};
    struct sigaction before;

    guard = getpid();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
}
