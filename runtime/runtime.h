/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime inside the subject (libpeet-rt.so): control page, execution contexts and their stacks,
 * the heap, start-up and end.  Callers: threadlib (same library) and the mapper's host
 * (libpeet-host.so, same process).  Two worlds share the process: the *subject* world runs on a
 * context's stack and allocates from the deterministic heap; the *host* world (mapper, decoder,
 * simulators) runs on the host stack and allocates from libc.  Only peet_ctx_resume() goes from host
 * to subject, and only a yield comes back.
 */
#ifndef PEET_RUNTIME_H
#define PEET_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

/** Are we under `peet run`?  0: the program runs plainly, and every front end does its plain duty. */
int peet_rt_simulated(void);

/* ------------------------------------------------- subject world: called by threadlib on a context */

/**
 * peet_rt_event() - record an abstract event; the mapper performs it when it is delivered
 * @type: enum peet_abstract_type
 * Blocks the calling context until then.  Returns: the result that the mapper gave (0 if none).
 * Not simulated: does nothing, returns 0.
 */
uint64_t peet_rt_event(unsigned type, unsigned nargs, const uint64_t *args);

/** peet_rt_note() - record an abstract event without waiting for it (allocation, phase marks) */
void peet_rt_note(unsigned type, unsigned nargs, const uint64_t *args);
/** peet_rt_make_room() - makes room for a note of so many arguments, so that nothing, not even a signal's handler, comes
 * between what the caller does next and the note */
void peet_rt_make_room(unsigned nargs);

/** peet_rt_has_views() - whether contexts have views of memory (a model of consistency) */
int peet_rt_has_views(void);
/** peet_rt_same_in_views() - these pages of the heap are the same in all views from now on: a library's own, whose code
 * sees main memory */
void peet_rt_same_in_views(void *pages, size_t bytes);

/**
 * peet_rt_now() - the simulated clock in cycles, read in simulated-time order (an event: others may run)
 * peet_rt_frequency_hz() - its cycles per second
 * peet_rt_epoch_ns() - CLOCK_REALTIME at cycle 0, in nanoseconds since 1970
 * peet_rt_cycles_until() - the cycle at which a clock (CLOCK_REALTIME, CLOCK_MONOTONIC ...) shows an absolute time,
 *   0 if that is past; PEET_NEVER beyond what a clock can show.  For deadlines of timed waits
 */
struct timespec;
uint64_t peet_rt_now(void);
/** peet_rt_order() - waits for the caller's place in simulated time, as peet_rt_now() does, without reading the clock */
void peet_rt_order(void);
uint64_t peet_rt_frequency_hz(void);
uint64_t peet_rt_epoch_ns(void);
uint64_t peet_rt_cycles_until(int clock, const struct timespec *absolute);

/**
 * peet_rt_thread_new() - stack, thread-local storage and thread control block for a thread to be created
 * Before THREAD_CREATE, whose argument is then the thread pointer: the context that it makes takes them.
 * @stack_address, @stack_bytes: the subject's own memory, its lowest byte and size; address 0: a stack of ours of at
 *   least so many bytes, 0: PEET_CTX_THREAD_BYTES
 * @guard_bytes: for peet_rt_thread_stack(); ours have 64 KiB at least
 * @out_tp: the thread pointer (fs base), a pthread_t as the C library has it
 * Returns: 0 or a peet_err
 */
int peet_rt_thread_new(uint64_t stack_address, uint64_t stack_bytes, uint64_t guard_bytes, uint64_t *out_tp);
/** peet_rt_room() - libraries that are loaded from now on are: what the program loads, and the host; libgcc for threads that end; the
 * copy of the C library from which the program allocates.  Each lies in a room of its own. */
enum peet_rt_room { PEET_RT_ROOM_PROGRAM, PEET_RT_ROOM_UNWINDER, PEET_RT_ROOM_ALLOCATOR, PEET_RT_ROOMS };
void peet_rt_room(enum peet_rt_room which);
/** peet_rt_thread_free() - nobody will name this thread again: all of it goes as soon as it is over.  Until then its
 *  thread-local storage stays readable, and no other thread gets its thread pointer. */
