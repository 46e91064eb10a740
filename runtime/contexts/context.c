/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: making them, resuming them from the host, suspending them from the subject.  Thread-local storage (and
 * with it errno, locale, the state of exceptions) and the floating point environment belong to the context, not to the
 * thread that carries all of them: the thread pointer goes with the switch.  The main context and the host share the
 * process's first thread; between them, errno changes hands.  Two ways to switch: assembly (arch/), and the
 * C library's ucontext for comparison.
 */
#include "views/domain_internal.h"
#include "signals/signals.h"
#include "signals/fatal.h"

#include <errno.h>
#include <string.h>

extern void *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);

struct peet__rt peet__rt;
struct peet_ctx *peet__ctx_list;

/* errno of a thread pointer's thread. */
static int *errno_of(uint64_t fs)
{
    return (int *)(fs + (uint64_t)peet__rt.errno_place - peet__rt.thread);
}

/* ----------------------------------------------------------------------------------------- life cycle */

static void uc_entry(void)
{
    struct peet_ctx *ctx = peet__rt.current;
    peet__foreign_world = (uint64_t)peet__foreign_on;
    peet__rt.busy = 0;
    peet__rt.kernel_mask = ctx->mask;
    ctx->fn(ctx->a, ctx->b);
    peet__ctx_finished();
}

/* As if suspended just before its first instruction. */
static struct peet__saved initial_state(const struct peet_ctx *ctx)
{
    uint64_t *top = (uint64_t *)ctx->stack_top - 6;
    top[0] = (uint64_t)ctx->fn;
    top[1] = ctx->a;
    top[2] = ctx->b;
    top[3] = top[4] = top[5] = 0;
    return (struct peet__saved){top, NULL, (void *)peet__ctx_entry, 0x1f80, 0x37f, 0};
}

