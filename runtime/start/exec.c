/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subject that replaces itself by another program ends there as far as the simulation goes: the host
 * writes its results first.  If there is evidently nothing to execute, the call just fails, as ever.  Forked
 * children are not simulated and come straight through.
 */
#include "internal.h"
#include "plain/real.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char replaced_by[PATH_MAX];

PUBLIC const char *peet_rt_replaced_by(void)
{
    return replaced_by[0] ? replaced_by : NULL;
}

/* Whether execvp() would find something. */
static int on_path(const char *file)
{
    char candidate[PATH_MAX];
    const char *path = getenv("PATH");
    if (strchr(file, '/'))
        return access(file, X_OK) == 0;
    for (path = path ? path : "/bin:/usr/bin"; *file && path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
        int length = (int)strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s%s%s", length, path, length ? "/" : "", file);
        if (access(candidate, X_OK) == 0)
            return 1;
    }
    return 0;
}

static void before(const char *file, int found)
{
    if (peet__rt.simulated && peet__is_subject() && found) {
        const char *quiet = peet_rt_setting("PEET_QUIET");
        if (!quiet || strcmp(quiet, "1") != 0)
            peet__report("the program replaces itself by %s: the simulation ends here", file);
        snprintf(replaced_by, sizeof replaced_by, "%s", file);
        peet__exit_record(0);
    }
    if (found && peet__real_on())
        peet__real_program_ends(0);
    if (found)
        peet__rlimit_exec();
}

PUBLIC int execve(const char *path, char *const argv[], char *const env[])
{
    before(path, access(path, X_OK) == 0);
    return ((int (*)(const char *, char *const *, char *const *))peet__next("execve"))(path, argv, env);
}

PUBLIC int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

PUBLIC int execvpe(const char *file, char *const argv[], char *const env[])
{
    before(file, on_path(file));
    return ((int (*)(const char *, char *const *, char *const *))peet__next("execvpe"))(file, argv, env);
}

PUBLIC int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

PUBLIC int fexecve(int fd, char *const argv[], char *const env[])
{
    before("an open file", 1);
    return ((int (*)(int, char *const *, char *const *))peet__next("fexecve"))(fd, argv, env);
}

/* The variadic forms: arguments up to a NULL, and for execle() the environment behind it. */
#define GATHER(first) \
    va_list args; \
    size_t n = 1; \
    va_start(args, first); \
    while (va_arg(args, char *)) \
        n++; \
    va_end(args); \
    char *argv[n + 1]; \
    argv[0] = (char *)first; \
    va_start(args, first); \
    for (size_t i = 1; i <= n; i++) \
    argv[i] = va_arg(args, char *)

PUBLIC int execl(const char *path, const char *arg, ...)
{
    GATHER(arg);
    va_end(args);
    return execve(path, argv, environ);
}

PUBLIC int execlp(const char *file, const char *arg, ...)
{
    GATHER(arg);
    va_end(args);
    return execvpe(file, argv, environ);
}

PUBLIC int execle(const char *path, const char *arg, ...)
{
    GATHER(arg);
    char *const *env = va_arg(args, char *const *);
    va_end(args);
    return execve(path, argv, env);
}
