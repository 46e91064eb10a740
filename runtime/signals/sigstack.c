/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks for handlers of signals.  The subject's contexts have their own by sigaltstack(); the kernel never hears of
 * them, so switching from one context to another costs nothing.  It always has one of ours:
 *
 *   1. Whatever the kernel calls begins at the end of that one, if its action says SA_ONSTACK.  Nobody else is on it.  The
 *      kernel has none until the handler returns (SS_AUTODISARM), and then has this one again: rt_sigreturn() sets the
 *      one that it finds in the context.
 *   2. A handler of the subject moves on to the stack that it is to have (signals.c), and may be suspended, while other
 *      contexts go on and get signals.  So the kernel gets another one of ours meanwhile: peet__sigstack_leave().
 *   3. A handler that jumps out never returns.  Its stack of ours is free when its context takes another signal farther up
 *      than that handler was.
 */
#include "signals/signals.h"
#include "views/domain_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

#define OURS_BYTES (64ul << 10) /* a handler of the runtime's */
#define OURS 64
#define AUTODISARM (1 << 31) /* the kernel's SS_AUTODISARM, not in the C library's headers */
enum { LEAST_BYTES = 2048 }; /* the kernel's MINSIGSTKSZ */

static struct {
    stack_t stack;
    const struct peet_ctx *holder; /* a handler of this context began here and has not returned */
    uint64_t interrupted;          /* ... and where the context's stack pointer was */
} ours[OURS];
static unsigned nours;

void *peet__sigstack_reserve(size_t bytes)
{
    long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == -1)
        peet__die(1, "no address space for a stack of signal handlers: %s", strerror(errno));
    return (void *)at;
}

static int one_more(void)
{
    if (nours == OURS)
        return -1;
    ours[nours].stack.ss_sp = peet__sigstack_reserve(OURS_BYTES);
    ours[nours].stack.ss_size = OURS_BYTES;
    ours[nours].stack.ss_flags = AUTODISARM;
    return (int)nours++;
}

static void give(int which)
{
    peet__raw_syscall(SYS_sigaltstack, (long)&ours[which].stack, 0, 0, 0, 0, 0);
}

void peet__sigstack_begin(void)
{
    give(one_more());
}

static int is_on(const stack_t *stack, uint64_t at)
{
    return stack && at - (uint64_t)stack->ss_sp < stack->ss_size;
}

/** Is a handler that interrupted the context there still under way where it is interrupted now? */
static int lasts(const struct peet_ctx *ctx, uint64_t then, uint64_t now)
{
    const int own = is_on(ctx->alternative, now);
    return own != is_on(ctx->alternative, then) ? own : now < then;
}

int peet__sigstack_leave(const struct peet_ctx *ctx, const void *here, uint64_t interrupted)
{
    int left = -1, next = -1;
    for (int i = 0; i < (int)nours; i++) {
        if (ours[i].holder == ctx && !lasts(ctx, ours[i].interrupted, interrupted))
            ours[i].holder = NULL;
        if (is_on(&ours[i].stack, (uint64_t)here))
            left = i;
        else if (!ours[i].holder)
            next = i;
    }
    if (left < 0 || (next < 0 && (next = one_more()) < 0))
        return -1;
    ours[left].holder = ctx;
    ours[left].interrupted = interrupted;
    give(next);
    return left;
}

void peet__sigstack_back(int left)
{
    const uint64_t all = ~0ul;
    if (left < 0)
        return;
    peet__raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, sizeof all, 0, 0);
    ours[left].holder = NULL;
}

/* ---------------------------------------------------------------------------------------------- the subject's */

stack_t peet__sigstack_of(const struct peet_ctx *ctx)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    if (ctx->alternative) {
        stack = *ctx->alternative;
        stack.ss_flags = (stack.ss_flags & AUTODISARM) |
            (is_on(ctx->alternative, (uint64_t)__builtin_frame_address(0)) ? SS_ONSTACK : 0);
    }
    return stack;
}

void peet__sigstack_plain(const struct peet_ctx *ctx)
{
    if (ctx && ctx->alternative)
        peet__raw_syscall(SYS_sigaltstack, (long)ctx->alternative, 0, 0, 0, 0, 0);
}

static void forget_own(struct peet_ctx *ctx)
{
    if (!ctx->alternative)
        return;
    struct peet__visit visit = peet__visit_begin();
    __libc_free(ctx->alternative);
    ctx->alternative = NULL;
    peet__visit_end(visit);
}

void peet__sigstack_forget(struct peet_ctx *ctx)
{
    for (unsigned i = 0; i < nours; i++)
        if (ours[i].holder == ctx)
            ours[i].holder = NULL;
    forget_own(ctx);
}

/** Returns: 0 or an errno value */
static int set_own(struct peet_ctx *ctx, const stack_t *stack)
{
    const int how = stack->ss_flags & ~AUTODISARM;
    if (is_on(ctx->alternative, (uint64_t)__builtin_frame_address(0)) && !(ctx->alternative->ss_flags & AUTODISARM))
        return EPERM;
    if (how != 0 && how != SS_ONSTACK && how != SS_DISABLE)
        return EINVAL;
    if (how == SS_DISABLE) {
        forget_own(ctx);
        return 0;
    }
    if (stack->ss_size < LEAST_BYTES)
        return ENOMEM;
    if (!ctx->alternative) {
        struct peet__visit visit = peet__visit_begin();
        ctx->alternative = __libc_malloc(sizeof *ctx->alternative);
        peet__visit_end(visit);
        if (!ctx->alternative)
            return ENOMEM;
    }
    *ctx->alternative = *stack;
    peet__domain_alias((uint64_t)stack->ss_sp, (uint64_t)stack->ss_sp + stack->ss_size);
    return 0;
}

PUBLIC int sigaltstack(const stack_t *stack, stack_t *old)
{
    if (!peet__rt.simulated || !peet__is_subject())
        return (int)syscall(SYS_sigaltstack, stack, old);
    struct peet_ctx *ctx = peet__rt.current;
    const stack_t before = peet__sigstack_of(ctx);
    const int error = stack ? set_own(ctx, stack) : 0;
    if (error) {
        errno = error;
        return -1;
    }
    if (old)
        *old = before;
    return 0;
}
