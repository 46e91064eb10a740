/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest harness that the programs of this folder need: named cases, checks, and a few short cuts.
 * Each program runs all its cases, or those named on its command line, prints a line for each, and
 * exits with 1 if any has failed.  Expected results are those of POSIX, C11 and C++, and hold with real
 * threads as well.
 */
#ifndef THREADS_HARNESS_H
#define THREADS_HARNESS_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct harness_case {
    const char *name;
    void (*fn)(void);
};
static struct harness_case harness_cases[200];
static unsigned harness_ncases;
static volatile int harness_failed;

static inline void harness_add(const char *name, void (*fn)(void))
{
    harness_cases[harness_ncases].name = name;
    harness_cases[harness_ncases++].fn = fn;
}

#define CASE(function)                                                                                                 \
    static void function(void);                                                                                        \
    __attribute__((constructor)) static void function##_add(void)                                                      \
    {                                                                                                                  \
        harness_add(#function, function);                                                                              \
    }                                                                                                                  \
    static void function(void)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            harness_failed = 1;                                                                                        \
            printf("  line %d: %s\n", __LINE__, #condition);                                                           \
        }                                                                                                              \
    } while (0)

#define EQUAL(expression, wanted)                                                                                      \
    do {                                                                                                               \
        long harness_got = (long)(expression), harness_wanted = (long)(wanted);                                        \
        if (harness_got != harness_wanted) {                                                                           \
            harness_failed = 1;                                                                                        \
            printf("  line %d: %s is %ld, not %ld\n", __LINE__, #expression, harness_got, harness_wanted);             \
        }                                                                                                              \
    } while (0)

#define OK(expression) EQUAL(expression, 0)

/* Of functions that return -1 and set errno. */
#define FAILS(expression, error)                                                                                       \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        EQUAL(expression, -1);                                                                                         \
        EQUAL(errno, error);                                                                                           \
    } while (0)

static inline pthread_t start(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    int err = pthread_create(&t, NULL, fn, arg);
    if (err) {
        printf("  pthread_create: %s\n", strerror(err));
        exit(2);
    }
    return t;
}

static inline void *finish(pthread_t t)
{
    void *result = NULL;
    int err = pthread_join(t, &result);
    if (err) {
        harness_failed = 1;
        printf("  pthread_join: %s\n", strerror(err));
    }
    return result;
}

static inline void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* So many milliseconds from now, or ago. */
static inline struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    long long ns = (long long)t.tv_sec * 1000000000 + t.tv_nsec + ms * 1000000ll;
    t.tv_sec = (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

static inline int reached(clockid_t clock, const struct timespec *t)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i < harness_ncases; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], harness_cases[i].name) == 0;
        if (!wanted)
            continue;
        harness_failed = 0;
        harness_cases[i].fn();
        printf("%s %s\n", harness_failed ? "FAIL" : "pass", harness_cases[i].name);
        if (harness_failed)
            failed++;
        else
            passed++;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}

#endif
