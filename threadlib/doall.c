/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doall loops (peet/doall.h).  In a plain run they are sequential loops.  Under simulation the function
 * form hands the whole loop to the mapper with one event and waits; the mapper starts workers, which ask
 * for iterations one by one.  The marker forms only say where they are.
 */
#include <peet/doall.h>
#include <peet/module.h>
#include "internal.h"
#include "worker.h"

PUBLIC void peet_doall(long lo, long hi, enum peet_doall_schedule schedule, long chunk, void (*body)(long i, void *arg),
    void *arg)
{
    if (peet_rt_simulated() && peet__rt.current->mark_depth == 0) {
        uint64_t args[] = {(uint64_t)lo, (uint64_t)hi, schedule, (uint64_t)chunk, (uint64_t)body, (uint64_t)arg};
        peet_rt_event(PEET_ABSTRACT_DOALL_FORK, 6, args);
        return;
    }
    for (long i = lo; i < hi; i++)
        body(i, arg);
}

/* FINISH waits for nothing: START follows in the same turn, which saves every second switch. */
PUBLIC void peet__doall_worker(uint64_t fn, uint64_t arg)
{
    void (*body)(long, void *) = (void (*)(long, void *))fn;
    uint64_t previous = PEET__NO_ITERATION;
    struct peet_ctx *ctx = peet__rt.current;
    ctx->in_iteration = 1;
    ctx->between = 1;
    for (;;) {
        uint64_t i = peet_rt_event(PEET_ABSTRACT_DOALL_START, 1, &previous);
        if (i == PEET__NO_ITERATION)
            return;
        ctx->between = 0;
        if (__builtin_expect(peet__rt.signals, 0))
            peet__signals_deliver();
        body((long)i, (void *)arg);
        ctx->between = 1;
        peet_rt_note(PEET_ABSTRACT_DOALL_FINISH, 1, &i);
        previous = i;
    }
}

/* ----------------------------------------------------------------------------------------------- markers */

/* Whether markers count: in the outermost marked loop of a context that is not itself an iteration.  The
 * iterations of a marked loop run one after the other on their carrier, so a loop inside one is a part of
 * it and stays sequential; so does a peet_doall() there. */
static int marked(int depth)
{
    return peet_rt_simulated() && peet__rt.current->mark_depth == depth && !peet__rt.current->in_iteration;
}

PUBLIC void peet_mark_fork(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    uint64_t args[] = {(uint64_t)lo, (uint64_t)hi, schedule, (uint64_t)chunk};
    if (marked(0))
        peet_rt_event(PEET_ABSTRACT_MARK_FORK, 4, args);
    if (peet_rt_simulated())
        peet__rt.current->mark_depth++;
}

PUBLIC void peet_mark_start(long i)
{
    uint64_t arg = (uint64_t)i;
    if (marked(1))
        peet_rt_event(PEET_ABSTRACT_MARK_START, 1, &arg);
}

PUBLIC void peet_mark_finish(long i)
{
    uint64_t arg = (uint64_t)i;
    if (marked(1))
        peet_rt_event(PEET_ABSTRACT_MARK_FINISH, 1, &arg);
}

PUBLIC void peet_mark_join(void)
{
    if (marked(1))
        peet_rt_event(PEET_ABSTRACT_MARK_JOIN, 0, NULL);
    if (peet_rt_simulated() && peet__rt.current->mark_depth > 0)
        peet__rt.current->mark_depth--;
}

/* ----------------------------------------------------------------------------------- the loop statement */

PUBLIC struct peet_doall_loop peet_doall_loop_begin(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    struct peet_doall_loop loop = {lo, hi, 0};
    peet_mark_fork(lo, hi, schedule, chunk);
    return loop;
}

/* Reached with the iteration still open when its body left by break. */
PUBLIC int peet_doall_loop_more(struct peet_doall_loop *loop)
{
    if (loop->open)
        peet_doall_loop_finish(loop);
    if (loop->next < loop->hi)
        return 1;
    peet_mark_join();
    return 0;
}

PUBLIC long peet_doall_loop_start(struct peet_doall_loop *loop)
{
    loop->open = 1;
    peet_mark_start(loop->next);
    return loop->next;
}

PUBLIC void peet_doall_loop_finish(struct peet_doall_loop *loop)
{
    peet_mark_finish(loop->next);
    loop->open = 0;
    loop->next++;
}
