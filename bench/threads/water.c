/* SPDX-License-Identifier: Apache-2.0 */
/*
 * water THREADS MOLECULES STEPS: forces between all pairs of molecules in a periodic box.  A thread computes the pairs
 * of its own molecules with the n/2 molecules that follow each, and then adds the forces to all molecules, each under a
 * lock of its own (the shape of SPLASH's n-squared water).
 */
#include <math.h>
#include "threads.h"

struct molecule {
    double position[3], velocity[3], force[3];
    pthread_mutex_t lock;
};

static long n, steps;
static struct molecule *molecules;
static double energy, pairs;
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;

/* The force of b on a, if they are near. */
static int between(const struct molecule *a, const struct molecule *b, double *force, double *potential)
{
    double to[3], square = 0.0;
    for (int d = 0; d < 3; d++) {
        to[d] = a->position[d] - b->position[d];
        to[d] -= to[d] > 0.5 ? 1.0 : to[d] < -0.5 ? -1.0 : 0.0;
        square += to[d] * to[d];
    }
    if (square > 0.1)
        return 0;
    square += 0.01;
    double inverse = 0.02 / square, six = inverse * inverse * inverse, f = 24.0 * (2.0 * six * six - six) / square;
    for (int d = 0; d < 3; d++)
        force[d] = bench_round(f * to[d]);
    *potential = bench_round(4.0 * (six * six - six));
    return 1;
}

static void forces(struct bench_part mine, double (*found)[3])
{
    double my_energy = 0.0, my_pairs = 0.0;
    for (long i = mine.begin; i < mine.end; i++)
        for (long k = 1; k <= n / 2; k++) {
            long j = (i + k) % n;
            double force[3], potential;
            if ((n % 2 == 0 && k == n / 2 && i > j) || !between(&molecules[i], &molecules[j], force, &potential))
                continue;
            for (int d = 0; d < 3; d++) {
                found[i][d] += force[d];
                found[j][d] -= force[d];
            }
            my_energy += potential;
            my_pairs++;
        }
    for (long i = 0; i < n; i++) {
        struct molecule *m = &molecules[(mine.begin + i) % n];
        double *f = found[(mine.begin + i) % n];
        if (f[0] == 0.0 && f[1] == 0.0 && f[2] == 0.0)
            continue;
        pthread_mutex_lock(&m->lock);
        for (int d = 0; d < 3; d++)
            m->force[d] += f[d];
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_lock(&sums);
    energy += my_energy;
    pairs += my_pairs;
    pthread_mutex_unlock(&sums);
}

static void work(long me)
{
    struct bench_part mine = bench_part(n, me);
    double (*found)[3] = bench_alloc((size_t)n, sizeof *found);
    for (long s = 0; s < steps; s++) {
        memset(found, 0, (size_t)n * sizeof *found);
        forces(mine, found);
        bench_wait();
        for (long i = mine.begin; i < mine.end; i++)
            for (int d = 0; d < 3; d++) {
                struct molecule *m = &molecules[i];
                m->velocity[d] += 1e-5 * m->force[d];
                m->position[d] += 1e-2 * m->velocity[d];
                m->position[d] -= floor(m->position[d]);
                m->force[d] = 0.0;
            }
        bench_wait();
    }
    free(found);
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 512, 2, 100000);
    steps = bench_arg(argc, argv, 3, 3, 1, 10000);
    molecules = bench_alloc((size_t)n, sizeof *molecules);
    uint64_t random = 8, hash;
    for (long i = 0; i < n; i++) {
        pthread_mutex_init(&molecules[i].lock, NULL);
        for (int d = 0; d < 3; d++)
            molecules[i].position[d] = bench_uniform(&random);
    }
    bench_team(work);
    double momentum[3] = {0.0, 0.0, 0.0};
    hash = bench_mix_double(bench_mix_double(0, energy), pairs);
    for (long i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) {
            momentum[d] += molecules[i].velocity[d];
            hash = bench_mix_double(hash, molecules[i].position[d]);
        }
    if (!(fabs(momentum[0]) + fabs(momentum[1]) + fabs(momentum[2]) < 1e-6))
        bench_wrong("momentum is not kept");
    bench_print("water", hash);
    return 0;
}
