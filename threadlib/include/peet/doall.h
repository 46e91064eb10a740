/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doall loops: loops whose iterations are independent of one another.  A program compiled by peetcc
 * runs them one after the other when run plainly; under `peet run` every iteration is a software
 * context of its own, and the simulated machine decides where and when it runs.
 *
 * There are three ways to write one:
 *
 *   1. a function, called once per iteration:
 *
 *          static void part(long p, void *arg) { ... }
 *          peet_doall(0, n, PEET_DOALL_DEFAULT, 0, part, NULL);
 *
 *   2. a loop statement:
 *
 *          PEET_DOALL(p, 0, n) {
 *              ...
 *          }
 *
 *   3. markers in a loop of your own, as in the PEET paper's Figure 1:
 *
 *          PEET_FORK_DOALL(n);
 *          for (long p = 0; p < n; p++) {
 *              PEET_START_DOALL_ITER(p);
 *              ...
 *              PEET_FINISH_DOALL_ITER(p);
 *          }
 *          PEET_JOIN_DOALL();
 *
 * Form 1 lets the simulator drive: iterations really interleave, in the order of simulated time, and
 * may synchronise with each other.  Forms 2 and 3 execute the iterations sequentially and interleave
 * their events afterwards; what stands between the end of one iteration and the start of the next
 * (loop overhead) is left out of the simulation and counted as extraneous.
 *
 * Works in C (C99 or later) and C++.  The functions live in libpeet-rt.so, which peetcc links.
 */
#ifndef PEET_DOALL_H
#define PEET_DOALL_H

#ifdef __cplusplus
extern "C" {
#endif

/** How iterations are dealt to the simulated processors. */
enum peet_doall_schedule {
    PEET_DOALL_STATIC,  /* in advance; chunk 0: one contiguous part each, else chunks in turn */
    PEET_DOALL_DYNAMIC, /* a chunk at a time to whoever is free; chunk 0: one iteration */
    PEET_DOALL_GUIDED,  /* as dynamic, with chunks that shrink as the work runs out, not below `chunk` */
    PEET_DOALL_DEFAULT  /* as `peet run` says */
};

/**
 * peet_doall() - run body(i, arg) for every i in [lo, hi), the iterations being independent
 * @lo, @hi: range; nothing happens if hi <= lo
 * @schedule: how iterations are dealt out
 * @chunk: iterations per portion, 0 for the schedule's own choice
 * @body: must return; may not longjmp out or throw
 * @arg: handed to every call
 *
 * Returns when all iterations are done.  May be called from inside an iteration; inside a marked one it is a
 * sequential loop.
 */
void peet_doall(long lo, long hi, enum peet_doall_schedule schedule, long chunk, void (*body)(long i, void *arg),
    void *arg);

/**
 * Markers.  Between mark_fork and mark_join, each iteration stands between mark_start(i) and
 * mark_finish(i).  Inside an iteration (marked or of peet_doall()), markers are ignored.  Leaving the loop by
 * return, goto or longjmp without the remaining markers is an error that the simulator reports.
 */
void peet_mark_fork(long lo, long hi, enum peet_doall_schedule schedule, long chunk);
void peet_mark_start(long i);
void peet_mark_finish(long i);
void peet_mark_join(void);

/* The names of the paper's Figure 1. */
#define PEET_FORK_DOALL(n) peet_mark_fork(0, (n), PEET_DOALL_DEFAULT, 0)
#define PEET_FORK_DOALL_WITH(lo, hi, schedule, chunk) peet_mark_fork((lo), (hi), (schedule), (chunk))
#define PEET_START_DOALL_ITER(p) peet_mark_start(p)
#define PEET_FINISH_DOALL_ITER(p) peet_mark_finish(p)
#define PEET_JOIN_DOALL() peet_mark_join()

/** State of a PEET_DOALL statement; private to the macros below. */
struct peet_doall_loop {
    long next, hi;
    int open; /* an iteration has been started and not finished */
};
struct peet_doall_loop peet_doall_loop_begin(long lo, long hi, enum peet_doall_schedule schedule, long chunk);
int peet_doall_loop_more(struct peet_doall_loop *loop);
long peet_doall_loop_start(struct peet_doall_loop *loop);
void peet_doall_loop_finish(struct peet_doall_loop *loop);

/**
 * PEET_DOALL(i, lo, hi) statement - a loop statement whose iterations are independent
 * @i: name of the index, declared by the macro as a long
 *
 * `continue` and `break` both end the iteration at hand and no more, since there is no order in which a
 * break could cut off the others.  Do not leave the statement by return, goto or longjmp.
 */
#define PEET_DOALL(i, lo, hi) PEET_DOALL_WITH(i, lo, hi, PEET_DOALL_DEFAULT, 0)

/** PEET_DOALL_WITH() - the same with a schedule and a chunk, as for peet_doall() */
#define PEET_DOALL_WITH(i, lo, hi, schedule, chunk)                                                                   \
    for (struct peet_doall_loop peet_loop_##i = peet_doall_loop_begin((lo), (hi), (schedule), (chunk));               \
         peet_doall_loop_more(&peet_loop_##i);)                                                                       \
        for (long i __attribute__((unused)) = peet_doall_loop_start(&peet_loop_##i); peet_loop_##i.open;             \
             peet_doall_loop_finish(&peet_loop_##i))

/** peet_phase() - mark the beginning of phase n of the program, for reports over time */
void peet_phase(long n);

#ifdef __cplusplus
}
#endif
#endif
