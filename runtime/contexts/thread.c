/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the subject, as far as they are memory: stack, thread-local storage and control block exist before the
 * thread does, so that its creator can write into them, and after it, until nobody can name it any more.  Called by the
 * thread front ends of threadlib/ in the subject's world; the context itself starts when the host performs
 * THREAD_CREATE.
 */
#include "internal.h"

#include <stdlib.h>

/* The C library's word for other libraries: with it, the C++ library leaves out locks.  Absent before glibc 2.32. */
extern char __libc_single_threaded __attribute__((weak));

static struct peet_ctx *pending;

PUBLIC int peet_rt_thread_new(uint64_t stack_address, uint64_t stack_bytes, uint64_t guard_bytes, uint64_t *out_tp)
{
    struct peet_ctx_options options = {.stack_address = stack_address, .stack_bytes = stack_bytes, .thread = 1};
    struct peet_ctx *ctx;
    struct peet__visit visit = peet__visit_begin();
    int err = peet__ctx_make(&options, &ctx);
    if (!err) {
        ctx->named = 1;
        ctx->guard_bytes = guard_bytes;
        ctx->pending = pending;
        pending = ctx;
        *out_tp = ctx->fs;
        if (&__libc_single_threaded)
            __libc_single_threaded = 0;
    }
    peet__visit_end(visit);
    return err;
}

struct peet_ctx *peet__thread_take(uint64_t tp)
{
    for (struct peet_ctx **link = &pending; *link; link = &(*link)->pending) {
        struct peet_ctx *ctx = *link;
        if (ctx->fs == tp) {
            *link = ctx->pending;
            ctx->pending = NULL;
            return ctx;
        }
    }
    return NULL;
}

PUBLIC void peet_rt_thread_free(uint64_t tp)
{
    struct peet_ctx *ctx = peet__tls_context(tp);
    if (ctx == &peet__rt.main_ctx)
        return;
    struct peet__visit visit = peet__visit_begin();
    peet__thread_take(tp); /* if it never came to be */
    ctx->named = 0;
    peet__ctx_release(ctx);
    peet__visit_end(visit);
}

PUBLIC void peet_rt_thread_stack(uint64_t tp, uint64_t *out_lo, uint64_t *out_hi, uint64_t *out_guard_bytes)
{
    const struct peet_ctx *ctx = peet__tls_context(tp);
    *out_lo = ctx->stack.lo;
    *out_hi = ctx->stack.hi;
    *out_guard_bytes = ctx == &peet__rt.main_ctx ? 0 : ctx->guard_bytes;
}

PUBLIC void peet_rt_poke(uint64_t tp)
{
    struct peet_ctx *ctx = peet__tls_context(tp);
    ctx->poked |= PEET__POKE_CANCEL;
    if (ctx == peet__rt.current)
        peet__rt.signals = 1;
}

PUBLIC int peet_rt_interrupted_restarts(void)
{
    return peet__rt.current->restarts;
}

/* ------------------------------------------------------------------------------------------ processors */

static unsigned processors = 1, cpu;

PUBLIC void peet_rt_set_processors(unsigned n)
{
    processors = n;
}

PUBLIC void peet_rt_set_cpu(unsigned hw)
{
    cpu = hw;
}

PUBLIC uint64_t peet_rt_thread_pointer(void)
{
    return peet__fs_meant();
}

/* Before there is a machine, its processors are what `peet run` says. */
static unsigned processors_to_come(void)
{
    const char *setting = peet_rt_setting("PEET_PROCESSORS");
    return setting ? (unsigned)strtoul(setting, NULL, 10) : 1;
}

PUBLIC unsigned peet_rt_processors(void)
{
    return peet__rt.simulated ? processors : peet__rt.capturing ? processors_to_come() : 1;
}

PUBLIC unsigned peet_rt_cpu(void)
{
    return peet__rt.simulated ? cpu : 0;
}
