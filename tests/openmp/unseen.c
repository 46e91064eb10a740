/* SPDX-License-Identifier: Apache-2.0 */
/* For unseen.sh: calls memset() and strlen() once each; the library has reason to call more for teams, tasks, reductions and copies. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static char page[5000];
static int own[300];
#pragma omp threadprivate(own)

static int fib(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv)
{
    int f = 0, sum = 0, hits = 0;
    own[7] = 5;
#pragma omp parallel copyin(own)
#pragma omp single
    f = fib(8);
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += own[7];
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : hits)
    for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : hits)
        hits++;
    memset(page, f, sizeof page);
    return page[strlen(argv[0])] == 21 && sum == 320 && hits == 10 ? 0 : 1;
}
