/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of the run (PEET_* variables, which the subject never sees) and the way out for diagnostics:
 * the pipe to whoever ran us.  No allocation: this also works in a crash.
 */
#include "internal.h"
#include "world/world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTINGS_MAX 64
static const char *settings[SETTINGS_MAX]; /* NAME=value, borrowed from the process's environment */
static unsigned nsettings;

static const char *find(const char *name, size_t length)
{
    for (unsigned i = 0; i < nsettings; i++)
        if (strncmp(settings[i], name, length) == 0 && settings[i][length] == '=')
            return settings[i] + length + 1;
    return NULL;
}

void peet__settings_take(char *const *env)
{
    for (; *env; env++) {
        const char *equals = strchr(*env, '=');
        if (strncmp(*env, "PEET_", 5) == 0 && equals && nsettings < SETTINGS_MAX &&
            !find(*env, (size_t)(equals - *env)))
            settings[nsettings++] = *env;
    }
}

/* Programs that the subject starts must not keep the run's pipes open. */
void peet__settings_close_on_exec(void)
{
    static const char *const names[] = {"PEET_REPORT_FD", "PEET_PROGRESS_FD", "PEET_RESULTS_FD"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const char *fd = peet_rt_setting(names[i]);
        if (fd)
            fcntl(atoi(fd), F_SETFD, FD_CLOEXEC);
    }
}

PUBLIC const char *peet_rt_setting(const char *name)
{
    return find(name, strlen(name));
}

static void vreport(const char *format, va_list args)
{
    char line[1200];
    const char *fd_text = peet_rt_setting("PEET_REPORT_FD");
    int fd = fd_text ? atoi(fd_text) : 2;
    size_t used = 0;
    if (!fd_text) {
        memcpy(line, "peet: ", 6);
        used = 6;
    }
    int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
    used += n < 0 ? 0 : (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    line[used++] = '\n';
    for (size_t done = 0; done < used;) {
        ssize_t wrote = write(fd, line + done, used - done);
        if (wrote <= 0)
            return; /* nobody listens any more */
        done += (size_t)wrote;
    }
}

void peet__report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vreport(format, args);
    va_end(args);
}

void peet__real_exit(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

void peet__die(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vreport(format, args);
    va_end(args);
    peet__real_exit(status);
}

static void *find_next(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next
        ? next
        : peet__world_lookup(name); /* a program that peetcc did not link may have the C library before this one */
}

void *peet__next(const char *name)
{
    void *next;
    if (peet__rt.in_subject) { /* what the dynamic linker allocates is not the program's */
        struct peet__visit visit = peet__visit_begin();
        next = find_next(name);
        peet__visit_end(visit);
    } else {
        next = find_next(name);
    }
    if (!next)
        peet__die(127, "the C library does not define %s", name);
    return next;
}
