/* SPDX-License-Identifier: Apache-2.0 */
/* races: cells counted depends grandchild loops master single waited
 * OpenMP with what is missing: a reduction, a barrier, a dependence, a taskwait.  Tasks race whichever threads execute
 * them. */
#include <stdio.h>

enum { N = 64 };
static int counted, cells[N + 1], single, master, depends, waited, grandchild, loops, right;

int main(void)
{
#pragma omp parallel num_threads(4)
    {
        int seen = 0;
#pragma omp for
        for (int i = 0; i < N; i++) {
            counted++;
            cells[i] = cells[i + 1] + 1;
        }
#pragma omp single nowait
        single = 1;
        seen += single;
#pragma omp barrier
#pragma omp master
        master = seen;
        seen += master;
#pragma omp barrier
#pragma omp single
        {
#pragma omp task depend(out : right)
            depends = 1;
#pragma omp task depend(out : waited)
            depends = 2;
#pragma omp task
            waited = 1;
            right = waited;
#pragma omp task
            {
#pragma omp task
                grandchild = 1;
            }
#pragma omp taskwait
            right = grandchild;
#pragma omp taskloop grainsize(8)
            for (int i = 0; i < N; i++)
                loops = i;
        }
#pragma omp critical
        right += seen;
    }
    printf("%d\n", counted + cells[0] + depends + loops + grandchild + right > 100000);
    return 0;
}
