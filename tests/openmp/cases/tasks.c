/* SPDX-License-Identifier: Apache-2.0 */
/* Explicit tasks: creation, waiting, groups, loops, reductions, priority, detach, untied, final.  Dependences: depend.c. */
#include "harness.h"
#include <pthread.h>

static int fib(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

CASE(fibonacci)
{
    int f = 0;
#pragma omp parallel
#pragma omp single
    f = fib(12);
    printf("%d\n", f);
}

CASE(fibonacci_serial_region)
{
    printf("%d\n", fib(9));
}

CASE(tasks_at_barrier)
{
    int sum = 0;
#pragma omp parallel
    {
#pragma omp single nowait
        for (int i = 0; i < 100; i++)
#pragma omp task firstprivate(i)
        {
            work(i & 15);
#pragma omp atomic
            sum += i;
        }
#pragma omp barrier
        if (sum != 4950)
            printf("early ");
    }
    printf("%d\n", sum);
}

CASE(tasks_by_all)
{
    int n = 0;
#pragma omp parallel
    {
        for (int i = 0; i < 20; i++)
#pragma omp task
        {
#pragma omp atomic
            n++;
        }
#pragma omp taskwait
    }
    printf("%d\n", n);
}

CASE(task_firstprivate)
{
    int out[50] = {0};
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
        int square = i * i;
#pragma omp task firstprivate(square) shared(out)
        out[i] = square;
    }
    printf("%lx\n", digest(out, 50));
}

CASE(task_if0)
{
    int order[10], n = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task if (0) shared(order, n)
        order[n++] = i;
    }
    printf("%lx\n", digest(order, 10));
}

CASE(task_if0_children)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task if (0)
        {
            for (int i = 0; i < 5; i++)
#pragma omp task
            {
#pragma omp atomic
                n++;
            }
#pragma omp taskwait
        }
        if (n != 5)
            printf("early ");
    }
    printf("%d\n", n);
}

CASE(task_final)
{
    int in_final = 0, n = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task final(1) shared(in_final, n)
        {
            in_final += omp_in_final();
            for (int i = 0; i < 4; i++) {
                int before = n;
#pragma omp task shared(in_final, n)
                {
                    n++;
                    in_final += omp_in_final();
                }
                if (n != before + 1)
                    printf("late ");
            }
        }
    }
    printf("%d %d %d\n", in_final, n, omp_in_final());
}

CASE(task_mergeable)
{
    int x = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task mergeable final(threads > 2) shared(x)
        x = 9;
    }
    printf("%d\n", x);
}

CASE(task_untied)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task untied
    {
#pragma omp atomic
        n++;
#pragma omp task
        {
#pragma omp atomic
            n += 100;
        }
#pragma omp taskwait
#pragma omp atomic
        n += 10000;
#pragma omp taskyield
#pragma omp atomic
        n += 1000000;
    }
    printf("%d\n", n);
}

CASE(task_priority)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; i++)
#pragma omp task priority(i % 5)
    {
#pragma omp atomic
        sum += i;
    }
    printf("%d\n", sum);
}

CASE(taskwait_children_only)
{
    int child = 0, grandchild = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task shared(child, grandchild)
        {
#pragma omp task shared(grandchild)
            {
                work(50);
#pragma omp atomic write
                grandchild = 1;
            }
            child = 1;
        }
#pragma omp taskwait
        seen = child;
    }
    printf("%d %d\n", seen, grandchild);
}

CASE(taskgroup_descendants)
{
    int n = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 5; i++)
#pragma omp task
            {
                for (int j = 0; j < 5; j++)
#pragma omp task
                {
                    work(10);
#pragma omp atomic
                    n++;
                }
            }
        }
        seen = n;
    }
    printf("%d\n", seen);
}

CASE(taskgroup_nested)
{
    int inner = 0, outer = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp taskgroup
                {
#pragma omp task
                    {
#pragma omp atomic
                        inner++;
                    }
                }
                if (inner != 1)
                    printf("early ");
#pragma omp atomic
                outer++;
            }
        }
        if (outer != 1)
            printf("early ");
    }
    printf("%d %d\n", inner, outer);
}

