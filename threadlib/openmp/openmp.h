/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP under simulation: what the files of threadlib/openmp/ share.  libpeet-omp.so defines the entry points that
 * clang emits for -fopenmp (entries.def).  In a plain run each of them jumps to the ordinary libomp (plain.c); under
 * simulation to the function here with the prefix peet__omp_.
 *
 * WORDS.  A *thread* (struct omp_thread) is a software context that has met OpenMP: a *root*, or a *worker* that the
 * library has made.  A *team* runs a region; a thread's place in a team is a *member*.  A *task* is implicit (one a
 * member) or explicit.
 *
 * ORDER.  Contexts are suspended in events only, so plain variables are safe between two events.  But contexts run
 * ahead of one another natively: whatever depends on who comes first must be decided directly after an event, before
 * any code of the subject has run.  peet__omp_order() is the event for decisions that have none of their own.  And a
 * context that an event has released may continue natively long after others have gone on: after the last event of a
 * region it reads nothing that a later region changes.
 */
#ifndef PEET_OPENMP_H
#define PEET_OPENMP_H

#include <stddef.h>
#include <stdint.h>
#include <peet/module.h>
#include "runtime.h"
#include "arch/x86_64/float_control.h"

/** Defines an entry point's simulated side: ENTRY(int, omp_get_level, (void)) { ... } */
#define ENTRY(type, name, arguments) \
    type peet__omp_##name arguments; \
    type peet__omp_##name arguments

/* ------------------------------------------------------------------------ what compiled code passes */

/** Where in the source a construct is; clang's ident_t. */
struct omp_place {
    int32_t reserved1, flags, reserved2, reserved3;
    const char *source; /* ";file;function;line;column;;" */
};
#define OMP_PLACE_ATOMIC_REDUCTION 0x10

/** The part of a task that compiled code knows; clang's kmp_task_t. */
struct omp_kmp_task {
    void *shareds;
    int32_t (*routine)(int32_t gtid, struct omp_kmp_task *task);
    int32_t part; /* of an untied task: where it goes on */
    union {
        int32_t priority;
        int32_t (*destructors)(int32_t gtid, struct omp_kmp_task *task);
    } data1, data2;
};

enum omp_task_flags {
    OMP_TASK_TIED = 1,
    OMP_TASK_FINAL = 2,
    OMP_TASK_MERGED_IF0 = 4,
    OMP_TASK_DESTRUCTORS = 8, /* data1.destructors is to be called when the task is done */
    OMP_TASK_PROXY = 16,
    OMP_TASK_PRIORITY = 32, /* data2.priority says it */
    OMP_TASK_DETACHABLE = 64,
};

/** One item of a depend clause; clang's kmp_depend_info. */
struct omp_dependence {
    intptr_t address;
    size_t bytes;
    uint8_t flags; /* enum omp_dependence_flags */
};
enum omp_dependence_flags {
    OMP_DEPEND_IN = 1,
    OMP_DEPEND_OUT = 2,
    OMP_DEPEND_INOUT = 3,
    OMP_DEPEND_MUTEX = 4,
    OMP_DEPEND_SET = 8,
    OMP_DEPEND_ALL = 0x80,
};

typedef void omp_microtask(int32_t *gtid, int32_t *tid, ...);

/* ------------------------------------------------------------------------------------- control variables */

enum omp_schedule_kind { OMP_STATIC = 1, OMP_DYNAMIC = 2, OMP_GUIDED = 3, OMP_AUTO = 4 };
#define OMP_MONOTONIC 0x80000000u

/** Internal control variables of a task's data environment. */
struct omp_icvs {
    int threads; /* nthreads-var at this level */
    int dynamic;
    int max_active_levels;
    int thread_limit;
    int default_device;
    uint32_t schedule; /* enum omp_schedule_kind, with OMP_MONOTONIC */
    int chunk;         /* 0: none given */
    int proc_bind;     /* as omp_get_proc_bind() says it */
    uintptr_t allocator;
};

