/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal masks: one for each context (signals.h).  As long as all contexts block the same, the kernel's mask never
 * changes at a switch; rt.mixed says that they do not.  Jumps that restore a mask (siglongjmp(), setcontext()) do so
 * in the kernel by themselves, so they are watched for the context's sake.
 */
#include "signals/signals.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

static unsigned contexts;     /* that count */
static unsigned blocking[64]; /* how many of them block a signal */

/* ------------------------------------------------------------------------------------- the book-keeping */

static void settle(void)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t all = 0, some = 0;
    for (unsigned i = 0; i < 64; i++) {
        all |= (uint64_t)(blocking[i] == contexts) << i;
        some |= (uint64_t)(blocking[i] != 0) << i;
    }
    rt->some_block = some;
    rt->all_block = contexts ? all : 0;
    rt->mixed = some != rt->all_block;
    peet__fs_reconsider(!(some & peet__signal_bit(SIGSEGV)));
}

static void count(uint64_t bits, unsigned by)
{
    for (; bits; bits &= bits - 1)
        blocking[__builtin_ctzl(bits)] += by;
}

void peet__mask_enter(struct peet_ctx *ctx, uint64_t mask)
{
    if (ctx->counted)
        peet__mask_leave(ctx);
    ctx->counted = 1;
    ctx->mask = mask;
    contexts++;
    if (mask | peet__rt.some_block) {
        count(mask, 1);
        settle();
    }
}

void peet__mask_leave(struct peet_ctx *ctx)
{
    if (!ctx->counted)
        return;
    ctx->counted = 0;
    contexts--;
    if (ctx->mask | peet__rt.some_block) {
        count(ctx->mask, -1u);
        settle();
        if (!peet__rt.mixed) /* no switch will tell: a context that is over has left its own mask */
            peet__mask_tell(peet__rt.all_block);
    }
}

void peet__mask_tell(uint64_t mask)
{
    if (peet__rt.kernel_mask == mask)
        return;
    peet__rt.kernel_mask = mask;
    peet__raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof mask, 0, 0);
}

void peet__mask_set(struct peet_ctx *ctx, uint64_t mask, int tell)
{
    mask &= ~(peet__signal_bit(SIGKILL) | peet__signal_bit(SIGSTOP));
    if (ctx->mask != mask) {
        count(ctx->mask & ~mask, -1u);
        count(mask & ~ctx->mask, 1);
        ctx->mask = mask;
        settle();
    }
    if (tell && ctx == peet__rt.current && peet__rt.in_subject)
        peet__mask_tell(mask);
}

/* ------------------------------------------------------------------------------------- the subject's calls */

static int change(int how, const sigset_t *set, sigset_t *old)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t before = ctx->mask, mask = before;
    if (set) {
        uint64_t bits = peet__signal_set(set);
        if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
            return EINVAL;
        mask = how == SIG_BLOCK ? before | bits : how == SIG_UNBLOCK ? before & ~bits : bits;
    }
    if (old) {
        memset(old, 0, sizeof *old);
        *(uint64_t *)old = before;
    }
    if (mask != before) {
        peet__mask_set(ctx, mask, 1);
        /* what waited in the kernel has come, what waited here can go */
        if (before & ~mask)
            peet__signals_deliver();
    }
    return 0;
}

PUBLIC int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*real)(int, const sigset_t *, sigset_t *);
    if (peet__signals_simulated())
        return change(how, set, old);
    if (!real)
        real = (int (*)(int, const sigset_t *, sigset_t *))peet__next("pthread_sigmask");
    return real(how, set, old);
}

PUBLIC int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int err = pthread_sigmask(how, set, old);
    if (err == 0)
        return 0;
    errno = err;
    return -1;
}

static sigset_t *one(int signal, sigset_t *out_set)
{
    sigemptyset(out_set);
    return sigaddset(out_set, signal) == 0 ? out_set : NULL;
}

PUBLIC int sighold(int signal)
{
    sigset_t set;
    return one(signal, &set) ? sigprocmask(SIG_BLOCK, &set, NULL) : -1;
}

PUBLIC int sigrelse(int signal)
{
    sigset_t set;
    return one(signal, &set) ? sigprocmask(SIG_UNBLOCK, &set, NULL) : -1;
}

static int old_style(int how, int mask)
{
    sigset_t set, old;
    sigemptyset(&set);
    *(uint64_t *)&set = (unsigned)mask;
    return sigprocmask(how, &set, &old) == 0 ? (int)*(uint64_t *)&old : -1;
}

PUBLIC int sigblock(int mask);
PUBLIC int sigblock(int mask)
{
    return old_style(SIG_BLOCK, mask);
}

PUBLIC int sigsetmask(int mask);
PUBLIC int sigsetmask(int mask)
{
    return old_style(SIG_SETMASK, mask);
}

PUBLIC int siggetmask(void);
PUBLIC int siggetmask(void)
{
    return old_style(SIG_BLOCK, 0);
}

PUBLIC int sigpending(sigset_t *set)
{
    static int (*real)(sigset_t *);
    if (!real)
        real = (int (*)(sigset_t *))peet__next("sigpending");
    int result = real(set);
    if (result == 0 && peet__signals_simulated()) {
        const uint64_t sample = peet__signal_bit(PEET_RT_SAMPLE_SIGNAL);
        if (*(uint64_t *)set & sample) /* it waits in the context from now on, or is none of the program's */
            peet__signal_keep(PEET_RT_SAMPLE_SIGNAL);
        *(uint64_t *)set &= ~sample;
        *(uint64_t *)set |= peet__signals_waiting(peet__rt.current) & peet__rt.current->mask;
    }
    return result;
}

/* ---------------------------------------------------------------------------------------- jumps */

static void jumps(const sigset_t *mask)
{
    if (peet__signals_simulated()) {
        uint64_t bits = peet__signal_set(mask);
        if (peet__rt.current->mask != bits)
            peet__mask_set(peet__rt.current, bits, 1);
    }
}

typedef void jump_fn(struct __jmp_buf_tag *, int) __attribute__((noreturn));

#define JUMPS(X) X(siglongjmp) X(longjmp) X(_longjmp) X(__longjmp_chk)

#define JUMP(name) \
    static jump_fn *real_##name; \
    PUBLIC void name(struct __jmp_buf_tag env[1], int value) __attribute__((noreturn)); \
    PUBLIC void name(struct __jmp_buf_tag env[1], int value) \
    { \
        if (env->__mask_was_saved) \
            jumps((const sigset_t *)&env->__saved_mask); \
        if (!real_##name) \
            real_##name = (jump_fn *)peet__next(#name); \
        real_##name(env, value); \
    }
JUMPS(JUMP)

/* A handler that jumps is no place for looking them up. */
void peet__sigmask_begin(void)
{
#define FIND(name) real_##name = (jump_fn *)peet__next(#name);
    JUMPS(FIND)
}

PUBLIC int setcontext(const ucontext_t *to)
{
    static int (*real)(const ucontext_t *);
    jumps(&to->uc_sigmask);
    if (!real)
        real = (int (*)(const ucontext_t *))peet__next("setcontext");
    return real(to);
}
