/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to threads: pthread_kill(), pthread_sigqueue().  The runtime does the rest (runtime/signals.h).
 */
#include "thread.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <peet/module.h>
#include "signals/signals.h"

static int send(pthread_t thread, int signal, int code, union sigval value)
{
    struct peet__thread *t = peet__thread_of(thread);
    siginfo_t info;
    if (signal < 0 || signal >= NSIG || (signal > 0 && (peet__signal_bit(signal) & PEET__SIGNALS_OF_LIBC)))
        return EINVAL;
    if (!t)
        return ESRCH;
    if (signal == 0 || t->state == PEET__THREAD_ENDED)
        return 0;
    if (t != peet__thread_self()) {
        peet_rt_order(); /* in its place in simulated time; the thread may end meanwhile */
        t = peet__thread_of(thread);
        if (!t || t->state == PEET__THREAD_ENDED)
            return 0;
    }
    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = code;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value = value;
    return peet__signal_to_context(peet__tls_context(t->tp), signal, &info);
}

PUBLIC int pthread_kill(pthread_t thread, int signal)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_kill)(thread, signal);
    return send(thread, signal, SI_TKILL, (union sigval){0});
}

PUBLIC int pthread_sigqueue(pthread_t thread, int signal, const union sigval value)
{
    if (!peet__simulating())
        return PEET__REAL(pthread_sigqueue)(thread, signal, value);
    return send(thread, signal, SI_QUEUE, value);
}
