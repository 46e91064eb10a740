/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks THREADS NUMBERS: quicksort by a queue of tasks that all threads share, under a lock with a condition to wait
 * for work.  The thread that finds a short range sorts it.
 */
#include "threads.h"

enum { SHORT = 500 };

static long n;
static uint64_t *numbers;
static struct bench_part *queue;
static long waiting, sorted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static void put(struct bench_part range)
{
    pthread_mutex_lock(&lock);
    queue[waiting++] = range;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

/* Returns: 0 when all is sorted. */
static int take(struct bench_part *range)
{
    pthread_mutex_lock(&lock);
    while (!waiting && sorted < n)
        pthread_cond_wait(&more, &lock);
    int found = waiting > 0;
    if (found)
        *range = queue[--waiting];
    pthread_mutex_unlock(&lock);
    return found;
}

static void finish(long count)
{
    pthread_mutex_lock(&lock);
    sorted += count;
    if (sorted == n)
        pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
}

/* Hoare's partition. Returns: the first of the upper part, which is never empty, nor is the lower. */
static long split(long begin, long end)
{
    uint64_t pivot = numbers[begin + (end - 1 - begin) / 2];
    for (long i = begin - 1, j = end;;) {
        while (numbers[++i] < pivot)
            ;
        while (numbers[--j] > pivot)
            ;
        if (i >= j)
            return j + 1;
        uint64_t t = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = t;
    }
}

static void sort_short(long begin, long end)
{
    while (end - begin > 16) {
        long middle = split(begin, end);
        sort_short(begin, middle);
        begin = middle;
    }
    for (long i = begin + 1; i < end; i++) {
        uint64_t number = numbers[i];
        long j = i;
        for (; j > begin && numbers[j - 1] > number; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = number;
    }
}

static void work(long me)
{
    struct bench_part range;
    (void)me;
    while (take(&range)) {
        while (range.end - range.begin > SHORT) {
            long middle = split(range.begin, range.end);
            put((struct bench_part){middle, range.end});
            range.end = middle;
        }
        sort_short(range.begin, range.end);
        finish(range.end - range.begin);
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 200000, 1, 100000000);
    numbers = bench_alloc((size_t)n, sizeof *numbers);
    queue = bench_alloc((size_t)n + 1, sizeof *queue);
    uint64_t random = 4, hash = 0;
    for (long i = 0; i < n; i++)
        numbers[i] = bench_random(&random);
    put((struct bench_part){0, n});
    bench_team(work);
    for (long i = 0; i < n; i++) {
        if (i && numbers[i - 1] > numbers[i])
            bench_wrong("numbers are not in order");
        hash = bench_mix(hash, numbers[i]);
    }
    bench_print("tasks", hash);
    return 0;
}