/** What the environment says, once for the program.  Not in the subject's heap: addresses do not depend on it. */
enum { OMP_LEVELS_MAX = 64 };
struct omp_environment {
    struct omp_icvs icvs;
    int threads_list[OMP_LEVELS_MAX]; /* OMP_NUM_THREADS, a value a level */
    int nthreads_list;
    int bind_list[OMP_LEVELS_MAX]; /* OMP_PROC_BIND */
    int nbind_list;
    const char *places; /* OMP_PLACES, or NULL: it is not set, or there are no such places */
    int cancellation, max_task_priority, display, display_affinity;
    int teams, teams_thread_limit; /* 0: not said */
    size_t stack_bytes;            /* 0: the default */
    int blocktime_ms, library;     /* only told: kmp_get_blocktime(), kmp_get_library() */
};
extern struct omp_environment peet__omp_env;

/* -------------------------------------------------------------------------------------------------- tasks */

struct omp_thread;
struct omp_team;
struct omp_node;
struct omp_entry;
struct omp_dependences;
struct omp_reductions;

/** A taskgroup region. */
struct omp_taskgroup {
    struct omp_taskgroup *outer;
    uint64_t tasks; /* not complete */
    struct omp_thread *waiter;
    struct omp_reductions *reductions;
    int shared_reductions; /* 0: its own; else 1 + index in the team's */
    void **shareds;        /* with those: the variables of this group's member */
    int had_tasks, cancelled;
};

enum omp_task_state { OMP_TASK_NEW, OMP_TASK_QUEUED, OMP_TASK_RUNNING, OMP_TASK_ENDED, OMP_TASK_COMPLETE };

struct omp_task {
    struct omp_task *parent;
    struct omp_team *team;
    struct omp_taskgroup *group;     /* innermost around what it runs */
    struct omp_taskgroup *member_of; /* innermost around its creation */
    struct omp_icvs icvs;
    uint64_t children;                   /* not complete */
    struct omp_thread *waiter;           /* waits for them */
    uint64_t references;                 /* itself, children's parent pointers */
    uint64_t number;                     /* for observers; 0: implicit */
    struct omp_task *next, *previous;    /* in a queue */
    struct omp_node *node;               /* as a task that depends and that is depended on */
    struct omp_dependences *dependences; /* of its children */
    struct omp_entry **mutexes;          /* mutexinoutset: what it must hold while it runs */
    int nmutexes;
    int32_t flags; /* enum omp_task_flags */
    int32_t priority;
    uint8_t state; /* enum omp_task_state */
    uint8_t implicit, final;
    uint8_t deferred;    /* counted by parent, group and team */
    uint8_t resubmitted; /* untied: its next part is to be queued */
    uint8_t fulfilled;   /* detachable: the event has been fulfilled */
    uint8_t holds_mutexes;
    uint8_t had_children;                 /* deferred ones */
    size_t bytes;                         /* of kmp part and shareds, which follow */
    struct omp_thread *event_waiter;      /* waits for the detach event of an undeferred task */
    _Alignas(64) struct omp_kmp_task kmp; /* last: private variables follow */
};

static inline struct omp_task *peet__omp_task_of(struct omp_kmp_task *kmp)
{
    return (struct omp_task *)((char *)kmp - offsetof(struct omp_task, kmp));
}

/** A queue of tasks ready to run. */
struct omp_queue {
    struct omp_task *head, *tail;
    uint64_t length;
};

/* --------------------------------------------------------------------------------------- worksharing loops */

/** A dynamic, ordered or doacross loop, from the first member that begins it to the last that leaves it. */
struct omp_loop {
    struct omp_loop *next;
    uint64_t number; /* of the member's loops in this team */
    int left;        /* members that have left it */
    int posts;       /* POST was used: the mapper knows the object */
    uint64_t object; /* its first word is the object of events */
};

/** A member's view of the loop that it is in. */
struct omp_dispatch {
    struct omp_loop *loop; /* NULL: nothing shared is needed */
    int active;
    uint32_t kind; /* enum omp_schedule_kind */
    int ordered;
    uint64_t trip, chunk;
    /* iterations that stay together: 1, or the vector length of a simd loop; chunks count units */
    uint64_t unit;
    uint64_t first, last; /* static: the next chunk [first, last); dynamic: the present one */
    uint64_t step;        /* static: iterations from one chunk to the next */
    uint64_t current;     /* ordered: the iteration */
    uint64_t end;         /* of the present chunk */
    int posted;           /* ordered: its region has been executed */
    int64_t lower, stride;
    int down; /* gcc's loops of numbers without a sign: it counts downwards */
};

