/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bugs that need particular orders of many threads.  hunted KIND THREADS: exit status 1 if the bug has been met.
 *
 *   early     Each thread stores to x and then to y; one more reads both.  Bug: it finds x changed and y not, so it has
 *             come between the first store of one thread and the second of any.
 *   between   Each thread makes an entry under one lock, and the entry that belongs to it under another; one more
 *             compares them.  Bug: it comes between the two of the first thread to make one.
 *   last      Bug: the thread that was made last is the first to add to a counter.
 *   lost      Each thread takes its share of a balance under a lock, which main pays in without one; bug: a payment is
 *             lost although all take.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MOST = 200 };

static volatile int x, y, first = -1, balance, bug;
static int nthreads;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void *stores(void *arg)
{
    (void)arg;
    x = 1;
    y = 1;
    return NULL;
}

static void *reads(void *arg)
{
    (void)arg;
    if (x == 1 && y == 0)
        bug = 1;
    return NULL;
}

static void *enters(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&one);
    x = 1;
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&other);
    y = 1;
    pthread_mutex_unlock(&other);
    return NULL;
}

static void *compares(void *arg)
{
    int seen;

    (void)arg;
    pthread_mutex_lock(&one);
    seen = x;
    pthread_mutex_unlock(&one);
    pthread_mutex_lock(&other);
    if (seen != y && seen == 1)
        bug = 1;
    pthread_mutex_unlock(&other);
    return NULL;
}

static void *comes(void *arg)
{
    pthread_mutex_lock(&one);
    if (first < 0)
        first = (int)(long)arg;
    pthread_mutex_unlock(&one);
    return NULL;
}

static void *takes(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&one);
    balance -= 1;
    pthread_mutex_unlock(&one);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t threads[THREADS_MOST + 1];
    const char *kind = argc > 2 ? argv[1] : "";
    void *(*each)(void *) = !strcmp(kind, "early") ? stores
        : !strcmp(kind, "between")                 ? enters
        : !strcmp(kind, "last")                    ? comes
                                                   : takes;
    void *(*more)(void *) = !strcmp(kind, "early") ? reads : !strcmp(kind, "between") ? compares : NULL;
    int n = 0;

    nthreads = argc > 2 ? atoi(argv[2]) : 0;
    if (nthreads < 1 || nthreads > THREADS_MOST)
        return 2;
    for (int i = 0; i < nthreads; i++, n++)
        if (pthread_create(&threads[n], NULL, each, (void *)(long)i))
            return 2;
    if (more && pthread_create(&threads[n++], NULL, more, NULL))
        return 2;
    if (each == takes)
        balance += nthreads;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    if (each == comes && first == nthreads - 1)
        bug = 1;
    if (each == takes && balance == nthreads)
        bug = 1;
    printf("%s\n", bug ? "met" : "not met");
    return bug;
}
