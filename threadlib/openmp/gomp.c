/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gcc makes of OpenMP's directives: calls of its own library, libgomp.  Programs are compiled by peetcc, but
 * libraries that they are linked with may have been compiled by gcc (FFTW's and OpenBLAS's packages are).  Their regions
 * must be those of this library: omp_get_thread_num() and its like come here, too.
 *
 * Loops count from `start` to before `end`.  Chunks of ordered loops come one after the other as wholes, since nothing is
 * called at the end of an iteration.  What is not here is refused by name.
 */
#include "openmp.h"

#include <string.h>

enum { STATIC_CHUNKED = 33, STATIC = 34, DYNAMIC = 35, GUIDED = 36, RUNTIME = 37, ORDERED = 32 }; /* clang's numbers */
enum { BIND_BITS = 7 }; /* of a region's flags */

/* gcc's _Bool.  Of an argument it may set the lowest byte only, where clang expects all of the register to be set; and it
 * passes results on as they are. */
typedef int truth;

static _Bool is_true(truth value)
{
    return (value & 0xff) != 0;
}

#define PLACE struct omp_place *place, int32_t gtid
int32_t peet__omp___kmpc_single(PLACE);
int32_t peet__omp___kmpc_cancel(PLACE, int32_t what);
int32_t peet__omp___kmpc_cancellationpoint(PLACE, int32_t what);
int32_t peet__omp___kmpc_omp_taskwait(PLACE);
int32_t peet__omp___kmpc_omp_taskyield(PLACE, int end_part);
void peet__omp___kmpc_taskgroup(struct omp_place *place, int gtid);
void peet__omp___kmpc_end_taskgroup(struct omp_place *place, int gtid);
int32_t peet__omp___kmpc_omp_task_with_deps(PLACE, struct omp_kmp_task *kmp, int32_t n, struct omp_dependence *list,
    int32_t nmore, struct omp_dependence *more);
void peet__omp___kmpc_omp_wait_deps(PLACE, int32_t n, struct omp_dependence *list, int32_t nmore,
    struct omp_dependence *more);
int peet__omp___kmpc_dispatch_next_8(PLACE, int32_t *last, int64_t *lower, int64_t *upper, int64_t *step);
int peet__omp___kmpc_dispatch_next_8u(PLACE, int32_t *last, uint64_t *lower, uint64_t *upper, int64_t *step);

/* ------------------------------------------------------------------------------------------- regions */

ENTRY(void, GOMP_parallel, (void (*fn)(void *), void *data, unsigned n, unsigned flags))
{
    peet__omp_region(fn, data, (int)n, (int)(flags & BIND_BITS));
}

ENTRY(void, GOMP_barrier, (void))
{
    peet__omp_barrier(peet__omp_self(), OMP_BARRIER_ENDS_WORK);
}

/* Returns: 1 if the region is cancelled, which is all that counts here */
static _Bool barrier_cancelled(void)
{
    struct omp_thread *thread = peet__omp_self();
    return peet__omp_barrier(thread, OMP_BARRIER_CANCELLABLE | OMP_BARRIER_ENDS_WORK) ||
        (peet__omp_env.cancellation && thread->member->team->cancelled == OMP_CANCEL_PARALLEL);
}

ENTRY(truth, GOMP_barrier_cancel, (void))
{
    return barrier_cancelled();
}

static char critical, atomic;

ENTRY(void, GOMP_critical_start, (void))
{
    peet__omp_lock(&critical);
}

ENTRY(void, GOMP_critical_end, (void))
{
    peet__omp_unlock(&critical);
}

ENTRY(void, GOMP_critical_name_start, (void **name))
{
    peet__omp_lock(name);
}

ENTRY(void, GOMP_critical_name_end, (void **name))
{
    peet__omp_unlock(name);
}

ENTRY(void, GOMP_atomic_start, (void))
{
    peet__omp_lock(&atomic);
}

ENTRY(void, GOMP_atomic_end, (void))
{
    peet__omp_unlock(&atomic);
}

ENTRY(truth, GOMP_single_start, (void))
{
    return peet__omp___kmpc_single(NULL, 0) != 0;
}

/* NULL: it is this thread that executes the region; for the others, what they are to copy, when it has done so. */
ENTRY(void *, GOMP_single_copy_start, (void))
{
    struct omp_thread *thread = peet__omp_self();
    if (peet__omp___kmpc_single(NULL, 0))
        return NULL;
    peet__omp_barrier(thread, 0);
    return thread->member->team->copyprivate;
}

