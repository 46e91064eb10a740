/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment variables set, as the program sees it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    omp_sched_t kind;
    int chunk, n = 0, inner = 0, all = 0, elsewhere = 0;
    if (getenv("OMP_AFFINITY_FORMAT"))
        omp_display_affinity(NULL); /* the first call of all: it is what reads the environment */
    printf("blocktime %d library %d\n", kmp_get_blocktime(), kmp_get_library());
    omp_get_schedule(&kind, &chunk);
    printf("schedule %x %d\n", (unsigned)kind, chunk);
    printf("threads %d dynamic %d levels %d limit %d\n", omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels(),
        omp_get_thread_limit());
    printf("cancellation %d bind %d priority %d\n", omp_get_cancellation(), omp_get_proc_bind(), omp_get_max_task_priority());
    printf("teams %d %d device %d\n", omp_get_max_teams(), omp_get_teams_thread_limit(), omp_get_default_device());
#pragma omp parallel
    {
#pragma omp master
        n = omp_get_num_threads();
#pragma omp parallel
        {
#pragma omp master
            if (omp_get_ancestor_thread_num(1) == 0)
                inner = omp_get_num_threads();
#pragma omp atomic
            all++;
        }
    }
#pragma omp parallel reduction(+ : elsewhere)
    {
        int place = getenv("OMP_PLACES") ? omp_get_place_num() : -1, first = -1;
        char set[64];
        if (place >= 0) {
            omp_get_place_proc_ids(place, &first);
            omp_capture_affinity(set, sizeof set, "%A");
            elsewhere += omp_get_place_num_procs(place) != 1 || first != atoi(set);
        }
    }
    printf("bound elsewhere than at its place: %d\n", elsewhere);
    printf("region %d inner %d all %d\n", n, inner, n == 1 || inner == 1 || all > 1);
    return 0;
}
