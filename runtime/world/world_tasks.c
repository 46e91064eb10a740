/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's files say of threads, /proc/self/task/N/stat and its like, for threads of the subject's: the kernel
 * knows nothing of these, and libraries look there which of their threads run.  What is not a thread's own is the
 * process's, as the kernel says it.
 */
#include "signals/signals.h"
#include "world/world.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <peet/module.h>

/* Of the thread library's: the name of the thread with this thread pointer. */
extern const char *peet__thread_name_at(uint64_t thread_pointer) __attribute__((weak));

enum { TEXT = 8192 };
static const char *const files[] = {"stat", "status", "comm"};

/* Number and file of "N/stat".  Returns: whether it is that */
static int read_end(const char *text, pid_t *out_tid, const char **out_file)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return 0;
    *out_tid = (pid_t)strtoul(text, &end, 10);
    for (unsigned i = 0; *end == '/' && i < sizeof files / sizeof *files; i++)
        if (strcmp(end + 1, files[i]) == 0) {
            *out_file = files[i];
            return 1;
        }
    return 0;
}

static int is_child(pid_t pid)
{
    return syscall(SYS_waitid, P_PID, pid, NULL, WEXITED | WNOHANG | WNOWAIT, NULL) == 0;
}

/* Which thread a path is about, and in which file.  Returns: NULL: none of the subject's, or the first, which the kernel
 * knows */
static struct peet_ctx *thread_of(const char *path, const char **out_file)
{
    char own[40];
    pid_t tid;
    const int n = snprintf(own, sizeof own, "/proc/%d/task/", (int)getpid());
    int of_process = 1;
    if (strncmp(path, "/proc/self/task/", 16) == 0)
        path += 16;
    else if (strncmp(path, own, (size_t)n) == 0)
        path += n;
    else
        of_process = 0;
    /* "/proc/N": any process, and any thread; a number of ours may be another process's, which matters if that is a
     * child */
    if (!read_end(of_process ? path : path + 6, &tid, out_file) || tid == getpid() || (!of_process && is_child(tid)))
        return NULL;
    return peet__ctx_of_tid(tid);
}

/* What the C library does here is not the program's: a visit to the host's world. */
int peet__world_is_task(const char *path)
{
    static const char folder[] = "/proc/";
    const char *file;
    for (unsigned i = 0; i < sizeof folder - 1; i++)
        if (path[i] != folder[i])
            return 0;
    struct peet__visit visit = peet__visit_begin();
    const int is = thread_of(path, &file) != NULL;
    peet__visit_end(visit);
    return is;
}

/* Whether the thread waits: it has asked for something that may take any time. */
static char state_of(const struct peet_ctx *ctx)
{
    switch (ctx == peet__rt.current ? PEET_ABSTRACT_NONE : ctx->asks) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_ONCE_BEGIN:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
        return 'S';
    default:
        return 'R';
    }
}

static unsigned threads(void)
{
    unsigned n = peet__rt.main_ctx.counted;
    for (const struct peet_ctx *c = peet__ctx_list; c; c = c->next)
        n += c->counted && c->state != PEET__CTX_NEW;
    return n;
}

/* The process's own file, as text.  Returns: whether it could be read */
static int read_own(const char *file, char *out_text)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/%s", file);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long n = 0, got = fd >= 0 ? 1 : -1;
    for (; got > 0 && n < TEXT - 1; n += got)
        if ((got = syscall(SYS_read, fd, out_text + n, TEXT - 1 - n)) < 0)
            break;
    if (fd >= 0)
        syscall(SYS_close, fd);
    out_text[n] = 0;
    return got >= 0;
}

/* "N (name) S ..."; the 20th number is that of threads. */
static void write_stat(FILE *out, const char *own, const struct peet_ctx *ctx, pid_t tid, const char *name)
{
    const char *at = strrchr(own, ')'), *rest;
    at = at && at[1] && at[2] && at[3] ? at + 4 : own + strlen(own); /* behind the state */
    rest = at;
    for (int field = 4; field < 20 && *rest; rest++)
        field += *rest == ' ';
    fprintf(out, "%d (%s) %c %.*s%u%s", (int)tid, name, state_of(ctx), (int)(rest - at), at, threads(),
        rest + strspn(rest, "0123456789"));
}

static void write_status(FILE *out, const char *own, const struct peet_ctx *ctx, pid_t tid, const char *name)
{
    for (const char *line = own, *end; *line; line = end) {
        const char *const colon = strchr(line, ':');
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        const size_t n = colon && colon < end ? (size_t)(colon - line) : 0;
#define IS(key) (n == sizeof key - 1 && memcmp(line, key, n) == 0)
        if (IS("Name"))
            fprintf(out, "Name:\t%s\n", name);
        else if (IS("State"))
            fprintf(out, "State:\t%s\n", state_of(ctx) == 'S' ? "S (sleeping)" : "R (running)");
        else if (IS("Pid"))
            fprintf(out, "Pid:\t%d\n", (int)tid);
        else if (IS("Threads"))
            fprintf(out, "Threads:\t%u\n", threads());
        else if (IS("SigBlk"))
            fprintf(out, "SigBlk:\t%016llx\n", (unsigned long long)ctx->mask);
        else
            fwrite(line, 1, (size_t)(end - line), out);
#undef IS
    }
}

/* Returns: a descriptor or -1 */
static int make_file(const char *path)
{
    static char own[TEXT], text[TEXT]; /* the thread's stack may be small */
    const char *file;
    struct peet_ctx *const ctx = thread_of(path, &file);
    if (!ctx || (strcmp(file, "comm") != 0 && !read_own(file, own)))
        return -1;
    const pid_t tid = getpid() + (pid_t)ctx->number;
    const char *const name = peet__thread_name_at ? peet__thread_name_at(ctx->fs) : program_invocation_short_name;
    FILE *const out = fmemopen(text, sizeof text, "w");
    if (!out)
        return -1;
    if (strcmp(file, "stat") == 0)
        write_stat(out, own, ctx, tid, name);
    else if (strcmp(file, "status") == 0)
        write_status(out, own, ctx, tid, name);
    else
        fprintf(out, "%s\n", name);
    const long n = ftell(out);
    fclose(out);
    const int fd = memfd_create("peet task", MFD_CLOEXEC);
    if (fd >= 0 && (n < 0 || syscall(SYS_pwrite64, fd, text, n, 0L) != n)) {
        syscall(SYS_close, fd);
        return -1;
    }
    return fd;
}

int peet__world_task_file(const char *path)
{
    struct peet__visit visit = peet__visit_begin();
    const int fd = make_file(path);
    peet__visit_end(visit);
    if (fd < 0)
        errno = ENOENT;
    return fd;
}
