/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The omp_* functions that ask and set: numbers of threads and teams, levels, schedules, devices, time.  The processors
 * are those of the simulated machine, the time is its clock's.
 */
#include "openmp.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct omp_icvs *icvs(void)
{
    return &peet__omp_self()->task->icvs;
}

static struct omp_team *team(void)
{
    return peet__omp_self()->member->team;
}

/* -------------------------------------------------------------------------------------------------- threads */

/* clang-format off */
ENTRY(int, omp_get_num_threads, (void)) { return team()->n; }
ENTRY(int, omp_get_thread_num, (void)) { return peet__omp_self()->member->tid; }
ENTRY(int, omp_get_max_threads, (void)) { return icvs()->threads; }
ENTRY(int, omp_get_num_procs, (void)) { peet__omp_self(); return (int)peet_rt_processors(); }
ENTRY(int, omp_in_parallel, (void)) { return team()->active_level > 0; }
ENTRY(int, omp_get_thread_limit, (void)) { return icvs()->thread_limit; }
/* clang-format on */

ENTRY(void, omp_set_num_threads, (int n))
{
    icvs()->threads = n > 0 ? n : 1;
}

/* clang-format off */
ENTRY(int, omp_get_dynamic, (void)) { return icvs()->dynamic; }
ENTRY(void, omp_set_dynamic, (int on)) { icvs()->dynamic = on != 0; }
/* clang-format on */

/* ------------------------------------------------------------------------------------------------ levels */

/* clang-format off */
ENTRY(int, omp_get_level, (void)) { return team()->level; }
ENTRY(int, omp_get_active_level, (void)) { return team()->active_level; }
ENTRY(int, omp_get_supported_active_levels, (void)) { return INT_MAX; }
ENTRY(int, omp_get_max_active_levels, (void)) { return icvs()->max_active_levels; }
/* clang-format on */

ENTRY(void, omp_set_max_active_levels, (int n))
{
    if (n >= 0)
        icvs()->max_active_levels = n;
}

/* clang-format off */
ENTRY(int, omp_get_nested, (void)) { return icvs()->max_active_levels > 1; }
/* clang-format on */

ENTRY(void, omp_set_nested, (int on))
{
    icvs()->max_active_levels = on ? INT_MAX : 1;
}

/* The member at a level around the caller; NULL: there is none. */
static const struct omp_member *ancestor(int level)
{
    const struct omp_member *member = peet__omp_self()->member;
    if (level < 0 || level > member->team->level)
        return NULL;
    while (member->team->level > level)
        member = member->team->creator;
    return member;
}

ENTRY(int, omp_get_ancestor_thread_num, (int level))
{
    const struct omp_member *member = ancestor(level);
    return member ? (level == 0 ? 0 : member->tid) : -1;
}

ENTRY(int, omp_get_team_size, (int level))
{
    const struct omp_member *member = ancestor(level);
    return member ? (level == 0 ? 1 : member->team->n) : -1;
}

/* ------------------------------------------------------------------------------------------------ schedules */

ENTRY(void, omp_set_schedule, (uint32_t kind, int chunk))
{
    uint32_t plain = kind & ~OMP_MONOTONIC;
    if (plain < OMP_STATIC || plain > OMP_AUTO) {
        kind = OMP_STATIC;
        chunk = 0;
    }
    icvs()->schedule = kind;
    icvs()->chunk = plain == OMP_AUTO || chunk < 1 ? 0 : chunk;
}

ENTRY(void, omp_get_schedule, (uint32_t *kind, int *chunk))
{
    const struct omp_icvs *i = icvs();
    uint32_t plain = i->schedule & ~OMP_MONOTONIC;
    *kind = i->schedule;
    *chunk = i->chunk ? i->chunk : plain != OMP_STATIC;
}

/* ----------------------------------------------------------------------------------------------------- tasks */

/* clang-format off */
ENTRY(int, omp_in_final, (void)) { return peet__omp_self()->task->final; }
ENTRY(int, omp_in_explicit_task, (void)) { return !peet__omp_self()->task->implicit; }
ENTRY(int, omp_get_max_task_priority, (void)) { peet__omp_self(); return peet__omp_env.max_task_priority; }
ENTRY(int, omp_get_cancellation, (void)) { peet__omp_self(); return peet__omp_env.cancellation; }
/* clang-format on */

/* ----------------------------------------------------------------------------------------------------- teams */

/* clang-format off */
ENTRY(int, omp_get_num_teams, (void)) { return team()->nleagues; }
ENTRY(int, omp_get_team_num, (void)) { return team()->league_number; }
ENTRY(int, omp_get_max_teams, (void)) { peet__omp_self(); return peet__omp_env.teams; }
ENTRY(void, omp_set_num_teams, (int n)) { peet__omp_self(); peet__omp_env.teams = n > 0 ? n : 0; }
ENTRY(int, omp_get_teams_thread_limit, (void)) { peet__omp_self(); return peet__omp_env.teams_thread_limit; }
ENTRY(void, omp_set_teams_thread_limit, (int n)) { peet__omp_self(); peet__omp_env.teams_thread_limit = n > 0 ? n : 0; }
/* clang-format on */

/* --------------------------------------------------------------------------------------------------- devices */

