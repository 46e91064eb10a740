/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what sleeps and clocks make of known times, in nanoseconds, as differences in which the program's own instructions
 * cancel out: each call is made twice on the same path, the second time with nothing to wait for. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int64_t now(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0 || t.tv_nsec < 0 || t.tv_nsec >= 1000000000)
        printf("clock %d is broken\n", (int)clock);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void by_usleep(int64_t ns)
{
    usleep((useconds_t)(ns / 1000));
}

static void by_nanosleep(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000}, rest = {7, 7};
    if (nanosleep(&t, &rest) != 0 || rest.tv_sec != 7)
        printf("nanosleep fails\n");
}

static void by_clock_nanosleep(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL) != 0)
        printf("clock_nanosleep fails\n");
}

static void by_thrd_sleep(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (thrd_sleep(&t, NULL) != 0)
        printf("thrd_sleep fails\n");
}

static void by_sleep(int64_t ns)
{
    if (sleep((unsigned)(ns / 1000000000)) != 0)
        printf("sleep fails\n");
}

/* What one sleep takes more than a sleep of nothing. */
static void measure(const char *name, void (*rest)(int64_t), int64_t ns)
{
    int64_t took[2];
    for (int k = 0; k < 2; k++) {
        int64_t start = now(CLOCK_MONOTONIC);
        rest(k ? 0 : ns);
        took[k] = now(CLOCK_MONOTONIC) - start;
    }
    printf("%s %lld\n", name, (long long)(took[0] - took[1]));
}

/* An absolute sleep ends when the clock shows the time, and no later than that. */
static void absolute(clockid_t clock, int64_t ns)
{
    int64_t until = now(clock) + ns;
    struct timespec t = {until / 1000000000, until % 1000000000};
    if (clock_nanosleep(clock, TIMER_ABSTIME, &t, NULL) != 0)
        printf("absolute sleep fails\n");
    int64_t late = now(clock) - until;
    printf("absolute %s\n", late >= 0 && late < 1000 ? "in time" : "late");
    t.tv_sec -= 100; /* past: no wait */
    int64_t start = now(clock);
    clock_nanosleep(clock, TIMER_ABSTIME, &t, NULL);
    printf("past %s\n", now(clock) - start < 1000 ? "at once" : "late");
}

static void agreement(void)
{
    struct timeval tv;
    struct timespec ts;
    int64_t a = now(CLOCK_REALTIME), b, c;
    gettimeofday(&tv, NULL);
    timespec_get(&ts, TIME_UTC);
    b = tv.tv_sec * 1000000000LL + tv.tv_usec * 1000LL;
    c = ts.tv_sec * 1000000000LL + ts.tv_nsec;
    printf("clocks agree %d %d %d\n", b - a < 10000 && a - b < 10000, c - a >= 0 && c - a < 10000, time(NULL) == a / 1000000000);
    a = now(CLOCK_MONOTONIC);
    b = now(CLOCK_REALTIME) - a; /* the computer's start */
    printf("up when the year began %d, an hour %d\n", b / 1000000000 < 1767225600, b / 1000000000 == 1767225600 - 3600);
    const int64_t stamp = (int64_t)__builtin_ia32_rdtsc();
    a = now(CLOCK_MONOTONIC) - stamp;
    printf("stamps agree %d\n", a >= 0 && a < 10000); /* at 1 GHz */
    clockid_t own;
    int64_t last = now(CLOCK_MONOTONIC);
    for (int i = 0; i < 1000; i++) {
        int64_t t = now(i & 1 ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_RAW);
        if (t <= last)
            printf("time stands still\n");
        last = t;
    }
    printf("resolution %d, invalid %d\n", clock_getres(CLOCK_MONOTONIC, &ts) == 0 && ts.tv_sec == 0 && ts.tv_nsec == 1,
        clock_gettime(77, &ts) == -1 && errno == EINVAL);
    for (int i = 0; i < 2; i++) { /* negative: of no process, or of no kind that there is */
        const clockid_t none[] = {INT_MIN, -1};
        errno = 0;
        printf("no clock: %d %d\n", clock_getres(none[i], &ts), errno == EINVAL);
    }
    printf("not set: %d %d %d\n", clock_settime(CLOCK_MONOTONIC, &(struct timespec){1, 0}) == -1 && errno == EINVAL,
        clock_settime(CLOCK_REALTIME, &(struct timespec){1, -1}) == -1 && errno == EINVAL,
        clock_settime(CLOCK_REALTIME, &(struct timespec){1, 1000000000}) == -1 && errno == EINVAL);
    printf("own: %d\n", clock_getcpuclockid(getpid(), &own) || clock_gettime(own, &ts));
}

