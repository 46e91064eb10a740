/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen threads that hold locks of each kind, wait for each other in each way, recurse deeply and jump far: a trace of it is cut anywhere (parts.sh). */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef SIZE
#define SIZE 2 /* of arrays, in tenths */
#endif
enum { THREADS = 16, ROUNDS = 14 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, recursive, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t tokens;
static long sum, slot, has, table[512];
static __attribute__((noinline)) long deep(int n, long x)
{
    volatile long here[4] = {x, n, x ^ n, 1};
    if (n == 0)
        return here[0];
    return deep(n - 1, x * 3 + here[1]) + here[2];
}
static __attribute__((noinline)) void leap(jmp_buf env, int n)
{
    if (n == 0)
        longjmp(env, 1);
    leap(env, n - 1);
    sum += n;
}
static __attribute__((noinline)) long silent(long *a, long n)
{
    for (long i = 0; i < n; i++)
        a[i] = i;
    long s = 0;
    for (long i = 0; i < n; i++)
        s += a[i];
    return s;
}
static void *work(void *arg)
{
    long id = (long)arg, mine[512];
    jmp_buf env;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        sum += silent(mine, (10 + 30 * (i % 2)) * SIZE) + deep(20 + (int)id, i);
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        table[(id * 31 + i) % 512]++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&lock);
        if (!setjmp(env))
            leap(env, 10);
        if (i % 7 == 3) {
            pthread_rwlock_wrlock(&rw);
            silent(table, 51 * SIZE);
            pthread_rwlock_unlock(&rw);
        } else {
            pthread_rwlock_rdlock(&rw);
            sum += table[i];
            silent(mine, 5 * SIZE);
            pthread_rwlock_unlock(&rw);
        }
        sem_wait(&tokens);
        char *p = malloc((size_t)(100 + 10 * id));
        memset(p, (int)id, 100);
        sem_post(&tokens);
        free(p);
        if (id % 2) {
            pthread_mutex_lock(&other);
            while (has)
                pthread_cond_wait(&empty, &other);
            has = 1;
            slot = i;
            pthread_cond_signal(&full);
            pthread_mutex_unlock(&other);
        } else {
            pthread_mutex_lock(&other);
            while (!has)
                pthread_cond_wait(&full, &other);
            has = 0;
            sum += slot;
            pthread_cond_signal(&empty);
            pthread_mutex_unlock(&other);
        }
        if (i % 10 == 9)
            pthread_barrier_wait(&barrier);
    }
    return NULL;
}
int main(void)
{
    pthread_t t[THREADS];
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&tokens, 0, 3);
    for (int round = 0; round < 2; round++) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
    }
    printf("%ld\n", sum);
    return 0;
}
