/* SPDX-License-Identifier: Apache-2.0 */
/* barrier THREADS: a prefix sum in logarithmic steps with a sense-reversing barrier made of atomics. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, MOST = 64 };

static long data[2][N];
static atomic_int arrived, sense;
static int nthreads;

static void meet(int *mine)
{
    *mine = !*mine;
    if (atomic_fetch_add(&arrived, 1) == nthreads - 1) {
        atomic_store(&arrived, 0);
        atomic_store(&sense, *mine);
    } else {
        while (atomic_load(&sense) != *mine)
            ;
    }
}

static void *work(void *arg)
{
    int me = (int)(intptr_t)arg, mine = 0, from = 0;
    int lo = N * me / nthreads, hi = N * (me + 1) / nthreads;

    for (int i = lo; i < hi; i++)
        data[0][i] = i * i % 31;
    meet(&mine);
    for (int step = 1; step < N; step *= 2) {
        for (int i = lo; i < hi; i++)
            data[!from][i] = data[from][i] + (i >= step ? data[from][i - step] : 0);
        from = !from;
        meet(&mine);
    }
    return (void *)(intptr_t)from;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    void *last = NULL;
    long sum = 0;

    nthreads = argc > 1 ? atoi(argv[1]) : 4;
    if (nthreads < 1 || nthreads > MOST)
        return 2;
    for (int i = 0; i < nthreads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            return 1;
    for (int i = 0; i < nthreads; i++)
        pthread_join(threads[i], &last);
    for (int i = 0; i < N; i++)
        sum = (sum * 31 + data[(intptr_t)last][i]) % 1000003;
    printf("%ld %ld\n", data[(intptr_t)last][N - 1], sum);
    return 0;
}
