/* SPDX-License-Identifier: Apache-2.0 */
/* The program ends while a thread still goes on, and both write: what is written, and in which order, are ten different outcomes.
 * STREAMS: it is the same where it stands in the stream's buffer until the end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int x, y;

static void say(const char *text, unsigned bytes)
{
#ifdef STREAMS
    if (fwrite(text, 1, bytes, stdout) != bytes)
        exit(9);
#else
    if (write(1, text, bytes) < 0)
        _exit(9);
#endif
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
#ifdef STREAMS
    return 0;
#else
    _exit(0);
#endif
}