ENTRY(void, GOMP_single_copy_end, (void *data))
{
    struct omp_thread *thread = peet__omp_self();
    thread->member->team->copyprivate = data;
    peet__omp_barrier(thread, 0);
}

/* gcc's numbers of what is cancelled are bits */
static int32_t cancelled(int which)
{
    return which == 1 ? OMP_CANCEL_PARALLEL
        : which == 2  ? OMP_CANCEL_LOOP
        : which == 4  ? OMP_CANCEL_SECTIONS
                      : OMP_CANCEL_TASKGROUP;
}

ENTRY(truth, GOMP_cancel, (int which, truth condition))
{
    return (is_true(condition) ? peet__omp___kmpc_cancel(NULL, 0, cancelled(which))
                               : peet__omp___kmpc_cancellationpoint(NULL, 0, cancelled(which))) != 0;
}

ENTRY(truth, GOMP_cancellation_point, (int which))
{
    return peet__omp___kmpc_cancellationpoint(NULL, 0, cancelled(which)) != 0;
}

/* -------------------------------------------------------------------------------------------- loops */

static void loop_begin(int32_t schedule, long start, long end, long step, long chunk)
{
    const unsigned long first = (unsigned long)start, last = (unsigned long)end, by = (unsigned long)step;
    const uint64_t trip = step > 0 ? (start < end ? (last - first - 1) / by + 1 : 0)
                                   : (start > end ? (first - last - 1) / (0 - by) + 1 : 0);
    peet__omp_loop_begin((uint32_t)schedule, trip, chunk, start, step);
}

static _Bool loop_next(long *out_start, long *out_end)
{
    int64_t lower, upper, step;
    peet__omp_chunk_over();
    if (!peet__omp___kmpc_dispatch_next_8(NULL, 0, NULL, &lower, &upper, &step))
        return 0;
    *out_start = lower;
    *out_end = upper + (step > 0 ? 1 : -1);
    return 1;
}

typedef unsigned long long ull;

/* Steps are numbers without a sign, and so large ones are: what there is, is counted here. */
static void ull_begin(int32_t schedule, _Bool up, ull start, ull end, ull step, ull chunk)
{
    const ull trip =
        up ? (start < end ? (end - start - 1) / step + 1 : 0) : (start > end ? (start - end - 1) / (0 - step) + 1 : 0);
    peet__omp_loop_begin((uint32_t)schedule, trip, chunk > INT64_MAX ? INT64_MAX : (int64_t)chunk, (int64_t)start,
        (int64_t)step);
    peet__omp_self()->member->dispatch.down = !up;
}

static _Bool ull_next(ull *out_start, ull *out_end)
{
    const int down = peet__omp_self()->member->dispatch.down;
    uint64_t lower, upper;
    peet__omp_chunk_over();
    if (!peet__omp___kmpc_dispatch_next_8u(NULL, 0, NULL, &lower, &upper, NULL))
        return 0;
    *out_start = lower;
    *out_end = down ? upper - 1 : upper + 1;
    return 1;
}

#define LOOP(name, schedule) \
    ENTRY(truth, GOMP_loop_##name##_start, \
        (long start, long end, long step, long chunk, long *out_start, long *out_end)) \
    { \
        loop_begin(schedule, start, end, step, chunk); \
        return loop_next(out_start, out_end); \
    } \
    ENTRY(truth, GOMP_loop_ull_##name##_start, \
        (truth up, ull start, ull end, ull step, ull chunk, ull * out_start, ull * out_end)) \
    { \
        ull_begin(schedule, is_true(up), start, end, step, chunk); \
        return ull_next(out_start, out_end); \
    } \
    NEXT(name)
