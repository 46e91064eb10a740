/* SPDX-License-Identifier: Apache-2.0 */
/* queens THREADS: solutions of the n queens problem; the placements of the first two queens are tasks in a queue of threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 8, MOST = 64 };

struct task {
    int first, second;
    struct task *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct task *queue;
static long solutions, tasks;

static long place(unsigned columns, unsigned left, unsigned right, int row)
{
    long found = 0;

    if (row == N)
        return 1;
    for (unsigned free = ((1u << N) - 1) & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
        found += place(columns | bit, (left | bit) << 1, (right | bit) >> 1, row + 1);
    }
    return found;
}

static void *work(void *unused)
{
    long found = 0, done = 0;

    (void)unused;
    for (;;) {
        struct task *task;

        pthread_mutex_lock(&lock);
        task = queue;
        if (task)
            queue = task->next;
        pthread_mutex_unlock(&lock);
        if (!task)
            break;
        unsigned a = 1u << task->first, b = 1u << task->second;
        if (!(b & (a | a << 1 | a >> 1)))
            found += place(a | b, (a << 1 | b) << 1, (a >> 1 | b) >> 1, 2);
        done++;
        free(task);
    }
    pthread_mutex_lock(&lock);
    solutions += found;
    tasks += done;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MOST];

    if (n < 1 || n > MOST)
        return 2;
    for (int i = 0; i < N * N; i++) {
        struct task *task = malloc(sizeof *task);
        *task = (struct task){i / N, i % N, queue};
        queue = task;
    }
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    printf("%d queens: %ld solutions, %ld tasks\n", N, solutions, tasks);
    return 0;
}
