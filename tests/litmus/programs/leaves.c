/* SPDX-License-Identifier: Apache-2.0 */
/* The program ends while a thread still goes on, and both write: what is written, and in which order, are ten different outcomes. */
#include <pthread.h>
#include <unistd.h>

static volatile int x, y;

static void say(const char *text, unsigned bytes)
{
    if (write(1, text, bytes) < 0)
        _exit(9);
}

static void *thread(void *unused)
{
    if (x)
        say("seen ", 5);
    y = 1;
    say("thread ", 7);
    return unused;
}

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread, NULL);
    x = 1;
    if (y)
        say("y ", 2);
    _exit(0);
}
