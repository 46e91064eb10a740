/* SPDX-License-Identifier: Apache-2.0 */
/* Dependences between tasks, of every kind. */
#include "harness.h"

CASE(depend_chain)
{
    int x = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++)
#pragma omp task depend(inout : x) shared(x)
        x = (x * 7 + i) % 10007;
    printf("%d\n", x);
}

CASE(depend_flow_anti_output)
{
    int a = 0, b = 0, c = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            work(30);
            a = 5;
        }
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
        b = a + 1;
#pragma omp task depend(in : a) depend(out : c) shared(a, c)
        c = a + 2;
#pragma omp task depend(out : a) shared(a)
        a = 100;
#pragma omp task depend(in : a, b, c) shared(a, b, c)
        a = a + b * 10 + c;
    }
    printf("%d %d %d\n", a, b, c);
}

CASE(depend_readers)
{
    int x = 0, readers = 0, bad = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 1; round < 10; round++) {
#pragma omp task depend(out : x) shared(x, readers, bad) firstprivate(round)
        {
            if (readers != (round - 1) * 4)
                bad++;
            x = round;
        }
        for (int i = 0; i < 4; i++)
#pragma omp task depend(in : x) shared(x, readers, bad) firstprivate(round)
        {
            if (x != round) {
#pragma omp atomic
                bad++;
            }
#pragma omp atomic
            readers++;
        }
    }
    printf("%d %d %d\n", x, readers, bad);
}

CASE(depend_matrix)
{
    static int a[8][8];
    memset(a, 0, sizeof a);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
#pragma omp task depend(in : a[i > 0 ? i - 1 : 0][j], a[i][j > 0 ? j - 1 : 0]) depend(out : a[i][j]) firstprivate(i, j)
            a[i][j] = 1 + (i > 0 ? a[i - 1][j] : 0) + (j > 0 ? a[i][j - 1] : 0);
    printf("%d %lx\n", a[7][7], digest(&a[0][0], 64));
}

CASE(depend_mutexinoutset)
{
    int x = 0, y = 0, inside = 0, bad = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        x = 1;
        for (int i = 0; i < 12; i++)
#pragma omp task depend(mutexinoutset : x) shared(x, inside, bad)
        {
            if (++inside != 1)
                bad++;
            work(10);
            x++;
            inside--;
        }
#pragma omp task depend(in : x) shared(x, y)
        y = x;
    }
    printf("%d %d %d\n", x, y, bad);
}

CASE(depend_two_mutexes)
{
    int a = 0, b = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task depend(mutexinoutset : a) shared(a)
        a++;
#pragma omp task depend(mutexinoutset : b, a) shared(a, b)
        {
            a += 10;
            b++;
        }
    }
    printf("%d %d\n", a, b);
}

CASE(depend_inoutset)
{
    int x = 0, n = 0, after = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 8; i++)
#pragma omp task depend(inoutset : x) shared(n)
        {
            work(i * 5);
#pragma omp atomic
            n++;
        }
#pragma omp task depend(in : x) shared(n, after)
        after = n;
    }
    printf("%d %d\n", n, after);
}

CASE(depend_all_memory)
{
    int a = 0, b = 0, sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            work(20);
            a = 3;
        }
#pragma omp task depend(out : b) shared(b)
        b = 4;
#pragma omp task depend(out : omp_all_memory) shared(a, b, sum)
        sum = a + b;
#pragma omp task depend(in : b) shared(sum)
        sum *= 10;
    }
    printf("%d\n", sum);
}

CASE(depend_object)
{
    int x = 0;
    omp_depend_t object;
#pragma omp depobj(object) depend(inout : x)
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task depend(depobj : object) shared(x)
        x = x * 2 + 1;
#pragma omp depobj(object) destroy
    printf("%d\n", x);
}

CASE(depend_iterator)
{
    int a[10] = {0}, sum = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++)
#pragma omp task depend(out : a[i]) shared(a) firstprivate(i)
        {
            work(i * 4);
            a[i] = i + 1;
        }
#pragma omp task depend(iterator(k = 0 : 10), in : a[k]) shared(a, sum)
        for (int i = 0; i < 10; i++)
            sum += a[i];
    }
    printf("%d\n", sum);
}

CASE(taskwait_depend)
{
    int a = 0, b = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            work(40);
            a = 1;
        }
#pragma omp task depend(out : b) shared(b)
        b = 2;
#pragma omp taskwait depend(in : a)
        seen = a;
    }
    printf("%d %d\n", seen, b);
}

CASE(task_if0_depend)
{
    int a = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            work(40);
            a = 6;
        }
#pragma omp task if (0) depend(in : a) shared(a, seen)
        seen = a;
        if (seen != 6)
            printf("early ");
    }
    printf("%d\n", seen);
}
