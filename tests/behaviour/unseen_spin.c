// SPDX-License-Identifier: Apache-2.0
// Waits for another thread in a library that peetcc has not compiled, and asks for nothing meanwhile.
#ifdef LIBRARY
void spin_until(volatile int *flag)
{
    while (!*flag)
        ;
}
#else
#include <pthread.h>
#include <stdio.h>

void spin_until(volatile int *flag);

static volatile int ready;

static void *sets(void *arg)
{
    for (volatile int i = 0; i < 1000; i++)
        ;
    ready = 1;
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, sets, NULL);
    spin_until(&ready);
    pthread_join(t, NULL);
    puts("seen");
    return 0;
}
#endif
