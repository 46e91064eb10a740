/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads wait for each other in loops on ordinary memory: wrong in C, and what old programs do.  Compilers are kept from taking the
 * loads out of the loops; nothing orders anything.
 */
#include <pthread.h>
#include <stdio.h>

static long there, back;

__attribute__((noinline)) static long look(const long *at)
{
    return *at;
}

static void *answer(void *unused)
{
    (void)unused;
    for (long i = 1; i <= 10; i++) {
        while (look(&there) < i)
            __asm__ volatile("" ::: "memory");
        back = i;
        __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, answer, NULL);
    for (long i = 1; i <= 10; i++) {
        there = i;
        __asm__ volatile("" ::: "memory");
        while (look(&back) < i)
            __asm__ volatile("" ::: "memory");
    }
    pthread_join(thread, NULL);
    printf("%ld %ld\n", there, back);
    return 0;
}
