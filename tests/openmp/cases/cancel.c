/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation; run with OMP_CANCELLATION=true. */
#include "harness.h"

CASE(permitted)
{
    printf("%d\n", omp_get_cancellation());
}

CASE(cancel_parallel)
{
    int after = 0, barrier = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        barrier++;
#pragma omp cancellation point parallel
#pragma omp atomic
        after++;
    }
    printf("%d %d\n", barrier, after);
}

CASE(cancel_parallel_waits)
{
    int cancelled = 0;
#pragma omp parallel
    {
        int done = 0;
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            work(200);
#pragma omp cancel parallel
        }
        while (!done) {
#pragma omp cancellation point parallel
        }
#pragma omp atomic
        cancelled++;
    }
    printf("%d\n", cancelled);
}

CASE(cancel_for)
{
    int seen_end = 0, later = 0, asked = 0, there = 1;
#pragma omp parallel firstprivate(there)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100000; i++) {
            if (i == 5) {
#pragma omp atomic write
                asked = 1;
#pragma omp cancel for
            }
            do { /* on a busy machine the others could be done before the thread of iteration 5 goes on */
                if (i > 50000) {
#pragma omp atomic read
                    there = asked;
                }
            } while (!there);
            if (i == 99999)
                seen_end = 1;
#pragma omp cancellation point for
        }
#pragma omp for
        for (int i = 0; i < 10; i++) {
#pragma omp atomic
            later++;
        }
    }
    printf("%d %d\n", seen_end, later);
}

CASE(cancel_for_static)
{
    int later = 0, last = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < 1000; i++) {
            if (i == 0) {
#pragma omp cancel for
            }
            if (i == 0)
                last = 1;
#pragma omp cancellation point for
        }
#pragma omp atomic
        later++;
    }
    printf("%d %d\n", last, later);
}

CASE(cancel_sections)
{
    int after = 0;
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
                after = 1;
            }
        }
#pragma omp atomic
        after += 10;
    }
    printf("%d\n", after == 10 * threads);
}

CASE(cancel_taskgroup)
{
    int started = 0, tail = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
                tail++;
            }
#pragma omp taskwait
            for (int i = 0; i < 20; i++)
#pragma omp task
            {
#pragma omp atomic
                started++;
            }
        }
#pragma omp task
        tail += 100;
#pragma omp taskwait
    }
    printf("%d %d\n", started, tail);
}

CASE(cancel_if_false)
{
    int n = 0;
#pragma omp parallel for
    for (int i = 0; i < 30; i++) {
#pragma omp cancel for if (i > 100)
#pragma omp atomic
        n++;
    }
    printf("%d\n", n);
}

CASE(regions_after_cancellation)
{
    int n = 0;
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
        {
#pragma omp atomic
            n++;
            if (round & 1) {
#pragma omp cancel parallel
            }
        }
    }
    printf("%d\n", n);
}
