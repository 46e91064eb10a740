// SPDX-License-Identifier: Apache-2.0
// Looks at a plain variable between calls that are nothing to the machine, on fewer processors than threads.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int seen, answered; /* neither atomic nor volatile */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *which;

static void nothing(void) {}

__attribute__((noinline)) static int plain(int x)
{
    __asm__("" : "+r"(x));
    return x;
}

static void call(void)
{
    if (!strcmp(which, "once"))
        pthread_once(&once, nothing);
    else if (!strcmp(which, "kill"))
        pthread_kill(pthread_self(), 0);
    else if (!strcmp(which, "malloc"))
        free(malloc(100));
    else if (!strcmp(which, "getpid"))
        getpid();
    else if (!strcmp(which, "access"))
        access("/", F_OK);
    else
        plain(1);
}

static void *answers(void *arg)
{
    for (int i = 1; i <= 5; i++) {
        while (*(int *)arg != i)
            call();
        answered = i;
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;
    which = argc > 1 ? argv[1] : "nothing";
    pthread_create(&t, NULL, answers, &seen);
    for (int i = 1; i <= 5; i++) {
        seen = i;
        while (answered != i)
            call();
    }
    pthread_join(t, NULL);
    puts("over");
    return 0;
}
