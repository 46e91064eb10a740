/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: creating, joining, detaching, ending.  A thread of the subject is a software context; its
 * pthread_t is the address of its thread control block, which the runtime makes before the thread is
 * announced to the mapper, so the C library's own pthread_self() is right.  Who waits for whom, and the order of it
 * all, is the mapper's.
 */
#include "real.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <peet/module.h>

/* Initial-exec thread-local storage: the same distance from every thread pointer. */
static __thread struct peet__thread me;

/* That of a thread pointer. */
static struct peet__thread *of_pointer(uint64_t tp)
{
    static uint64_t offset;
    if (__builtin_expect(!offset, 0))
        offset = (uint64_t)&me - peet__fs_base();
    return (struct peet__thread *)(tp + offset);
}

#define DEFAULT_STACK_BYTES ((uint64_t)8 << 20) /* whatever `ulimit -s` says */

/* ------------------------------------------------------------------------------- memory of our own */

extern void *__libc_calloc(size_t, size_t);
extern void __libc_free(void *);

/* On a context, the C library's allocator would make an arena for that context. */
void *peet__own_calloc(size_t n, size_t bytes)
{
    struct peet__visit visit = peet__visit_begin();
    void *p = __libc_calloc(n, bytes);
    peet__visit_end(visit);
    return p;
}

void peet__own_free(void *p)
{
    struct peet__visit visit = peet__visit_begin();
    __libc_free(p);
    peet__visit_end(visit);
}

/* -------------------------------------------------------------------------------------- who exists */

/* Descriptors by thread pointer: a table of chains through the descriptors, doubled as it fills. */
static struct peet__thread **buckets;
static unsigned nbuckets, nlisted;

static struct peet__thread **bucket(uint64_t tp)
{
    return &buckets[((tp >> 6) * 0x9e3779b97f4a7c15u >> 32) & (nbuckets - 1)];
}

static int grow(void)
{
    unsigned n = nbuckets ? 2 * nbuckets : 64;
    struct peet__thread **old = buckets, **more = peet__own_calloc(n, sizeof *more);
    unsigned nold = nbuckets;
    if (!more)
        return -1;
    buckets = more;
    nbuckets = n;
    for (unsigned i = 0; i < nold; i++)
        for (struct peet__thread *t = old[i], *next; t; t = next) {
            next = t->next_in_bucket;
            t->next_in_bucket = *bucket(t->tp);
            *bucket(t->tp) = t;
        }
    peet__own_free(old);
    return 0;
}

static int list(struct peet__thread *t)
{
    int err = 0;
    peet__rt.busy++;
    if (nlisted >= nbuckets && grow() != 0 && !buckets) {
        err = -1;
    } else {
        t->next_in_bucket = *bucket(t->tp);
        *bucket(t->tp) = t;
        t->listed = 1;
        nlisted++;
    }
    peet__rt.busy--;
    return err;
}

static void unlist(struct peet__thread *t)
{
    if (!t->listed)
        return;
    peet__rt.busy++;
    struct peet__thread **link = bucket(t->tp);
    while (*link != t)
        link = &(*link)->next_in_bucket;
    *link = t->next_in_bucket;
    t->listed = 0;
    nlisted--;
    peet__rt.busy--;
}

struct peet__thread *peet__thread_self(void)
{
    const uint64_t tp = peet__fs_meant();
    struct peet__thread *const self = of_pointer(tp);
    if (__builtin_expect(self->state == PEET__THREAD_NONE, 0)) {
        self->tp = tp;
        self->number = peet__rt.current ? peet__rt.current->number : 0;
        self->state = PEET__THREAD_ALIVE;
        self->is_main = !peet__rt.current || peet__rt.current == &peet__rt.main_ctx;
        self->detached = !self->is_main;
        list(self);
    }
    return self;
}

int peet__thread_came_along(void)
{
    return of_pointer(peet__fs_meant())->state != PEET__THREAD_NONE;
}

struct peet__thread *peet__thread_of(pthread_t thread)
{
    if ((uint64_t)thread == peet__fs_meant())
        return peet__thread_self();
    for (struct peet__thread *t = buckets ? *bucket(thread) : NULL; t; t = t->next_in_bucket)
        if (t->tp == (uint64_t)thread)
            return t;
    return NULL;
}

/* ------------------------------------------------------------------------------------ life of a thread */

/* The thread is over for everybody: nobody will ask for it any more. */
static void forget(struct peet__thread *t)
{
    if (t->is_main)
        return;
    unlist(t);
    if (t->gone)
        *t->gone = 1;
    peet_rt_thread_free(t->tp);
}

