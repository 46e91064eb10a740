/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abstract events from the subject's side: written into the running context's ring between the words
 * of compiled code.  An event suspends the context until the mapper has performed it; a note does not.
 */
#include "plain/real.h"
#include "signals/signals.h"
#include "waits.h"

#include <errno.h>
#include <peet/module.h>

PUBLIC int peet_rt_simulated(void)
{
    return peet__rt.simulated;
}

/* Compiled code may have gone up to PEET_RAW_SLACK_WORDS beyond the limit since its last check; if the record does not
 * fit behind that, the ring is handed over first. */
static inline void make_room(unsigned nargs)
{
    if (__builtin_expect(peet__ctl->cursor + nargs + 1 > peet__rt.limit + PEET_RAW_SLACK_WORDS, 0)) {
        if (peet__foreign_on && peet__ctl->concurrent) /* a library may have called */
            peet__yield_whole();
        else
            peet__yield_full();
    }
}

PUBLIC void peet_rt_make_room(unsigned nargs)
{
    make_room(nargs);
}

/* One record. */
static inline void put(unsigned type, unsigned nargs, const uint64_t *args)
{
    make_room(nargs);
    uint64_t *const cursor = peet__ctl->cursor;
    cursor[0] = PEET_RAW_ABSTRACT(type, nargs);
    for (unsigned i = 0; i < nargs; i++)
        cursor[1 + i] = args[i];
    peet__ctl->cursor = cursor + 1 + nargs;
}

void peet__yield_turn(int processor)
{
    struct peet_ctx *ctx = peet__rt.current;
    if (processor) {
        put(PEET_ABSTRACT_YIELD, 0, NULL);
        ctx->foreign_words = 0;
    }
    peet__leave(processor ? PEET_YIELD_EVENT : PEET_YIELD_FULL);
    if (peet__rt.signals) /* as for peet__yield_whole() */
        peet__ctl->limit = peet__rt.limit;
}

/* Of the thread library's: whether a cancellation is to be acted upon. */
extern int peet__cancellation_due(void) __attribute__((weak));

/* An interrupt may come to the mapper after the context has gone on and has seen what it was about: the wait
 * that it ends then is not the one that was meant.  Not so with a condition: its mutex was free in between, and whoever
 * had it may have signalled, so that the wait is over as by a spurious wake-up. */
static int interrupted_for_nothing(unsigned type, uint64_t result, uint64_t handled)
{
    const struct peet_ctx *ctx = peet__rt.current;
    if (type == PEET_ABSTRACT_IO_WAIT ? result != (PEET_FAILED | EINTR) : result != EINTR)
        return 0;
    if (type != PEET_ABSTRACT_IO_WAIT && type != PEET_ABSTRACT_SEM_WAIT && type != PEET_ABSTRACT_SLEEP &&
        type != PEET_ABSTRACT_THREAD_JOIN)
        return 0;
    return ctx->handled == handled && !(ctx->waits & peet__signals_waiting(ctx)) &&
        !(peet__cancellation_due && peet__cancellation_due());
}

static void lock_again(const uint64_t *args, uint64_t times)
{
    uint64_t lock[] = {args[1], args[2], PEET_NEVER};
    while (times--)
        peet_rt_event(PEET_ABSTRACT_MUTEX_LOCK, 3, lock);
}

/* Handlers that interrupt a wait for a condition run while the mutex is free, as they do natively: they may
 * wait for somebody who needs it. */
static void deliver(unsigned type, uint64_t result, const uint64_t *args)
{
    int unlocked = type == PEET_ABSTRACT_COND_WAIT && result == EINTR;
    if (unlocked) {
        uint64_t unlock[] = {args[1], args[2]};
        peet_rt_event(PEET_ABSTRACT_MUTEX_UNLOCK, 2, unlock);
    }
    peet__signals_deliver();
    if (unlocked)
        lock_again(args, 1);
}

PUBLIC uint64_t peet_rt_event(unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t result, handled, again[2];
    if (__builtin_expect(!rt->simulated, 1) || !rt->in_subject)
        return 0;
    handled = rt->current->handled;
    do {
        put(type, nargs, args);
        rt->current->foreign_words = 0;
        rt->current->restarts = 1;
        rt->current->asks = (uint8_t)type;
        peet__leave(PEET_YIELD_EVENT);
        rt->current->asks = 0;
        result = rt->current->result;
        if (__builtin_expect(rt->signals, 0) && !rt->current->between)
            deliver(type, result, args);
        /* it has arrived, and says so */
        if (__builtin_expect(type == PEET_ABSTRACT_BARRIER_WAIT && (uint32_t)result == EINTR, 0)) {
            again[0] = args[0];
            again[1] = PEET_BARRIER_AGAIN(args[1], result);
            args = again;
        }
    } while (__builtin_expect((uint32_t)result == EINTR, 0) &&
        (peet__begins_again(type) || interrupted_for_nothing(type, result, handled)));
    if (__builtin_expect(type == PEET_ABSTRACT_COND_WAIT && (result & PEET_FAILED), 0)) {
        lock_again(args, PEET_COND_RELOCKS(result));
        result = PEET_COND_RESULT(result);
    }
    return result;
}

PUBLIC void peet_rt_note(unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet__rt *rt = &peet__rt;
    if (peet__real_on())
        peet_rt_real_note(type, nargs, args);
    if (__builtin_expect(!rt->simulated, 1) || !rt->in_subject)
        return;
    put(type, nargs, args);
    /* Compiled code counts its words from the last check of its own: leave it the whole slack. */
    if (peet__ctl->cursor >= rt->limit) {
        if (peet__foreign_on && peet__ctl->concurrent)
            peet__yield_whole();
        else
            peet__yield_full();
    }
}