static volatile uint64_t sink;

static void work(int n)
{
    for (int i = 0; i < n; i++)
        sink += (uint64_t)i;
}

/* Processor time passes with work, on all clocks that count it, and agrees with the wall clock for a program of one thread. */
static void processor(void)
{
    struct rusage before, after;
    struct tms tms;
    int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID), mine = now(CLOCK_THREAD_CPUTIME_ID);
    clock_t ticks = clock();
    getrusage(RUSAGE_SELF, &before);
    work(1000000);
    getrusage(RUSAGE_SELF, &after);
    int64_t used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000LL + after.ru_utime.tv_usec - before.ru_utime.tv_usec;
    ticks = clock() - ticks;
    mine = now(CLOCK_THREAD_CPUTIME_ID) - mine;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = now(CLOCK_MONOTONIC) - wall;
    printf("work %d %d %d %d\n", cpu > 1000000 && wall - cpu >= 0 && wall - cpu < 10000, cpu - mine >= 0 && cpu - mine < 10000,
        ticks - used >= 0 && ticks - used <= 10, used - cpu / 1000 <= 1 && cpu / 1000 - used <= 10);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    mine = now(CLOCK_THREAD_CPUTIME_ID);
    usleep(5000);
    printf("sleep uses %d %d\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu < 1000, now(CLOCK_THREAD_CPUTIME_ID) - mine < 1000);
    printf("times %d\n", times(&tms) != (clock_t)-1 && tms.tms_stime == 0);
}

static void *sleeper(void *arg)
{
    int64_t start = now(CLOCK_MONOTONIC);
    usleep(3000);
    *(int64_t *)arg = now(CLOCK_MONOTONIC) - start;
    return NULL;
}

static void *worker(void *arg)
{
    int64_t start = now(CLOCK_THREAD_CPUTIME_ID);
    work(200000);
    *(int64_t *)arg = now(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

/* The process's processor time is the sum of its threads'. */
static void sum(void)
{
    pthread_t threads[4];
    int64_t took[4], all = 0, cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int k = 0; k < 4; k++)
        pthread_create(&threads[k], NULL, worker, &took[k]);
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        all += took[k];
    }
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("sum %d\n", took[0] > 200000 && took[3] - took[0] < 1000 && took[0] - took[3] < 1000 && cpu >= all && cpu < all + 10000);
}

/* Sleeps of several threads overlap. */
static void overlap(void)
{
    pthread_t threads[8];
    int64_t took[8], start = now(CLOCK_MONOTONIC);
    for (int k = 0; k < 8; k++)
        pthread_create(&threads[k], NULL, sleeper, &took[k]);
    for (int k = 0; k < 8; k++)
        pthread_join(threads[k], NULL);
    int64_t all = now(CLOCK_MONOTONIC) - start;
    for (int k = 0; k < 8; k++)
        if (took[k] < 3000000 || took[k] > 3100000)
            printf("a sleep of 3 ms took %lld\n", (long long)took[k]);
    printf("eight sleeps %s\n", all >= 3000000 && all < 3100000 ? "at once" : "one by one");
}

/* Timed waits end at their deadline. */
static void deadlines(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    sem_t s;
    sem_init(&s, 0, 0);
    int64_t until = now(CLOCK_REALTIME) + 2000000;
    struct timespec t = {until / 1000000000, until % 1000000000};
    pthread_mutex_lock(&m);
    int result = pthread_cond_timedwait(&c, &m, &t);
    int64_t late = now(CLOCK_REALTIME) - until;
    printf("condition %s %s\n", strerror(result), late >= 0 && late < 1000 ? "in time" : "late");
    pthread_mutex_unlock(&m);
    until = now(CLOCK_REALTIME) + 2000000;
    t = (struct timespec){until / 1000000000, until % 1000000000};
    result = sem_timedwait(&s, &t) == 0 ? 0 : errno;
    late = now(CLOCK_REALTIME) - until;
    printf("semaphore %s %s\n", strerror(result), late >= 0 && late < 1000 ? "in time" : "late");
}

int main(void)
{
    measure("usleep", by_usleep, 5000000);
    measure("nanosleep", by_nanosleep, 12345678);
    measure("clock_nanosleep", by_clock_nanosleep, 3500000001);
    measure("thrd_sleep", by_thrd_sleep, 42);
    measure("sleep", by_sleep, 3000000000);
    absolute(CLOCK_MONOTONIC, 7000000);
    absolute(CLOCK_REALTIME, 7000000);
    agreement();
    processor();
    sum();
    overlap();
    deadlines();
    return 0;
}
