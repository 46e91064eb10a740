divert(-1)
dnl SPDX-License-Identifier: Apache-2.0
dnl
dnl PARMACS on POSIX threads: the macros of the Argonne package as SPLASH, SPLASH-2 and SPLASH-3 use them.  A program's
dnl sources go through  m4 -Ulen -Uindex peet.m4 FILE.c.in > FILE.c  (or .C > .c) and then to peetcc; in the makefiles of
dnl SPLASH-3 say  make CC=peetcc MACROS=.../peet.m4.  Compiled by any other compiler, the program is an ordinary one of threads.
dnl
dnl   MAIN_ENV, EXTERN_ENV             once in the file with main(); in the others.  Both may stand in one file
dnl   MAIN_INITENV(...), MAIN_END      beginning and end of main()
dnl   CREATE(f)                        one more process that calls f()                             (SPLASH, SPLASH-2)
dnl   CREATE(f, n)                     n - 1 of them, and f() here: n run it                       (SPLASH-3)
dnl   WAIT_FOR_END(n)                  the end of n created processes, or of all if there are fewer
dnl   LOCKDEC LOCKINIT LOCK UNLOCK     a lock; ALOCK... AULOCK: an array of them; AGETL: one of it
dnl   BARDEC BARINIT BARRIER(b, n)     a barrier of n processes; BARINIT(b, n) may say it before
dnl   PAUSEDEC PAUSEINIT SETPAUSE      an event: WAITPAUSE waits until it has been set, CLEARPAUSE
dnl     CLEARPAUSE WAITPAUSE             takes it back, EVENT... are the same; (e, i): element of an array
dnl   GSDEC GSINIT GETSUB(g, i, m, n)  a shared loop: i = the next of 0 ... m, -1 once to each of n processes when there is none
dnl   CONDVARDEC CONDVARINIT CONDVARWAIT(c, l) CONDVARSIGNAL CONDVARBCAST
dnl   G_MALLOC G2_MALLOC NU_MALLOC G_FREE NU_FREE G_INIT NU_INIT
dnl   CLOCK(t)                         microseconds into t; under `peet run`, simulated ones
dnl   SPLASH3_ROI_BEGIN, SPLASH3_ROI_END, PARMACS_ROI_BEGIN, PARMACS_ROI_END   region of interest
dnl   RELEASE_FENCE, ACQUIRE_FENCE, FULL_FENCE
dnl
dnl Statement macros expand to a block, so that LOCK(l) and LOCK(l); both stand as statements.  NEWPROC, AARGS and the like of
dnl machines of the time expand to nothing.