/** A member's view of the doacross loop that it is in. */
struct omp_doacross {
    struct omp_loop *loop;
    int dimensions;
    uint64_t trip;
    struct omp_dimension {
        int64_t lower, upper, stride;
    } *dims;
    uint64_t *lengths;
};

/* -------------------------------------------------------------------------------------------------- teams */

/** A thread's place in a team. */
struct omp_member {
    struct omp_team *team;
    struct omp_thread *thread;
    struct omp_task *implicit;
    int32_t tid;
    uint64_t singles, loops;
    struct omp_dispatch dispatch;
    struct omp_doacross doacross;
    struct omp_queue queue;
    void *reduce_data;
    int reduce_method;
    uint64_t reduce_gate; /* object: its subtree's values are combined */
};

/** The threads of a region. */
struct omp_team {
    int n; /* members in this region */
    int capacity;
    struct omp_member *members;
    struct omp_team *parent;
    struct omp_member *creator; /* the master's place in the parent */
    int level, active_level;
    int serial;                          /* begun by __kmpc_serialized_parallel() */
    struct omp_task *saved_task;         /* serial: what its thread ran before */
    int league, nleagues, league_number; /* league: this is the league itself; else the initial team's place in it */
    omp_microtask *microtask;
    void **arguments;
    int narguments;
    struct omp_icvs icvs;
    struct peet__float_control control; /* the master's, which holds for all */

    uint64_t fork_gate, gate;    /* objects of barriers: parked workers, members */
    int hot;                     /* threads that pass fork_gate: the master and workers */
    struct omp_thread **workers; /* [1..nworkers], by tid; persist between regions */
    int nworkers;

    uint64_t singles;      /* single constructs that have found their thread */
    struct omp_loop *loop; /* those begun and not left by all */
    void *copyprivate;
    int cancelled; /* enum omp_cancel */
    uint64_t reduce_turn;

    /* tasks */
    uint64_t tasks; /* explicit ones not complete */
    uint64_t queued;
    int tasking;                      /* who waits at a barrier of this region can run tasks and be cancelled */
    uint64_t changes;                 /* goes up with whatever is decided about tasks, barriers and cancellation */
    struct omp_queue urgent;          /* with priorities, highest first */
    int arrived, arrived_cancellable; /* at the barrier under way; at one that cancellation ends */
    uint64_t generation;              /* of barriers that tasks can interrupt */
    int idle;                         /* threads in SEM_WAIT on idle_gate, less those already posted */
    uint64_t idle_gate;
    struct omp_thread *waiters, *last_waiter; /* threads that wait for certain tasks */
    struct omp_reductions *reductions[2];
    struct omp_team *next_free;
};

struct omp_thread_copy;

struct omp_thread {
    int32_t gtid;
    struct omp_member *member;
    struct omp_task *task;
    struct omp_member initial; /* of a root: its team of one outside all regions */
    struct omp_team initial_team;
    int root, shown_level, shown_threads; /* the region whose affinity was shown last */

    /* as master */
    struct omp_team **teams; /* [depth]: reused from region to region */
    int depth, nteams;
    struct omp_team *free_serial;
    int push_threads, push_bind, push_teams, push_teams_limit; /* clauses of the next region */

    /* as worker */
    struct omp_member *job;
    uint64_t park;         /* object: a semaphore */
    uint64_t leaves, left; /* how often it was told to leave its hot team; how often it has */
    struct omp_thread *next_free;

    /* waiting for certain tasks */
    uint64_t wake; /* object: a semaphore */
    int waiting;
    struct omp_thread *next_waiter;

    int *busy, own_busy;            /* workers of its contention group that are in regions */
    struct omp_thread_copy *copies; /* threadprivate */
};

enum omp_cancel { OMP_CANCEL_NONE, OMP_CANCEL_PARALLEL, OMP_CANCEL_LOOP, OMP_CANCEL_SECTIONS, OMP_CANCEL_TASKGROUP };