#define TASKLOOP(name, clause)                                                                                         \
    CASE(name)                                                                                                         \
    {                                                                                                                  \
        int hits[200] = {0};                                                                                           \
        _Pragma("omp parallel") _Pragma("omp single") _Pragma(#clause) for (int i = 0; i < 200; i++) hits[i]++;        \
        int bad = 0;                                                                                                   \
        for (int i = 0; i < 200; i++)                                                                                  \
            bad += hits[i] != 1;                                                                                       \
        printf("%d\n", bad);                                                                                           \
    }
TASKLOOP(taskloop_plain, omp taskloop)
TASKLOOP(taskloop_grainsize, omp taskloop grainsize(7))
TASKLOOP(taskloop_grainsize_strict, omp taskloop grainsize(strict : 7))
TASKLOOP(taskloop_num_tasks, omp taskloop num_tasks(9))
TASKLOOP(taskloop_num_tasks_strict, omp taskloop num_tasks(strict : 9))
TASKLOOP(taskloop_untied, omp taskloop untied)
TASKLOOP(taskloop_simd, omp taskloop simd)
TASKLOOP(taskloop_if0, omp taskloop if (0))
TASKLOOP(taskloop_collapse, omp taskloop priority(3) mergeable)

CASE(taskloop_nogroup)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop nogroup
        for (int i = 0; i < 40; i++) {
#pragma omp atomic
            n++;
        }
#pragma omp taskwait
        if (n != 40)
            printf("early ");
    }
    printf("%d\n", n);
}

CASE(taskloop_lastprivate)
{
    int x = -1, first = 5;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop lastprivate(x) firstprivate(first) num_tasks(6)
    for (int i = 0; i < 50; i++)
        x = i * 2 + first;
    printf("%d\n", x);
}

CASE(taskloop_reduction)
{
    int sum = 3;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : sum) grainsize(4)
    for (int i = 0; i < 100; i++)
        sum += i;
    printf("%d\n", sum);
}

CASE(taskloop_long_down)
{
    long sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : sum)
    for (long i = 1000000000000; i > 999999999000; i -= 7)
        sum += i % 1000;
    printf("%ld\n", sum);
}

CASE(task_reduction)
{
    int sum = 1;
    double product = 1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
        for (int i = 1; i <= 20; i++)
#pragma omp task in_reduction(+ : sum) in_reduction(* : product) firstprivate(i)
        {
            work(i);
            sum += i;
            product *= i % 3 + 1;
        }
    }
    printf("%d %.1f\n", sum, product);
}

CASE(task_reduction_nested)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 6; i++)
#pragma omp task in_reduction(+ : sum)
        {
            sum += 1;
#pragma omp taskgroup task_reduction(+ : sum)
            for (int j = 0; j < 4; j++)
#pragma omp task in_reduction(+ : sum)
                sum += 10;
        }
    }
    printf("%d\n", sum);
}

CASE(reduction_modifier_task)
{
    int sum = 0;
#pragma omp parallel reduction(task, + : sum)
    {
        sum += 1;
        for (int i = 0; i < 5; i++)
#pragma omp task in_reduction(+ : sum)
            sum += 100;
    }
    printf("%d\n", sum);
}

CASE(reduction_modifier_task_for)
{
    int sum = 0;
#pragma omp parallel
#pragma omp for reduction(task, + : sum)
    for (int i = 0; i < 30; i++) {
        sum += 1;
#pragma omp task in_reduction(+ : sum)
        sum += 1000;
    }
    printf("%d\n", sum);
}

CASE(detach_fulfilled_by_task)
{
    int done = 0, seen = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : done) shared(done)
        {
            omp_event_handle_t e = event;
#pragma omp task firstprivate(e) shared(done)
            {
                work(30);
                done = 1;
                omp_fulfill_event(e);
            }
        }
#pragma omp task depend(in : done) shared(done, seen)
        seen = done;
    }
    printf("%d\n", seen);
}

CASE(detach_fulfilled_inside)
{
    int x = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(x)
        {
            x = 1;
            omp_fulfill_event(event);
        }
#pragma omp taskwait
        x++;
    }
    printf("%d\n", x);
}

static void *fulfil(void *argument)
{
    work(200);
    omp_fulfill_event((omp_event_handle_t)argument);
    return NULL;
}

