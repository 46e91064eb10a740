/* SPDX-License-Identifier: Apache-2.0 */
/* What the ordinary library does wrongly, or not with few processors: beyond.expected says what is right for any number of threads. */
#include "harness.h"

CASE(task_untied_if0)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task untied if (0)
        {
            n++;
#pragma omp taskyield
            n += 10;
        }
        if (n != 11)
            printf("early ");
    }
    printf("%d\n", n);
}

CASE(lastprivate_nonmonotonic)
{
    int bad = 0;
    for (int round = 0; round < 20; round++) {
        int x = -1;
#pragma omp parallel for lastprivate(x) schedule(dynamic, 3)
        for (int i = 0; i < 100; i++)
            x = i * 3 + work(i & 7) * 0;
        bad += x != 297;
    }
    printf("%d\n", bad);
}

CASE(more_teams_than_processors)
{
    int seen[16] = {0}, n = 0, sum = 0;
#pragma omp teams num_teams(11) reduction(+ : sum)
    {
        seen[omp_get_team_num()]++;
        n = omp_get_num_teams();
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += omp_get_level();
    }
    for (int i = 0; i < 11; i++)
        n += (seen[i] != 1) * 100;
    printf("%d %d\n", n, sum >= 11 && sum <= 22);
}

CASE(edges_of_types)
{
    long n = 0;
#pragma omp parallel for reduction(+ : n) schedule(static, 3)
    for (unsigned char i = 0; i < 255; i++)
        n++;
#pragma omp parallel for reduction(+ : n)
    for (int i = 2147483640; i < 2147483647; i++)
        n += 1000;
#pragma omp parallel for reduction(+ : n) schedule(dynamic, 100)
    for (unsigned long i = 18446744073709551600ul; i < 18446744073709551615ul; i++)
        n += 1000000;
    printf("%ld\n", n);
}