/* -------------------------------------------------------------------------------------------------- services */

/* ---- thread.c */
/** The calling thread; a context that OpenMP has not met becomes a root. */
struct omp_thread *peet__omp_self(void);
/** Make a worker, parked.  Returns: NULL if no thread can be had */
struct omp_thread *peet__omp_worker_new(void);
/** How many threads there are, roots and workers. */
int peet__omp_threads_known(void);
void peet__omp_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void peet__omp_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- own.c */
/** Memory of the library's own, zeroed; ends the program if there is none. */
void *peet__omp_alloc(size_t bytes);
/** The same at an alignment of 64.  Returns: NULL if there is none */
void *peet__omp_try_alloc(size_t bytes);
void *peet__omp_realloc(void *memory, size_t bytes);
void peet__omp_free(void *memory);

/* ---- real.c */
/** The ordinary libomp's entry as a recorded program shall call it: found itself, or what calls it. */
void (*peet__omp_real_entry(const char *name, void (*found)(void)))(void);

/* ---- events.c */
/** Wait for one's turn in simulated time, as an atomic access to *datum would.  @state: changes with what it guards */
void peet__omp_order(const void *datum, uint64_t state);
/** peet__omp_note() - a note of TASK, for observers */
void peet__omp_note(enum peet_task_what what, uint64_t task, uint64_t other);
void peet__omp_barrier_event(const void *object, int count);
void peet__omp_wait(const void *semaphore);
void peet__omp_post(const void *semaphore, int count);

/* ---- icv.c */
void peet__omp_environment_read(void);
/** How many threads a list variable gives regions at this level; 0: it says nothing. */
int peet__omp_threads_at(int level);

/* ---- images.c */
/** Look whether the program or a library of it makes tasks. */
void peet__omp_tasks_find(void);

/* ---- places.c */
enum { PEET__OMP_PLACES, PEET__OMP_NO_LIST, PEET__OMP_NO_PROCESSORS };
/** OMP_PLACES; NULL: each processor is a place.  @bound: no: all are one place.  Returns: one of these: a list that is none has
 * the effect of NULL, one without a processor that there is that of all in one place */
int peet__omp_places_read(const char *text, int bound);
int peet__omp_nplaces(void);
/** The processors of a place, in order; none of one that there is not. */
const int *peet__omp_place(int place, int *out_n);
/** The first place that has the processor, else the first of all. */
int peet__omp_place_of(unsigned processor);

/* ---- affinity.c */
/** OMP_DISPLAY_AFFINITY: the line of the calling thread */
void peet__omp_affinity_show(void);
void peet__omp_affinity_format(const char *format);

/* ---- team.c */
/** A worker's life: from region to region, until it is sent home. */
void peet__omp_worker_run(struct omp_thread *thread);
/** A region's body, and the barrier at its end. */
void peet__omp_member_run(struct omp_thread *thread, struct omp_member *member);
/** All of a root's teams go; their workers park in the pool. */
void peet__omp_teams_release(struct omp_thread *root);
void peet__omp_invoke(omp_microtask *fn, int32_t *gtid, int32_t *tid, long count, void **arguments);
/** A member of a new region, with a fresh implicit task.  @parent: the task that the region belongs to, or NULL */
void peet__omp_member_begin(struct omp_member *member, struct omp_team *team, struct omp_task *parent, int tid);

/* ---- barrier.c */
enum omp_barrier_flags {
    OMP_BARRIER_CANCELLABLE = 1, /* it returns 1 at once if the region is being cancelled */
    /* A loop or sections that were cancelled before it are forgotten: gcc has no other call for that. */
    OMP_BARRIER_ENDS_WORK = 2,
};
/** All members, and all tasks of the team. */
int peet__omp_barrier(struct omp_thread *thread, int flags);
/** Wake the threads that sleep at the barrier. */
void peet__omp_idle_wake_all(struct omp_team *team);

