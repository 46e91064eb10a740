/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doall loops (peet/doall.h).  In a plain run they are sequential loops.  Under simulation the function
 * form hands the whole loop to the mapper with one event and waits; the mapper starts workers, which ask
 * for iterations one by one.  The marker forms only say where they are.
 */
#include <peet/doall.h>
#include <peet/module.h>
#include "runtime.h"
#include "worker.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC void peet_doall(long lo, long hi, enum peet_doall_schedule schedule, long chunk,
    void (*body)(long i, void *arg), void *arg)
{
    if (peet_rt_simulated()) {
        uint64_t args[] = { (uint64_t)lo, (uint64_t)hi, schedule, (uint64_t)chunk, (uint64_t)body, (uint64_t)arg };
        peet_rt_event(PEET_ABSTRACT_DOALL_FORK, 6, args);
        return;
    }
    for (long i = lo; i < hi; i++)
        body(i, arg);
}

PUBLIC void peet__doall_worker(uint64_t fn, uint64_t arg)
{
    void (*body)(long, void *) = (void (*)(long, void *))fn;
    uint64_t previous = PEET__NO_ITERATION;
    for (;;) {
        uint64_t i = peet_rt_event(PEET_ABSTRACT_DOALL_START, 1, &previous);
        if (i == PEET__NO_ITERATION)
            return;
        body((long)i, (void *)arg);
        peet_rt_event(PEET_ABSTRACT_DOALL_FINISH, 1, &i);
        previous = i;
    }
}

/* ------------------------------------------------------------------------------------------- markers */

PUBLIC void peet_mark_fork(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    uint64_t args[] = { (uint64_t)lo, (uint64_t)hi, schedule, (uint64_t)chunk };
    peet_rt_event(PEET_ABSTRACT_MARK_FORK, 4, args);
}

PUBLIC void peet_mark_start(long i)
{
    uint64_t arg = (uint64_t)i;
    peet_rt_event(PEET_ABSTRACT_MARK_START, 1, &arg);
}

PUBLIC void peet_mark_finish(long i)
{
    uint64_t arg = (uint64_t)i;
    peet_rt_event(PEET_ABSTRACT_MARK_FINISH, 1, &arg);
}

PUBLIC void peet_mark_join(void)
{
    peet_rt_event(PEET_ABSTRACT_MARK_JOIN, 0, NULL);
}

/* ----------------------------------------------------------------------------------- the loop statement */

PUBLIC struct peet_doall_loop peet_doall_loop_begin(long lo, long hi, enum peet_doall_schedule schedule, long chunk)
{
    struct peet_doall_loop loop = { lo, hi, 0 };
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
