/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads as OpenMP sees them: roots, which come from elsewhere and meet OpenMP in some call, and workers, which are
 * threads of the pthread front end like any other.  What a worker does between its regions is team.c's.
 */
#include "openmp.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* At the same distance from every thread pointer: asked for at nearly every call, it would fault where thread pointers are
 * left out at switches. */
static __thread struct omp_thread *me __attribute__((tls_model("initial-exec")));

/* Threads by number; NULL: free. */
static struct omp_thread **threads;
static int nthreads;

static pthread_key_t key; /* its destructor ends roots */
static int has_key;

static void number(struct omp_thread *thread)
{
    int i = 0;
    while (i < nthreads && threads[i])
        i++;
    if (i == nthreads) {
        int n = nthreads ? 2 * nthreads : 64;
        threads = peet__omp_realloc(threads, (size_t)n * sizeof(*threads));
        memset(threads + nthreads, 0, (size_t)(n - nthreads) * sizeof(*threads));
        nthreads = n;
    }
    threads[i] = thread;
    thread->gtid = i;
}

int peet__omp_threads_known(void)
{
    int n = 0;
    for (int i = 0; i < nthreads; i++)
        n += threads[i] != NULL;
    return n;
}

static void forget(struct omp_thread *thread)
{
    peet__omp_copies_free(thread);
    threads[thread->gtid] = NULL;
    peet__omp_free(thread->teams);
    peet__omp_free(thread);
}

static void root_ends(void *value)
{
    struct omp_thread *thread = value;
    if (!peet_rt_simulated())
        return;
    peet__omp_teams_release(thread);
    me = NULL;
    peet__omp_free(thread->initial.implicit);
    forget(thread);
}

static struct omp_thread *root_new(void)
{
    struct omp_thread *thread = peet__omp_alloc(sizeof(*thread));
    struct omp_team *team = &thread->initial_team;
    if (!peet__omp_env.icvs.threads) {
        peet__omp_environment_read();
        peet__omp_tasks_find();
    }
    number(thread);
    thread->root = 1;
    thread->push_bind = -1;
    thread->busy = &thread->own_busy;
    team->n = team->capacity = team->hot = 1;
    team->icvs = peet__omp_env.icvs;
    team->nleagues = 1;
    team->members = &thread->initial;
    peet__omp_member_begin(&thread->initial, team, NULL, 0);
    thread->initial.thread = thread;
    thread->member = &thread->initial;
    thread->task = thread->initial.implicit;
    if (!has_key)
        has_key = pthread_key_create(&key, root_ends) == 0;
    if (has_key)
        pthread_setspecific(key, thread);
    return thread;
}

struct omp_thread *peet__omp_self(void)
{
    static uint64_t offset;
    if (__builtin_expect(!offset, 0))
        offset = (uint64_t)&me - peet_rt_thread_pointer();
    struct omp_thread **self = (struct omp_thread **)(peet_rt_thread_pointer() + offset);
    if (__builtin_expect(!*self, 0))
        *self = root_new();
    return *self;
}

static void *worker_main(void *argument)
{
    me = argument;
    peet__omp_worker_run(me);
    forget(me);
    me = NULL;
    return NULL;
}

struct omp_thread *peet__omp_worker_new(void)
{
    struct omp_thread *thread = peet__omp_alloc(sizeof(*thread));
    pthread_attr_t attributes;
    pthread_t handle;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (peet__omp_env.stack_bytes && pthread_attr_setstacksize(&attributes, peet__omp_env.stack_bytes) != 0)
        peet__omp_warn("OMP_STACKSIZE: a stack of %zu bytes is too small; the default is used",
            peet__omp_env.stack_bytes);
    number(thread);
    thread->push_bind = -1;
    int err = pthread_create(&handle, &attributes, worker_main, thread);
    pthread_attr_destroy(&attributes);
    if (err == 0)
        return thread;
    threads[thread->gtid] = NULL;
    peet__omp_free(thread);
    return NULL;
}
