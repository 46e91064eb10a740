/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the subject as the front ends see them: one descriptor per thread, and the services that
 * more than one file of threadlib/ needs.  The descriptor lives in the thread's own thread-local storage,
 * so it costs no allocation, and it can be read until the thread has been joined.  Who waits for what is the
 * mapper's knowledge, not kept here.
 *
 * Everything here is for the subject's world under simulation.  Contexts are suspended only in events, so
 * what lies between two events needs no lock.
 */
#ifndef PEET_THREAD_H
#define PEET_THREAD_H

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>
#include "internal.h"

/** What pthread_cleanup_push() of C puts on the stack; glibc's own layout of __pthread_unwind_buf_t. */
struct peet__unwind_buf {
    struct {
        __jmp_buf jmp_buf;
        int mask_was_saved;
    } cancel_jmp_buf[1];
    struct peet__unwind_buf *prev;
    void *cleanup;
    int cancel_type; /* of the deferring form */
    void *pad;
};
_Static_assert(sizeof(struct peet__unwind_buf) <= sizeof(__pthread_unwind_buf_t), "glibc's buffer");

enum { PEET__TSD_BLOCK = 32, PEET__TSD_BLOCKS = PTHREAD_KEYS_MAX / PEET__TSD_BLOCK }; /* values of keys, as in glibc */

struct peet__tsd_value {
    void *value;
    uint64_t generation; /* of the key, when it was set */
};

enum peet__thread_state { PEET__THREAD_NONE, PEET__THREAD_ALIVE, PEET__THREAD_ENDED };

/** A thread.  A context that pthread_create() did not make (the main one, workers of loops) gets its
 *  descriptor when it first asks for it. */
struct peet__thread {
    uint64_t tp;     /* its thread pointer, which is its pthread_t */
    uint32_t number; /* of its software context; UINT32_MAX: its creator does not know it yet */
    uint8_t state;   /* enum peet__thread_state */
    uint8_t detached, joining;
    uint8_t is_main;
    uint8_t is_thread; /* made by pthread_create() or the like, not main and not a worker */
    uint8_t c11;
    /* cancellation */
    uint8_t cancel_disabled, cancel_asynchronous, cancel_pending, exiting;
    void *(*fn)(void *);
    void *arg;
    void *result;
    struct peet__thread *joiner; /* the one that waits in pthread_join() for this one */
    struct peet__unwind_buf *cleanup;
    struct __pthread_internal_list *robust; /* robust mutexes that it holds */
    struct peet__once *once;                /* the initialiser that it runs for pthread_once() */
    struct _Unwind_Exception exception;
    /* thread-specific data */
    struct peet__tsd_value tsd[PEET__TSD_BLOCK], **more_tsd; /* of the first keys; of others, or NULL */
    /* remembered, without effect */
    int policy, priority;
    char name[16];
    uint64_t affinity[16]; /* all zero: every processor */
    uint64_t guard_bytes;
    uint64_t stack_address, stack_bytes; /* the caller's, else 0 */
    sigset_t mask;
    int has_mask;
    struct peet__thread *next_in_bucket;
    struct peet__thread *next_early; /* of those that wait for the program to begin */
    pthread_t real;                  /* it is the C library's: early.c; 0: it is not */
    int *gone;                       /* its creator's: set if it is forgotten before the creator goes on */
    uint8_t listed;
};

/** Whether the caller is the subject under simulation: else everything goes to the C library. */
static inline int peet__simulating(void)
{
    return __builtin_expect(peet__rt.simulated, 0) && peet__is_subject();
}

/** Whether constructors of shared objects run, before there is a machine: threads that they make begin later. */
static inline int peet__constructing(void)
{
    return __builtin_expect(peet__rt.capturing, 0) && peet__is_subject();
}

/** Whether the caller came into a child of fork() from the simulation: its descriptor, values of keys and cleanup handlers
 * are kept here to its end.  The threads that a child makes are the C library's. */
