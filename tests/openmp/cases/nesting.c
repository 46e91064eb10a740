/* SPDX-License-Identifier: Apache-2.0 */
/* Nested regions, levels and ancestors, teams, target regions on the host, what can be asked and set, cancellation off. */
#include "harness.h"

CASE(nested_serialised)
{
    int inner = 0, level = 0, active = 0;
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp parallel num_threads(3)
        {
#pragma omp atomic
            inner += omp_get_num_threads();
            level = omp_get_level();
            active = omp_get_active_level();
        }
    }
    printf("%d %d %d\n", inner, level, active);
}

CASE(nested_real)
{
    int inner = 0, level = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(3)
        {
#pragma omp atomic
            inner += omp_get_num_threads() * 10 + omp_get_thread_num();
#pragma omp single
            level = omp_get_active_level();
        }
    }
    omp_set_max_active_levels(1);
    printf("%d %d\n", inner, level);
}

CASE(nested_three)
{
    int n = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        n++;
        if (omp_get_level() != 3 || omp_get_active_level() != 3)
            printf("bad level ");
    }
    omp_set_max_active_levels(1);
    printf("%d\n", n);
}

CASE(nested_again)
{
    int sum = 0;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 4; round++) {
#pragma omp parallel num_threads(1 + round) reduction(+ : sum)
        {
            int mine = 0;
#pragma omp parallel num_threads(3 - round % 3) reduction(+ : mine)
            mine += 1 + omp_get_thread_num();
            sum += mine;
        }
    }
    omp_set_max_active_levels(1);
    printf("%d\n", sum);
}

CASE(nested_loops)
{
    static int a[20][30];
    memset(a, 0, sizeof a);
    omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(3) schedule(dynamic)
    for (int i = 0; i < 20; i++) {
#pragma omp parallel for num_threads(2) schedule(dynamic, 4)
        for (int j = 0; j < 30; j++)
            a[i][j] += i * j;
    }
    omp_set_max_active_levels(1);
    printf("%lx\n", digest(&a[0][0], 600));
}

CASE(ancestors)
{
    int bad = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : bad)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : bad)
        {
            bad += omp_get_ancestor_thread_num(1) != outer;
            bad += omp_get_ancestor_thread_num(2) != omp_get_thread_num();
            bad += omp_get_ancestor_thread_num(0) != 0;
            bad += omp_get_ancestor_thread_num(3) != -1;
            bad += omp_get_team_size(1) != 2 || omp_get_team_size(2) != 2 || omp_get_team_size(0) != 1;
            bad += omp_get_team_size(7) != -1;
        }
    }
    omp_set_max_active_levels(1);
    printf("%d\n", bad);
}

CASE(set_num_threads_inside)
{
    int inner[2] = {0, 0}, after = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        omp_set_num_threads(2 + omp_get_thread_num());
#pragma omp parallel
#pragma omp single
        inner[omp_get_ancestor_thread_num(1)] = omp_get_num_threads();
    }
    after = omp_get_max_threads();
    omp_set_max_active_levels(1);
    printf("%d %d %d\n", inner[0], inner[1], after == threads);
}

CASE(in_parallel)
{
    int outside = omp_in_parallel(), inside = 0, serial = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    inside = omp_in_parallel();
#pragma omp parallel num_threads(1)
    serial = omp_in_parallel();
    printf("%d %d %d\n", outside, inside, serial);
}

CASE(levels_with_one_thread)
{
    int level = 0, active = 0;
#pragma omp parallel num_threads(1)
#pragma omp parallel num_threads(1)
    {
        level = omp_get_level();
        active = omp_get_active_level();
    }
    printf("%d %d\n", level, active);
}

CASE(set_and_get)
{
    omp_set_dynamic(1);
    int dynamic = omp_get_dynamic();
    omp_set_dynamic(0);
    omp_set_max_active_levels(5);
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(1);
    omp_set_num_threads(7);
    int n = omp_get_max_threads();
    omp_set_default_device(0);
    printf("%d %d %d %d %d %d\n", dynamic, omp_get_dynamic(), levels, n, omp_get_num_threads(), omp_get_thread_num());
}

