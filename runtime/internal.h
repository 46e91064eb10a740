/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime's files share: the state of the process and the services between them.  Nothing
 * outside runtime/ includes this.
 */
#ifndef PEET_RUNTIME_INTERNAL_H
#define PEET_RUNTIME_INTERNAL_H

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include "arch/x86_64/float_control.h"
#include "arch/x86_64/fs.h"
#include "arch/x86_64/registers.h"
#include "arch/x86_64/swap.h"
#include "arch/x86_64/syscall.h"
#include "control.h"
#include "layout.h"
#include "runtime.h"

#define PUBLIC __attribute__((visibility("default")))

/** A context's stack: [lo, hi), guard below; its thread-local storage lies at the upper end (tls.c). */
struct peet__stack {
    uint64_t lo, hi, guard_lo;
    int foreign; /* the subject's own memory: not ours to guard or to free */
};

enum peet__poke {
    PEET__POKE_SIGNAL = 1, /* a signal waits in the context that it may take */
    PEET__POKE_CANCEL = 2, /* peet_rt_poke() */
};

enum peet__ctx_state { PEET__CTX_NEW, PEET__CTX_SUSPENDED, PEET__CTX_RUNNING, PEET__CTX_DONE };

struct peet_ctx {
    struct peet__saved saved; /* assembly switch */
    ucontext_t *uc;           /* saved state (ucontext path), else NULL */
    uint64_t *stub_frame;     /* registers at the check that yielded (enum in arch/x86_64/cpu.c), else NULL */
    const ucontext_t *fault;  /* where it crashed, else NULL */
    void (*fn)(uint64_t, uint64_t);
    uint64_t a, b;
    uint64_t result;                  /* of the pending peet_rt_event() */
    uint64_t fs;                      /* its thread pointer; the main context has the host thread's */
    uint64_t stack_top;               /* below thread-local storage */
    uint64_t guard_bytes;             /* as a thread asked for */
    struct peet_ctx *next, *previous; /* all there are but the main one */
    struct peet_ctx *pending;         /* threads that wait for THREAD_CREATE to be performed */
    int saved_errno;                  /* of the main context, which shares it with the host */
    int why;                          /* enum peet_yield of the last suspension */
    int state;                        /* enum peet__ctx_state */
    uint32_t number;
    int mark_depth;   /* marked doall loops around us; see threadlib/doall.c */
    int in_iteration; /* this context runs iterations of a function-form doall */
    uint8_t poked;    /* enum peet__poke: look at signals at the next safe point */
    uint8_t restarts; /* every handler run since the last event began lets the call that it interrupts go on */
    uint8_t counted;  /* its mask counts (sigmask.c) */
    uint64_t mask;    /* signals that it blocks */
    uint64_t waits;   /* signals that it waits for (sigwait.c) */
    uint64_t handled; /* how many handlers have run */
    struct peet__waiting_signal *signals; /* sent to it and not taken, in the kernel's order */
    stack_t *alternative;                 /* its own stack for handlers, or NULL */
    uint8_t fs_due, fs_found;             /* contexts/pointer.c */
    uint8_t between;                      /* ... and is between two of them: no place for a signal handler */
    uint8_t held;                         /* by the host */
    uint8_t named;                        /* by the subject: it may still ask about the thread (thread.c) */
    uint8_t asks;                         /* type of the event that it has asked for and not come back from, 0: none */
    uint8_t exits, exit_flushes;          /* it has recorded PROGRAM_EXIT, by exit(), which flushes stdio, */
    int exit_status;                      /* ... with this status */
    uint8_t whole;                        /* it has yielded where no other may run: it goes on at once */
    uint32_t wholes, in_row;              /* how often it has done so, also since it looked by itself */
    uint8_t crash_status;                 /* not 0: it has crashed while others went on after a crash (fatal.c) */
    uint64_t foreign_words; /* of foreign code since it last asked for something or gave up its processor */
    uint8_t domain;         /* view of memory (domain.h) */
    uint8_t leaving;        /* ... and is about to run code that sees main memory alone, */
    uint8_t away;           /* ... or does so, and what that calls back sees main memory, too, */
    uint64_t outside_sp;    /* ... as long as its stack is deeper than this; 0: no */
    struct peet__stack stack;
};

