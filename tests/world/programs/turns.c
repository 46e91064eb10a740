/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that compute for different times and then write: the output is in the order of simulated time, whatever the host runs first.
 * "stdio" by printf, "file" by write(2), "locked" by several calls under flockfile(). */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 6 };
static const char *how;

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg;
    for (int round = 0; round < 3; round++) {
        volatile long n = 0;
        for (int k = 0; k < 3000 * (THREADS - me); k++)
            n += k;
        char text[32];
        int length = snprintf(text, sizeof text, "%d.%d\n", me, round);
        if (how[0] == 's') {
            printf("%s", text);
        } else if (how[0] == 'f') {
            write(1, text, (size_t)length);
        } else {
            flockfile(stdout);
            for (int k = 0; k < length - 1; k++) {
                for (volatile int pause = 0; pause < 500; pause++)
                    ;
                k % 2 ? putchar(text[k]) : putchar_unlocked(text[k]);
            }
            if (ftrylockfile(stdout) == 0) {
                fputs("!\n", stdout);
                funlockfile(stdout);
            }
            funlockfile(stdout);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    (void)argc;
    how = argv[1];
    for (int k = 0; k < THREADS; k++)
        pthread_create(&t[k], NULL, work, (void *)(intptr_t)k);
    for (int k = 0; k < THREADS; k++)
        pthread_join(t[k], NULL);
    return 0;
}