void peet_rt_thread_free(uint64_t tp);
/** peet_rt_thread_stack() - bounds of a thread's stack, thread-local storage included; also of the main thread's */
void peet_rt_thread_stack(uint64_t tp, uint64_t *out_lo, uint64_t *out_hi, uint64_t *out_guard_bytes);

/** peet_rt_thread_pointer() - the caller's, also where it is left out (contexts/pointer.c): no thread-local storage is used,
 *  so nothing faults */
uint64_t peet_rt_thread_pointer(void);

/** peet_rt_poke() - at its next check or event this thread acts on asynchronous cancellation: peet__thread_poked() */
void peet_rt_poke(uint64_t tp);
/** peet_rt_interrupted_restarts() - after an event that returned EINTR: 1 if every handler that has run during it had
 *  SA_RESTART, so that the call is to go on; also if none has run */
int peet_rt_interrupted_restarts(void);

/** peet_rt_processors() - how many hardware contexts the simulated machine has; 1 in a plain run
 *  peet_rt_cpu() - the one that runs the calling context */
unsigned peet_rt_processors(void);
unsigned peet_rt_cpu(void);

/* -------------------------------------------------- host world: called by the mapper on its own stack */

struct peet_ctx; /* an execution stack with a saved machine state; the main context is made by start-up */

enum peet_yield {
    PEET_YIELD_FULL,  /* a check found cursor >= limit */
    PEET_YIELD_EVENT, /* peet_rt_event(): the last record is abstract, the context awaits its result */
    PEET_YIELD_DONE,  /* the context's function has returned */
};

/** The context that will run the subject's constructors, main() and exit handlers. */
struct peet_ctx *peet_ctx_main(void);

/** peet_ctx_exits() - the program ends by this context's PROGRAM_EXIT; else by the one that was recorded last */
void peet_ctx_exits(struct peet_ctx *ctx);

/** What a new context gets; all 0: a worker's. */
struct peet_ctx_options {
    /* lowest byte of memory that the subject has set aside, 0: a guarded stack of the runtime's */
    uint64_t stack_address;
    /* 0: the default (PEET_CTX_WORKER_BYTES, of a thread PEET_CTX_THREAD_BYTES); reserved, not committed */
    uint64_t stack_bytes;
    /* a thread of the subject: if a is a thread pointer of peet_rt_thread_new(), this is its context */
    int thread;
};
#define PEET_CTX_WORKER_BYTES (1ul << 20)
#define PEET_CTX_THREAD_BYTES (8ul << 20)

/**
 * peet_ctx_new() - a context that will call fn(a, b) on a stack of its own when first resumed
 * It has thread-local storage and a thread control block of its own, at the top of its stack.
 * @options: NULL: a worker
 * Returns: 0 or a peet_err; PEET_EUNSUPPORTED if the C library offers no thread-local storage for it (reported)
 */
int peet_ctx_new(void (*fn)(uint64_t a, uint64_t b), uint64_t a, uint64_t b, const struct peet_ctx_options *options,
    struct peet_ctx **out_ctx);

/** peet_ctx_restart() - give a context that is DONE another call; cheaper than new/free.  Its thread-local storage is
 *  as fresh as a new one's: a worker keeps it from iteration to iteration of one loop, not from loop to loop.
 *  Returns: 0 or PEET_ENOMEM */
