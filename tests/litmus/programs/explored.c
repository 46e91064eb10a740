/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs for exploration, by the name in CASE: what they do is written beside them. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int x;
static int n;

#if CASE_ADD /* two increments of ordinary memory: 1 is lost if the other comes between the load and the store */
static int total;
static void *thread(void *number)
{
    (void)number;
    n ? (total += 5) : total++;
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", total); }
#elif CASE_ABORT /* the thread ends the program, unless main does before */
static void *thread(void *number)
{
    if (number)
        abort();
    return NULL;
}
static void first(void) { exit(0); }
static void last(void) {}
#elif CASE_ABORT_JOINED
static void *thread(void *number)
{
    if (number)
        abort();
    return NULL;
}
static void first(void) {}
static void last(void) {}
#elif CASE_YIELD || CASE_COUNT || CASE_CLOCK /* main waits for a thread in three ways */
static void *thread(void *number)
{
    if (number)
        x = 1;
    return NULL;
}
static void first(void)
{
    unsigned long looks = 0;

    while (!x) {
#if CASE_YIELD
        sched_yield();
#elif CASE_CLOCK
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        looks += (unsigned long)now.tv_nsec | 1;
#else
        looks++;
#endif
    }
    if (!looks && n)
        printf("at once\n");
}
static void last(void) { printf("seen\n"); }
#elif CASE_LONG /* far more executions than anybody waits for */
static void *thread(void *number)
{
    for (int i = 0; i < 5; i++)
        x = (int)(long)number * 10 + i;
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", x); }
#elif CASE_MANY /* many steps that depend on nothing, then two that do */
static atomic_int own[4];
static void *thread(void *number)
{
    for (int i = 0; i < n; i++)
        atomic_exchange(&own[(long)number], i);
    x = (int)(long)number;
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", x); }
#elif CASE_SUM /* locked additions whose result nobody uses */
static void *thread(void *number)
{
    for (int i = 0; i < 3; i++)
        atomic_fetch_add(&x, (int)(long)number);
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", x); }
#elif CASE_LAST /* one whose flags are used: who is last */
static atomic_int left = 2;
static void *thread(void *number)
{
    if (atomic_fetch_sub(&left, 1) == 1)
        x = (int)(long)number;
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", x); }
#elif CASE_RING /* each stores, and loads what the next one stores: not all can load 0 */
static atomic_int cells[6];
static void *thread(void *number)
{
    const long i = (long)number - 1;

    atomic_store_explicit(&cells[i], 1, memory_order_relaxed);
    return (void *)(long)atomic_load_explicit(&cells[(i + 1) % 6], memory_order_relaxed);
}
static void first(void) {}
static void last(void) {}
#elif CASE_ASM || CASE_OPAQUE /* a statement that stores; one that is more than its instructions */
static long cell;
static void *thread(void *number)
{
#if CASE_ASM
    __asm__ volatile("movq %1,%0" : "=m"(cell) : "r"(number) : "memory");
#else
    __asm__ volatile("fnop; movq %1,%0" : "=m"(cell) : "r"(number) : "memory");
#endif
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%ld\n", cell); }
#elif CASE_FENCE /* one that only orders */
static void *thread(void *number)
{
    x = (int)(long)number;
    __asm__ volatile("mfence" ::: "memory");
    return NULL;
}
static void first(void) {}
static void last(void) { printf("%d\n", x); }
#endif

static void say(void)
{
    if (write(1, "begun ", 6) != 6)
        exit(9);
}

int main(int argc, char **argv)
{
    pthread_t threads[6];
    void *result;
    int count = argc > 1 ? atoi(argv[1]) : 2;

    n = argc > 2 ? atoi(argv[2]) : 0;
    say();
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    first();
    for (int i = 0; i < count; i++)
        if (!pthread_join(threads[i], &result) && result)
            printf("%d ", i);
    last();
    return 0;
}