/* In a child of fork(), the thread that came along has ended.  The C library does not count it: the process lives on until
 * it is the only one. */
static void __attribute__((noreturn)) end_child(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct stat threads; /* two links of the folder's own, and one for each thread */
    while (stat("/proc/self/task", &threads) == 0 && threads.st_nlink > 3)
        nanosleep(&pause, NULL);
    exit(0);
}

static void finish(struct peet__thread *self)
{
    static void (*call_tls_dtors)(void);
    if (!call_tls_dtors)
        call_tls_dtors = (void (*)(void))peet__next("__call_tls_dtors");
    self->exiting = 1;
    call_tls_dtors(); /* destructors of thread_local objects come first, as in glibc */
    peet__tsd_end(self);
    if (peet__rt.forked)
        end_child();
    peet__robust_thread_ends(self);
    self->state = PEET__THREAD_ENDED;
    if (self->detached && !self->joiner)
        forget(self);
}

/* A thread's first function. */
static void run(uint64_t tp, uint64_t unused)
{
    struct peet__thread *self = of_pointer(tp);
    struct peet__unwind_buf bottom;
    self->number = peet__rt.current->number;
    if (self->has_mask)
        pthread_sigmask(SIG_SETMASK, &self->mask, NULL);
    memset(&bottom, 0, sizeof bottom);
    if (_setjmp((struct __jmp_buf_tag *)bottom.cancel_jmp_buf) == 0) {
        self->cleanup = &bottom;
        self->result = peet__thread_call(self);
    }
    finish(self);
}

int peet__thread_create(const struct peet__thread_wish *wish)
{
    uint64_t tp;
    if (peet_rt_thread_new(wish->stack_address, wish->stack_bytes, wish->guard_bytes, &tp) != 0)
        return EAGAIN;
    struct peet__thread *t = of_pointer(tp);
    memset(t, 0, sizeof *t);
    t->tp = tp;
    t->number = UINT32_MAX;
    t->state = PEET__THREAD_ALIVE;
    t->is_thread = 1;
    t->c11 = wish->c11 != 0;
    t->detached = wish->detached != 0;
    t->fn = wish->fn;
    t->arg = wish->arg;
    t->policy = wish->policy;
    t->priority = wish->priority;
    memcpy(t->name, peet__thread_self()->name, sizeof t->name);
    t->stack_address = wish->stack_address;
    t->stack_bytes = wish->stack_bytes;
    t->guard_bytes = wish->guard_bytes;
    if (wish->affinity)
        memcpy(t->affinity, wish->affinity, sizeof t->affinity);
    if (wish->mask) {
        t->mask = *wish->mask;
        t->has_mask = 1;
    }
    if (list(t) != 0) {
        peet_rt_thread_free(tp);
        return EAGAIN;
    }
    if (!peet__constructing())
        return peet__thread_announce(t, wish->out_thread);
    if (wish->out_thread)
        *wish->out_thread = tp;
    peet__early_add(t);
    return 0;
}

int peet__thread_announce(struct peet__thread *t, pthread_t *out_thread)
{
    pthread_t before = out_thread ? *out_thread : 0;
    if (out_thread)
        *out_thread = t->tp;
    int gone = 0;
    t->gone = &gone;
    uint64_t args[] = {(uint64_t)run, t->tp, t->stack_address, t->stack_bytes, t->detached, 0};
    uint64_t number = peet_rt_event(PEET_ABSTRACT_THREAD_CREATE, 6, args);
    if (number & PEET_FAILED) {
        if (out_thread)
            *out_thread = before;
        forget(t);
        return (int)(number & ~PEET_FAILED);
    }
    if (!gone) {
        t->number = (uint32_t)number;
        t->gone = NULL;
    }
    return 0;
}

/* -------------------------------------------------------------------------------------- pthread_create */

/* Words of a processor mask.  Returns: whether one was asked for; if not, the creator's holds */
static int copy_affinity(const pthread_attr_t *attr, uint64_t affinity[16])
{
    cpu_set_t set;
    memset(affinity, 0, 16 * sizeof *affinity);
    if (PEET__REAL(pthread_attr_getaffinity_np)(attr, sizeof set, &set) != 0)
        return 0;
    for (int i = 0; i < CPU_SETSIZE; i++) /* all ones: none was asked for */
        if (!CPU_ISSET(i, &set)) {
            memcpy(affinity, &set, sizeof set);
            return 1;
        }
    return 0;
}