/** State of the process.  One host thread runs both worlds. */
struct peet__rt {
    int simulated;                               /* under `peet run`, from start-up to the end */
    int forked;                                  /* a child of a simulated process, which is not simulated */
    int others;                                  /* processes that may have objects of the subject's */
    int in_subject;                              /* which world is running */
    int capturing;                               /* constructors of shared objects, before the host is there */
    volatile int busy;                           /* inside a part of the runtime that a signal handler may not enter */
    volatile int signals;                        /* the running context shall look for signals */
    int signals_held;                            /* not those that have come before it was resumed */
    volatile uint64_t pending;                   /* signals to the process that have come and wait in the runtime */
    uint64_t kernel_mask, all_block, some_block; /* sigmask.c: the kernel's; what all contexts block, and some */
    int mixed;                                   /* contexts block different signals */
    int note_allocations;
    int use_ucontext;
    int *errno_place;         /* this thread's errno */
    uint64_t thread;          /* thread pointer of the host thread, which runs both worlds, and of the main context */
    uint64_t fs;              /* of the running context */
    struct peet_ctx *current; /* running, or the last that ran */
    uint64_t *words, *limit;  /* where the running context began to write, and the limit that the host asked for; the
                                 control page's may be lower */
    struct peet__saved host;
    ucontext_t host_uc;
    int host_errno;
    struct peet_ctx main_ctx;
    struct peet_ctx *exit_ctx;      /* the context that ends the program: by its PROGRAM_EXIT */
    volatile int sample_due;        /* the next context that is resumed sets the timer (unseen.c) */
    volatile unsigned long resumes; /* how often a context was resumed */
    struct peet_host_hooks hooks;
    /* Constructors of shared objects have made threads that wait to begin; NULL: none.  @begins: the main context is about to
     * begin; else a constructor is about to wait. */
    void (*early_threads)(int begins);
    int begun; /* it is known whether this is a simulated run */
};
extern struct peet__rt peet__rt;

/** begin_now() - what this library's constructor does, which comes after those of libraries that know nothing of it: what
 * they ask for before tells of the machine. */
void peet__begin_now(void);

static inline void peet__begin_early(void)
{
    if (__builtin_expect(!peet__rt.begun, 0))
        peet__begin_now();
}

/** The other parts of the runtime, after that. */
void peet__world_begin(void);
void peet__fd_begin(void);
void peet__sigmask_begin(void);

/** The caller is about to wait: if that is before the program begins, it may be for threads that wait to begin. */
static inline void peet__early_waits(void)
{
    if (__builtin_expect(peet__rt.early_threads != NULL, 0))
        peet__rt.early_threads(0);
}

/* ------------------------------------------------------------------------------- foreign/world.c */

/** The thread is in the subject's world, as far as code that peetcc has not compiled goes: 1; only while that is
 * recorded. */
extern _Thread_local volatile uint64_t peet__foreign_world;
/** Where the function of a library that this one calls comes back to (foreign/world.c).  Handlers of signals, which may
 * have interrupted it, call others, and put it back. */
extern _Thread_local volatile uint64_t peet__foreign_from;
/** It is. */
extern int peet__foreign_on;
/** No longer. */
void peet__foreign_end(void);
/** Is it in the translation of foreign code, right behind a system call?  For handlers of signals. */
int peet__foreign_after_system_call(uint64_t pc);
/** Whether other contexts are alive now. */
void peet__foreign_concurrent(int concurrent);

/* --------------------------------------------------------------------------- foreign/allocator.c */
/** The function at @at becomes a jump.  Returns: 0, PEET_EUNSUPPORTED: code cannot be changed */
int peet__foreign_replace(uint64_t at, const void *by);

/** The subject's allocator while libraries are recorded: functions of a copy of the C library. */
struct peet__allocator {
    int on, threads;
    void *(*malloc)(size_t bytes);
    void (*free)(void *p);
    void *(*calloc)(size_t n, size_t bytes);
    void *(*realloc)(void *p, size_t bytes);
    void *(*memalign)(size_t align, size_t bytes);
    int (*posix_memalign)(void **out, size_t align, size_t bytes);
    size_t (*usable)(void *p);
};
extern struct peet__allocator peet__allocator;
/** There is more than one thread now. */
void peet__allocator_threads(void);
/** A context with this thread pointer ends, begins. */
void peet__allocator_leave(uint64_t fs);
void peet__allocator_enter(uint64_t fs);
/** Its function in place of one of the C library's that is about the allocator (mallopt() and its like); else pc. */
uint64_t peet__allocator_instead(uint64_t pc);