/* clang-format off */
ENTRY(int, omp_get_default_device, (void)) { return icvs()->default_device; }
ENTRY(void, omp_set_default_device, (int device)) { icvs()->default_device = device; }
ENTRY(int, omp_get_num_devices, (void)) { return 0; }
ENTRY(int, omp_get_initial_device, (void)) { return 0; }
ENTRY(int, omp_get_device_num, (void)) { return 0; }
ENTRY(int, omp_is_initial_device, (void)) { return 1; }
ENTRY(int, __kmpc_get_target_offload, (void)) { return 1; }
ENTRY(int, omp_pause_resource, (int kind, int device)) { return 0; }
ENTRY(int, omp_pause_resource_all, (int kind)) { return 0; }
ENTRY(int, __kmpc_pause_resource, (int kind)) { return 0; }
ENTRY(int, omp_get_num_interop_properties, (const void *interop)) { return 0; }
/* clang-format on */

enum { NO_INTEROP = -1 };
static void *no_interop(int *status)
{
    if (status)
        *status = NO_INTEROP;
    return NULL;
}
/* clang-format off */
ENTRY(intptr_t, omp_get_interop_int, (const void *interop, int property, int *status)) { return (intptr_t)no_interop(status); }
ENTRY(void *, omp_get_interop_ptr, (const void *interop, int property, int *status)) { return no_interop(status); }
ENTRY(const char *, omp_get_interop_str, (const void *interop, int property, int *status)) { return no_interop(status); }
ENTRY(const char *, omp_get_interop_name, (const void *interop, int property)) { return NULL; }
ENTRY(const char *, omp_get_interop_type_desc, (const void *interop, int property)) { return NULL; }
ENTRY(const char *, omp_get_interop_rc_desc, (const void *interop, int status)) { return NULL; }
/* clang-format on */

/* ------------------------------------------------------------------------------------------------------ time */

ENTRY(double, omp_get_wtime, (void))
{
    return (double)peet_rt_now() / (double)peet_rt_frequency_hz();
}

ENTRY(double, omp_get_wtick, (void))
{
    return 1.0 / (double)peet_rt_frequency_hz();
}

/* --------------------------------------------------------------------------------------------------- tools */

enum { NO_TOOL = -2 };
/* clang-format off */
ENTRY(int, omp_control_tool, (int command, int modifier, void *argument)) { return NO_TOOL; }
/* clang-format on */

/* --------------------------------------------------------------- what the ordinary library has beyond the standard */

/* clang-format off */
ENTRY(void, kmp_set_stacksize, (int bytes)) { peet__omp_self(); peet__omp_env.stack_bytes = bytes > 0 ? (size_t)bytes : 0; }
ENTRY(void, kmp_set_stacksize_s, (size_t bytes)) { peet__omp_self(); peet__omp_env.stack_bytes = bytes; }
ENTRY(size_t, kmp_get_stacksize_s, (void)) { peet__omp_self(); return peet__omp_env.stack_bytes ? peet__omp_env.stack_bytes : (size_t)8 << 20; }
ENTRY(int, kmp_get_stacksize, (void)) { return (int)peet__omp_kmp_get_stacksize_s(); }
ENTRY(void, kmp_set_blocktime, (int ms)) { peet__omp_self(); peet__omp_env.blocktime_ms = ms; }
ENTRY(int, kmp_get_blocktime, (void)) { peet__omp_self(); return peet__omp_env.blocktime_ms; }
ENTRY(void, kmp_set_library, (int which)) { peet__omp_self(); peet__omp_env.library = which; }
ENTRY(int, kmp_get_library, (void)) { peet__omp_self(); return peet__omp_env.library; }
ENTRY(void, kmp_set_library_serial, (void)) { peet__omp_self(); peet__omp_env.library = 1; }
ENTRY(void, kmp_set_library_turnaround, (void)) { peet__omp_self(); peet__omp_env.library = 2; }
ENTRY(void, kmp_set_library_throughput, (void)) { peet__omp_self(); peet__omp_env.library = 3; }
ENTRY(void, kmp_set_defaults, (const char *text)) {}
ENTRY(void, kmp_set_disp_num_buffers, (int n)) {}
ENTRY(void, kmp_set_warnings_on, (void)) {}
ENTRY(void, kmp_set_warnings_off, (void)) {}
ENTRY(int, kmp_get_num_known_threads, (void)) { return peet__omp_threads_known(); }
/* clang-format on */

/* The same under the names that other headers give them. */
/* clang-format off */
ENTRY(void, kmpc_set_stacksize, (int bytes)) { peet__omp_kmp_set_stacksize(bytes); }
ENTRY(void, kmpc_set_stacksize_s, (size_t bytes)) { peet__omp_kmp_set_stacksize_s(bytes); }
ENTRY(void, kmpc_set_blocktime, (int ms)) { peet__omp_self(); peet__omp_env.blocktime_ms = ms; }
ENTRY(void, kmpc_set_library, (int which)) { peet__omp_self(); peet__omp_env.library = which; }
ENTRY(void, kmpc_set_defaults, (const char *text)) {}
ENTRY(void, kmpc_set_disp_num_buffers, (int n)) {}
ENTRY(void, ompc_set_num_threads, (int n)) { peet__omp_omp_set_num_threads(n); }
ENTRY(void, ompc_set_dynamic, (int on)) { peet__omp_omp_set_dynamic(on); }
ENTRY(void, ompc_set_nested, (int on)) { peet__omp_omp_set_nested(on); }
ENTRY(void, ompc_set_max_active_levels, (int n)) { peet__omp_omp_set_max_active_levels(n); }
ENTRY(void, ompc_set_schedule, (uint32_t kind, int chunk)) { peet__omp_omp_set_schedule(kind, chunk); }
ENTRY(int, ompc_get_ancestor_thread_num, (int level)) { return peet__omp_omp_get_ancestor_thread_num(level); }
ENTRY(int, ompc_get_team_size, (int level)) { return peet__omp_omp_get_team_size(level); }
/* clang-format on */
