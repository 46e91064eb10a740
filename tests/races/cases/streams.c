// races: bare
/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: what is expanded inline (putc_unlocked()) is the program's own access.  flockfile() orders it, also with functions
 * that lock the stream themselves. */
#include <pthread.h>
#include <stdio.h>

static FILE *bare, *locked;

static void *run(void *function)
{
    for (int i = 0; i < 50; i++) {
        putc_unlocked('a', bare);
        if (function) {
            putc('b', locked);
            fprintf(locked, "%d\n", i);
        } else {
            flockfile(locked);
            putc_unlocked('c', locked);
            putc_unlocked('\n', locked);
            funlockfile(locked);
        }
    }
    return 0;
}

int main(void)
{
    pthread_t threads[3];
    bare = fopen("bare", "w");
    locked = fopen("locked", "w");
    flockfile(locked);
    putc_unlocked('d', locked);
    funlockfile(locked);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, run, i < 2 ? 0 : &locked);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", fclose(bare) + fclose(locked));
}