define(INCLUDES, `
#ifndef PARMACS_INCLUDED
#define PARMACS_INCLUDED
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if __STDC_VERSION__ >= 201112L
#include <stdatomic.h>
#endif
#if __has_include(<peet/roi.h>)
#include <peet/roi.h>
#else
#define PEET_ROI_BEGIN() (void)0
#define PEET_ROI_END() (void)0
#endif
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif
#define PARMACS_PROCESSES 4096

struct parmacs_event { pthread_mutex_t lock; pthread_cond_t changed; int set; };
struct parmacs_subscripts { pthread_mutex_t lock; pthread_cond_t changed; long next; int ended, round; };
struct parmacs_barrier { pthread_barrier_t barrier; pthread_mutex_t lock; int processes; };
struct parmacs {
    pthread_t process[PARMACS_PROCESSES];
    int created, ended;
    pthread_mutex_t lock;
};
extern struct parmacs parmacs;

/* The processes of SPLASH have neither argument nor result; those of a thread have both. */
static void __attribute__((unused)) *parmacs_process(void *function)
{
    ((void (*)(void))function)();
    return NULL;
}

static void __attribute__((unused)) parmacs_create(void (*function)(void), int processes)
{
    int error = 0;

    pthread_mutex_lock(&parmacs.lock);
    for (; processes > 0 && !error; processes--) {
        if (parmacs.created == PARMACS_PROCESSES) {
            fprintf(stderr, "parmacs: more than %d processes\n", PARMACS_PROCESSES);
            exit(1);
        }
        error = pthread_create(&parmacs.process[parmacs.created], NULL, parmacs_process, (void *)function);
        parmacs.created += !error;
    }
    pthread_mutex_unlock(&parmacs.lock);
    if (error) {
        fprintf(stderr, "parmacs: cannot make process %d: error %d\n", parmacs.created + 1, error);
        exit(1);
    }
}

static void __attribute__((unused)) parmacs_join(int processes)
{
    for (; processes > 0 && parmacs.ended < parmacs.created; processes--)
        pthread_join(parmacs.process[parmacs.ended++], NULL);
}

static void __attribute__((unused)) parmacs_barrier_init(struct parmacs_barrier *b, int processes)
{
    pthread_mutex_init(&b->lock, NULL);
    b->processes = processes;
    if (processes)
        pthread_barrier_init(&b->barrier, NULL, (unsigned)processes);
}

/* Whoever comes first says how many; the number may change only while nobody is there. */
static void __attribute__((unused)) parmacs_barrier_wait(struct parmacs_barrier *b, int processes)
{
    if (__atomic_load_n(&b->processes, __ATOMIC_ACQUIRE) != processes) {
        pthread_mutex_lock(&b->lock);
        if (b->processes != processes) {
            if (b->processes)
                pthread_barrier_destroy(&b->barrier);
            pthread_barrier_init(&b->barrier, NULL, (unsigned)processes);
            __atomic_store_n(&b->processes, processes, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&b->lock);
    }
    pthread_barrier_wait(&b->barrier);
}

static void __attribute__((unused)) parmacs_event_init(struct parmacs_event *e)
{
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->set = 0;
}

static void __attribute__((unused)) parmacs_event_put(struct parmacs_event *e, int set)
{
    pthread_mutex_lock(&e->lock);
    e->set = set;
    if (set)
        pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void __attribute__((unused)) parmacs_event_wait(struct parmacs_event *e)
{
    pthread_mutex_lock(&e->lock);
    while (!e->set)
        pthread_cond_wait(&e->changed, &e->lock);
    pthread_mutex_unlock(&e->lock);
}

static void __attribute__((unused)) parmacs_subscripts_init(struct parmacs_subscripts *g)
{
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->next = 0;
    g->ended = g->round = 0;
}

/* All processes leave together when the last of them finds nothing left, and the loop can begin anew. */
static long __attribute__((unused)) parmacs_subscript(struct parmacs_subscripts *g, long last, int processes)
{
    long i = -1;

    pthread_mutex_lock(&g->lock);
    if (g->next <= last) {
        i = g->next++;
    } else if (++g->ended == processes) {
        g->next = 0;
        g->ended = 0;
        g->round++;
        pthread_cond_broadcast(&g->changed);
    } else {
        int round = g->round;
        while (round == g->round)
            pthread_cond_wait(&g->changed, &g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return i;
}

static unsigned long __attribute__((unused)) parmacs_microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000 + (unsigned long)now.tv_nsec / 1000;
}
#endif
')

define(MAIN_ENV, `
INCLUDES
struct parmacs parmacs = { .lock = PTHREAD_MUTEX_INITIALIZER };
')
define(EXTERN_ENV, `INCLUDES')
define(MAIN_INITENV, `{;}')
define(MAIN_END, `{exit(0);}')
define(NEWPROC, `')

define(CREATE, `ifelse(`$2', `', `{parmacs_create((void (*)(void))($1), 1);}',
`{parmacs_create((void (*)(void))($1), (int)($2) - 1); $1();}')')
define(WAIT_FOR_END, `{parmacs_join((int)($1));}')

define(LOCKDEC, `pthread_mutex_t $1;')
define(LOCKINIT, `{pthread_mutex_init(&($1), NULL);}')
define(LOCK, `{pthread_mutex_lock(&($1));}')
define(UNLOCK, `{pthread_mutex_unlock(&($1));}')
define(ULOCKDEC, defn(`LOCKDEC'))
define(ULOCKINIT, defn(`LOCKINIT'))
define(ULOCK, defn(`LOCK'))
define(UUNLOCK, defn(`UNLOCK'))

define(ALOCKDEC, `pthread_mutex_t ($1)[$2];')
define(ALOCKINIT, `{int parmacs_i; for (parmacs_i = 0; parmacs_i < (int)($2); parmacs_i++) pthread_mutex_init(&($1)[parmacs_i], NULL);}')
define(ALOCK, `{pthread_mutex_lock(&($1)[$2]);}')
define(AULOCK, `{pthread_mutex_unlock(&($1)[$2]);}')
define(AUNLOCK, defn(`AULOCK'))
define(AGETL, `(($1)[$2])')

define(BARDEC, `struct parmacs_barrier $1;')
define(BARINIT, `{parmacs_barrier_init(&($1), ifelse(`$2', `', 0, (int)($2)));}')
define(BARRIER, `{parmacs_barrier_wait(&($1), (int)($2));}')

define(PAUSEDEC, `struct parmacs_event ifelse(`$2', `', `$1', `($1)[$2]');')
define(PAUSEINIT, `ifelse(`$2', `', `{parmacs_event_init(&($1));}',
`{int parmacs_i; for (parmacs_i = 0; parmacs_i < (int)($2); parmacs_i++) parmacs_event_init(&($1)[parmacs_i]);}')')
define(PARMACS_EVENT, `ifelse(`$2', `', `&($1)', `&($1)[$2]')')
define(SETPAUSE, `{parmacs_event_put(PARMACS_EVENT($@), 1);}')
define(CLEARPAUSE, `{parmacs_event_put(PARMACS_EVENT($@), 0);}')
define(WAITPAUSE, `{parmacs_event_wait(PARMACS_EVENT($@));}')
define(EVENTDEC, defn(`PAUSEDEC'))
define(EVENTINIT, defn(`PAUSEINIT'))
define(SETEVENT, defn(`SETPAUSE'))
define(CLEAREVENT, defn(`CLEARPAUSE'))
define(WAITEVENT, defn(`WAITPAUSE'))

define(GSDEC, `struct parmacs_subscripts $1;')
define(GSINIT, `{parmacs_subscripts_init(&($1));}')
define(GETSUB, `{($2) = parmacs_subscript(&($1), (long)($3), (int)($4));}')

define(CONDVARDEC, `pthread_cond_t $1;')
define(CONDVARINIT, `{pthread_cond_init(&($1), NULL);}')
define(CONDVARWAIT, `{pthread_cond_wait(&($1), &($2));}')
define(CONDVARSIGNAL, `{pthread_cond_signal(&($1));}')
define(CONDVARBCAST, `{pthread_cond_broadcast(&($1));}')

define(RELEASE_FENCE, `{__atomic_thread_fence(__ATOMIC_RELEASE);}')
define(ACQUIRE_FENCE, `{__atomic_thread_fence(__ATOMIC_ACQUIRE);}')
define(FULL_FENCE, `{__atomic_thread_fence(__ATOMIC_SEQ_CST);}')

define(G_INIT, `{;}')
define(NU_INIT, `{;}')
define(G_MALLOC, `malloc($1);')
define(G2_MALLOC, `malloc($1);')
define(NU_MALLOC, `malloc($1);')
define(G_FREE, `{free($1);}')
define(NU_FREE, `{free($1);}')

define(CLOCK, `{($1) = parmacs_microseconds();}')
define(SPLASH3_ROI_BEGIN, `PEET_ROI_BEGIN()')
define(SPLASH3_ROI_END, `PEET_ROI_END()')
define(PARMACS_ROI_BEGIN, `PEET_ROI_BEGIN()')
define(PARMACS_ROI_END, `PEET_ROI_END()')
divert(0)dnl
