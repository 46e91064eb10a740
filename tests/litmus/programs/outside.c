/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that call code which is not recorded.  -DCASE_COPY: memcpy() beside who reads what it writes; -DCASE_FENCE: memcpy() between a
 * thread's store and its load; -DCASE_CALL: a function of another object counts; -DCASE_JOINED: main reads between two joins what a third thread
 * stores, whose end comes last.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#if CASE_COPY
static volatile char to[4096];
static char from[4096];

static void *thread(void *number)
{
    if (!number)
        memcpy((void *)to, from, sizeof to);
    return NULL;
}
#elif CASE_FENCE
static volatile int x, y;
static char from[2][300];
char to[2][300];

static void *thread(void *number)
{
    if (number)
        y = 1;
    else
        x = 1;
    memcpy(to[number != NULL], from[number != NULL], sizeof *to);
    return (void *)(long)(number ? x : y);
}
#elif CASE_CALL
extern int total;
void bump(void);
int total;

static void *thread(void *number)
{
    (void)number;
    bump();
    return NULL;
}
#else
static volatile int x;
static sem_t sem;

static void *thread(void *number)
{
    if (number)
        sem_post(&sem);
    else
        x = 2;
    return NULL;
}
#endif

int main(void)
{
    pthread_t threads[2];
    void *got[2];

#if CASE_COPY
    memset(from, 1, sizeof from);
#elif CASE_JOINED
    sem_init(&sem, 0, 0);
#endif
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, thread, (void *)i);
#if CASE_COPY
    int first = to[0], last = to[4095];

    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d\n", first, last);
#elif CASE_JOINED
    pthread_join(threads[1], NULL);
    int seen = x;

    pthread_join(threads[0], NULL);
    printf("%d\n", seen);
#else
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &got[i]);
#if CASE_CALL
    printf("%d\n", total);
#else
    printf("%ld %ld\n", (long)got[0], (long)got[1]);
#endif
#endif
}
