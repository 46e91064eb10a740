/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP recorded on the computer's own processors (`peet record`).  The ordinary libomp does the work.  It tells a tool
 * (OMPT, OpenMP 5.2, chapter 20) what orders threads: regions that begin, barriers, chunks of loops, locks, tasks.  This
 * is that tool.  In runs that are not recorded there is none.
 *
 * Locks become the events that they are under simulation.  Everything else has its place in an order (plain/real.h)
 * and no event of its own: a thread that goes on after a barrier does so after all arrivals, since its number is larger.
 * Nothing is lost by that if threads work on tasks while they wait.
 */
#include "openmp.h"
#include "plain/real.h"

#include <omp-tools.h>
#include <stdatomic.h>
#include <string.h>

/* Numbers that stand for objects: no address of the program's. */
#define REGIONS 0x7e0000000000u
enum { LOOPS = 16, REDUCTIONS = 32, REGION_BYTES = 64 };
#define TASKS (REGIONS - REGION_BYTES)

static _Atomic uint64_t nregions;

static uint64_t region(const ompt_data_t *parallel)
{
    return parallel && parallel->value ? parallel->value : REGIONS;
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned requested,
    int flags, const void *place)
{
    (void)task, (void)frame, (void)requested, (void)flags, (void)place;
    parallel->value = REGIONS + (atomic_fetch_add(&nregions, 1) + 1) * REGION_BYTES;
    peet_rt_real_passes(parallel->value, PEET_ABSTRACT_BARRIER_WAIT);
}

/* The end may come when the thread is wanted for the next region, or never: its task knows the region. */
static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned n,
    unsigned index, int flags)
{
    (void)n;
    if (endpoint != ompt_scope_begin || (flags & ompt_task_initial))
        return;
    task->value = region(parallel);
    if (index)
        peet_rt_real_passes(task->value, PEET_ABSTRACT_BARRIER_WAIT);
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
    ompt_data_t *task, const void *place)
{
    const int tasks = kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup;
    const uint64_t object = tasks ? TASKS : parallel ? region(parallel) : task ? task->value : 0;

    (void)place;
    if (endpoint == ompt_scope_begin && !tasks && object)
        peet_rt_real_passes(object, PEET_ABSTRACT_BARRIER_WAIT);
    if (endpoint == ompt_scope_begin)
        peet_rt_real_asks();
    else if (object && (tasks || parallel)) /* else it has left the region long ago */
        peet_rt_real_passes(object, PEET_ABSTRACT_BARRIER_WAIT);
}

static void reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
    const void *place)
{
    (void)kind, (void)task, (void)place;
    if (endpoint == ompt_scope_end)
        peet_rt_real_passes(region(parallel) + REDUCTIONS, PEET_ABSTRACT_MUTEX_LOCK);
}

static void dispatch(ompt_data_t *parallel, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance)
{
    (void)task, (void)kind, (void)instance;
    peet_rt_real_passes(region(parallel) + LOOPS, PEET_ABSTRACT_LOOP_NEXT);
}

static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned how, ompt_wait_id_t lock, const void *place)
{
    (void)kind, (void)hint, (void)how, (void)lock, (void)place;
    peet_rt_real_asks();
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t lock, const void *place)
{
    (void)kind, (void)place;
    peet_rt_real_granted(PEET_ABSTRACT_MUTEX_LOCK, 3, (const uint64_t[]){lock, PEET_MUTEX_NORMAL, PEET_NEVER});
}

static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t lock, const void *place)
{
    (void)kind, (void)place;
    peet_rt_real_unlocks(PEET_ABSTRACT_MUTEX_UNLOCK, 2, (const uint64_t[]){lock, PEET_MUTEX_NORMAL});
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *created, int flags, int dependences,
    const void *place)
{
    (void)task, (void)frame, (void)created, (void)dependences, (void)place;
    if (!(flags & (ompt_task_initial | ompt_task_implicit)))
        peet_rt_real_passes(TASKS, PEET_ABSTRACT_SEM_POST);
}

static void task_schedule(ompt_data_t *before, ompt_task_status_t how, ompt_data_t *next)
{
    (void)before, (void)how, (void)next;
    peet_rt_real_passes(TASKS, PEET_ABSTRACT_SEM_WAIT);
}

/* ------------------------------------------------------------------------------------- kinds of loops */

/* As soon as there is a tool, libomp looks for what kind of construct a static loop belongs to, and writes a warning into
 * the program's output if the compiler has not said so.  flang never does.  Here it is told that it is a loop, as it
 * would assume. */
enum { PLACE_LOOP = 0x200, PLACE_KINDS = 0xe00 /* loop, sections, distribute */ };

static struct omp_place *with_kind(struct omp_place *place, struct omp_place *copy)
{
    if (!place || place->flags & PLACE_KINDS)
        return place;
    *copy = *place;
    copy->flags |= PLACE_LOOP;
    return copy;
}

#define STATIC_INIT(suffix, type, stype) \
    static void (*init_##suffix)(struct omp_place *, int32_t, int32_t, int32_t *, type *, type *, stype *, stype, \
        stype); \
    static void init_told_##suffix(struct omp_place *place, int32_t gtid, int32_t schedule, int32_t *last, \
        type *lower, type *upper, stype *stride, stype step, stype chunk) \
    { \
        struct omp_place copy; \
        init_##suffix(with_kind(place, &copy), gtid, schedule, last, lower, upper, stride, step, chunk); \
    }
STATIC_INIT(4, int32_t, int32_t)
STATIC_INIT(4u, uint32_t, int32_t)
STATIC_INIT(8, int64_t, int64_t)
STATIC_INIT(8u, uint64_t, int64_t)

void (*peet__omp_real_entry(const char *name, void (*found)(void)))(void)
{
#define TOLD(suffix) \
    if (strcmp(name, "__kmpc_for_static_init_" #suffix) == 0) { \
        init_##suffix = (__typeof__(init_##suffix))found; \
        return (void (*)(void))init_told_##suffix; \
    }
    TOLD(4)
    TOLD(4u)
    TOLD(8)
    TOLD(8u)
    return found;
}

/* -------------------------------------------------------------------------------------------- the tool */

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

    (void)device, (void)tool;
    if (!set)
        return 0;
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
    set(ompt_callback_sync_region, (ompt_callback_t)sync_region);
    set(ompt_callback_reduction, (ompt_callback_t)reduction);
    set(ompt_callback_dispatch, (ompt_callback_t)dispatch);
    set(ompt_callback_mutex_acquire, (ompt_callback_t)mutex_acquire);
    set(ompt_callback_mutex_acquired, (ompt_callback_t)mutex_acquired);
    set(ompt_callback_mutex_released, (ompt_callback_t)mutex_released);
    set(ompt_callback_task_create, (ompt_callback_t)task_create);
    set(ompt_callback_task_schedule, (ompt_callback_t)task_schedule);
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    (void)tool;
}

/** Asked for by libomp when it begins. */
PEET__REAL_API ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};

    (void)version, (void)runtime;
    return peet_rt_real_recorded() ? &result : NULL;
}