/* What threads have whose attributes do not say otherwise. */
static uint64_t default_stack_bytes = DEFAULT_STACK_BYTES, default_guard_bytes = PEET__PAGE;
static sigset_t default_mask;
static int has_default_mask; /* else it is the creator's */

static void library_defaults(size_t *out_stack_bytes, size_t *out_guard_bytes)
{
    pthread_attr_t defaults;
    if (PEET__REAL(pthread_getattr_default_np)(&defaults) != 0)
        return;
    pthread_attr_getstacksize(&defaults, out_stack_bytes);
    pthread_attr_getguardsize(&defaults, out_guard_bytes);
    pthread_attr_destroy(&defaults);
}

PUBLIC int pthread_setattr_default_np(const pthread_attr_t *attr)
{
    size_t before = 0, stack = 0, guard = default_guard_bytes;
    library_defaults(&before, &guard);
    int err = PEET__REAL(pthread_setattr_default_np)(attr);
    if (err)
        return err;
    library_defaults(&stack, &guard);
    if (stack != before)
        default_stack_bytes = stack;
    default_guard_bytes = guard;
    has_default_mask = pthread_attr_getsigmask_np(attr, &default_mask) == 0;
    return 0;
}

/* What the attributes amount to.  The C library reads its own. */
static void read_attributes(const pthread_attr_t *attr, struct peet__thread_wish *wish, uint64_t affinity[16],
    sigset_t *mask)
{
    void *address = NULL;
    size_t bytes = 0, guard = 0, default_bytes = 0, unused;
    int detach = PTHREAD_CREATE_JOINABLE, inherit = PTHREAD_INHERIT_SCHED;
    struct sched_param param = {0};
    library_defaults(&default_bytes, &unused);
    pthread_attr_getstack(attr, &address, &bytes);
    pthread_attr_getguardsize(attr, &guard);
    pthread_attr_getdetachstate(attr, &detach);
    pthread_attr_getinheritsched(attr, &inherit);
    if ((uint64_t)address + bytes != 0) { /* none: glibc computes it from 0 */
        wish->stack_address = (uint64_t)address;
        wish->stack_bytes = bytes;
    } else if (bytes != default_bytes) {
        wish->stack_bytes = bytes;
    }
    wish->guard_bytes = guard;
    wish->detached = detach == PTHREAD_CREATE_DETACHED;
    if (inherit == PTHREAD_EXPLICIT_SCHED) {
        pthread_attr_getschedpolicy(attr, &wish->policy);
        pthread_attr_getschedparam(attr, &param);
        wish->priority = param.sched_priority;
    }
    if (copy_affinity(attr, affinity))
        wish->affinity = affinity;
    wish->mask = pthread_attr_getsigmask_np(attr, mask) == 0 ? mask : NULL;
}

void peet__thread_wish_init(struct peet__thread_wish *out_wish)
{
    const struct peet__thread *self = peet__thread_self();
    *out_wish = (struct peet__thread_wish){
        .stack_bytes = default_stack_bytes,
        .guard_bytes = default_guard_bytes,
        .policy = self->policy,
        .priority = self->priority,
        .affinity = self->affinity,
        .mask = has_default_mask ? &default_mask : NULL,
    };
}

/* Recorded on the computer's own processors: a thread of the C library's, whose number its creator knows. */
struct real_start {
    void *(*fn)(void *);
    void *arg;
    uint32_t number;
};
static _Thread_local uint32_t real_number;
static pthread_key_t real_end;

/* The C library calls it when the thread is over: after the destructors of the program's, which come in their rounds. */
static void real_ended(void *round)
{
    if ((uint64_t)round < PTHREAD_DESTRUCTOR_ITERATIONS)
        PEET__REAL(pthread_setspecific)(real_end, (char *)round + 1);
    else
        peet__real_thread_ends();
}

static void make_real_end(void)
{
    PEET__REAL(pthread_key_create)(&real_end, real_ended);
}

static void *real_run(void *start)
{
    const struct real_start s = *(struct real_start *)start;
    __libc_free(start);
    real_number = s.number;
    peet__real_thread_begins(s.number);
    PEET__REAL(pthread_setspecific)(real_end, (void *)1);
    return s.fn(s.arg);
}

/* The number of a thread that is not joined yet lies where every thread has it. */
static uint32_t *real_number_place(pthread_t thread)
{
    return (uint32_t *)((uint64_t)thread + ((uint64_t)&real_number - peet__fs_base()));
}

