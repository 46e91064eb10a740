/* SPDX-License-Identifier: Apache-2.0 */
/* Three ways to end: well, by a pointer that the other thread has cleared, and with two locks taken crosswise. */
#include <pthread.h>
#include <stdio.h>

static int value = 7;
static int *volatile p = &value;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *clear(void *unused)
{
    p = NULL;
    both(&a, &b);
    return unused;
}

static void *use(void *unused)
{
    printf("%d\n", *p);
    both(&b, &a);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, clear, NULL);
    pthread_create(&threads[1], NULL, use, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
