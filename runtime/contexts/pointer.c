/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which thread pointer is set when.  A running context has its own, and the host has that of the process's first thread.
 *
 * Where only the kernel can set the thread pointer, setting it costs 4 microseconds, and the rest of a switch 0.1.  Few of
 * the short pieces of code that a context runs between two switches use thread-local storage.  A switch there leaves the
 * thread pointer out (arch/: 12 ns).  The first use of thread-local storage then faults, and the handler of SIGSEGV sets
 * the thread pointer and lets the instruction run again.  Such a fault costs six times what setting the pointer costs, so
 * a context that has faulted gets its pointer at the next switches to it: at two, after another fault at four, and so on
 * up to 128 (fs_due counts down, fs_found is the logarithm).  The host likewise.
 *
 * Invariants:
 *   1. The thread pointer is that of the running context or of the host, or there is none.  It is never another thread's.
 *   2. There is none only while SIGSEGV reaches peet__fs_found(): the program neither blocks nor handles SIGSEGV.  Handlers
 *      of the runtime block SIGSEGV, so they begin with peet__fs_settle(), or with peet__fs_keep() if they let contexts go on.
 *   3. While there is none, in_subject says whose pointer the handler of SIGSEGV sets.  Signals come at any time.
 *   4. Threads of the host's own always have theirs.
 * The pointer is always set in runs with views of memory or recorded libraries, which use thread-local storage everywhere;
 * under a debugger, which would stop at each fault; under sanitizers and Valgrind; and with PEET_FSGSBASE=set.
 */
#include "internal.h"
#include "signals/signals.h"
#include "views/domain_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOUND_MOST = 7 };

static int host_may;                 /* leave it out */
static int subject_lets = 1;         /* no mask and no stack of the subject's is in the way */
static uint8_t host_due, host_found; /* as a context's */

/* The kernel's word on who looks on by ptrace(). */
static int is_traced(void)
{
    char text[4096];
    const int fd = (int)peet__raw_syscall(SYS_open, (long)"/proc/self/status", O_RDONLY, 0, 0, 0, 0);
    const long n = fd < 0 ? 0 : peet__raw_syscall(SYS_read, fd, (long)text, sizeof text - 1, 0, 0, 0);
    if (fd >= 0)
        peet__raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    text[n > 0 ? n : 0] = 0;
    const char *const tracer = strstr(text, "TracerPid:");
    return !tracer || atoi(tracer + sizeof "TracerPid:" - 1) != 0;
}

void peet__fs_begin(int sanitized)
{
    const char *const how = peet_rt_setting("PEET_FSGSBASE");
    host_may = !peet__fsgsbase && !(how && strcmp(how, "set") == 0) && !peet__rt.use_ucontext && !sanitized &&
        !peet__under_valgrind() && !is_traced();
}

static int may_leave_out(void)
{
    return host_may && subject_lets && peet__signal_action(SIGSEGV)->sa_handler == SIG_DFL && !peet__foreign_on &&
        !peet__domains_on();
}

void peet__fs_enter(struct peet_ctx *ctx)
{
    if (peet__fs_absent())
        host_found /= 2;
    if (!ctx->fs_due && may_leave_out()) {
        if (ctx->fs != peet__rt.thread)
            peet__fs_drop();
        return;
    }
    ctx->fs_due -= ctx->fs_due > 0;
    if (ctx->fs != peet__rt.thread || peet__fs_absent())
        peet__set_fs(ctx->fs);
}

void peet__fs_leave(struct peet_ctx *ctx)
{
    if (peet__fs_absent())
        ctx->fs_found /= 2;
    else if (ctx->fs == peet__rt.thread)
        return;
    if (!host_due && may_leave_out()) {
        peet__fs_drop();
        return;
    }
    host_due -= host_due > 0;
    peet__set_fs(peet__rt.thread);
}

void peet__fs_settle(void)
{
    if (peet__fs_absent())
        peet__set_fs(peet__fs_meant());
}

static void note(uint8_t *due, uint8_t *found)
{
    *found += *found < FOUND_MOST;
    *due = (uint8_t)(1u << *found);
}

int peet__fs_found(void)
{
    struct peet__rt *rt = &peet__rt;
    if (!peet__fs_absent())
        return 0;
    if (rt->in_subject)
        note(&rt->current->fs_due, &rt->current->fs_found);
    else
        note(&host_due, &host_found);
    peet__fs_settle();
    return 1;
}

void peet__fs_keep(void)
{
    host_may = 0;
    peet__fs_settle();
}

void peet__fs_reconsider(int faults_come)
{
    subject_lets = faults_come;
    if (!faults_come)
        peet__fs_settle();
}