static int real_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct real_start *start;
    int detached = PTHREAD_CREATE_JOINABLE, err;
    uint32_t number;
    PEET__REAL(pthread_once)(&once, make_real_end);
    number = peet__real_create((uint64_t)fn, (uint64_t)arg);
    start = number != UINT32_MAX ? __libc_calloc(1, sizeof *start) : NULL;
    if (!start) {
        err = number == UINT32_MAX ? PEET__REAL(pthread_create)(thread, attr, fn, arg) : EAGAIN;
    } else {
        *start = (struct real_start){fn, arg, number};
        err = PEET__REAL(pthread_create)(thread, attr, real_run, start);
        if (err)
            __libc_free(start);
    }
    if (attr)
        pthread_attr_getdetachstate(attr, &detached);
    if (start && !err && detached == PTHREAD_CREATE_JOINABLE) /* it may not have begun when it is joined */
        *real_number_place(*thread) = number;
    if (number != UINT32_MAX)
        peet__real_created(number, err == 0, detached == PTHREAD_CREATE_DETACHED);
    return err;
}

static int real_join(pthread_t thread, int (*join)(pthread_t, void **, clockid_t, const struct timespec *),
    void **out_result, clockid_t clock, const struct timespec *until)
{
    const uint64_t args[] = {*real_number_place(thread), PEET_NEVER};
    peet_rt_real_asks();
    int err = join(thread, out_result, clock, until);
    if (err == 0 && args[0])
        peet_rt_real_event(PEET_ABSTRACT_THREAD_JOIN, 2, args);
    return err;
}

static int join_plain(pthread_t thread, void **out_result, clockid_t clock, const struct timespec *until)
{
    (void)clock, (void)until;
    return PEET__REAL(pthread_join)(thread, out_result);
}

static int join_try(pthread_t thread, void **out_result, clockid_t clock, const struct timespec *until)
{
    (void)clock, (void)until;
    return PEET__REAL(pthread_tryjoin_np)(thread, out_result);
}

static int join_clock(pthread_t thread, void **out_result, clockid_t clock, const struct timespec *until)
{
    return PEET__REAL(pthread_clockjoin_np)(thread, out_result, clock, until);
}

static int join_timed(pthread_t thread, void **out_result, clockid_t clock, const struct timespec *until)
{
    (void)clock;
    return PEET__REAL(pthread_timedjoin_np)(thread, out_result, until);
}

/* A thread that is the C library's: one that a constructor has made, perhaps because this one waits for it, or any if
 * nothing is simulated.  Returns: whether it is; @out_err is what the caller hears */
static int join_of_libc(pthread_t thread, int (*join)(pthread_t, void **, clockid_t, const struct timespec *),
    void **out_result, clockid_t clock, const struct timespec *until, int *out_err)
{
    peet__early_waits();
    struct peet__thread *const early = peet__early_real(thread);
    if (!early && peet__simulating())
        return 0;
    *out_err = early      ? join(early->real, out_result, clock, until)
        : peet__real_on() ? real_join(thread, join, out_result, clock, until)
                          : join(thread, out_result, clock, until);
    if (early && *out_err == 0)
        forget(early);
    return 1;
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    peet__begin_early();
    if (!peet__simulating() && !peet__constructing())
        return peet__real_on() ? real_create(thread, attr, fn, arg) : PEET__REAL(pthread_create)(thread, attr, fn, arg);
    uint64_t affinity[16];
    sigset_t mask;
    struct peet__thread_wish wish;
    peet__thread_wish_init(&wish);
    wish.fn = fn;
    wish.arg = arg;
    wish.out_thread = thread;
    if (attr)
        read_attributes(attr, &wish, affinity, &mask);
    return peet__thread_create(&wish);
}

/* ----------------------------------------------------------------------------------------------- joining */

/* The main thread's context lives on until the last thread has ended: who joins it waits on this semaphore. */
static uint64_t main_over;

static uint64_t wait_for(const struct peet__thread *t, uint64_t deadline)
{
    if (!t->is_main)
        return peet__event2(PEET_ABSTRACT_THREAD_JOIN, t->number, deadline);
    return peet__event2(PEET_ABSTRACT_SEM_WAIT, (uint64_t)&main_over, deadline);
}

