/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a context has for itself, and what only looks so.  -DCASE_COUNTED: a loop that looks at a flag three times and counts in a local variable
 * (on the stack at -O0); -DCASE_LOCAL: it counts in a thread-local variable; -DCASE_SHARED: two threads share variables on the stack of a third;
 * -DCASE_OWNER: the one on whose stack they are looks at them itself; -DCASE_RETURNED: threads leave their results on main's stack.
 */
#include <pthread.h>
#include <stdio.h>

#if CASE_COUNTED || CASE_LOCAL
static volatile int flag, seen;
static volatile __thread int turns;

static void *left(void *unused)
{
    flag = 1;
    return unused;
}

static void *right(void *unused)
{
    int sum = 0;

#if CASE_LOCAL
    for (turns = 0; turns < 3; turns++)
        sum += flag;
#else
    int turn = 0;

    do
        sum += flag;
    while (++turn < 3);
#endif
    seen = sum;
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, left, NULL);
    pthread_create(&threads[1], NULL, right, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%d\n", seen);
    return 0;
}
#else
struct shared {
    volatile int x, y;
    int a, b;
};
static volatile int x, y;

static void *left(void *arg)
{
    struct shared *s = arg;

#if CASE_RETURNED
    x = 1;
    s->a = y;
#else
    s->x = 1;
    s->a = s->y;
#endif
    return NULL;
}

static void *right(void *arg)
{
    struct shared *s = arg;

#if CASE_RETURNED
    y = 1;
    s->b = x;
#else
    s->y = 1;
    s->b = s->x;
#endif
    return NULL;
}

int main(void)
{
    struct shared s = {0, 0, 0, 0};
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, left, &s);
#if CASE_OWNER
    s.y = 1;
    s.b = s.x;
#else
    pthread_create(&threads[1], NULL, right, &s);
    pthread_join(threads[1], NULL);
#endif
    pthread_join(threads[0], NULL);
    printf("%d%d\n", s.a, s.b);
    (void)right;
    (void)x;
    (void)y;
    return 0;
}
#endif
