/* SPDX-License-Identifier: Apache-2.0 */
/* Chase and Lev's deque (as Le, Pop, Cohen and Zappa Nardelli give it for C11), one owner, one thief, two items.  BROKEN: without the
 * fence in take() the owner's claim is not seen before it looks at the thief's. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { EMPTY = -1, ITEMS = 2, SIZE = 4 };

static _Alignas(64) volatile atomic_int top;
static _Alignas(64) volatile atomic_int bottom;
static _Alignas(64) volatile atomic_int items[SIZE];

static void push(int x)
{
    int b = atomic_load_explicit(&bottom, memory_order_relaxed);

    atomic_store_explicit(&items[b % SIZE], x, memory_order_relaxed);
    atomic_store_explicit(&bottom, b + 1, memory_order_release);
}

static int take(void)
{
    int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1, t, x = EMPTY;

    atomic_store_explicit(&bottom, b, memory_order_relaxed);
#ifndef BROKEN
    atomic_thread_fence(memory_order_seq_cst);
#endif
    t = atomic_load_explicit(&top, memory_order_relaxed);
    if (t <= b) {
        x = atomic_load_explicit(&items[b % SIZE], memory_order_relaxed);
        if (t == b) {
            if (!atomic_compare_exchange_strong(&top, &t, t + 1))
                x = EMPTY;
            atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
        }
    } else {
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    }
    return x;
}

static int steal(void)
{
    int t = atomic_load_explicit(&top, memory_order_acquire), b, x = EMPTY;

    atomic_thread_fence(memory_order_seq_cst);
    b = atomic_load_explicit(&bottom, memory_order_acquire);
    if (t < b) {
        x = atomic_load_explicit(&items[t % SIZE], memory_order_relaxed);
        if (!atomic_compare_exchange_strong(&top, &t, t + 1))
            x = EMPTY;
    }
    return x;
}

static void *thief(void *unused)
{
    intptr_t got = 0;

    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        int x = steal();

        if (x != EMPTY)
            got += 1 << 4 * x;
    }
    return (void *)got;
}

int main(void)
{
    pthread_t thread;
    intptr_t got = 0;
    void *stolen;

    pthread_create(&thread, NULL, thief, NULL);
    for (int i = 0; i < ITEMS; i++)
        push(i);
    for (int i = 0; i < ITEMS; i++) {
        int x = take();

        if (x != EMPTY)
            got += 1 << 4 * x;
    }
    pthread_join(thread, &stolen);
    got += (intptr_t)stolen;
    for (int x = take(); x != EMPTY; x = take())
        got += 1 << 4 * x;
    for (int i = 0; i < ITEMS; i++)
        if ((got >> 4 * i & 15) != 1) {
            printf("item %d was taken %d times\n", i, (int)(got >> 4 * i & 15));
            return 1;
        }
    puts("each item once");
    return 0;
}
