/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subject that replaces itself by another program ends there as far as the simulation goes: the host
 * writes its results first.  If there is evidently nothing to execute, the call just fails, as ever; if that turns
 * out only when the results are written, it is said.  Forked children are not simulated and come straight through.
 */
#include "internal.h"
#include "plain/real.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char replaced_by[PATH_MAX];

PUBLIC const char *peet_rt_replaced_by(void)
{
    return replaced_by[0] ? replaced_by : NULL;
}

static int is_program(int dir, const char *path)
{
    struct stat info;
    return faccessat(dir, path, X_OK, 0) == 0 && fstatat(dir, path, &info, 0) == 0 && S_ISREG(info.st_mode);
}

/* A script without its interpreter cannot be executed.  Other formats than ELF may be known to the kernel. */
static int executable(int dir, const char *path)
{
    char head[PATH_MAX] = "", *interpreter;
    if (!is_program(dir, path))
        return 0;
    long fd = peet__raw_syscall(SYS_openat, dir, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return 1;
    long n = peet__raw_syscall(SYS_read, fd, (long)head, sizeof head - 1, 0, 0, 0);
    peet__raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    head[n > 0 ? n : 0] = 0;
    if (strncmp(head, "#!", 2) != 0)
        return 1;
    interpreter = head + 2 + strspn(head + 2, " \t");
    interpreter[strcspn(interpreter, " \t\n")] = 0;
    return is_program(AT_FDCWD, interpreter);
}

/* Whether execvp() would find something. */
static int on_path(const char *file)
{
    char candidate[PATH_MAX];
    const char *path = getenv("PATH");
    if (strchr(file, '/'))
        return executable(AT_FDCWD, file);
    for (path = path ? path : "/bin:/usr/bin"; *file && path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
        int length = (int)strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s%s%s", length, path, length ? "/" : "", file);
        if (executable(AT_FDCWD, candidate))
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
        peet__real_program_ends(0, file);
    if (found)
        peet__rlimit_exec();
}

/* The call has come back. */
static int after(int result)
{
    const int why = errno;
    if (replaced_by[0])
        peet__report("the program could not replace itself by %s (%s): what it does from now on is not in the results",
            replaced_by, strerror(why));
    errno = why;
    return result;
}

PUBLIC int execve(const char *path, char *const argv[], char *const env[])
{
    before(path, executable(AT_FDCWD, path));
    return after(((int (*)(const char *, char *const *, char *const *))peet__next("execve"))(path, argv, env));
}

PUBLIC int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
    const int open_file = (flags & AT_EMPTY_PATH) && !*path;
    before(open_file ? "an open file" : path, open_file || executable(dir, path));
    return after((int)syscall(SYS_execveat, dir, path, argv, env, flags));
}

PUBLIC int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

PUBLIC int execvpe(const char *file, char *const argv[], char *const env[])
{
    before(file, on_path(file));
    return after(((int (*)(const char *, char *const *, char *const *))peet__next("execvpe"))(file, argv, env));
}

PUBLIC int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

PUBLIC int fexecve(int fd, char *const argv[], char *const env[])
{
    before("an open file", 1);
    return after(((int (*)(int, char *const *, char *const *))peet__next("fexecve"))(fd, argv, env));
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
