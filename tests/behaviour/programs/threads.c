/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX threads in a program that runs plainly: many at once, locks, thread-local data, a signal handler, recursion. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long free_sum;
static long locked_sum;
static _Thread_local long mine;

__attribute__((noinline)) static long fib(int n)
{
    mine++;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *run(void *arg)
{
    long id = (long)arg, *p = malloc(1000 * sizeof *p);
    for (int i = 0; i < 1000; i++)
        p[i] = fib(8 + (int)(id + i) % 5);
    for (int i = 0; i < 1000; i++) {
        atomic_fetch_add(&free_sum, p[i]);
        pthread_mutex_lock(&lock);
        locked_sum += p[i] ^ id;
        pthread_mutex_unlock(&lock);
    }
    free(p);
    return (void *)mine;
}

int main(void)
{
    pthread_t threads[8];
    long calls = 0;
    for (long i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i))
            return 1;
    for (int i = 0; i < 8; i++) {
        void *r;
        pthread_join(threads[i], &r);
        calls += (long)r;
    }
    printf("%ld %ld %ld %ld\n", (long)free_sum, locked_sum, calls, mine);
    return 0;
}
