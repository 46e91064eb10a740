/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers, and initialisation that happens once.  A barrier that processes share is the C library's if the caller is
 * the only thread of the program.
 */
#include "real.h"
#include "shared.h"

#include <errno.h>
#include <peet/module.h>
#include "world/world.h"

/* --------------------------------------------------------------------------------------------- barriers */

/* Where glibc's init keeps the number of threads. */
static uint64_t count_of(const pthread_barrier_t *barrier)
{
    return ((const unsigned *)barrier)[2];
}

PUBLIC int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, unsigned count)
{
    int err = PEET__REAL(pthread_barrier_init)(barrier, attr, count);
    if (err == 0 && peet__simulating())
        peet__event3(PEET_ABSTRACT_SYNC_INIT, (uint64_t)barrier, PEET_SYNC_BARRIER, count_of(barrier));
    else if (err == 0 && PEET__REAL_WATCHED)
        PEET__REAL_MADE(barrier, PEET_SYNC_BARRIER, count_of(barrier));
    return err;
}

PUBLIC int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    if (!peet__simulating())
        return PEET__REAL_GONE(PEET__REAL(pthread_barrier_destroy)(barrier), barrier, PEET_SYNC_BARRIER);
    return (int)peet__event2(PEET_ABSTRACT_SYNC_DESTROY, (uint64_t)barrier, PEET_SYNC_BARRIER);
}

/* The order of arrivals is noted; the barrier's own event is the next one. */
static int peet__real_barrier(pthread_barrier_t *barrier)
{
    const uint64_t args[] = {(uint64_t)barrier, count_of(barrier)};
    peet_rt_real_passes((uint64_t)barrier, PEET_ABSTRACT_BARRIER_WAIT);
    peet_rt_real_event(PEET_ABSTRACT_BARRIER_WAIT, 2, args);
    return PEET__REAL(pthread_barrier_wait)(barrier);
}

PUBLIC int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    peet__early_waits();
    if (!peet__simulating())
        return peet__real_on() ? peet__real_barrier(barrier) : PEET__REAL(pthread_barrier_wait)(barrier);
    if (peet__others() && peet__barrier_shared(barrier) && count_of(barrier) > 1 && peet__world_alone())
        return PEET__REAL(pthread_barrier_wait)(barrier);
    uint64_t result = peet__barrier_request((uint64_t)barrier, count_of(barrier));
    return result == 1 ? PTHREAD_BARRIER_SERIAL_THREAD : (int)result;
}

/* ------------------------------------------------------------------------------------------------- once */

#define ONCE_DONE 2    /* as glibc's */
#define ONCE_ENDING 12 /* the initialiser has returned, the mapper does not know it yet */

/** An initialiser that runs, on its thread's stack. */
struct peet__once {
    struct peet__once *outer;
    pthread_once_t *control;
};

/* once_call.S: fn(), with the function below as its frame's personality */
void peet__once_call(void (*fn)(void));
_Unwind_Reason_Code peet__once_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class klass,
    struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/* An exception, pthread_exit() or cancellation leaves the initialiser: it is somebody else's turn. */
_Unwind_Reason_Code peet__once_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class klass,
    struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    struct peet__thread *self = peet__thread_self();
    if ((actions & _UA_CLEANUP_PHASE) && self->once) {
        pthread_once_t *control = self->once->control;
        self->once = self->once->outer;
        peet__event2(PEET_ABSTRACT_ONCE_END, (uint64_t)control, 0);
    }
    return _URC_CONTINUE_UNWIND;
}

static void once(pthread_once_t *control, void (*fn)(void))
{
    volatile pthread_once_t *state = control;
    if (*state == ONCE_DONE) {
        const uint64_t args[] = {PEET_TASK_PASSED, (uint64_t)control, 0};
        peet_rt_note(PEET_ABSTRACT_TASK, 3, args);
        return;
    }
    if (peet__event1(PEET_ABSTRACT_ONCE_BEGIN, (uint64_t)control) != 1)
        return;
    /* The mapper knows it only while an initialiser runs: somebody may have been through meanwhile. */
    if (*state != ONCE_DONE && *state != ONCE_ENDING) {
        struct peet__thread *self = peet__thread_self();
        struct peet__once running = {self->once, control};
        self->once = &running;
        peet__once_call(fn);
        self->once = running.outer;
        *state = ONCE_ENDING;
        peet__domain_changed(control, sizeof *control);
    }
    peet__event2(PEET_ABSTRACT_ONCE_END, (uint64_t)control, 1);
    *state = ONCE_DONE; /* from now on nobody needs to ask */
    peet__domain_changed(control, sizeof *control);
}

/* The initialiser runs between its events.  A thread that comes later, or waits, has its place after it. */
static _Thread_local struct {
    pthread_once_t *control;
    void (*fn)(void);
} real_once;

static void real_initialiser(void)
{
    pthread_once_t *control = real_once.control;
    const uint64_t end[] = {(uint64_t)control, 1};
    peet_rt_real_event(PEET_ABSTRACT_ONCE_BEGIN, 1, end);
    real_once.fn();
    peet_rt_real_event(PEET_ABSTRACT_ONCE_END, 2, end);
    peet_rt_real_passes((uint64_t)control, PEET_ABSTRACT_ONCE_BEGIN);
}

static int peet__real_once(pthread_once_t *control, void (*fn)(void))
{
    if (*(volatile pthread_once_t *)control == ONCE_DONE)
        return 0;
    real_once.control = control;
    real_once.fn = fn;
    peet_rt_real_asks();
    int err = PEET__REAL(pthread_once)(control, real_initialiser);
    peet_rt_real_passes((uint64_t)control, PEET_ABSTRACT_ONCE_BEGIN);
    return err;
}

PUBLIC int pthread_once(pthread_once_t *control, void (*fn)(void))
{
    if (!peet__simulating())
        return peet__real_on() ? peet__real_once(control, fn) : PEET__REAL(pthread_once)(control, fn);
    once(control, fn);
    return 0;
}

PUBLIC int __pthread_once(pthread_once_t *, void (*)(void)) __attribute__((alias("pthread_once")));
