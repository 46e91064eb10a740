/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancellation, and the unwinding that it shares with pthread_exit().  As in glibc a thread ends by a forced
 * unwind (_Unwind_ForcedUnwind) of its stack: destructors of C++ and cleanup handlers of code with unwind
 * tables run as frames are left; handlers that C code pushed with a jump buffer
 * (__pthread_register_cancel) are entered by longjmp when the unwinder reaches their frame, and send it
 * on with __pthread_unwind_next().
 *
 * A check in compiled code stands where unwind tables do not say how its frame looks: from there the innermost handler
 * of C is entered without unwinding the frames in between.
 *
 * Deferred cancellation is acted on at cancellation points.  Asynchronous cancellation is acted on at the
 * thread's next event, or at its next check in compiled code, whichever comes first.
 */
#include "thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <peet/module.h>

/* ------------------------------------------------------------------------------------------- unwinding */

typedef _Unwind_Reason_Code forced_unwind_fn(struct _Unwind_Exception *, _Unwind_Stop_Fn, void *);
typedef _Unwind_Word get_cfa_fn(struct _Unwind_Context *);
static forced_unwind_fn *forced_unwind;
static get_cfa_fn *get_cfa;

/* The unwinder that the subject's own exceptions use, else the one that glibc would load. */
static void find_unwinder(void)
{
    void *library = NULL;
    if (forced_unwind)
        return;
    forced_unwind = (forced_unwind_fn *)dlsym(RTLD_DEFAULT, "_Unwind_ForcedUnwind");
    get_cfa = (get_cfa_fn *)dlsym(RTLD_DEFAULT, "_Unwind_GetCFA");
    if (forced_unwind && get_cfa)
        return;
    peet_rt_room(PEET_RT_ROOM_UNWINDER);
    library = dlopen("libgcc_s.so.1", RTLD_NOW);
    peet_rt_room(PEET_RT_ROOM_PROGRAM);
    if (library) {
        forced_unwind = (forced_unwind_fn *)dlsym(library, "_Unwind_ForcedUnwind");
        get_cfa = (get_cfa_fn *)dlsym(library, "_Unwind_GetCFA");
    }
    if (!forced_unwind || !get_cfa)
        peet__die(127, "libgcc_s.so.1 must be installed for pthread_exit() and pthread_cancel() to work");
}

/* The stack pointer in a jump buffer of glibc, which mangles it. */
static uint64_t jump_stack_pointer(const struct peet__unwind_buf *buf)
{
    return peet__pointer_clear((uint64_t)buf->cancel_jmp_buf[0].jmp_buf[6]);
}

/* A handler that calls pthread_exit() shall not be entered again. */
static void __attribute__((noreturn)) enter(struct peet__unwind_buf *buf)
{
    peet__thread_self()->cleanup = buf->prev;
    longjmp((struct __jmp_buf_tag *)buf->cancel_jmp_buf, 1);
}

/* Called for every frame: has the unwinder come to the frame that pushed the innermost handler? */
static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class klass,
    struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *arg)
{
    struct peet__unwind_buf *buf = arg;
    if (!buf) { /* main(): nothing of ours below it */
        if (actions & _UA_END_OF_STACK)
            peet__main_ended();
        return _URC_NO_REASON;
    }
    if ((actions & _UA_END_OF_STACK) || (uint64_t)get_cfa(context) >= jump_stack_pointer(buf))
        enter(buf);
    return _URC_NO_REASON;
}

/* catch (...) without rethrow: as glibc. */
static void not_rethrown(_Unwind_Reason_Code reason, struct _Unwind_Exception *exception)
{
    peet__report(
        "exception not rethrown: a catch (...) swallowed the unwinding of pthread_exit() or of a cancellation; "
        "it must end in throw;");
    abort();
}

static void __attribute__((noreturn)) unwind(struct peet__unwind_buf *to)
{
    struct peet__thread *self = peet__thread_self();
    if (peet__rt.current->stub_frame) { /* asynchronously, at a check */
        peet__rt.current->stub_frame = NULL;
        if (!to)
            peet__main_ended();
        enter(to);
    }
    find_unwinder();
    memset(&self->exception, 0, sizeof self->exception);
    self->exception.exception_cleanup = not_rethrown;
    forced_unwind(&self->exception, stop, to);
    if (!to)
        peet__main_ended();
    enter(to); /* frames that cannot be unwound */
}

void peet__thread_unwind(void)
{
    unwind(peet__thread_self()->cleanup);
}

/* ------------------------------------------------- handlers of C code: <pthread.h> calls these by name */