CASE(constants)
{
    printf("%d %d %d %d %d %d %d\n", omp_get_thread_limit() > 1000, omp_get_cancellation(), omp_get_num_devices(),
        omp_get_initial_device(), omp_is_initial_device(), omp_get_supported_active_levels() > 100, omp_in_explicit_task());
}

CASE(explicit_task_query)
{
    int in = 0, level = -1;
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task shared(in, level)
    {
        in = omp_in_explicit_task();
        level = omp_get_level();
    }
    printf("%d %d\n", in, level);
}

CASE(time_goes_on)
{
    double before = omp_get_wtime();
    work(100000);
    double after = omp_get_wtime();
    printf("%d %d\n", after > before, omp_get_wtick() > 0 && omp_get_wtick() < 0.1);
}

CASE(teams_numbers)
{
    int seen[8] = {0}, n = 0, levels = 0;
#pragma omp teams num_teams(2)
    {
        seen[omp_get_team_num()] = omp_get_team_num() + 1;
#pragma omp atomic
        levels += omp_get_level() + omp_in_parallel();
        if (omp_get_team_num() == 0)
            n = omp_get_num_teams();
    }
    printf("%d %d %lx\n", n, levels, digest(seen, 8));
}

CASE(teams_distribute)
{
    static int hits[100];
    memset(hits, 0, sizeof hits);
#pragma omp teams distribute num_teams(2)
    for (int i = 0; i < 100; i++)
        hits[i]++;
    printf("%lx\n", digest(hits, 100));
}

CASE(teams_distribute_owners)
{
    static int owner[50];
#pragma omp teams distribute num_teams(2) dist_schedule(static, 3)
    for (int i = 0; i < 50; i++)
        owner[i] = omp_get_team_num();
    printf("%lx\n", digest(owner, 50));
}

CASE(teams_distribute_parallel_for)
{
    static int hits[200];
    memset(hits, 0, sizeof hits);
#pragma omp teams distribute parallel for num_teams(2) thread_limit(3)
    for (int i = 0; i < 200; i++)
        hits[i]++;
    printf("%lx\n", digest(hits, 200));
}

CASE(teams_distribute_parallel_for_dynamic)
{
    static int hits[200];
    int last = 0;
    memset(hits, 0, sizeof hits);
#pragma omp teams distribute parallel for num_teams(2) thread_limit(3) schedule(dynamic, 5)
    for (int i = 0; i < 200; i++)
        hits[i]++;
#pragma omp teams distribute parallel for num_teams(2) thread_limit(2) lastprivate(last)
    for (int i = 0; i < 77; i++)
        last = i;
    printf("%lx %d\n", digest(hits, 200), last);
}

CASE(teams_reduction)
{
    int sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
    sum += omp_get_team_num() + 1;
    printf("%d\n", sum);
}

CASE(teams_parallel)
{
    int sum = 0;
#pragma omp teams num_teams(2) thread_limit(2) reduction(+ : sum)
    {
        int mine = 0;
#pragma omp parallel num_threads(2) reduction(+ : mine)
        mine += omp_get_num_threads() + omp_get_level();
        sum += mine;
    }
    printf("%d\n", sum);
}

CASE(target_on_host)
{
    int x = 1, a[10] = {0};
#pragma omp target map(tofrom : x, a)
    {
        x += omp_is_initial_device() * 10;
        for (int i = 0; i < 10; i++)
            a[i] = i;
    }
    printf("%d %lx\n", x, digest(a, 10));
}

CASE(target_teams_loop)
{
    int sum = 0;
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum) num_teams(2)
    for (int i = 0; i < 100; i++)
        sum += i;
    printf("%d\n", sum);
}

