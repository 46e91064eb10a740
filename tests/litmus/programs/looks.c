/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that look at several things.  -DCASE_DEKKER: Dekker's algorithm in ordinary volatile variables, which says what each thread has found
 * inside; -DCASE_TICKET: a ticket lock, whose loop has its copies in the frame at -O0; -DCASE_LIBRARY: a loop that looks at one thing itself, and lets the C library look at another;
 * -DCASE_FLAG: a lock that is taken by exchange.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if CASE_DEKKER
static struct {
    volatile int want[2], turn, inside, bad[2];
} lock;

static void *thread(void *arg)
{
    const int me = (int)(long)arg;

    lock.want[me] = 1;
    while (lock.want[!me])
        if (lock.turn != me) {
            lock.want[me] = 0;
            while (lock.turn != me)
                ;
            lock.want[me] = 1;
        }
    lock.inside++;
    lock.bad[me] = lock.inside != 1;
    lock.inside--;
    lock.turn = !me;
    lock.want[me] = 0;
    return NULL;
}

static void end(void)
{
    printf("%d%d\n", lock.bad[0], lock.bad[1]);
}
#elif CASE_TICKET
static atomic_int next, serving;
static int order[2], n;

static void *thread(void *arg)
{
    const int ticket = atomic_fetch_add(&next, 1);

    while (atomic_load(&serving) != ticket)
        ;
    order[n++] = (int)(long)arg;
    atomic_store(&serving, ticket + 1);
    return NULL;
}

static void end(void)
{
    printf("%d%d\n", order[0], order[1]);
}
#elif CASE_FLAG
static atomic_flag taken = ATOMIC_FLAG_INIT;
static int order[2], n;

static void *thread(void *arg)
{
    while (atomic_flag_test_and_set(&taken))
        __builtin_ia32_pause();
    order[n++] = (int)(long)arg;
    atomic_flag_clear(&taken);
    return NULL;
}

static void end(void)
{
    printf("%d%d\n", order[0], order[1]);
}
#else
static volatile int flag, other;
static char text[8] = "0";

static void *thread(void *arg)
{
    if (arg) {
        other = 1;
        *(volatile char *)text = '7';
        other = 2;
        return NULL;
    }
    while (!flag && strtol(text, NULL, 10) != 7)
        ;
    return NULL;
}

static void end(void)
{
    printf("%d\n", other);
}
#endif

int main(void)
{
    pthread_t threads[2];

    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, thread, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    end();
    return 0;
}
