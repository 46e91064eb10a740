/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The omp_* functions as Fortran calls them that knows no more than their names (EXTERNAL, an implicit interface): with an
 * underscore, and arguments by reference.  With `use omp_lib` it calls them as C does.
 */
#include "openmp.h"

/* clang-format off */
#define ASKS(type, name) \
    type peet__omp_##name(void); \
    ENTRY(type, name##_, (void)) { return peet__omp_##name(); }
#define SETS(name) \
    void peet__omp_##name(int n); \
    ENTRY(void, name##_, (const int *n)) { peet__omp_##name(*n); }
#define ASKS_OF(name) \
    int peet__omp_##name(int n); \
    ENTRY(int, name##_, (const int *n)) { return peet__omp_##name(*n); }
#define LOCKS(type, name) \
    type peet__omp_##name(void **variable); \
    ENTRY(type, name##_, (void **variable)) { return peet__omp_##name(variable); }

ASKS(int, omp_get_num_threads)
ASKS(int, omp_get_thread_num)
ASKS(int, omp_get_max_threads)
ASKS(int, omp_get_num_procs)
ASKS(int, omp_in_parallel)
ASKS(int, omp_get_thread_limit)
ASKS(int, omp_get_dynamic)
ASKS(int, omp_get_nested)
ASKS(int, omp_get_level)
ASKS(int, omp_get_active_level)
ASKS(int, omp_get_supported_active_levels)
ASKS(int, omp_get_max_active_levels)
ASKS(int, omp_in_final)
ASKS(int, omp_in_explicit_task)
ASKS(int, omp_get_max_task_priority)
ASKS(int, omp_get_cancellation)
ASKS(int, omp_get_num_teams)
ASKS(int, omp_get_team_num)
ASKS(int, omp_get_max_teams)
ASKS(int, omp_get_teams_thread_limit)
ASKS(int, omp_get_proc_bind)
ASKS(int, omp_get_num_places)
ASKS(int, omp_get_place_num)
ASKS(int, omp_get_partition_num_places)
ASKS(int, omp_get_default_device)
ASKS(int, omp_get_num_devices)
ASKS(int, omp_get_initial_device)
ASKS(int, omp_get_device_num)
ASKS(int, omp_is_initial_device)
ASKS(double, omp_get_wtime)
ASKS(double, omp_get_wtick)
ASKS_OF(omp_get_ancestor_thread_num)
ASKS_OF(omp_get_team_size)
ASKS_OF(omp_get_place_num_procs)
SETS(omp_set_num_threads)
SETS(omp_set_dynamic)
SETS(omp_set_nested)
SETS(omp_set_max_active_levels)
SETS(omp_set_num_teams)
SETS(omp_set_teams_thread_limit)
SETS(omp_set_default_device)
LOCKS(void, omp_init_lock)
LOCKS(void, omp_destroy_lock)
LOCKS(void, omp_set_lock)
LOCKS(void, omp_unset_lock)
LOCKS(int, omp_test_lock)
LOCKS(void, omp_init_nest_lock)
LOCKS(void, omp_destroy_nest_lock)
LOCKS(void, omp_set_nest_lock)
LOCKS(void, omp_unset_nest_lock)
LOCKS(int, omp_test_nest_lock)
/* clang-format on */

void peet__omp_omp_set_schedule(uint32_t kind, int chunk);
ENTRY(void, omp_set_schedule_, (const uint32_t *kind, const int *chunk))
{
    peet__omp_omp_set_schedule(*kind, *chunk);
}

void peet__omp_omp_get_schedule(uint32_t *kind, int *chunk);
ENTRY(void, omp_get_schedule_, (uint32_t *kind, int *chunk))
{
    peet__omp_omp_get_schedule(kind, chunk);
}