/* ---- tasks.c */
/** Some code of the program makes tasks: barriers must be ready to run them. */
extern int peet__omp_tasking;
struct omp_task *peet__omp_task_new(struct omp_thread *thread, int32_t flags, size_t bytes, size_t shareds,
    int32_t (*routine)(int32_t, struct omp_kmp_task *));
/** What gcc makes of a region: @n threads (0: as many as there would be) call @fn; @bind: as in proc_bind(), 0: nothing is said. */
void peet__omp_region(void (*fn)(void *), void *data, int n, int bind);
/** In an ordered loop whose iterations do not say when they are over: all of the present chunk are. */
void peet__omp_chunk_over(void);
/** Where an ordered region of such a loop begins. */
void peet__omp_chunk_ordered(void);
/** A task that may run now: to the queues, or (no room, nothing to gain) at once. */
void peet__omp_task_submit(struct omp_thread *thread, struct omp_task *task);
/** Run it at once and return when it is complete. */
void peet__omp_task_undeferred(struct omp_thread *thread, struct omp_task *task);
int32_t peet__omp___kmpc_omp_task(struct omp_place *place, int32_t gtid, struct omp_kmp_task *kmp);
/** Put it on a queue and wake somebody for it; right after an event, and ends right after one or without. */
void peet__omp_task_push(struct omp_thread *thread, struct omp_task *task);
/** A task to run, off its queue; NULL: none that the scheduling rules allow here.  Right after an event.
 *  @constraint: a task whose descendants alone may run, if tied; NULL: any */
struct omp_task *peet__omp_task_take(struct omp_thread *thread, const struct omp_task *constraint);
/** Run it here; returns right after an event. */
void peet__omp_task_run(struct omp_thread *thread, struct omp_task *task);
void peet__omp_task_unref(struct omp_task *task);
/** Count it with parent, group and team. */
void peet__omp_task_count(struct omp_task *task);
/** Run tasks or sleep until *counter is 0; right after an event, before and after. */
void peet__omp_task_wait(struct omp_thread *thread, const uint64_t *counter, struct omp_thread **waiter);
void peet__omp_thread_wake(struct omp_thread *thread);
/** The task that restricts what may run while the present one waits. */
const struct omp_task *peet__omp_constraint(const struct omp_thread *thread);
/** Somebody who sleeps may have work now. */
void peet__omp_tasks_notify(struct omp_team *team, const struct omp_task *task);

/* ---- sync.c */
/** A critical section by name. */
void peet__omp_lock(const void *object);
void peet__omp_unlock(const void *object);

/* ---- depend.c */
/** Enter a new task into its parent's graph.  Returns: 1 if it must wait; it is then queued when it need not any more
 */
int peet__omp_depend(struct omp_task *task, int n, const struct omp_dependence *list, int nmore,
    const struct omp_dependence *more);
/** A task is complete: those that waited for it alone can run. */
void peet__omp_depend_release(struct omp_thread *thread, struct omp_task *task);
/** Take all that a mutexinoutset task must hold, or nothing.  Returns: 1 if it has them */
int peet__omp_mutexes_try(struct omp_task *task);
void peet__omp_mutexes_release(struct omp_task *task);
void peet__omp_dependences_free(struct omp_task *parent);

/* ---- reductions.c */
void peet__omp_group_begin(struct omp_thread *thread);
void peet__omp_group_end(struct omp_thread *thread);

/* ---- dispatch.c */
/** A loop of @trip iterations, given out by @schedule (clang's number) in chunks of @chunk (0: none was asked for). */
void peet__omp_loop_begin(uint32_t schedule, uint64_t trip, int64_t chunk, int64_t lower, int64_t stride);
/** The loop that this member comes to, made by the first that does. */
struct omp_loop *peet__omp_loop_enter(struct omp_member *member);
void peet__omp_loop_leave(struct omp_member *member, struct omp_loop *loop);
/** The region is over: loops that were left by cancellation are forgotten. */
void peet__omp_loops_end(struct omp_team *team);
void peet__omp_post_iteration(struct omp_loop *loop, uint64_t iteration);
void peet__omp_wait_iteration(struct omp_loop *loop, uint64_t iteration);

/* ---- threadprivate.c */
void peet__omp_copies_free(struct omp_thread *thread);

#endif