CASE(target_data)
{
    int a[20];
    for (int i = 0; i < 20; i++)
        a[i] = i;
#pragma omp target enter data map(to : a)
#pragma omp target data map(tofrom : a)
    {
#pragma omp target parallel for
        for (int i = 0; i < 20; i++)
            a[i] *= 2;
#pragma omp target update from(a)
    }
#pragma omp target exit data map(from : a)
    printf("%lx\n", digest(a, 20));
}

CASE(target_nowait)
{
    int x = 0, y = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait depend(out : x) map(tofrom : x)
        x = 5;
#pragma omp target nowait depend(in : x) map(tofrom : y) map(to : x)
        y = x + 1;
#pragma omp taskwait
    }
    printf("%d %d\n", x, y);
}

#pragma omp declare target
static int device_function(int x)
{
    return x * 3;
}
#pragma omp end declare target

CASE(declare_target)
{
    int x = 0;
#pragma omp target map(tofrom : x)
    x = device_function(14);
    printf("%d\n", x);
}

static int variant_of(void)
{
    return 2;
}
#pragma omp declare variant(variant_of) match(construct = {parallel})
static int base_of(void)
{
    return 1;
}

CASE(declare_variant)
{
    int outside = base_of(), inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    inside = base_of();
    printf("%d %d\n", outside, inside);
}

CASE(metadirective)
{
    int n = 0;
#pragma omp metadirective when(implementation = {vendor(llvm)} : parallel num_threads(2)) default(single)
    {
#pragma omp atomic
        n++;
    }
    printf("%d\n", n);
}

#pragma omp declare simd notinbranch
static int twice(int x)
{
    return 2 * x;
}

CASE(simd_loops)
{
    int sum = 0, last = 0;
    static int a[100];
#pragma omp simd reduction(+ : sum) lastprivate(last) safelen(8) aligned(a : 4)
    for (int i = 0; i < 100; i++) {
        a[i] = twice(i);
        sum += a[i];
        last = i;
    }
#pragma omp parallel for simd reduction(+ : sum) simdlen(4) schedule(static, 16)
    for (int i = 0; i < 100; i++)
        sum += a[i];
    printf("%d %d\n", sum, last);
}

CASE(cancel_without_permission)
{
    int n = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 20; i++) {
#pragma omp atomic
            n++;
#pragma omp cancel for
        }
#pragma omp cancellation point parallel
    }
    printf("%d\n", n);
}

CASE(display_of_affinity)
{
    char text[100];
    size_t length = omp_capture_affinity(text, sizeof text, "%T %t %L %0.3n %{num_threads} %a %%");
    printf("%zu %s\n", length, text);
#pragma omp parallel num_threads(2)
#pragma omp masked filter(1)
    {
        length = omp_capture_affinity(text, sizeof text, "%L|%4n|%.4N|%a");
        printf("%zu %s\n", length, text);
    }
    /* zeros: after the sign, before no text, and only to the right */
    length = omp_capture_affinity(text, sizeof text, "%0.7a|%0.7{ancestor_tnum}|%.7a|%07a|%0.5n|%05n|%0n|");
    printf("%zu %s\n", length, text);
    size_t host = omp_capture_affinity(NULL, 0, "%H"), texts = omp_capture_affinity(text, sizeof text, "%0.60H|%0.60A");
    printf("%zu %d\n", texts, (int)strspn(text, " ") == 60 - (int)host && strspn(text + 61, " ") > 0);
}

CASE(places_are_consistent)
{
    int n = omp_get_num_places(), bad = 0;
    bad += omp_get_partition_num_places() > n;
    bad += omp_get_place_num() >= n && n > 0;
    bad += omp_get_num_procs() < 1;
    printf("%d\n", bad);
}

CASE(pause_and_tools)
{
    printf("%d %d\n", omp_pause_resource(omp_pause_soft, omp_get_initial_device()), omp_control_tool(omp_control_tool_start, 0, NULL));
#pragma omp parallel
    work(1);
}

CASE(error_directive)
{
#pragma omp error at(execution) severity(warning) message("only a warning")
    printf("went on\n");
}