static int join(pthread_t thread, void **out_result, uint64_t deadline, int is_try)
{
    struct peet__thread *self = peet__thread_self(), *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    if (is_try && (t == self || t->detached || t->joiner)) /* only looks whether it runs */
        return EBUSY;
    if (t->detached)
        return EINVAL;
    /* who waits for us, but has been cancelled, waits no longer */
    const int waits_on = self->joiner == t && !t->cancel_pending && !t->exiting;
    if (t == self && !is_try)
        peet__cancellation_point();
    if (t == self || (!is_try && waits_on && !peet__cancellation_due()))
        return EDEADLK;
    if (t->joiner)
        return EINVAL;
    t->joiner = self;
    uint64_t err;
    while (t->number == UINT32_MAX)
        peet_rt_event(PEET_ABSTRACT_YIELD, 0, NULL);
    for (;;) { /* a thread that is over is joined by one that has been cancelled, too: it does not wait */
        const int due = !is_try && peet__cancellation_due();
        err = wait_for(t, due ? 0 : deadline);
        if (err && err != EINTR && due) {
            t->joiner = NULL;
            peet__cancellation_point();
        }
        if (err != EINTR)
            break;
    }
    t->joiner = NULL;
    if (err)
        return (int)err;
    if (out_result)
        *out_result = t->result;
    forget(t);
    return 0;
}

PUBLIC int pthread_join(pthread_t thread, void **out_result)
{
    int err;
    if (join_of_libc(thread, join_plain, out_result, 0, NULL, &err))
        return err;
    return join(thread, out_result, PEET_NEVER, 0);
}

PUBLIC int pthread_tryjoin_np(pthread_t thread, void **out_result)
{
    int err;
    if (join_of_libc(thread, join_try, out_result, 0, NULL, &err))
        return err;
    err = join(thread, out_result, 0, 1);
    return err == ETIMEDOUT ? EBUSY : err;
}

PUBLIC int pthread_clockjoin_np(pthread_t thread, void **out_result, clockid_t clock, const struct timespec *until)
{
    int err;
    if (join_of_libc(thread, join_clock, out_result, clock, until, &err))
        return err;
    if (until && (!peet__deadline_clock(clock) || !peet__deadline_valid(until)))
        return EINVAL;
    return join(thread, out_result, until ? peet_rt_cycles_until(clock, until) : PEET_NEVER, 0);
}

PUBLIC int pthread_timedjoin_np(pthread_t thread, void **out_result, const struct timespec *until)
{
    int err;
    if (join_of_libc(thread, join_timed, out_result, 0, until, &err))
        return err;
    return pthread_clockjoin_np(thread, out_result, CLOCK_REALTIME, until);
}

PUBLIC int pthread_detach(pthread_t thread)
{
    struct peet__thread *early = peet__early_real(thread);
    if (early)
        return PEET__REAL(pthread_detach)(early->real);
    if (peet__constructing() && (early = peet__thread_of(thread)) && early->is_thread) {
        early->detached = 1;
        return 0;
    }
    if (!peet__simulating()) {
        if (peet__real_on() && *real_number_place(thread))
            peet_rt_real_event(PEET_ABSTRACT_THREAD_DETACH, 1, (const uint64_t[]){*real_number_place(thread)});
        return PEET__REAL(pthread_detach)(thread);
    }
    struct peet__thread *t = peet__thread_of(thread);
    if (!t)
        return ESRCH;
    if (t->detached)
        return EINVAL;
    int ended = t->state == PEET__THREAD_ENDED && !t->joiner; /* if it ends from now on, it sees to itself */
    t->detached = 1;
    if (t->number != UINT32_MAX && !t->is_main)
        peet__event1(PEET_ABSTRACT_THREAD_DETACH, t->number);
    if (ended && !t->is_main)
        forget(t);
    return 0;
}

/* ------------------------------------------------------------------------------------------------ ending */

PUBLIC void pthread_exit(void *result)
{
    if (!peet__thread_kept()) {
        if (PEET__REAL_WATCHED)
            peet_rt_real_leaves();
        PEET__REAL(pthread_exit)(result);
        __builtin_unreachable();
    }
    struct peet__thread *self = peet__thread_self();
    self->result = result;
    self->exiting = 1;
    peet__thread_unwind();
}

/* The process lives on until its last thread has ended. */
void peet__main_ended(void)
{
    struct peet__thread *self = peet__thread_self();
    peet__tsd_end(self);
    if (peet__rt.forked)
        end_child();
    peet__robust_thread_ends(self);
    self->state = PEET__THREAD_ENDED;
    peet__event2(PEET_ABSTRACT_SEM_POST, (uint64_t)&main_over, 1);
    while (peet__event2(PEET_ABSTRACT_THREAD_JOIN, PEET_NEVER, PEET_NEVER) == EINTR) {
    }
    exit(0);
}
