/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be asked of and said about a thread: its attributes, name, scheduling parameters, processor
 * mask and clock.  Scheduling parameters and masks are checked and remembered; the mapper's policy alone
 * decides where and when a thread runs.
 */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "machine.h"

/* Whether we know about it: any thread under simulation, and in a child of fork() the caller if it came along. */
static int known(pthread_t thread)
{
    return peet__simulating() || (thread == peet__fs_base() && peet__thread_kept());
}

/* ------------------------------------------------------------------------------------------- attributes */

PUBLIC int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    if (!known(thread))
        return PEET__REAL(pthread_getattr_np)(thread, attr);
    struct peet__thread *t = peet__thread_of(thread);
    uint64_t lo = 0, hi = 0, guard = 0;
    cpu_set_t set;
    if (!t)
        return ESRCH;
    int err = PEET__REAL(pthread_attr_init)(attr);
    if (err)
        return err;
    struct sched_param param = {.sched_priority = t->priority};
    peet_rt_thread_stack(t->tp, &lo, &hi, &guard);
    PEET__REAL(pthread_attr_setstack)(attr, (void *)lo, hi - lo);
    PEET__REAL(pthread_attr_setguardsize)(attr, t->is_thread ? t->guard_bytes : guard);
    PEET__REAL(pthread_attr_setdetachstate)(attr, t->detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    PEET__REAL(pthread_attr_setschedpolicy)(attr, t->policy);
    PEET__REAL(pthread_attr_setschedparam)(attr, &param);
    peet__affinity_get(t, sizeof set, &set);
    err = PEET__REAL(pthread_attr_setaffinity_np)(attr, sizeof set, &set);
    if (err)
        PEET__REAL(pthread_attr_destroy)(attr);
    return err;
}

/* ------------------------------------------------------------------------------------------------- names */

PUBLIC int pthread_setname_np(pthread_t thread, const char *name)
{
    if (!known(thread))
        return PEET__REAL(pthread_setname_np)(thread, name);
    struct peet__thread *t = peet__thread_of(thread);
    if (strlen(name) >= sizeof t->name)
        return ERANGE;
    if (!t)
        return ESRCH;
    strcpy(t->name, name);
    if (t->is_main) /* as the kernel has it */
        PEET__REAL(prctl)(PR_SET_NAME, name);
    return 0;
}

PUBLIC int pthread_getname_np(pthread_t thread, char *name, size_t bytes)
{
    if (!known(thread))
        return PEET__REAL(pthread_getname_np)(thread, name, bytes);
    const struct peet__thread *t = peet__thread_of(thread);
    if (bytes < sizeof t->name)
        return ERANGE;
    if (!t)
        return ESRCH;
    const char *shown = t->name;
    if (!*shown) /* threads inherit the program's, cut to the kernel's length */
        shown = program_invocation_short_name;
    snprintf(name, sizeof t->name, "%s", shown);
    return 0;
}

/** For what the kernel's files say of threads (runtime/world/world_tasks.c). */
const char *peet__thread_name_at(uint64_t thread_pointer)
{
    const struct peet__thread *t = peet__thread_of((pthread_t)thread_pointer);
    return t && *t->name ? t->name : program_invocation_short_name;
}

/* The same names, of the calling thread.  The kernel's is the process's, which is main's. */
PUBLIC int prctl(int option, ...)
{
    struct peet__thread *const self = peet__simulating() ? peet__thread_self() : NULL;
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    if (self && option == PR_SET_NAME && !a[0]) {
        errno = EFAULT;
        return -1;
    }
    if (self && option == PR_SET_NAME) {
        snprintf(self->name, sizeof self->name, "%s", (const char *)a[0]);
        if (self->is_thread)
            return 0;
    }
    if (self && option == PR_GET_NAME && *self->name) {
        strcpy((char *)a[0], self->name);
        return 0;
    }
    return PEET__REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

/* --------------------------------------------------------------------------------------------- scheduling */

static int check_priority(int policy, int priority)
{
    int least = sched_get_priority_min(policy), most = sched_get_priority_max(policy);
    return least < 0 || most < 0 || priority < least || priority > most ? EINVAL : 0;
}

PUBLIC int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_setschedparam)(thread, policy, param);
    struct peet__thread *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    int err = check_priority(policy, param->sched_priority);
    if (err)
        return err;
    t->policy = policy;
    t->priority = param->sched_priority;
    return 0;
}

PUBLIC int pthread_getschedparam(pthread_t thread, int *out_policy, struct sched_param *out_param)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_getschedparam)(thread, out_policy, out_param);
    const struct peet__thread *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    *out_policy = t->policy;
    out_param->sched_priority = t->priority;
    return 0;
}

PUBLIC int pthread_setschedprio(pthread_t thread, int priority)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_setschedprio)(thread, priority);
    struct peet__thread *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    int err = check_priority(t->policy, priority);
    if (!err)
        t->priority = priority;
    return err;
}

/* ------------------------------------------------------------------------------------------------- clock */

/* The number that the kernel's clock of another thread would have; clock_gettime() knows that it stands for
 * simulated time. */
PUBLIC int pthread_getcpuclockid(pthread_t thread, clockid_t *out_clock)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_getcpuclockid)(thread, out_clock);
    const struct peet__thread *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    *out_clock = t == peet__thread_self() ? CLOCK_THREAD_CPUTIME_ID : (clockid_t)(~t->number << 3 | 6);
    return 0;
}
