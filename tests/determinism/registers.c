/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that are live without having been set: a scalar conversion keeps the upper part of its vector register, and an
 * atomic access tells what its live registers hold.  What was there before, after a call that goes to the host and in a new
 * thread, must not be the host's.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int looks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double sums[4];

/* Every vector register in turn, that no choice of the compiler's decides. */
#define CONVERT(r) \
    do { \
        register double x __asm__("xmm" #r); \
        __asm__ volatile("cvtsi2sd %1, %0" : "=x"(x) : "r"(n)); \
        sum += atomic_fetch_add(&looks, 1) >= 0 ? x : 0; \
        __asm__ volatile("" : "+x"(x)); \
        sum += x; \
    } while (0)

static double convert(long n)
{
    double sum = 0;
    CONVERT(0);
    CONVERT(1);
    CONVERT(2);
    CONVERT(5);
    CONVERT(7);
    CONVERT(8);
    CONVERT(11);
    CONVERT(15);
    return sum;
}

static void *run(void *arg)
{
    double *sum = arg;
    *sum = convert(3);
    for (long i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        *sum += convert(i);
        pthread_mutex_unlock(&lock);
        *sum += convert(i);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", sums[0] + sums[1] + sums[2] + sums[3]);
}
