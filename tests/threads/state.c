/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread has of its own, and what all share with care: variables, errno, the heap, streams. */
#include "harness.h"
#include <sched.h>

static __thread int own = 5;
static __thread int own_zero;
static __thread char own_array[3000];

static void *count_own(void *arg)
{
    for (int i = 0; i < 10; i++) {
        own++;
        own_zero += 2;
        own_array[i * 299]++;
        sched_yield();
    }
    return (void *)(long)(own * 1000 + own_zero + own_array[0]);
}

CASE(thread_local_variables)
{
    pthread_t t[10];
    own = 100;
    for (int i = 0; i < 10; i++)
        t[i] = start(count_own, NULL);
    for (int i = 0; i < 10; i++)
        EQUAL(finish(t[i]), 15021);
    EQUAL(own, 100);
}

static void *own_address(void *arg)
{
    *(int **)arg = &own;
    pause_ms(5);
    return NULL;
}

CASE(thread_local_addresses_differ)
{
    int *a, *b;
    pthread_t t = start(own_address, &a), u = start(own_address, &b);
    finish(t);
    finish(u);
    CHECK(a != b && a != &own && b != &own);
}

static void *set_errno(void *arg)
{
    errno = (int)(long)arg;
    for (int i = 0; i < 5; i++) {
        sched_yield();
        if (errno != (int)(long)arg)
            return (void *)1;
    }
    return NULL;
}

CASE(errno_is_the_threads_own)
{
    pthread_t t[5];
    errno = 77;
    for (long i = 0; i < 5; i++)
        t[i] = start(set_errno, (void *)(i + 1));
    for (int i = 0; i < 5; i++)
        OK(finish(t[i]));
    EQUAL(errno, 77);
}

static void *use_strtok(void *arg)
{
    char text[] = "a b c d e f";
    int n = 0;
    for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save), n++)
        sched_yield();
    return (void *)(long)n;
}

static void *use_rand(void *arg)
{
    unsigned seed = 1, sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += (unsigned)rand_r(&seed);
        sched_yield();
    }
    return (void *)(uintptr_t)sum;
}

CASE(reentrant_library_functions)
{
    pthread_t t[6];
    for (int i = 0; i < 6; i++)
        t[i] = start(i % 2 ? use_rand : use_strtok, NULL);
    unsigned seed = 1, sum = 0;
    for (int i = 0; i < 10; i++)
        sum += (unsigned)rand_r(&seed);
    for (int i = 0; i < 6; i++)
        EQUAL(finish(t[i]), i % 2 ? sum : 6);
}

static void *allocate(void *arg)
{
    char *blocks[50];
    long bad = 0;
    for (int i = 0; i < 50; i++) {
        blocks[i] = malloc((size_t)(i + 1) * 10);
        memset(blocks[i], (int)(long)arg, (size_t)(i + 1) * 10);
        if (i % 10 == 0)
            sched_yield();
    }
    for (int i = 0; i < 50; i++) {
        bad += blocks[i][0] != (char)(long)arg || blocks[i][i * 10] != (char)(long)arg;
        free(blocks[i]);
    }
    return (void *)bad;
}

CASE(allocation_in_threads)
{
    pthread_t t[8];
    for (long i = 0; i < 8; i++)
        t[i] = start(allocate, (void *)(i + 1));
    for (int i = 0; i < 8; i++)
        OK(finish(t[i]));
}

static void *compute(void *arg)
{
    double x = (double)(long)arg, sum = 0;
    for (int i = 1; i < 200; i++) {
        sum += x / i;
        if (i % 50 == 0)
            sched_yield();
    }
    return (void *)(long)(sum * 1000);
}

CASE(floating_point_in_threads)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        t[i] = start(compute, (void *)(i + 1));
    for (long i = 0; i < 4; i++)
        EQUAL(finish(t[i]), compute((void *)(i + 1)));
}

static void *print(void *arg)
{
    char line[40];
    FILE *f = arg;
    for (int i = 0; i < 20; i++) {
        snprintf(line, sizeof line, "%d%d%d", i, i, i);
        fprintf(f, "%s %d\n", line, i);
        if (i % 5 == 0)
            sched_yield();
    }
    return NULL;
}

CASE(stdio_in_threads)
{
    FILE *f = tmpfile();
    pthread_t t[4];
    char line[100];
    int n = 0;
    for (int i = 0; i < 4; i++)
        t[i] = start(print, f);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        int number = -1;
        char word[20], wanted[40];
        EQUAL(sscanf(line, "%19s %d", word, &number), 2);
        snprintf(wanted, sizeof wanted, "%d%d%d", number, number, number);
        OK(strcmp(word, wanted));
        n++;
    }
    EQUAL(n, 80);
    fclose(f);
}

static void *print_locked(void *arg)
{
    FILE *f = arg;
    for (int i = 0; i < 10; i++) {
        flockfile(f);
        fputs("one ", f);
        sched_yield();
        fputs("two ", f);
        pause_ms(1);
        fputs("three\n", f);
        funlockfile(f);
    }
    return NULL;
}

CASE(flockfile_holds_others_off)
{
    FILE *f = tmpfile();
    pthread_t t[4];
    char line[100];
    int n = 0;
    for (int i = 0; i < 4; i++)
        t[i] = start(print_locked, f);
    for (int i = 0; i < 4; i++)
        finish(t[i]);
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        OK(strcmp(line, "one two three\n"));
        n++;
    }
    EQUAL(n, 40);
    fclose(f);
}

static void *try_file(void *arg)
{
    int got = ftrylockfile(arg);
    if (got == 0)
        funlockfile(arg);
    return (void *)(long)(got != 0);
}

CASE(ftrylockfile_of_a_held_stream)
{
    FILE *f = tmpfile();
    flockfile(f);
    OK(ftrylockfile(f));
    EQUAL(finish(start(try_file, f)), 1);
    funlockfile(f);
    funlockfile(f);
    EQUAL(finish(start(try_file, f)), 0);
    fclose(f);
}
