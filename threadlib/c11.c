/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C11 threads (<threads.h>).  As in glibc they are the POSIX ones under other names: objects have the
 * same layout, and thrd_t is pthread_t.
 */
#include "real.h"

#include <errno.h>
#include <threads.h>
#include <peet/module.h>

static int result_of(int err)
{
    switch (err) {
    case 0:
        return thrd_success;
    case ENOMEM:
    case EAGAIN:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

#define MUTEX(m) ((pthread_mutex_t *)(m))
#define COND(c) ((pthread_cond_t *)(c))
_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t), "glibc's layout");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t) && sizeof(tss_t) == sizeof(pthread_key_t), "glibc's layout");

/* The POSIX front ends have work to do. */
static int ours(void)
{
    return peet__real_on() || peet__simulating() || peet__constructing();
}

/* ---------------------------------------------------------------------------------------------- threads */

PUBLIC int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
    peet__begin_early();
    if (peet__real_on())
        return result_of(pthread_create(thread, NULL, (void *(*)(void *))(void *)fn, arg));
    if (!peet__simulating() && !peet__constructing())
        return PEET__REAL(thrd_create)(thread, fn, arg);
    struct peet__thread_wish wish;
    peet__thread_wish_init(&wish);
    wish.fn = (void *(*)(void *))(void *)fn;
    wish.arg = arg;
    wish.c11 = 1;
    wish.out_thread = thread;
    return result_of(peet__thread_create(&wish));
}

PUBLIC int thrd_join(thrd_t thread, int *out_result)
{
    void *result;
    if (!ours())
        return PEET__REAL(thrd_join)(thread, out_result);
    int err = pthread_join(thread, &result);
    if (err == 0 && out_result)
        *out_result = (int)(intptr_t)result;
    return result_of(err);
}

PUBLIC int thrd_detach(thrd_t thread)
{
    if (!ours())
        return PEET__REAL(thrd_detach)(thread);
    return result_of(pthread_detach(thread));
}

PUBLIC void thrd_exit(int result)
{
    if (!peet__simulating()) {
        PEET__REAL(thrd_exit)(result);
        __builtin_unreachable();
    }
    pthread_exit((void *)(intptr_t)result);
}

PUBLIC void thrd_yield(void)
{
    if (peet__simulating())
        peet_rt_event(PEET_ABSTRACT_YIELD, 0, NULL);
    else
        PEET__REAL(thrd_yield)();
}

/* ---------------------------------------------------------------------------------------------- mutexes */

PUBLIC int mtx_init(mtx_t *m, int type)
{
    int err = PEET__REAL(mtx_init)(m, type);
    if (err == thrd_success && peet__simulating()) {
        uint64_t args[] = {(uint64_t)m, PEET_SYNC_MUTEX, (uint64_t)peet__mutex_kind(MUTEX(m))};
        peet_rt_event(PEET_ABSTRACT_SYNC_INIT, 3, args);
    }
    return err;
}

PUBLIC void mtx_destroy(mtx_t *m)
{
    if (peet__simulating())
        pthread_mutex_destroy(MUTEX(m));
    else
        PEET__REAL(mtx_destroy)(m);
}

PUBLIC int mtx_lock(mtx_t *m)
{
    return ours() ? result_of(pthread_mutex_lock(MUTEX(m))) : PEET__REAL(mtx_lock)(m);
}

PUBLIC int mtx_trylock(mtx_t *m)
{
    return ours() ? result_of(pthread_mutex_trylock(MUTEX(m))) : PEET__REAL(mtx_trylock)(m);
}

PUBLIC int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
    return ours() ? result_of(pthread_mutex_timedlock(MUTEX(m), until)) : PEET__REAL(mtx_timedlock)(m, until);
}

PUBLIC int mtx_unlock(mtx_t *m)
{
    return ours() ? result_of(pthread_mutex_unlock(MUTEX(m))) : PEET__REAL(mtx_unlock)(m);
}

/* -------------------------------------------------------------------------------------- condition variables */

PUBLIC int cnd_init(cnd_t *c)
{
    return peet__simulating() ? result_of(pthread_cond_init(COND(c), NULL)) : PEET__REAL(cnd_init)(c);
}

PUBLIC void cnd_destroy(cnd_t *c)
{
    if (peet__simulating())
        pthread_cond_destroy(COND(c));
    else
        PEET__REAL(cnd_destroy)(c);
}

PUBLIC int cnd_signal(cnd_t *c)
{
    return ours() ? result_of(pthread_cond_signal(COND(c))) : PEET__REAL(cnd_signal)(c);
}

PUBLIC int cnd_broadcast(cnd_t *c)
{
    return ours() ? result_of(pthread_cond_broadcast(COND(c))) : PEET__REAL(cnd_broadcast)(c);
}

PUBLIC int cnd_wait(cnd_t *c, mtx_t *m)
{
    return ours() ? result_of(pthread_cond_wait(COND(c), MUTEX(m))) : PEET__REAL(cnd_wait)(c, m);
}

PUBLIC int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
    return ours() ? result_of(pthread_cond_timedwait(COND(c), MUTEX(m), until))
                  : PEET__REAL(cnd_timedwait)(c, m, until);
}

/* ------------------------------------------------------------------------------------- once, specific data */

PUBLIC void call_once(once_flag *flag, void (*fn)(void))
{
    if (ours())
        pthread_once((pthread_once_t *)flag, fn);
    else
        PEET__REAL(call_once)(flag, fn);
}

PUBLIC int tss_create(tss_t *out_key, tss_dtor_t destructor)
{
    return result_of(pthread_key_create(out_key, destructor));
}

PUBLIC void tss_delete(tss_t key)
{
    pthread_key_delete(key);
}

PUBLIC void *tss_get(tss_t key)
{
    return pthread_getspecific(key);
}

PUBLIC int tss_set(tss_t key, void *value)
{
    return result_of(pthread_setspecific(key, value));
}