PUBLIC void __pthread_register_cancel(__pthread_unwind_buf_t *buffer)
{
    struct peet__unwind_buf *buf = (struct peet__unwind_buf *)buffer;
    struct peet__thread *self;
    if (!peet__thread_kept()) {
        PEET__REAL(__pthread_register_cancel)(buffer);
        return;
    }
    self = peet__thread_self();
    buf->prev = self->cleanup;
    buf->cleanup = NULL;
    self->cleanup = buf;
}

PUBLIC void __pthread_unregister_cancel(__pthread_unwind_buf_t *buffer)
{
    if (!peet__thread_kept()) {
        PEET__REAL(__pthread_unregister_cancel)(buffer);
        return;
    }
    peet__thread_self()->cleanup = ((struct peet__unwind_buf *)buffer)->prev;
}

PUBLIC void __pthread_register_cancel_defer(__pthread_unwind_buf_t *buffer)
{
    struct peet__thread *self;
    if (!peet__thread_kept()) {
        PEET__REAL(__pthread_register_cancel_defer)(buffer);
        return;
    }
    self = peet__thread_self();
    __pthread_register_cancel(buffer);
    ((struct peet__unwind_buf *)buffer)->cancel_type =
        self->cancel_asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    self->cancel_asynchronous = 0;
}

PUBLIC void __pthread_unregister_cancel_restore(__pthread_unwind_buf_t *buffer)
{
    struct peet__thread *self;
    if (!peet__thread_kept()) {
        PEET__REAL(__pthread_unregister_cancel_restore)(buffer);
        return;
    }
    self = peet__thread_self();
    __pthread_unregister_cancel(buffer);
    if (((struct peet__unwind_buf *)buffer)->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) {
        self->cancel_asynchronous = 1;
        peet__thread_poked();
    }
}

PUBLIC void __pthread_unwind_next(__pthread_unwind_buf_t *buffer)
{
    if (!peet__thread_kept())
        PEET__REAL(__pthread_unwind_next)(buffer);
    unwind(((struct peet__unwind_buf *)buffer)->prev);
}

/* ---------------------------------------------------------------------------------------- cancellation */

int peet__cancellation_due(void)
{
    const struct peet__thread *self = peet__thread_self();
    return self->cancel_pending && !self->cancel_disabled && !self->exiting;
}

static void cancel_now(struct peet__thread *self)
{
    self->result = PTHREAD_CANCELED;
    self->exiting = 1;
    self->cancel_disabled = 1;
    self->cancel_asynchronous = 0;
    peet__thread_unwind();
}

void peet__cancellation_point(void)
{
    if (peet__simulating() && peet__cancellation_due())
        cancel_now(peet__thread_self());
}

void peet__thread_poked(void)
{
    if (peet__simulating() && peet__cancellation_due() && peet__thread_self()->cancel_asynchronous)
        cancel_now(peet__thread_self());
}

PUBLIC int pthread_cancel(pthread_t thread)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_cancel)(thread);
    struct peet__thread *self = peet__thread_self(), *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    if (t == self) {
        self->cancel_pending = 1;
        peet__thread_poked();
        return 0;
    }
    find_unwinder(); /* loading a library is nothing for a thread that ends */
    while (t->number == UINT32_MAX)
        peet_rt_event(PEET_ABSTRACT_YIELD, 0, NULL);
    /* The first event only brings this context to its place in simulated time.  The thread may end meanwhile. */
    uint64_t number = t->number;
    peet__event2(PEET_ABSTRACT_ATOMIC, (uint64_t)__builtin_return_address(0), 0);
    t = peet__thread_of(thread);
    if (!t || t->number != number || t->state != PEET__THREAD_ALIVE)
        return 0;
    t->cancel_pending = 1;
    if (t->cancel_disabled)
        return 0;
    if (t->cancel_asynchronous) /* at its next check or event */
        peet_rt_poke(t->tp);
    peet__event1(PEET_ABSTRACT_INTERRUPT, number);
    return 0;
}

PUBLIC int pthread_setcancelstate(int state, int *out_old)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_setcancelstate)(state, out_old);
    struct peet__thread *self = peet__thread_self();
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE)
        return EINVAL;
    if (out_old)
        *out_old = self->cancel_disabled ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
    self->cancel_disabled = state == PTHREAD_CANCEL_DISABLE;
    peet__thread_poked();
    return 0;
}

PUBLIC int pthread_setcanceltype(int type, int *out_old)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_setcanceltype)(type, out_old);
    struct peet__thread *self = peet__thread_self();
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)
        return EINVAL;
    if (out_old)
        *out_old = self->cancel_asynchronous ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    self->cancel_asynchronous = type == PTHREAD_CANCEL_ASYNCHRONOUS;
    peet__thread_poked();
    return 0;
}

PUBLIC void pthread_testcancel(void)
{
    if (!peet__simulating()) {
        PEET__REAL(pthread_testcancel)();
        return;
    }
    peet__cancellation_point();
}
