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
#define PEET_DOALL_WITH(i, lo, hi, schedule, chunk) \
    for (struct peet_doall_loop peet_loop_##i = peet_doall_loop_begin((lo), (hi), (schedule), (chunk)); \
        peet_doall_loop_more(&peet_loop_##i);) \
        for (long i __attribute__((unused)) = peet_doall_loop_start(&peet_loop_##i); peet_loop_##i.open; \
            peet_doall_loop_finish(&peet_loop_##i))

/* ------------------------------------------------------------------------------------------- doacross */

/**
 * Doacross: iterations that depend on earlier ones at known points.  An iteration POSTs when it has done
 * what later ones need, and WAITs for what it needs of earlier ones:
 *
 *     static void row(long i, void *arg)
 *     {
 *         ...                 what needs nobody
 *         PEET_WAIT(i - 1);   until iteration i - 1 has posted
 *         ...                 what needs its result
 *         PEET_POST(i);       iteration i + 1 may go on
 *     }
 *     peet_doacross_loop(0, n, PEET_DOALL_DYNAMIC, 0, row, NULL);
 *
 * The same with the loop statement (PEET_DOACROSS) and with markers (PEET_FORK_DOACROSS ... PEET_JOIN_DOACROSS).
 * PEET_POST and PEET_WAIT mean the innermost doacross loop around them.  Iterations before the first one of the
 * loop count as posted, so that no test for the edge is needed.  Where several things are awaited,
 * or where threads rather than iterations wait for one another, make objects of your own: peet_doacross_init().
 *
 * In a plain run the iterations run one after the other, so that every WAIT for an earlier one finds it posted.
 * A WAIT for what was not posted could never end; it is said and the program aborted.
 */

/** Which iterations have been posted.  The caller's memory; its contents are the library's own. */
struct peet_doacross {
    long first;                  /* earlier ones count as posted */
    long posted;                 /* plain runs: so do those before this one, ... */
    void *others;                /* ... and these */
    struct peet_doacross *outer; /* the loop around a loop's own object */
};

/** peet_doacross_init() - nothing has been posted yet, but everything before iteration @first.  To begin anew, destroy
 * it first */
void peet_doacross_init(struct peet_doacross *object, long first);

/** peet_doacross_destroy() - nobody will post or wait any more */
void peet_doacross_destroy(struct peet_doacross *object);

/** peet_doacross_post() - let everybody go on who waits for iteration @i, now or later.  Twice is once */
void peet_doacross_post(struct peet_doacross *object, long i);

/** peet_doacross_wait() - until iteration @i has been posted */
void peet_doacross_wait(struct peet_doacross *object, long i);

/** peet_doacross_loop() - peet_doall() with an object of its own, for PEET_POST and PEET_WAIT in the body */
void peet_doacross_loop(long lo, long hi, enum peet_doall_schedule schedule, long chunk,
    void (*body)(long i, void *arg), void *arg);

/** Markers of a doacross loop; between them stand mark_start and mark_finish as in a doall. */
void peet_mark_fork_across(long lo, long hi, enum peet_doall_schedule schedule, long chunk);
void peet_mark_join_across(void);

/** peet_post(), peet_wait() - in the innermost doacross loop of the calling context */
void peet_post(long i);
void peet_wait(long i);

#define PEET_POST(i) peet_post(i)
#define PEET_WAIT(i) peet_wait(i)
#define PEET_FORK_DOACROSS(n) peet_mark_fork_across(0, (n), PEET_DOALL_DEFAULT, 0)
#define PEET_FORK_DOACROSS_WITH(lo, hi, schedule, chunk) peet_mark_fork_across((lo), (hi), (schedule), (chunk))
#define PEET_START_DOACROSS_ITER(p) peet_mark_start(p)
#define PEET_FINISH_DOACROSS_ITER(p) peet_mark_finish(p)
#define PEET_JOIN_DOACROSS() peet_mark_join_across()

struct peet_doall_loop peet_doacross_loop_begin(long lo, long hi, enum peet_doall_schedule schedule, long chunk);
int peet_doacross_loop_more(struct peet_doall_loop *loop);

/** PEET_DOACROSS(i, lo, hi) statement - as PEET_DOALL, with PEET_POST and PEET_WAIT in the statement */
#define PEET_DOACROSS(i, lo, hi) PEET_DOACROSS_WITH(i, lo, hi, PEET_DOALL_DEFAULT, 0)
#define PEET_DOACROSS_WITH(i, lo, hi, schedule, chunk) \
    for (struct peet_doall_loop peet_loop_##i = peet_doacross_loop_begin((lo), (hi), (schedule), (chunk)); \
        peet_doacross_loop_more(&peet_loop_##i);) \
        for (long i __attribute__((unused)) = peet_doall_loop_start(&peet_loop_##i); peet_loop_##i.open; \
            peet_doall_loop_finish(&peet_loop_##i))

/** peet_phase() - mark the beginning of phase n of the program, for reports over time */
void peet_phase(long n);

#ifdef __cplusplus
}
#endif
#endif