/* --------------------------------------------------------------------------------------- map.c */

/** The subject's mappings and its break, for its allocator: not noted, since what it gives out is. */
void *peet__map_take(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int peet__map_give(void *at, size_t bytes);
void *peet__map_move(void *old, size_t old_bytes, size_t bytes, int flags);
void *peet__map_break(intptr_t by);
/** Counts peet__space_mapped (heap.h) if there is a limit. */
void peet__map_count(void);

/* ------------------------------------------------------------------------------------ settings.c */

/** Take the PEET_* variables out of an environment.  Borrows the strings. */
void peet__settings_take(char *const *env);
void peet__settings_close_on_exec(void);

/** report() - one line of diagnosis to whoever ran us (or stderr).  No allocation. */
void peet__report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** die() - the same, then the end of the process with this status, at once. */
void peet__die(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/** real_exit() - end the process now, no handlers */
void peet__real_exit(int status) __attribute__((noreturn));

/** next() - the definition of a libc function behind the one of ours.  Never NULL. */
void *peet__next(const char *name);
/** The C library's function of the same name as ours, looked up once. */
#define PEET__REAL(name) \
    __extension__({ \
        static __typeof__(&name) peet__real; \
        if (__builtin_expect(!peet__real, 0)) \
            peet__real = (__typeof__(&name))peet__next(#name); \
        peet__real; \
    })

/* ----------------------------------------------------------------------------------- arguments.c */

struct peet__arguments {
    int argc;
    char **argv; /* followed by envp and auxv, as the kernel lays them out */
    char **envp;
};
/** Copy argv, the user's environment and auxv to their fixed places.  Ends the process on failure. */
void peet__arguments_copy(int argc, char **argv, char **envp, struct peet__arguments *out_arguments);
/** What the kernel has said under this type (AT_PAGESZ, ...); 0: nothing, or there is no copy of it. */
uint64_t peet__auxv(uint64_t type, int *out_found);

/** If the program has an allocator of its own: what calls it on the host's behalf gets the C library's (allocator.c). */
void peet__allocator_part(void);

/* -------------------------------------------------------------------------------------- stacks.c */

/** The lowest guard of a stack of ours, but the main one's, that begins in [lo, hi); @hi if there is none. */
uint64_t peet__stack_guard_in(uint64_t lo, uint64_t hi);

/** A stack of at least so many bytes, with its guard.  Returns 0 or a peet_err. */
int peet__stack_new(size_t bytes, struct peet__stack *out_stack);
int peet__stack_main(struct peet__stack *out_stack);
void peet__stack_free(const struct peet__stack *stack);
/** Its pages go back to the kernel; those of thread-local storage stay. */
void peet__stack_drop_pages(const struct peet__stack *stack);

/* ------------------------------------------------------------------------------------- context.c */

/** A context with stack and thread-local storage, held and named by nobody yet.  Returns 0 or a peet_err. */
int peet__ctx_make(const struct peet_ctx_options *options, struct peet_ctx **out_ctx);
/** Free it, if nobody holds or names it. */
void peet__ctx_release(struct peet_ctx *ctx);
/** The first of the contexts other than the main one. */
extern struct peet_ctx *peet__ctx_list;
/** Prepare a context on the stack that it has. */
void peet__ctx_prepare(struct peet_ctx *ctx, void (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b);
/** The ucontext path's half of a switch. */
void peet__ucontext_resume(struct peet_ctx *ctx);
void peet__ucontext_leave(struct peet_ctx *ctx);
/** Subject world: at a safe point with a full ring (or deferred signals). */
void peet__yield_full(void);
/** The same, where no other context may run before this one goes on. */
void peet__yield_whole(void);
/** The same, where all others may act before it goes on.  @processor: one that waits for the processor gets it */
void peet__yield_turn(int processor);
/** Point the cursor at the scratch ring. */
void peet__park_cursor(void);
/** From now on nobody reads the words: end of the simulation, or a forked child. */
void peet__go_plain(void);

/* ----------------------------------------------------------------------------------------- tls.c */

/** Whether contexts can have thread-local storage of their own.  If not, it has been reported. */
int peet__tls_ready(void);
/** How much of a stack it takes, at most. */
size_t peet__tls_bytes(void);
void peet__tls_leave_rseq(void); /* under simulation only */
/** Fresh thread-local storage at the top of the context's stack; sets fs and stack_top.  Returns 0 or a peet_err. */
int peet__tls_new(struct peet_ctx *ctx);
/** What of it does not lie on the stack. */
void peet__tls_free(struct peet_ctx *ctx);
/** The context of a thread pointer that tls_new() has made, or of the main thread's. */
struct peet_ctx *peet__tls_context(uint64_t fs);
/** Subject world: run the destructors of the running context's thread_local objects, as at a thread's end. */
void peet__tls_destructors(void);

/* -------------------------------------------------------------------------------------- thread.c */

/** The context that peet_rt_thread_new() has made for this thread pointer; NULL if none waits. */
struct peet_ctx *peet__thread_take(uint64_t tp);

/* ------------------------------------------------------------------------------------- capture.c */

/** Keep the words of constructors that run before the host is there, for the main context's first turns. */
void peet__capture_begin(void);
/** A check of captured code: everything up to here may be cut off. */
void peet__capture_boundary(void);
void peet__capture_end(void);
/** Copy captured words.  Returns 0 when there are none left. */
int peet__capture_replay(uint64_t *words, uint64_t *limit, uint64_t **out_end);

/* ---------------------------------------------------------------------------------------- exit.c */

/** What the subject has set as limits of its memory becomes the kernel's: it executes another program. */
void peet__rlimit_exec(void); /* rlimit.c */
/** Record PROGRAM_EXIT, once, and let the host finish; returns for what is left to do. */
void peet__exit_record(int status);
void peet__exit_prepare_early(void);   /* in the first constructor */
void peet__exit_prepare_subject(void); /* on the main context, before anything of the subject's */
/** Objects loaded since the first call are the host's: their finalisers do not run in the subject. */
void peet__exit_note_subject_objects(void);
void peet__exit_note_host_objects(void);
/** Is the object with this base address one that came with the host? */
int peet__exit_is_host_object(uint64_t base);
/** In a child, which is not simulated: back to what a plain program has. */
void peet__exit_forked(void);
/** The dynamic linker's finaliser, without those of the host's objects. */
void peet__exit_wrap_rtld_fini(void (*rtld_fini)(void), void (**out_wrapped)(void));

/* ------------------------------------------------------------------------------- world_process.c */

/** The kernel's random bytes for this process (AT_RANDOM) and the stack protector's word become those of every run.  No
 *  function with a protected frame may be active. */
void peet__world_settle_canary(void);

/* --------------------------------------------------------------------------------- plain/real.c */

/** A library may be about to go.  Where the thread is recorded, what it has executed of it can be understood later, too. */
void peet__real_library_goes(void);

/* ------------------------------------------------------------------------------------- signals.c */

void peet__signals_begin(void); /* under simulation only */
void peet__loader_begin(void);  /* under simulation, and if the process is recorded */
/** At a safe point of the running context, if rt.signals says so. */
void peet__signals_deliver(void);
/** Back to what plain programs have: a forked child. */
void peet__signals_end(void);
/** A new call begins on the context, it is over: masks and waiting signals. */
void peet__signals_enter(struct peet_ctx *ctx, uint64_t mask);
void peet__signals_leave(struct peet_ctx *ctx);
/** If rt.mixed: before a context runs, and when the host is back, which mostly keeps the context's mask. */
void peet__signals_switch_in(struct peet_ctx *ctx);
void peet__signals_switch_out(void);

/* ------------------------------------------------------------------------------------- arch/x86_64/ */

void peet__ctx_finished(void) __attribute__((noreturn));
/** fn(arg) on another stack. */
void peet__call_on(void *stack_top, void (*fn)(void *), void *arg);
/** Called by peet__stub_full with all registers saved. */
void peet__stub_yield(uint64_t *frame);
/** How peet__stub_full saves vector state: 0 fxsave, 1 xsave, 2 xsavec. */
extern int peet__xsave_kind;
void peet__xsave_probe(void);

/** The thread pointer that is set or, if none is, will be (contexts/pointer.c). */
static inline uint64_t peet__fs_meant(void)
{
    if (peet__fs_absent())
        return peet__rt.in_subject ? peet__rt.fs : peet__rt.thread;
    return peet__fs_base_now();
}

/** Whether the caller is the subject: the host may have threads of its own, which run beside it. */
static inline int peet__is_subject(void)
{
    return __builtin_expect(peet__rt.in_subject, 0) && peet__rt.fs == peet__fs_meant();
}

/* ---------------------------------------------------------------------------- contexts/pointer.c */

/** Before any context runs. */
void peet__fs_begin(int sanitized);
/** Host's world: the context is about to run, has run. */
void peet__fs_enter(struct peet_ctx *ctx);
void peet__fs_leave(struct peet_ctx *ctx);
/** The thread pointer of the world that runs, if none is set. */
void peet__fs_settle(void);
/** The same, for an instruction that has faulted without.  Returns: 0: it had one */
int peet__fs_found(void);
/** From now on it is always set: SIGSEGV is blocked, or not ours any more. */
void peet__fs_keep(void);
/** Whether SIGSEGV comes to peet__fs_found(), as far as masks and stacks for handlers go. */
void peet__fs_reconsider(int faults_come);

/** Where the program's time goes (unseen.c): set the timer for the next sample. */
void peet__sample_arm(void);

/**
 * Subject world: a short visit to the host's, for calls of the C library that allocate for the host.  Between begin
 * and end nothing of the subject runs, and the allocator finds the host thread's caches.  In the host's world: no
 * effect.
 */
struct peet__visit {
    uint64_t fs;                /* 0: absent */
    int in_subject, kept_errno; /* of the process's first thread, which the main context shares */
    uint64_t foreign_world;     /* the thread's before */
};
static inline struct peet__visit peet__visit_begin(void)
{
    struct peet__visit visit = {.fs = peet__fs_absent() ? 0 : peet__fs_base_now(), .in_subject = peet__rt.in_subject};
    peet__rt.busy++;
    peet__rt.in_subject = 0;
    if (visit.fs != peet__rt.thread) {
        peet__set_fs(peet__rt.thread);
    } else {
        visit.foreign_world = peet__foreign_world;
        peet__foreign_world = 0;
    }
    if (peet__rt.errno_place)
        visit.kept_errno = *peet__rt.errno_place;
    return visit;
}
static inline void peet__visit_end(struct peet__visit visit)
{
    if (peet__rt.errno_place)
        *peet__rt.errno_place = visit.kept_errno;
    peet__rt.in_subject = visit.in_subject; /* first: contexts/pointer.c */
    if (!visit.fs)
        peet__fs_drop();
    else if (visit.fs != peet__rt.thread)
        peet__set_fs(visit.fs);
    else
        peet__foreign_world = visit.foreign_world;
    peet__rt.busy--;
    if (peet__rt.signals && visit.in_subject)
        peet__ctl->limit = NULL;
    if (__builtin_expect(peet__rt.sample_due, 0) && visit.in_subject)
        peet__sample_arm(); /* one that came during the visit has not set the timer, and the host may not come for long */
    peet__clear_vectors();
}

/** leave() - subject world: suspend the running context.  Returns when the host resumes it. */
static inline __attribute__((always_inline)) void peet__leave(enum peet_yield why)
{
    struct peet_ctx *ctx = peet__rt.current;
    ctx->why = why;
    ctx->state = why == PEET_YIELD_DONE ? PEET__CTX_DONE : PEET__CTX_SUSPENDED;
    peet__rt.in_subject = 0;
    ctx->saved.x87_flags = peet__x87_flags();
    if (__builtin_expect(!ctx->uc, 1))
        peet__swap(&ctx->saved, &peet__rt.host);
    else
        peet__ucontext_leave(ctx);
    peet__clear_vectors();
}

#endif