void peet__ctx_prepare(struct peet_ctx *ctx, void (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b)
{
    ctx->fn = fn;
    ctx->a = a;
    ctx->b = b;
    ctx->state = PEET__CTX_NEW;
    ctx->stub_frame = NULL;
    ctx->saved_errno = 0;
    ctx->mark_depth = ctx->in_iteration = ctx->between = 0;
    if (!ctx->uc) {
        ctx->saved = initial_state(ctx);
        return;
    }
    getcontext(ctx->uc);
    ctx->uc->uc_stack.ss_sp = (void *)ctx->stack.lo;
    ctx->uc->uc_stack.ss_size = ctx->stack_top - ctx->stack.lo;
    ctx->uc->uc_link = NULL;
    *(uint64_t *)&ctx->uc->uc_sigmask = ctx->mask;
    makecontext(ctx->uc, uc_entry, 0);
}

static int make_stack(const struct peet_ctx_options *options, struct peet__stack *out_stack)
{
    size_t bytes = options->stack_bytes ? options->stack_bytes
        : options->thread               ? PEET_CTX_THREAD_BYTES
                                        : PEET_CTX_WORKER_BYTES;
    if (!options->stack_address)
        return peet__stack_new(bytes, out_stack);
    if (bytes < peet__tls_bytes() + PEET__PAGE)
        return PEET_EINVALID;
    *out_stack =
        (struct peet__stack){options->stack_address, options->stack_address + bytes, options->stack_address, 1};
    peet__domain_alias(out_stack->lo, out_stack->hi);
    return 0;
}

int peet__ctx_make(const struct peet_ctx_options *options, struct peet_ctx **out_ctx)
{
    if (!peet__tls_ready())
        return PEET_EUNSUPPORTED;
    struct peet_ctx *ctx = __libc_calloc(1, sizeof *ctx);
    if (!ctx)
        return PEET_ENOMEM;
    int err = make_stack(options, &ctx->stack);
    if (!err)
        err = peet__tls_new(ctx);
    if (!err && peet__rt.use_ucontext && !(ctx->uc = __libc_calloc(1, sizeof *ctx->uc)))
        err = PEET_ENOMEM;
    if (err) {
        peet__tls_free(ctx);
        if (ctx->stack.hi)
            peet__stack_free(&ctx->stack);
        __libc_free(ctx);
        return err;
    }
    ctx->mask = peet__rt.current ? peet__rt.current->mask : 0; /* none: for a constructor of a library */
    ctx->next = peet__ctx_list;
    if (ctx->next)
        ctx->next->previous = ctx;
    peet__ctx_list = ctx;
    *out_ctx = ctx;
    return 0;
}

void peet__ctx_release(struct peet_ctx *ctx)
{
    if (ctx->held)
        return;
    if (ctx->named) { /* until it has been joined */
        peet__stack_drop_pages(&ctx->stack);
        return;
    }
    if (ctx->previous)
        ctx->previous->next = ctx->next;
    else
        peet__ctx_list = ctx->next;
    if (ctx->next)
        ctx->next->previous = ctx->previous;
    peet__signals_leave(ctx);
    peet__sigstack_forget(ctx);
    peet__tls_free(ctx);
    peet__stack_free(&ctx->stack);
    __libc_free(ctx->uc);
    __libc_free(ctx);
}

PUBLIC int peet_ctx_new(void (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b, const struct peet_ctx_options *options,
    struct peet_ctx **out_ctx)
{
    static const struct peet_ctx_options worker;
    peet__fs_settle();
    struct peet_ctx *ctx = options && options->thread ? peet__thread_take(a) : NULL;
    int err = ctx ? 0 : peet__ctx_make(options ? options : &worker, &ctx);
    if (err)
        return err;
    ctx->held = 1;
    peet__signals_enter(ctx, ctx->mask);
    peet__ctx_prepare(ctx, fn, a, b);
    *out_ctx = ctx;
    return 0;
}

PUBLIC int peet_ctx_restart(struct peet_ctx *ctx, void (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b)
{
    int err = 0;
    peet__fs_settle();
    if (ctx->state != PEET__CTX_NEW) {
        peet__tls_free(ctx);
        err = peet__tls_new(ctx);
    }
    if (err)
        return err;
    peet__signals_enter(ctx, peet__rt.current->mask);
    peet__ctx_prepare(ctx, fn, a, b);
    return 0;
}

PUBLIC void peet_ctx_inherit(struct peet_ctx *ctx, const struct peet_ctx *creator)
{
    if (!ctx->uc) {
        ctx->saved.mxcsr = creator->saved.mxcsr;
        ctx->saved.x87_control = creator->saved.x87_control;
        ctx->saved.x87_flags = creator->saved.x87_flags;
    } else {
        ctx->uc->uc_mcontext.fpregs->mxcsr = creator->uc->uc_mcontext.fpregs->mxcsr;
        ctx->uc->uc_mcontext.fpregs->cwd = creator->uc->uc_mcontext.fpregs->cwd;
        ctx->uc->uc_mcontext.fpregs->swd = creator->uc->uc_mcontext.fpregs->swd;
    }
}

PUBLIC void peet_ctx_free(struct peet_ctx *ctx)
{
    if (!ctx || ctx == &peet__rt.main_ctx)
        return;
    peet__fs_settle();
    ctx->held = 0;
    peet__ctx_release(ctx);
}

PUBLIC struct peet_ctx *peet_ctx_main(void)
{
    return &peet__rt.main_ctx;
}

/* --------------------------------------------------------------------------------------------- switching */

/* Outside the subject's world, what compiled code records (a simulator built by peetcc) goes nowhere. */
void peet__park_cursor(void)
{
    peet__ctl->cursor = peet__ctl->scratch_begin;
    peet__ctl->limit = peet__ctl->scratch_limit;
}

PUBLIC void peet_rt_aside(int on)
{
    static struct peet_ctx *current;
    static int signals;
    struct peet__rt *rt = &peet__rt;
    if (on) {
        current = rt->current;
        signals = rt->signals;
        rt->signals = 0;
    } else {
        rt->current = current;
        rt->signals |= signals;
    }
    rt->signals_held = on;
}

PUBLIC int peet_ctx_is_called(const struct peet_ctx *ctx)
{
    if (__builtin_expect(peet__rt.mixed && !peet__rt.in_subject, 0)) /* maybe nothing is resumed until one comes */
        peet__signals_switch_out();
    return ((peet__rt.pending & ~peet__rt.all_block) | ctx->poked) != 0;
}

PUBLIC enum peet_yield peet_ctx_resume(struct peet_ctx *ctx, uint64_t *words, uint64_t *limit, uint64_t result,
    uint64_t **out_end)
{
    struct peet__rt *rt = &peet__rt;
    if (ctx->state == PEET__CTX_DONE) {
        *out_end = words;
        return PEET_YIELD_DONE;
    }
    if (ctx == &rt->main_ctx && peet__capture_replay(words, limit, out_end))
        return PEET_YIELD_FULL;
    peet__fatal_deferred();
    rt->resumes++;
    peet__ctl->cursor = words;
    peet__ctl->limit = limit;
    rt->words = words;
    rt->limit = limit;
    ctx->result = result;
    ctx->state = PEET__CTX_RUNNING;
    rt->current = ctx;
    rt->fs = ctx->fs;
    if (ctx->fs == rt->thread)
        rt->host_errno = *rt->errno_place;
    *errno_of(ctx->fs) = ctx->saved_errno;
    if (__builtin_expect(rt->mixed, 0))
        peet__signals_switch_in(ctx);
    if (peet__domains_on())
        peet__domain_enter(ctx);
    rt->in_subject = 1;  /* first: a handler that comes now sets the pointer of the world that it finds */
    peet__fs_enter(ctx); /* from here to the switch back nothing of ours touches thread-local storage */
    if (__builtin_expect(peet__foreign_on, 0))
        peet__foreign_world = 1;
    if (__builtin_expect(rt->sample_due, 0))
        peet__sample_arm();
    /* They came while the host ran, or wait still. */
    if (__builtin_expect(peet_ctx_is_called(ctx) && !rt->signals_held, 0)) {
        rt->signals = 1;
        peet__ctl->limit = NULL;
    }
    peet__x87_flags_set(ctx->saved.x87_flags);
    if (__builtin_expect(!ctx->uc, 1))
        peet__swap(&rt->host, &ctx->saved);
    else
        peet__ucontext_resume(ctx);
    if (!peet__fs_absent())
        peet__foreign_world = 0;
    if (peet__domains_on())
        peet__domain_left(ctx);
    ctx->saved_errno = *errno_of(ctx->fs);
    if (ctx->fs == rt->thread)
        *rt->errno_place = rt->host_errno;
    peet__fs_leave(ctx);
    if (__builtin_expect(rt->mixed, 0))
        peet__signals_switch_out();
    *out_end = peet__ctl->cursor;
    peet__park_cursor();
    return (enum peet_yield)ctx->why;
}

/* libc's switch is no place for a signal handler: busy until we are over. */
void peet__ucontext_resume(struct peet_ctx *ctx)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t mask = rt->kernel_mask;
    rt->busy = 1;
    peet__foreign_world = 0; /* the switch itself is not the program's */
    swapcontext(&rt->host_uc, ctx->uc);
    rt->kernel_mask = mask; /* it has put the host's back */
    peet__mask_tell(rt->mixed || !ctx->counted ? rt->all_block : ctx->mask);
}

void peet__ucontext_leave(struct peet_ctx *ctx)
{
    peet__foreign_world = 0;
    swapcontext(ctx->uc, &peet__rt.host_uc);
    peet__foreign_world = (uint64_t)peet__foreign_on;
    peet__rt.busy = 0;
    peet__rt.kernel_mask = ctx->mask;
}

void peet__ctx_finished(void)
{
    /* in the subject's world: blocks of libraries loaded at run time came from its heap */
    peet__rt.busy++; /* what follows belongs to no iteration */
    peet__signals_leave(peet__rt.current);
    peet__tls_free(peet__rt.current);
    peet__rt.busy--;
    peet__leave(PEET_YIELD_DONE);
    peet__die(127, "internal error: a finished context was resumed");
}

void peet__yield_full(void)
{
    struct peet__rt *rt = &peet__rt;
    int between = rt->current->between;
    rt->current->in_row = 0;
    if (rt->signals && !between) { /* which lowered the limit: the ring may have room */
        peet__signals_deliver();
        if (peet__ctl->cursor < rt->limit)
            return;
    }
    peet__leave(PEET_YIELD_FULL);
    if (rt->signals && !between)
        peet__signals_deliver();
}

void peet__yield_whole(void)
{
    struct peet_ctx *ctx = peet__rt.current;
    ctx->whole = 1;
    peet__leave(PEET_YIELD_FULL);
    ctx->whole = 0;
    /* Others, and signals, wait for a check of the program's own, which must come: a loop whose rounds fit into the ring so
     * many times would find it full in a library for ever.  So pieces of the ring follow, ever smaller ones, and of
     * different sizes. */
    enum { HALVED = 3, VARIED = 509 };
    const ptrdiff_t piece = (peet__rt.limit - peet__ctl->cursor) >> (ctx->in_row < HALVED ? ctx->in_row : HALVED);
    peet__ctl->limit = peet__ctl->cursor + (piece > VARIED ? piece - ctx->wholes % VARIED : piece);
    ctx->wholes++;
    ctx->in_row++;
}

PUBLIC int peet_ctx_goes_on(const struct peet_ctx *ctx)
{
    return ctx->whole;
}

PUBLIC int peet_ctx_crash_status(const struct peet_ctx *ctx)
{
    return ctx->crash_status;
}

void peet__stub_yield(uint64_t *frame)
{
    struct peet__rt *rt = &peet__rt;
    if (rt->capturing) {
        peet__capture_boundary();
        return;
    }
    if (!rt->in_subject) {
        peet__park_cursor();
        return;
    }
    struct peet_ctx *ctx = rt->current;
    uint64_t *outer = ctx->stub_frame; /* a check in a signal handler that ran at a check */
    ctx->stub_frame = frame;
    peet__yield_full();
    ctx->stub_frame = outer;
}

void peet__go_plain(void)
{
    peet__fs_keep();
    peet__rt.simulated = 0;
    peet__sigstack_plain(peet__rt.current);
    peet__rt.in_subject = 0;
    peet__foreign_end();
    peet__rt.capturing = 0;
    peet__ctl->stub = (void *)peet__stub_plain;
    peet__control_hooks(0);
    peet__park_cursor();
    peet__rt.limit = peet__ctl->scratch_limit; /* a signal that waits still puts the limit back to it */
}

/* ------------------------------------------------------------------------------------------- questions */

PUBLIC uint64_t peet_ctx_fs_base(const struct peet_ctx *ctx)
{
    return ctx->fs;
}

PUBLIC void peet_ctx_set_number(struct peet_ctx *ctx, uint32_t number)
{
    ctx->number = number;
}

PUBLIC void peet_ctx_stack(const struct peet_ctx *ctx, uint64_t *out_lo, uint64_t *out_hi)
{
    *out_lo = ctx->stack.lo;
    *out_hi = ctx->stack.hi;
}