int peet_ctx_restart(struct peet_ctx *ctx, void (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b);

/** peet_ctx_inherit() - a context that has not begun gets the floating point environment (rounding, flushing to zero, flags)
 *  of the suspended one that makes it */
void peet_ctx_inherit(struct peet_ctx *ctx, const struct peet_ctx *creator);
void peet_ctx_free(struct peet_ctx *ctx);

/**
 * peet_ctx_resume() - let a context run until it yields
 * @words: room for raw words, begin; aligned to 8
 * @limit: a check at or past this word yields; PEET_RAW_SLACK_WORDS of room must follow it
 * @result: what the pending peet_rt_event() returns
 * @out_end: one past the last word that it wrote
 */
enum peet_yield peet_ctx_resume(struct peet_ctx *ctx, uint64_t *words, uint64_t *limit, uint64_t result,
    uint64_t **out_end);

/** peet_rt_same() - does the subject's memory hold what @copy does?  0 as well if it cannot be read */
int peet_rt_same(const void *at, const void *copy, size_t bytes);
/** peet_rt_copy() - the same for a copy to or from it.  Returns: 1, or 0: a part of it is not there, or may not be written */
int peet_rt_copy(void *to, const void *from, size_t bytes);

/** peet_rt_aside() - contexts that are resumed take no signals that have come, until it is called with 0; then the context that
 * has run last is the one that it was before */
void peet_rt_aside(int on);

/** peet_ctx_is_called() - is there a signal that it may take when it is resumed? */
int peet_ctx_is_called(const struct peet_ctx *ctx);

/** peet_ctx_goes_on() - behind a yield that is FULL: 1: the context must be resumed before any other */
int peet_ctx_goes_on(const struct peet_ctx *ctx);

/** peet_ctx_crash_status() - behind a yield that is FULL: not 0: the context has crashed, and goes on no more: another one had
 * crashed before, and those that are earlier in simulated time went on for the results.  The program's status */
int peet_ctx_crash_status(const struct peet_ctx *ctx);

/** Thread pointer of a context (fs base), for thread-local references. */
uint64_t peet_ctx_fs_base(const struct peet_ctx *ctx);
/** A readable number for messages. */
void peet_ctx_set_number(struct peet_ctx *ctx, uint32_t number);
/** Bounds of its stack, for naming addresses: [lo, hi). */
void peet_ctx_stack(const struct peet_ctx *ctx, uint64_t *out_lo, uint64_t *out_hi);
/** Backtrace of a suspended context as text lines (libunwind lives on the host side: this gives the
 *  saved registers): out[0] rip, out[1] rsp, out[2] rbp, [3] rbx, [4..7] r12..r15. */
void peet_ctx_registers(const struct peet_ctx *ctx, uint64_t out[8]);

#define PEET_RT_OUTSIDE UINT64_MAX

/**
 * The host's entry, exported by libpeet-host.so as `peet_host_main`, called once by start-up on the
 * host stack.  It runs the subject to its end by resuming contexts.  Returns the exit status of the
 * subject; what it wants to say has gone to the result folder and the result pipe.
 */
struct peet_host_hooks {
    /** The subject received a fatal signal in context ctx: write results up to now.  On the crash stack.
     * @pc: PEET_RT_OUTSIDE: somebody outside has ended it; 0: a call of a null pointer */
    void (*crashed)(struct peet_ctx *ctx, int signal, uint64_t pc, uint64_t address, const char *why);
    /** The host has failed: a fault or abort() in its world, or (@hangs) a signal that is to end the run waits, and for
     * seconds no context has been resumed.  @uc: the interrupted ucontext_t.  In a signal handler, which it may leave
     * by siglongjmp(); if it returns, what would have happened without it happens. */
    void (*failed)(int signal, uint64_t address, void *uc, int hangs);
};
__attribute__((visibility("default"))) int peet_host_main(struct peet_host_hooks *out_hooks);

/**
 * peet_rt_keep_interrupts() - from now on SIGINT, SIGTERM and SIGHUP that would end the process are only noted while
 *   the host is at work, however many come; @on 0: as ever again, and what was noted is forgotten
 * peet_rt_interrupted() - Returns: the signal noted, 0: none
 */
void peet_rt_keep_interrupts(int on);
int peet_rt_interrupted(void);

/** peet_rt_crash_in_turn() - whether a context that crashes waits for its place in simulated time before, as by
 *  peet_rt_order(); off at first */
void peet_rt_crash_in_turn(int on);

/**
 * peet_rt_samples_begin() - from now on a timer notes where the subject is (unseen.c)
 * peet_rt_samples_take() - what was noted since, each given out once.  Returns: how many
 * PEET_RT_SAMPLE_SIGNAL - what the timer sends
 */
struct peet_rt_sample {
    uint64_t pc;
    uint64_t ns; /* of which it is one: intervals are not all as long */
};
#define PEET_RT_SAMPLE_SIGNAL 27 /* SIGPROF */
void peet_rt_samples_begin(void);
unsigned peet_rt_samples_take(struct peet_rt_sample *out_samples, unsigned room);

/** The host is about to wait for the world outside: signals come that any context takes, and no more samples until the next
 *  context is resumed. */
void peet_rt_waits_outside(void);

/** Whether something that a context has sent over a connection, or a connection itself, is still on its way, and the
 *  kernel alone will bring it.  What has not changed in many calls, to be made 10 ms apart, is left out until more is sent. */
int peet_rt_held_back(void);

/** In crashed(): one past the last word of the turn that crashed, NULL if no context was running.  The last
 *  record may be cut. */
uint64_t *peet_rt_crash_end(void);
typedef int peet_host_main_fn(struct peet_host_hooks *out_hooks);

/** Whether the subject's allocations are noted (ALLOC, FREE).  Off at first, but for constructors of shared objects,
 * which run before there is a host. */
void peet_rt_note_allocations(int on);

/** What kind of memory a note is about. */
enum peet_rt_memory { PEET_RT_HEAP, PEET_RT_MAPPING, PEET_RT_BREAK };

/**
 * peet_rt_notes() - notes that contexts have made since peet_rt_notes_clear(), in order
 * Each: [the place in the ring before which it belongs] [PEET_RAW_ABSTRACT header] [arguments]
 *   ALLOC  address bytes caller kind moved_from inner path...   (kind: enum peet_rt_memory; path: return addresses,
 *          innermost first; inner: one on the way there, in a library's templates, or 0)
 *   FREE   address caller kind bytes                      (bytes 0: all of a heap block; MOVED: its ALLOC follows)
 */
const uint64_t *peet_rt_notes(size_t *out_words);
void peet_rt_notes_clear(void);
#define PEET_RT_MOVED UINT64_MAX

/**
 * The host's walk up a context's stack, on that stack: from the frame whose return address is `caller` outwards to the
 * program's own code, of which `depth` frames are written, and to path[PEET_RT_PATH_MAX] one before them that is
 * compiled with the program, if there is one.  @path NULL: is the code at `caller` the program's own? Returns: how
 * many; 0: none found
 */
#define PEET_RT_PATH_MAX 32
typedef unsigned peet_rt_walker(uint64_t caller, uint64_t *path, unsigned depth);
/** peet_rt_give_keys() - before the first resume, when the host has made what keys of thread-specific data it needs: the
 * subject's are numbered as without a host */
void peet_rt_give_keys(void);
/** peet_rt_set_walker() - before the first resume; NULL: sites are the callers of malloc() and its like */
void peet_rt_set_walker(peet_rt_walker *walker, unsigned depth);

/**
 * The progress page, shared with `peet run` (PEET_PROGRESS_FD): words.  DONE and ALL, where it is known how much there
 * is: executions, turns of a trace; ALL 0: unknown.  TERMINAL: the device that the progress line is shown on (st_rdev),
 * 0: none.  LINE: who wrote there last.
 */
enum peet_rt_progress {
    PEET_PROGRESS_CYCLES,
    PEET_PROGRESS_INSTRUCTIONS,
    PEET_PROGRESS_EVENTS,
    PEET_PROGRESS_CONTEXTS,
    PEET_PROGRESS_DONE,
    PEET_PROGRESS_ALL,
    PEET_PROGRESS_TERMINAL,
    PEET_PROGRESS_LINE,
    PEET_PROGRESS_BYTES = 4096
};
enum { PEET_LINE_NONE, PEET_LINE_SHOWN, PEET_LINE_SUBJECT };

/** What the subject has executed in its own place, if that was its end; else NULL. */
const char *peet_rt_replaced_by(void);

/** Whether range operations of libraries (memcpy, strlen, stdio ...) are noted (RANGE).  On at first. */
void peet_rt_note_ranges(int on);

/** What the subject's random numbers (getrandom, /dev/urandom ...) begin with; before the first resume. */
void peet_rt_set_seed(uint64_t seed);

/** Whether more than one context is alive: only then do atomic and volatile accesses wait for their turn. */
void peet_rt_set_concurrent(int on);

/** The simulated clock's cycles per second; before the first resume. */
void peet_rt_set_frequency_hz(uint64_t hz);

/** How many hardware contexts there are (before the first resume), and on which one the next resumed context runs. */
void peet_rt_set_processors(unsigned n);
void peet_rt_set_cpu(unsigned hw);

/** Value of a PEET_* variable of the run (settings travel outside the subject's environment); NULL if unset. */
const char *peet_rt_setting(const char *name);

#endif
