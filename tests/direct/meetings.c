/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that share lines, while one or the other calls a function of the C library that nobody has called before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

enum { THREADS = 4, CELLS = 256 };
static int cells[CELLS];
static char out[THREADS][200];
static long seed;

static int compare(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

static void meet(long t, long step)
{
    char *text = out[t];
    wchar_t wide[32];
    struct tm tm = {.tm_year = 100 + (int)t, .tm_mday = 3};
    switch ((step + t + seed) % 9) {
    case 0:
        snprintf(text, 100, "%ld %.3f %s", step, (double)t, "x");
        break;
    case 1:
        qsort(text, 40, 1, compare);
        break;
    case 2:
        snprintf(text, 100, "%.8g", strtod("1.25e3", NULL) + (double)step);
        break;
    case 3:
        swprintf(wide, 32, L"%ld", step);
        break;
    case 4:
        strftime(text, 100, "%A %d %B %Y", &tm);
        break;
    case 5:
        snprintf(text, 100, "%a %Lg", 1.5 * (double)(step + t), (long double)step);
        break;
    case 6:
        memmem(text, 100, "zz", 2);
        break;
    case 7:
        sscanf("7 8 9", "%d", &cells[t]);
        break;
    case 8:
        strtok(text, " ,");
        break;
    }
}

static void *work(void *arg)
{
    const long t = (long)arg;
    for (long step = 0; step < 27; step++) {
        for (long i = 0; i < 150 + 31 * t; i++)
            cells[(i * (t + 1) + step) % CELLS] += (int)i;
        if (step % (t + 2) == 0)
            meet(t, step);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? atol(argv[1]) : 0;
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    puts("met");
    return 0;
}
