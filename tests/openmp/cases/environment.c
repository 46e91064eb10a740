/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment variables set, as the program sees it. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    omp_sched_t kind;
    int chunk, n = 0, inner = 0, all = 0;
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
    printf("region %d inner %d all %d\n", n, inner, n == 1 || inner == 1 || all > 1);
    return 0;
}