CASE(detach_fulfilled_by_pthread)
{
    int x = 0;
    pthread_t other;
#pragma omp parallel
#pragma omp master
    {
        omp_event_handle_t event;
#pragma omp task detach(event) shared(x, other)
        {
            x = 1;
            pthread_create(&other, NULL, fulfil, (void *)event);
        }
#pragma omp taskwait
        x += 10;
    }
    pthread_join(other, NULL);
    printf("%d\n", x);
}

CASE(taskyield_progress)
{
    int flag = 0, n = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 10; i++)
#pragma omp task
        {
#pragma omp taskyield
#pragma omp atomic
            n++;
        }
#pragma omp taskwait
        flag = 1;
    }
    printf("%d %d\n", n, flag);
}

CASE(task_in_sections)
{
    int n = 0;
#pragma omp parallel sections
    {
#pragma omp section
        {
            for (int i = 0; i < 5; i++)
#pragma omp task
            {
#pragma omp atomic
                n++;
            }
        }
#pragma omp section
        {
            for (int i = 0; i < 5; i++)
#pragma omp task
            {
#pragma omp atomic
                n += 10;
            }
        }
    }
    printf("%d\n", n);
}

CASE(parallel_in_task)
{
    int n = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 3; i++)
#pragma omp task
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            n++;
        }
    }
    omp_set_max_active_levels(1);
    printf("%d\n", n);
}

CASE(many_small_tasks)
{
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 3000; i++)
#pragma omp task firstprivate(i)
    {
#pragma omp atomic
        sum += i;
    }
    printf("%ld\n", sum);
}

struct tree {
    struct tree *left, *right;
    int value;
};
static struct tree *grow(int depth, int *next)
{
    if (depth == 0)
        return NULL;
    struct tree *t = malloc(sizeof *t);
    t->left = grow(depth - 1, next);
    t->value = (*next)++;
    t->right = grow(depth - 1, next);
    return t;
}
static void traverse(struct tree *t, long *sum)
{
    if (!t)
        return;
#pragma omp task
    traverse(t->left, sum);
#pragma omp task
    traverse(t->right, sum);
#pragma omp atomic
    *sum += t->value;
}

CASE(tree_traversal)
{
    int next = 0;
    long sum = 0;
    struct tree *t = grow(8, &next);
#pragma omp parallel
#pragma omp single
    traverse(t, &sum);
    printf("%d %ld\n", next, sum);
}

static void merge_sort(int *a, int *buffer, int n)
{
    if (n < 8) {
        for (int i = 1; i < n; i++)
            for (int j = i; j > 0 && a[j] < a[j - 1]; j--) {
                int swap = a[j];
                a[j] = a[j - 1];
                a[j - 1] = swap;
            }
        return;
    }
#pragma omp task
    merge_sort(a, buffer, n / 2);
#pragma omp task
    merge_sort(a + n / 2, buffer + n / 2, n - n / 2);
#pragma omp taskwait
    int i = 0, j = n / 2;
    for (int k = 0; k < n; k++)
        buffer[k] = j >= n || (i < n / 2 && a[i] <= a[j]) ? a[i++] : a[j++];
    memcpy(a, buffer, (size_t)n * sizeof *a);
}

CASE(sort_by_tasks)
{
    static int a[500], buffer[500];
    unsigned x = 12345;
    for (int i = 0; i < 500; i++)
        a[i] = (int)((x = x * 1103515245 + 12345) >> 16 & 0x7fff);
#pragma omp parallel
#pragma omp single
    merge_sort(a, buffer, 500);
    int bad = 0;
    for (int i = 1; i < 500; i++)
        bad += a[i] < a[i - 1];
    printf("%d %lx\n", bad, digest(a, 500));
}

static int queens(int n, int row, const char *columns)
{
    if (row == n)
        return 1;
    int count = 0;
    for (int c = 0; c < n; c++) {
        int free_place = 1;
        for (int r = 0; r < row; r++)
            free_place &= columns[r] != c && abs(columns[r] - c) != row - r;
        if (!free_place)
            continue;
#pragma omp task shared(count) firstprivate(c)
        {
            char next[16];
            memcpy(next, columns, (size_t)row);
            next[row] = (char)c;
            int found = queens(n, row + 1, next);
#pragma omp atomic
            count += found;
        }
    }
#pragma omp taskwait
    return count;
}

CASE(queens_6)
{
    char columns[16];
    int count = 0;
#pragma omp parallel
#pragma omp single
    count = queens(6, 0, columns);
    printf("%d\n", count);
}