int peet__thread_came_along(void);

static inline int peet__thread_kept(void)
{
    return peet__simulating() || (__builtin_expect(peet__rt.forked, 0) && peet__thread_came_along());
}

/** The calling thread.  Never NULL. */
struct peet__thread *peet__thread_self(void);
/** The thread of a pthread_t; NULL: there is none. */
struct peet__thread *peet__thread_of(pthread_t thread);
/** The name of the thread with this thread pointer, of the program if it has none. */
const char *peet__thread_name_at(uint64_t thread_pointer);
/** Memory that the subject does not see: neither its heap's nor in its stream. */
void *peet__own_calloc(size_t n, size_t bytes);
void peet__own_free(void *p);

/** What a new thread shall be; zeros are the defaults. */
struct peet__thread_wish {
    void *(*fn)(void *);
    void *arg;
    uint64_t stack_address, stack_bytes, guard_bytes;
    int detached;
    int policy, priority;
    const uint64_t *affinity; /* of 16 words, or NULL */
    const sigset_t *mask;     /* or NULL: the creator's */
    pthread_t *out_thread;    /* written before the thread can run; or NULL */
    int c11;                  /* fn is a thrd_start_t: its result is an int */
};

/** peet__thread_create() - a thread of the subject.  Returns: 0 or an errno value */
int peet__thread_create(const struct peet__thread_wish *wish);
/** peet__thread_announce() - the mapper is told of it, so that it begins.  @out_thread: to be as it was before if that
 * fails, or NULL.  Returns: 0 or an errno value, and then the thread is gone */
int peet__thread_announce(struct peet__thread *t, pthread_t *out_thread);
/** It begins with the program. */
void peet__early_add(struct peet__thread *t);
/** The thread, if it was made like that and is the C library's; else NULL. */
struct peet__thread *peet__early_real(pthread_t thread);
/** The wish of a thread without attributes, as the calling thread's children have it. */
void peet__thread_wish_init(struct peet__thread_wish *out_wish);

/** What the thread is for.  Returns: its result */
static inline void *peet__thread_call(const struct peet__thread *t)
{
    return t->c11 ? (void *)(intptr_t)((int (*)(void *))(void *)t->fn)(t->arg) : t->fn(t->arg);
}

/* ------------------------------------------------------------------------------------ cancellation */

/** Act on a pending cancellation if it is enabled: the thread unwinds and ends here.  For every function that
 *  POSIX makes a cancellation point: on entry, and after a wait that returned EINTR. */
void peet__cancellation_point(void);
/** Whether the next cancellation point would end the thread. */
int peet__cancellation_due(void);
/** The context comes from an event or a check: act on asynchronous cancellation. */
void peet__thread_poked(void);
/** Unwind the calling thread to its beginning, or (main) to the end of the program's stack. */
void peet__thread_unwind(void) __attribute__((noreturn));
/** What is left to do when main() has been unwound by pthread_exit() or cancellation. */
void peet__main_ended(void) __attribute__((noreturn));

/* ------------------------------------------------------------------------- synchronisation of who is alone (sole.c) */

/** A request for a mutex, read-write or spin lock: args[0] is its address.  Returns: 0 or an errno value, as the event
 * does */
int peet__lock_request(unsigned type, unsigned nargs, const uint64_t *args);
/** Its release: args[0] its address, args[1] its kind.  Returns: 0 or an errno value */
int peet__unlock_request(unsigned type, const uint64_t args[2]);
/** A condition's signal, or one to all.  Returns: 0 or an errno value */
int peet__signal_request(unsigned type, uint64_t object);
/** The memory becomes another lock. */
void peet__lock_forget(uint64_t object);
/** A semaphore's wait, try or post, with the event's arguments.  Returns: 0 or an errno value, as the event does */
uint64_t peet__sem_request(unsigned type, unsigned nargs, const uint64_t *args);
/** A semaphore was given this value; UINT64_MAX: who knows which. */
void peet__sem_known(uint64_t object, uint64_t value);
/** A wait at a barrier for so many.  Returns: as the event does */
uint64_t peet__barrier_request(uint64_t object, uint64_t count);

