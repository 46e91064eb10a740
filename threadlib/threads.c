/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the subject.  A host thread beside the simulated one would record into the same ring, so
 * under simulation making one is refused, aloud, until threads are contexts.  Plain runs and the host
 * make theirs as ever.
 */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>

static int refused(const char *function, const void *caller)
{
    if (!peet__rt.simulated || !peet__is_subject())
        return 0;
    peet__report("%s() at %p is refused: this version simulates doall loops, not threads; "
                 "the subject sees that no thread can be made",
        function, caller);
    return 1;
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (refused("pthread_create", __builtin_return_address(0)))
        return EAGAIN;
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))peet__next("pthread_create");
    return real(thread, attr, fn, arg);
}

PUBLIC int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
    static int (*real)(thrd_t *, thrd_start_t, void *);
    if (refused("thrd_create", __builtin_return_address(0)))
        return thrd_error;
    if (!real)
        real = (int (*)(thrd_t *, thrd_start_t, void *))peet__next("thrd_create");
    return real(thread, fn, arg);
}
