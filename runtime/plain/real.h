/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording on the computer's own processors (`peet record`; real.c): what threadlib/ tells of threads and of their
 * synchronisation.  All of this concerns the calling thread; where it is not recorded, nothing happens.
 *
 * The order of synchronisation is recorded as a number for each request, counted for each object.  It is drawn while
 * the thread has the object: after it has got a lock, before it lets others go.  ORDER events around the request's own
 * say the number, and a replay lets requests begin in the order of these numbers.
 */
#ifndef PEET_PLAIN_REAL_H
#define PEET_PLAIN_REAL_H

#include <stddef.h>
#include <stdint.h>

#define PEET__REAL_API __attribute__((visibility("default")))

/** A recorded thread's state; NULL: the calling thread is not recorded. */
struct peet__real;
extern _Thread_local struct peet__real *peet__real_self;
/** Some thread of the process has been recorded: asked first, since a simulated one may be without its thread pointer. */
extern int peet__real_any;
static inline int peet__real_on(void)
{
    return __builtin_expect(peet__real_any, 0) && peet__real_self != NULL;
}

/** Code from here up to there calls the C library for itself, not for the program: libomp, and the dynamic linker. */
struct peet__real_range {
    uint64_t from, bytes;
};
extern struct peet__real_range peet__real_unseen[2];
/** Is what the C library does for the function that has been called from there the program's? */
static inline int peet__real_watches(const void *caller)
{
    return peet__real_on() && (uint64_t)caller - peet__real_unseen[0].from >= peet__real_unseen[0].bytes &&
        (uint64_t)caller - peet__real_unseen[1].from >= peet__real_unseen[1].bytes;
}

/** The library that holds this address is such code. */
PEET__REAL_API void peet_rt_real_unseen(uint64_t address);
/** Is the process recorded? */
PEET__REAL_API int peet_rt_real_recorded(void);

/** In the first constructor, if the settings ask for it. */
void peet__real_begin(void);
/** A part of memory that the C library has referenced, and the like: a note. */
PEET__REAL_API void peet_rt_real_note(unsigned type, unsigned nargs, const uint64_t *args);
/** An event, performed in a replay, not ordered. */
PEET__REAL_API void peet_rt_real_event(unsigned type, unsigned nargs, const uint64_t *args);
/** A request is about to be made that may wait: the time is noted. */
PEET__REAL_API void peet_rt_real_asks(void);
/** It has been granted: an event, in the order of its object, args[0]. */
PEET__REAL_API void peet_rt_real_granted(unsigned type, unsigned nargs, const uint64_t *args);
/** Something is about to be done that lets others go on: likewise. */
PEET__REAL_API void peet_rt_real_lets(unsigned type, unsigned nargs, const uint64_t *args);
/** A lock is about to be given back. */
PEET__REAL_API void peet_rt_real_unlocks(unsigned type, unsigned nargs, const uint64_t *args);
/** The same without an event of its own: the moment alone has its place in the order. */
PEET__REAL_API void peet_rt_real_passes(uint64_t object, unsigned type);
/** The calling thread is about to end by pthread_exit(): if it is main's, the process lives on until all others have ended. */
PEET__REAL_API void peet_rt_real_leaves(void);

/** A thread is about to be made.  Returns: its number, or UINT32_MAX: it will not be recorded */
uint32_t peet__real_create(uint64_t fn, uint64_t arg);
/** The calling thread is that one; its end. */
void peet__real_thread_begins(uint32_t number);
void peet__real_thread_ends(void);
/** The calling thread has made it after all, or could not. */
void peet__real_created(uint32_t number, int made, int detached);
/** The program ends with this status, or executes another one in its place. */
void peet__real_program_ends(int status, const char *other);
/** A block of memory is the program's: noted, if the caller's are.  Returns: the block */
void peet__real_note_block(const void *p, size_t bytes, uint64_t caller);
static inline void *peet__real_allocated(void *p, size_t bytes, uint64_t caller)
{
    if (__builtin_expect(peet__real_watches((const void *)caller), 0) && p)
        peet__real_note_block(p, bytes, caller);
    return p;
}
/** It is about to be given back.  @what: enum peet_rt_memory, @how: as a note of memory has it */
void peet__real_released(uint64_t p, unsigned what, uint64_t how, uint64_t caller);
/** The calling thread records nothing for a while: @handler: because it runs one of a signal.  Returns: whether it has
 * recorded so far, for the end of the while */
int peet__real_pauses(int handler);
void peet__real_goes_on(int paused);

#endif