/* ------------------------------------------------- mutexes that are made new by plain stores (overwritten.c) */

/** The caller has got the mutex; it is about to give it back, or it is about to be another one. */
void peet__mutex_marks(pthread_mutex_t *m);
void peet__mutex_unmarks(pthread_mutex_t *m);
/** The caller is about to ask for the mutex: if it has been overwritten since somebody got it, it is free. */
void peet__mutex_overwritten(pthread_mutex_t *m, int kind);

/* ------------------------------------------------------------------------------------- robust mutexes */

static inline int peet__robust(const pthread_mutex_t *m)
{
    return m->__data.__kind >= 0 && (m->__data.__kind & 0x10); /* glibc's bit */
}
void peet__robust_init(pthread_mutex_t *m);
/* It may be locked: glibc does not mind.  The caller's hold on it is over. */
void peet__robust_destroy(pthread_mutex_t *m);
/** A request to lock has been answered so.  Returns: what the caller hears */
int peet__robust_locked(pthread_mutex_t *m, int err);
/** It is about to be unlocked.  Returns: 0 or EPERM */
int peet__robust_unlocks(pthread_mutex_t *m);
/** It is about to be given up for a condition.  Returns: 0 or EPERM */
int peet__robust_waits(pthread_mutex_t *m, unsigned *out_depth);
/** It is the caller's again, after a wait with this result.  Returns: what the caller hears */
int peet__robust_waited(pthread_mutex_t *m, unsigned depth, int err);
int peet__robust_consistent(pthread_mutex_t *m);
/** What the thread still holds passes on. */
void peet__robust_thread_ends(struct peet__thread *self);

/* ------------------------------------------------------------------------- thread-specific data, ends */

/** Run the destructors of a thread that ends. */
void peet__tsd_end(struct peet__thread *self);

/* ------------------------------------------------------------------------------------------- events */

static inline uint64_t peet__event1(unsigned type, uint64_t a)
{
    return peet_rt_event(type, 1, &a);
}

static inline uint64_t peet__event2(unsigned type, uint64_t a, uint64_t b)
{
    uint64_t args[] = {a, b};
    return peet_rt_event(type, 2, args);
}

static inline uint64_t peet__event3(unsigned type, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t args[] = {a, b, c};
    return peet_rt_event(type, 3, args);
}

static inline uint64_t peet__event4(unsigned type, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t args[] = {a, b, c, d};
    return peet_rt_event(type, 4, args);
}

/** The kind of a mutex (enum peet_mutex_kind) as its object says; < 0: destroyed, or of a sort that is refused. */
int peet__mutex_kind(const pthread_mutex_t *mutex);

/** Whether a clock can carry deadlines, as glibc has it. */
static inline int peet__deadline_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline int peet__deadline_valid(const struct timespec *t)
{
    return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

/* ---------------------------------------------------------------------------------------- futex */

/**
 * peet__futex() - futex(2) between threads of the subject; for who wraps syscall()
 * @op: FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_LOCK_PI, FUTEX_LOCK_PI2,
 *   FUTEX_TRYLOCK_PI, FUTEX_UNLOCK_PI, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, with or without
 *   FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME
 * @wants: the time to wait, NULL: for ever (WAIT: relative, others: absolute)
 * @other: the second word of REQUEUE, CMP_REQUEUE and WAKE_OP, which have a number of waiters instead of @wants, and in
 *   @bits what is expected or what is to be done
 * @bits: *_BITSET: which waiters.  A wake for some of them wakes all: they look again, as after any other wake
 * Returns: 0 or more, or the negative of an errno value; -ENOSYS for other operations
 */
long peet__futex(uint32_t *word, int op, uint32_t value, const struct timespec *wants, uint32_t *other, uint32_t bits);

#endif
