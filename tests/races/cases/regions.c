/* SPDX-License-Identifier: Apache-2.0 */
/* races: none.  What orders OpenMP's threads and tasks. */
#include <omp.h>
#include <stdio.h>

enum { N = 64 };
static double sum, atomically, league;
static int critical, once, copied, ordered[N], cells[N], chain, first, second, group, children, mutex, loops[N],
    detached;
static int own;
#pragma omp threadprivate(own)

static int fibonacci(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 4)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
#pragma omp task depend(out : chain)
    chain = 1;
#pragma omp task depend(inout : chain)
    chain++;
#pragma omp task depend(in : chain)
    first = chain;
#pragma omp task depend(in : chain)
    second = chain;
#pragma omp task depend(out : chain)
    chain = first + second;
#pragma omp taskwait depend(in : chain)
    second = chain;
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp task
            group = 3;
        }
    }
    group++;
    for (int i = 0; i < 4; i++) {
#pragma omp task depend(mutexinoutset : mutex)
        mutex++;
    }
#pragma omp task if (0)
    children = 1;
    children++;
#pragma omp task final(1)
    children++;
    children++;
#pragma omp taskloop grainsize(4)
    for (int i = 0; i < N; i++)
        loops[i] = i;
#pragma omp taskwait
    omp_event_handle_t event;
#pragma omp task detach(event) shared(detached)
    detached = 1;
#pragma omp task
    omp_fulfill_event(event);
#pragma omp taskwait
    detached++;
    children += fibonacci(8) + mutex;
}

int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += i;
#pragma omp atomic
        atomically += 1.5;
#pragma omp critical
        critical++;
        int given = 0;
#pragma omp single copyprivate(given)
        given = ++once;
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < N; i++) {
            cells[i] = given;
#pragma omp ordered
            ordered[i] = i ? ordered[i - 1] + 1 : 0;
        }
#pragma omp sections
        {
#pragma omp section
            first = 1;
#pragma omp section
            second = 1;
        }
#pragma omp master
        copied = cells[N - 1];
#pragma omp barrier
        own += copied;
#pragma omp single
        tasks();
#pragma omp for ordered(1)
        for (int i = 1; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
            cells[i] = cells[i - 1] + 1;
#pragma omp ordered depend(source)
        }
    }
#pragma omp target teams distribute parallel for reduction(+ : league) num_teams(6) map(tofrom : league)
    for (int i = 0; i < N; i++)
        league += i;
    for (int round = 0; round < 20; round++) {
#pragma omp target map(tofrom : league)
#pragma omp teams num_teams(10) reduction(+ : league)
#pragma omp distribute
        for (int i = 0; i < N; i++)
            league += i;
    }
    printf("%g %g %d %d %g\n", sum, atomically, critical, children, league);
    return 0;
}
