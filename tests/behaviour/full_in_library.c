// SPDX-License-Identifier: Apache-2.0
// Looks at a plain variable in rounds of equal length, most of which are code of the C library.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int over;
static long rounds;

static void *sets(void *arg)
{
    usleep(10);
    over = 1;
    return arg;
}

int main(int argc, char **argv)
{
    const int which = argc > 1 ? atoi(argv[1]) : 0;
    char text[40];
    pthread_t t;
    pthread_create(&t, NULL, sets, NULL);
    while (!over) {
        rounds++;
        switch (which) {
        case 0:
            getppid();
            break;
        case 1:
            getpid();
            break;
        case 2:
            access("/", F_OK);
            break;
        case 3:
            getuid();
            getpid();
            break;
        case 4:
            getenv("PEET_NO_SUCH");
            break;
        case 5:
            rand();
            break;
        case 6:
            snprintf(text, sizeof text, "%ld", rounds);
            break;
        case 7:
            getpid();
            getpid();
            getpid();
            break;
        }
    }
    pthread_join(t, NULL);
    puts("over");
    return 0;
}
