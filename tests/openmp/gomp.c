/* SPDX-License-Identifier: Apache-2.0 */
/* A library that gcc compiles: regions, loops of all kinds, sections, tasks.  Prints what is the same however many threads there are. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
enum { N = 1000 };
static long sums[64];
static int order[64], norder;
/* Before any program begins: the answer must not settle where later questions go. */
static int early;
__attribute__((constructor)) static void begin(void)
{
    early = omp_get_thread_num();
}

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 6)
    a = fib(n - 1);
#pragma omp task shared(b) priority(n)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
void library(void)
{
    long total = 0, atomic = 0;
    int threads[16] = {early}, hits[N] = {0}, copied = 0, value = 0, chain[3] = {0};
    unsigned long long big = 0;
#pragma omp parallel num_threads(4)
    {
        threads[omp_get_thread_num()] = omp_get_num_threads();
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++)
            hits[i]++;
#pragma omp for schedule(guided)
        for (int i = N - 1; i >= 0; i -= 3)
            hits[i] += 10;
#pragma omp for schedule(nonmonotonic : dynamic) nowait
        for (int i = 0; i < N; i += 2)
            hits[i] += 100;
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++)
            hits[i] += 1000;
#pragma omp for schedule(static, 5) ordered
        for (int i = 0; i < 50; i++) {
#pragma omp ordered
            order[norder++] = i;
        }
#pragma omp for schedule(dynamic, 3) ordered
        for (int i = 0; i < 14; i++)
            if (i % 4) {
#pragma omp ordered
                order[norder++] = 100 + i;
            }
#pragma omp for schedule(dynamic) reduction(+ : big)
        for (unsigned long long i = ~0ull - 20; i > ~0ull - 41; i--)
            big += i;
#pragma omp for schedule(dynamic)
        for (int i = 5; i < 5; i++)
            hits[i] = -1;
#pragma omp critical(named)
        total += omp_get_thread_num();
#pragma omp critical
        total += 100;
#pragma omp atomic
        atomic += 3;
        double mine = 0;
#pragma omp single copyprivate(mine)
        mine = 42.5;
#pragma omp atomic
        copied += (int)mine;
#pragma omp sections
        {
#pragma omp section
            sums[1] = 11;
#pragma omp section
            sums[2] = 22;
#pragma omp section
            sums[3] = 33;
        }
#pragma omp barrier
#pragma omp single
        {
            sums[4] = fib(12);
#pragma omp task depend(out : chain[0])
            chain[0] = 1;
#pragma omp task depend(in : chain[0]) depend(out : chain[1])
            chain[1] = chain[0] + 1;
#pragma omp task depend(in : chain[1])
            chain[2] = chain[1] + 1;
#pragma omp taskgroup
            {
#pragma omp task untied
                value = 5;
            }
            value *= 2;
        }
    }
#pragma omp parallel for schedule(dynamic, 2) num_threads(3)
    for (int i = 0; i < 30; i++)
        __atomic_add_fetch(&sums[5 + i % 3], 1, 0);
    int tail = 0;
#pragma omp parallel for schedule(guided) reduction(+ : tail) lastprivate(value)
    for (int i = 0; i < 77; i++) {
        tail += i;
        value = i;
    }
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        sums[10] = 1;
#pragma omp section
        sums[11] = 2;
    }
    volatile unsigned long long none = 0;
    int rounds = 0, last = 0;
#pragma omp sections
    {
#pragma omp section
        last += 1;
#pragma omp section
        last += 10;
    }
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic) reduction(+ : rounds)
        for (unsigned long long i = 5; i < none; i++)
            rounds++;
#pragma omp for schedule(guided) reduction(+ : rounds)
        for (unsigned long long i = none; i > 7; i--)
            rounds++;
#pragma omp for schedule(dynamic, 2) reduction(+ : rounds)
        for (int i = 0; i < 100; i++) {
            rounds += 1000;
#pragma omp cancel for if (i == 50)
        }
#pragma omp for schedule(static, 4) lastprivate(last) reduction(+ : rounds)
        for (int i = 90; i > 0; i -= 7) {
            last = last < 0 ? 0 : i;
            rounds += 1;
        }
    }
    printf("%d %d\n", rounds, last);
    long check = 0;
    for (int i = 0; i < N; i++)
        check = check * 31 + hits[i];
    for (int i = 0; i < norder; i++)
        check = check * 37 + order[i];
    printf("%ld %ld %ld %d %d %llu", check, total, atomic, copied, value, big);
    for (int i = 0; i < 12; i++)
        printf(" %ld", sums[i]);
    printf(" %d%d%d%d %d %d %d%d%d\n", threads[0], threads[1], threads[2], threads[3], norder, tail, chain[0], chain[1],
        chain[2]);
}
