/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ocean THREADS SIZE SWEEPS: red-black relaxation of a Laplace problem on a grid in strips of rows.  After each sweep
 * the threads take a lock to agree on the largest change, and meet at a barrier (the shape of SPLASH's ocean).
 */
#include <math.h>
#include "threads.h"

static long n, sweeps;
static double *grid;
static double change;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double relax(struct bench_part mine, long colour)
{
    double most = 0.0;
    for (long i = mine.begin + 1; i <= mine.end; i++)
        for (long j = 1 + (i + colour) % 2; j <= n; j += 2) {
            double *p = &grid[i * (n + 2) + j];
            double new = *p + 0.4 * (p[-1] + p[1] + p[-(n + 2)] + p[n + 2] - 4.0 * *p);
            most = fmax(most, fabs(new - *p));
            *p = new;
        }
    return most;
}

static void work(long me)
{
    struct bench_part mine = bench_part(n, me);
    for (long s = 0; s < sweeps; s++) {
        double most = relax(mine, 0);
        bench_wait();
        if (me == 0)
            change = 0.0;
        most = fmax(most, relax(mine, 1));
        bench_wait();
        pthread_mutex_lock(&lock);
        change = fmax(change, most);
        pthread_mutex_unlock(&lock);
        bench_wait();
        if (change < 1e-12)
            break;
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 256, 1, 8000);
    sweeps = bench_arg(argc, argv, 3, 50, 1, 1000000);
    grid = bench_alloc((size_t)((n + 2) * (n + 2)), sizeof *grid);
    for (long i = 0; i < n + 2; i++) /* x on all edges: the solution is x everywhere, and nothing may leave [0, 1] */
        for (long j = 0; j < n + 2; j++)
            if (i == 0 || i == n + 1 || j == 0 || j == n + 1)
                grid[i * (n + 2) + j] = (double)j / (double)(n + 1);
    bench_team(work);
    uint64_t hash = bench_mix_double(0, change);
    for (long k = 0; k < (n + 2) * (n + 2); k++) {
        if (!(grid[k] >= 0.0 && grid[k] <= 1.0))
            bench_wrong("a value left its bounds");
        hash = bench_mix_double(hash, grid[k]);
    }
    bench_print("ocean", hash);
    return 0;
}
