/* SPDX-License-Identifier: Apache-2.0 */
/* options THREADS: prices of options by the formula of Black and Scholes, in chunks that threads take with a C11 atomic. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { N = 1000, CHUNK = 16, MOST = 64 };

static double price[N];
static atomic_int next_chunk;
static _Thread_local int chunks;
static atomic_int chunks_done;

static double normal(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double call(double spot, double strike, double rate, double volatility, double years)
{
    double root = volatility * sqrt(years);
    double d1 = (log(spot / strike) + (rate + volatility * volatility / 2) * years) / root;

    return spot * normal(d1) - strike * exp(-rate * years) * normal(d1 - root);
}

static int work(void *unused)
{
    int begin;

    (void)unused;
    while ((begin = atomic_fetch_add(&next_chunk, 1) * CHUNK) < N) {
        for (int i = begin; i < begin + CHUNK && i < N; i++)
            price[i] = call(90 + i % 20, 80 + i % 37, 0.01 * (i % 5), 0.1 + 0.01 * (i % 30), 0.25 * (1 + i % 8));
        chunks++;
    }
    atomic_fetch_add_explicit(&chunks_done, chunks, memory_order_relaxed);
    return chunks;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4, results = 0;
    thrd_t threads[MOST];
    double sum = 0;

    if (n < 1 || n > MOST)
        return 2;
    for (int i = 0; i < n; i++)
        if (thrd_create(&threads[i], work, NULL) != thrd_success)
            return 1;
    for (int i = 0; i < n; i++) {
        int result;
        thrd_join(threads[i], &result);
        results += result;
    }
    for (int i = 0; i < N; i++)
        sum += price[i];
    printf("%d options worth %.12g, %d chunks, %d chunks\n", N, sum, results, atomic_load(&chunks_done));
    return results != (N + CHUNK - 1) / CHUNK;
}