/* The schedule and its chunk are the control variable's. */
#define RUNTIME_LOOP(name, schedule) \
    ENTRY(truth, GOMP_loop_##name##_start, (long start, long end, long step, long *out_start, long *out_end)) \
    { \
        loop_begin(schedule, start, end, step, 0); \
        return loop_next(out_start, out_end); \
    } \
    ENTRY(truth, GOMP_loop_ull_##name##_start, \
        (truth up, ull start, ull end, ull step, ull * out_start, ull * out_end)) \
    { \
        ull_begin(schedule, is_true(up), start, end, step, 0); \
        return ull_next(out_start, out_end); \
    } \
    NEXT(name)
#define NEXT(name) \
    ENTRY(truth, GOMP_loop_##name##_next, (long *out_start, long *out_end)) \
    { \
        return loop_next(out_start, out_end); \
    } \
    ENTRY(truth, GOMP_loop_ull_##name##_next, (ull * out_start, ull * out_end)) \
    { \
        return ull_next(out_start, out_end); \
    }

/* a chunk of 0: none was asked for */
LOOP(static, chunk ? STATIC_CHUNKED : STATIC)
LOOP(dynamic, DYNAMIC)
LOOP(guided, GUIDED)
LOOP(nonmonotonic_dynamic, DYNAMIC)
LOOP(nonmonotonic_guided, GUIDED)
LOOP(ordered_static, ORDERED + (chunk ? STATIC_CHUNKED : STATIC))
LOOP(ordered_dynamic, ORDERED + DYNAMIC)
LOOP(ordered_guided, ORDERED + GUIDED)
RUNTIME_LOOP(runtime, RUNTIME)
RUNTIME_LOOP(nonmonotonic_runtime, RUNTIME)
RUNTIME_LOOP(maybe_nonmonotonic_runtime, RUNTIME)
RUNTIME_LOOP(ordered_runtime, ORDERED + RUNTIME)

/* A region that is one loop: it begins with the next chunk. */
struct region_loop {
    void (*fn)(void *);
    void *data;
    int32_t schedule;
    long start, end, step, chunk;
};

static void run_loop(void *arg)
{
    const struct region_loop *l = arg;
    loop_begin(l->schedule, l->start, l->end, l->step, l->chunk);
    l->fn(l->data);
}

#define PARALLEL_LOOP(name, kind) \
    ENTRY(void, GOMP_parallel_loop_##name, \
        (void (*fn)(void *), void *data, unsigned n, long start, long end, long step, long chunk, unsigned flags)) \
    { \
        struct region_loop loop = {fn, data, kind, start, end, step, chunk}; \
        peet__omp_region(run_loop, &loop, (int)n, (int)(flags & BIND_BITS)); \
    }
#define PARALLEL_RUNTIME_LOOP(name) \
    ENTRY(void, GOMP_parallel_loop_##name, \
        (void (*fn)(void *), void *data, unsigned n, long start, long end, long step, unsigned flags)) \
    { \
        struct region_loop loop = {fn, data, RUNTIME, start, end, step, 0}; \
        peet__omp_region(run_loop, &loop, (int)n, (int)(flags & BIND_BITS)); \
    }

PARALLEL_LOOP(static, chunk ? STATIC_CHUNKED : STATIC)
PARALLEL_LOOP(dynamic, DYNAMIC)
PARALLEL_LOOP(guided, GUIDED)
PARALLEL_LOOP(nonmonotonic_dynamic, DYNAMIC)
PARALLEL_LOOP(nonmonotonic_guided, GUIDED)
PARALLEL_RUNTIME_LOOP(runtime)
PARALLEL_RUNTIME_LOOP(nonmonotonic_runtime)
PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime)

ENTRY(void, GOMP_loop_end, (void))
{
    peet__omp_barrier(peet__omp_self(), OMP_BARRIER_ENDS_WORK);
}

ENTRY(truth, GOMP_loop_end_cancel, (void))
{
    return barrier_cancelled();
}

ENTRY(void, GOMP_loop_end_nowait, (void)) {}

ENTRY(void, GOMP_ordered_start, (void))
{
    peet__omp_chunk_ordered();
}

ENTRY(void, GOMP_ordered_end, (void)) {} /* the chunk's end ends it */

/* ------------------------------------------------------------------------------------------- sections */

ENTRY(unsigned, GOMP_sections_next, (void))
{
    uint64_t lower, upper;
    return peet__omp___kmpc_dispatch_next_8u(NULL, 0, NULL, &lower, &upper, NULL) ? (unsigned)lower : 0;
}

static void sections_begin(unsigned count)
{
    struct omp_member *const member = peet__omp_self()->member;
    ull_begin(DYNAMIC, 1, 1, count + 1ull, 1, 1);
    if (member->team->n == 1) /* has all at once, but asks for one after the other */
        member->dispatch.last = member->dispatch.step = 1;
}

ENTRY(unsigned, GOMP_sections_start, (unsigned count))
{
    sections_begin(count);
    return peet__omp_GOMP_sections_next();
}

struct region_sections {
    void (*fn)(void *);
    void *data;
    unsigned count;
};

static void run_sections(void *arg)
{
    const struct region_sections *s = arg;
    sections_begin(s->count);
    s->fn(s->data);
}

ENTRY(void, GOMP_parallel_sections, (void (*fn)(void *), void *data, unsigned n, unsigned count, unsigned flags))
{
    struct region_sections sections = {fn, data, count};
    peet__omp_region(run_sections, &sections, (int)n, (int)(flags & BIND_BITS));
}

ENTRY(void, GOMP_sections_end, (void))
{
    peet__omp_barrier(peet__omp_self(), OMP_BARRIER_ENDS_WORK);
}

ENTRY(truth, GOMP_sections_end_cancel, (void))
{
    return barrier_cancelled();
}

ENTRY(void, GOMP_sections_end_nowait, (void)) {}

/* ---------------------------------------------------------------------------------------------- tasks */

enum { UNTIED = 1, FINAL = 2, DEPEND = 8, PRIORITY = 16, DETACH = 1 << 13 }; /* of a task's flags */

/* What a task's shared block begins with; its data follow. */
struct gomp_task {
    void (*fn)(void *);
    void *data;
};

static int32_t run_task(int32_t gtid, struct omp_kmp_task *kmp)
{
    const struct gomp_task *task = kmp->shareds;
    task->fn(task->data);
    return 0;
}

/* Items of a depend clause: how many of each kind, then addresses.  The older form has no kinds but two. */
static struct omp_dependence *dependences(void **list, int32_t *out_n)
{
    const int older = list[0] != NULL;
    const uintptr_t n = (uintptr_t)list[older ? 0 : 1], out = (uintptr_t)list[older ? 1 : 2],
                    mutex = older ? 0 : (uintptr_t)list[3], in = older ? n - out : (uintptr_t)list[4];
    struct omp_dependence *const all = peet__omp_alloc((n + 1) * sizeof *all);
    if (out + mutex + in != n)
        peet__omp_die(
            "code compiled by gcc makes a task that depends on an object of depend(depobj), which is not there; "
            "compile it by peetcc");
    for (uintptr_t i = 0; i < n; i++)
        all[i] = (struct omp_dependence){.address = (intptr_t)list[(older ? 2 : 5) + i],
            .bytes = 1,
            .flags = i < out      ? OMP_DEPEND_INOUT
                : i < out + mutex ? OMP_DEPEND_MUTEX
                                  : OMP_DEPEND_IN};
    *out_n = (int32_t)n;
    return all;
}

ENTRY(void, GOMP_task,
    (void (*fn)(void *), void *data, void (*copy)(void *, void *), long bytes, long align, truth deferred,
        unsigned flags, void **depend, int priority, void *detach))
{
    struct omp_thread *thread = peet__omp_self();
    const struct omp_taskgroup *group = thread->task->group;
    if (peet__omp_env.cancellation &&
        (thread->member->team->cancelled == OMP_CANCEL_PARALLEL || (group && group->cancelled)))
        return;
    const size_t unit = align > 0 ? (size_t)align : 1;
    struct omp_kmp_task *const kmp = &peet__omp_task_new(thread,
        (flags & UNTIED ? 0 : OMP_TASK_TIED) | (flags & FINAL ? OMP_TASK_FINAL : 0) |
            (flags & PRIORITY ? OMP_TASK_PRIORITY : 0),
        sizeof *kmp, sizeof(struct gomp_task) + (size_t)bytes + unit, run_task)
                                          ->kmp;
    struct gomp_task *const task = kmp->shareds;
    struct omp_dependence *all = NULL;
    int32_t n = 0;
    if (flags & DETACH)
        peet__omp_die("code compiled by gcc makes a task with detach(), which is not there; compile it by peetcc");
    task->fn = fn;
    task->data = (void *)(((uintptr_t)(task + 1) + unit - 1) / unit * unit);
    if (copy) {
        copy(task->data, data);
        kmp->part = 1; /* as if it had begun: it is never left out, since its end destroys the copies */
    } else
        memcpy(task->data, data, (size_t)bytes);
    if (flags & PRIORITY)
        kmp->data2.priority = priority;
    if (flags & DEPEND)
        all = dependences(depend, &n);
    if (is_true(deferred) && n)
        peet__omp___kmpc_omp_task_with_deps(NULL, thread->gtid, kmp, n, all, 0, NULL);
    else if (is_true(deferred))
        peet__omp___kmpc_omp_task(NULL, thread->gtid, kmp);
    else {
        if (n)
            peet__omp___kmpc_omp_wait_deps(NULL, thread->gtid, n, all, 0, NULL);
        peet__omp_task_undeferred(thread, peet__omp_task_of(kmp));
    }
    peet__omp_free(all);
}

ENTRY(void, GOMP_taskwait, (void))
{
    peet__omp___kmpc_omp_taskwait(NULL, peet__omp_self()->gtid);
}

ENTRY(void, GOMP_taskyield, (void))
{
    peet__omp___kmpc_omp_taskyield(NULL, peet__omp_self()->gtid, 0);
}

ENTRY(void, GOMP_taskgroup_start, (void))
{
    peet__omp___kmpc_taskgroup(NULL, peet__omp_self()->gtid);
}

ENTRY(void, GOMP_taskgroup_end, (void))
{
    peet__omp___kmpc_end_taskgroup(NULL, peet__omp_self()->gtid);
}

/* ------------------------------------------------------------------------------------- error directives */

ENTRY(void, GOMP_warning, (const char *message, size_t bytes))
{
    peet__omp_warn("the program's error directive: %.*s", bytes > 4096 ? 4096 : (int)bytes,
        message ? message : "warning");
}

ENTRY(void, GOMP_error, (const char *message, size_t bytes))
{
    peet__omp_die("the program's error directive: %.*s", bytes > 4096 ? 4096 : (int)bytes, message ? message : "error");
}

/* --------------------------------------------------------------------------------------- what is not here */

#define ABSENT(name) \
    ENTRY(void, name, (void)) \
    { \
        peet__omp_die("code compiled by gcc calls " #name \
                      "(), which is not there under simulation; compile that code by peetcc"); \
    }

ABSENT(GOMP_parallel_start)
ABSENT(GOMP_parallel_end)
ABSENT(GOMP_parallel_loop_static_start)
ABSENT(GOMP_parallel_loop_dynamic_start)
ABSENT(GOMP_parallel_loop_guided_start)
ABSENT(GOMP_parallel_loop_runtime_start)
ABSENT(GOMP_parallel_sections_start)
ABSENT(GOMP_parallel_reductions)
ABSENT(GOMP_loop_start)
ABSENT(GOMP_loop_ordered_start)
ABSENT(GOMP_loop_ull_start)
ABSENT(GOMP_loop_ull_ordered_start)
ABSENT(GOMP_loop_doacross_start)
ABSENT(GOMP_loop_doacross_static_start)
ABSENT(GOMP_loop_doacross_dynamic_start)
ABSENT(GOMP_loop_doacross_guided_start)
ABSENT(GOMP_loop_doacross_runtime_start)
ABSENT(GOMP_loop_ull_doacross_start)
ABSENT(GOMP_loop_ull_doacross_static_start)
ABSENT(GOMP_loop_ull_doacross_dynamic_start)
ABSENT(GOMP_loop_ull_doacross_guided_start)
ABSENT(GOMP_loop_ull_doacross_runtime_start)
ABSENT(GOMP_doacross_post)
ABSENT(GOMP_doacross_wait)
ABSENT(GOMP_doacross_ull_post)
ABSENT(GOMP_doacross_ull_wait)
ABSENT(GOMP_scope_start)
ABSENT(GOMP_sections2_start)
ABSENT(GOMP_taskloop)
ABSENT(GOMP_taskloop_ull)
ABSENT(GOMP_taskwait_depend)
ABSENT(GOMP_task_reduction_remap)
ABSENT(GOMP_taskgroup_reduction_register)
ABSENT(GOMP_taskgroup_reduction_unregister)
ABSENT(GOMP_workshare_task_reduction_unregister)
ABSENT(GOMP_teams)
ABSENT(GOMP_teams4)
ABSENT(GOMP_teams_reg)
ABSENT(GOMP_target)
ABSENT(GOMP_target_data)
ABSENT(GOMP_target_end_data)
ABSENT(GOMP_target_update)
ABSENT(GOMP_target_ext)
ABSENT(GOMP_target_data_ext)
ABSENT(GOMP_target_update_ext)
ABSENT(GOMP_target_enter_exit_data)
ABSENT(GOMP_alloc)
ABSENT(GOMP_free)
