/* SPDX-License-Identifier: Apache-2.0 */
/* Three threads end the program, each in its own way: whoever comes first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *flushes(void *unused)
{
    printf("flushed\n");
    exit(2);
    return unused;
}

static void *quick(void *unused)
{
    _exit(3);
    return unused;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, flushes, NULL);
    pthread_create(&threads[1], NULL, quick, NULL);
    return 0;
}
