/* SPDX-License-Identifier: Apache-2.0 */
/* A thread ends the program, or divides by what was 0 when it was read; another acts between what it has done last and that. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int x, y;

static void *crash(void *unused)
{
#ifdef DIVIDES
    y = 100 / y;
#else
    x = 1;
#endif
    abort();
    return unused;
}

static void *look(void *unused)
{
    y = 1;
#ifndef DIVIDES
    if (x)
#endif
        (void)!write(1, "seen", 4);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, crash, NULL);
    pthread_create(&threads[1], NULL, look, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
