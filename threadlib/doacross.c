/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doacross loops (peet/doall.h): POST and WAIT between iterations.  Under simulation both are events, and
 * what has been posted is the mapper's to know.  In a plain run the iterations come one after the other and the
 * object itself remembers; only a program with threads of its own can then have to wait.  What a loop is, and who runs
 * its iterations, is doall.c's.
 */
#include <peet/doall.h>
#include <peet/module.h>
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <uthash.h>

/* Objects of the loops around the running code, innermost first.  Each context has its own. */
static __thread struct peet_doacross *innermost;

/* -------------------------------------------------------------------------------------- plain runs */

/** An iteration that was posted before all those ahead of it. */
struct early {
    long i;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void no_memory(void)
{
    peet__report("out of memory for what a doacross loop has posted");
    abort();
}

static struct early *find(const struct peet_doacross *d, long i)
{
    struct early *table = d->others, *one;

    HASH_FIND(hh, table, &i, sizeof i, one);
    return one;
}

static int is_posted(const struct peet_doacross *d, long i)
{
    return i < d->posted || (d->others && find(d, i));
}

static void forget(struct peet_doacross *d, struct early *one)
{
    struct early *table = d->others;

    HASH_DEL(table, one);
    free(one);
    d->others = table;
}

static void plain_post(struct peet_doacross *d, long i)
{
    struct early *table, *one;

    if (is_posted(d, i))
        return;
    if (i != d->posted) {
        one = malloc(sizeof *one);
        if (!one)
            no_memory();
        one->i = i;
        table = d->others;
        HASH_ADD(hh, table, i, sizeof one->i, one);
        d->others = table;
        return;
    }
    for (d->posted++; d->others && (one = find(d, d->posted)) != NULL; d->posted++)
        forget(d, one);
}

static void plain_wait(struct peet_doacross *d, long i)
{
    while (!is_posted(d, i)) {
        if (__libc_single_threaded) {
            peet__report(
                "doacross: WAIT for iteration %ld, which has not been posted (all before %ld have): iterations run "
                "one after the other here, so nobody will post it; an iteration may wait only for "
                "earlier ones, and these must post before they end",
                i, d->posted);
            abort();
        }
        pthread_cond_wait(&changed, &lock);
    }
}

static void plain_reset(struct peet_doacross *d)
{
    struct early *table = d->others, *one, *more;

    HASH_ITER(hh, table, one, more)
    {
        HASH_DEL(table, one);
        free(one);
    }
    d->others = NULL;
    d->posted = d->first;
}

/* ------------------------------------------------------------------------------------------- objects */

PUBLIC void peet_doacross_init(struct peet_doacross *d, long first)
{
    uint64_t args[] = {(uint64_t)d, PEET_SYNC_DOACROSS, (uint64_t)first};

    *d = (struct peet_doacross){.first = first, .posted = first};
    peet_rt_event(PEET_ABSTRACT_SYNC_INIT, 3, args);
}

PUBLIC void peet_doacross_destroy(struct peet_doacross *d)
{
    uint64_t args[] = {(uint64_t)d, PEET_SYNC_DOACROSS};

    plain_reset(d);
    peet_rt_event(PEET_ABSTRACT_SYNC_DESTROY, 2, args);
}

PUBLIC void peet_doacross_post(struct peet_doacross *d, long i)
{
    if (peet_rt_simulated()) {
        uint64_t args[] = {(uint64_t)d, (uint64_t)i};
        peet_rt_event(PEET_ABSTRACT_POST, 2, args);
        return;
    }
    pthread_mutex_lock(&lock);
    plain_post(d, i);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

PUBLIC void peet_doacross_wait(struct peet_doacross *d, long i)
{
    if (peet_rt_simulated()) {
        uint64_t args[] = {(uint64_t)d, (uint64_t)i};
        peet_rt_event(PEET_ABSTRACT_WAIT, 2, args);
        return;
    }
    pthread_mutex_lock(&lock);
    plain_wait(d, i);
    pthread_mutex_unlock(&lock);
}

/* --------------------------------------------------------------------------------------------- loops */

static struct peet_doacross *around(const char *what, long i)
{
    if (!innermost) {
        peet__report(
            "%s(%ld) outside a doacross loop: it belongs into the body of peet_doacross_loop(), into a PEET_DOACROSS "
            "statement, or between PEET_FORK_DOACROSS and PEET_JOIN_DOACROSS",
            what, i);
        abort();
    }
    return innermost;
}

PUBLIC void peet_post(long i)
{
    peet_doacross_post(around("PEET_POST", i), i);
}

PUBLIC void peet_wait(long i)
{
    peet_doacross_wait(around("PEET_WAIT", i), i);
}

/** The function form: what each iteration gets. */
struct across {
    struct peet_doacross object;
    void (*body)(long, void *);
    void *arg;
};

/* An iteration runs on whichever context the mapper gives it: the loop's object comes and goes with it. */
static void step(long i, void *arg)
{
    struct across *loop = arg;
    struct peet_doacross *outer = innermost;

    innermost = &loop->object;
    loop->body(i, loop->arg);
    innermost = outer;
}

PUBLIC void peet_doacross_loop(long lo, long hi, enum peet_doall_schedule schedule, long chunk,
    void (*body)(long i, void *arg), void *arg)
{
    struct across loop = {.body = body, .arg = arg};

    peet_doacross_init(&loop.object, lo);
    peet_doall(lo, hi, schedule, chunk, step, &loop);
    peet_doacross_destroy(&loop.object);
}

PUBLIC void peet_mark_fork_across(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    struct peet_doacross *d = malloc(sizeof *d);

    if (!d)
        no_memory();
    peet_doacross_init(d, lo);
    d->outer = innermost;
    innermost = d;
    peet_mark_fork(lo, hi, schedule, chunk);
}

PUBLIC void peet_mark_join_across(void)
{
    struct peet_doacross *d = innermost;

    peet_mark_join();
    if (!d)
        return;
    innermost = d->outer;
    peet_doacross_destroy(d);
    free(d);
}

PUBLIC struct peet_doall_loop peet_doacross_loop_begin(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    struct peet_doall_loop loop = {lo, hi, 0};
    peet_mark_fork_across(lo, hi, schedule, chunk);
    return loop;
}

PUBLIC int peet_doacross_loop_more(struct peet_doall_loop *loop)
{
    if (loop->open)
        peet_doall_loop_finish(loop);
    if (loop->next < loop->hi)
        return 1;
    peet_mark_join_across();
    return 0;
}
