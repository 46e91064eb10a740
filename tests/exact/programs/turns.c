/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic and volatile accesses of every shape while another thread is alive (it waits for a lock to the end),
 * so that each waits for its turn: with vectors, x87 and flags live across them, in loops of one block, at a
 * function's entry, behind conditional jumps, in inlined and recursive functions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static volatile int device[64];
static volatile struct { unsigned a : 5, b : 11; long c; } fields;
static atomic_long total;
static _Atomic uint8_t small;
static _Atomic(double) real;
static _Thread_local atomic_int own;
static long plain[256];

__attribute__((noinline)) static int first(void)
{
    return device[0];
}

__attribute__((noinline)) static long loop_of_one_block(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += device[i & 63];
    return sum;
}

__attribute__((noinline)) static long unbounded(int n)
{
    long turns = 0;
    device[5] = n;
    do
        turns++;
    while (--device[5]);
    return turns;
}

__attribute__((noinline)) static double vectors(const double *x, int n)
{
    double a = 0, b = 1, c = 2, d = 3, e = 4, f = 5;
    for (int i = 0; i < n; i++) {
        a += x[i];
        b = b * 0.5 + a;
        atomic_fetch_add_explicit(&total, (long)b, memory_order_relaxed);
        c -= b * x[i];
        d += c * 0.25;
        device[i & 7] = (int)d;
        e += d / (f + 1);
        f = f * 0.9 + device[(i + 1) & 7];
    }
    return a + b + c + d + e + f;
}

__attribute__((noinline)) static long double extended(int n)
{
    long double x = 1, y = 2;
    for (int i = 0; i < n; i++) {
        x = x * 1.0001L + device[i & 3];
        atomic_fetch_or(&small, (uint8_t)i);
        y += x / (i + 1);
    }
    return x + y;
}

__attribute__((noinline)) static long flags(long a, long b, int n)
{
    long r = 0;
    for (int i = 0; i < n; i++) {
        int less = a < b;
        long before = atomic_load_explicit(&total, memory_order_acquire);
        if (less)
            r += before & 3, a += 3;
        else
            r -= 1, b += 5;
        if (atomic_fetch_sub(&total, 1) == 1)
            r += 100;
        if (atomic_fetch_and(&small, 0x7f) & 0x40)
            r ^= 1;
    }
    return r;
}

__attribute__((noinline)) static long recursive(int depth)
{
    if (depth == 0)
        return atomic_load(&total) & 1;
    atomic_fetch_add(&own, 1);
    return recursive(depth - 1) + recursive(depth - (depth > 1 ? 2 : 1)) + device[depth];
}

__attribute__((noinline)) static long bits(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        fields.a = (unsigned)i & 31;
        fields.b += fields.a;
        fields.c ^= fields.b;
        plain[i & 255] += fields.c;
        sum += plain[(i * 7) & 255];
    }
    return sum;
}

__attribute__((noinline)) static long local(int n)
{
    volatile long here[4] = {1, 2, 3, 4};
    atomic_int mine = 0;
    for (int i = 0; i < n; i++) {
        here[i & 3] += i;
        atomic_fetch_add(&mine, 2);
    }
    return here[0] + here[3] + mine;
}

__attribute__((noinline)) static double exchanges(int n)
{
    for (int i = 0; i < n; i++) {
        double was = atomic_load(&real);
        while (!atomic_compare_exchange_weak(&real, &was, was + i * 0.5))
            ;
        atomic_thread_fence(memory_order_seq_cst);
        if (i % 3 == 0)
            was = atomic_exchange(&real, was);
    }
    return atomic_load(&real);
}

int main(void)
{
    pthread_t thread;
    double x[50];
    for (int i = 0; i < 50; i++)
        x[i] = i * 0.125 - 2;
    pthread_mutex_lock(&never);
    /* all that it runs is the library's, which nobody records */
    pthread_create(&thread, NULL, (void *(*)(void *))(void *)pthread_mutex_lock, &never);
    printf("%d %ld %ld\n", first(), loop_of_one_block(300), unbounded(200));
    printf("%.12g %.8Lg\n", vectors(x, 50), extended(60));
    printf("%ld %ld %d %ld %ld\n", flags(1, 9, 90), recursive(10), own, bits(400), local(99));
    printf("%.12g %ld %d\n", exchanges(70), atomic_load(&total), small);
    return 0;
}
