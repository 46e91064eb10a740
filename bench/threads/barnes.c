/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barnes THREADS BODIES STEPS: gravitation by an octree that all threads build together under locks, then walk for each
 * of their bodies (the shape of SPLASH's barnes).  A leaf holds one body, so that the tree does not depend on who came
 * first.
 */
#include <math.h>
#include "threads.h"

struct cell {
    double mass, centre[3], size; /* of all below; size: of its cube */
    struct cell *child[8];
    long body; /* of a leaf; -1: not a leaf */
};

enum { LOCKS = 256 };

static long n, steps, used;
static double (*position)[3], (*velocity)[3], (*force)[3];
static struct cell *pool, *root;
static pthread_mutex_t locks[LOCKS], pool_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *lock_of(const struct cell *c)
{
    return &locks[(c - pool) % LOCKS];
}

/* Each thread takes cells sixteen at a time. */
static struct cell *new_cell(struct cell **mine, double size, long body)
{
    enum { SOME = 16 };
    if (!*mine || (*mine - pool) % SOME == 0) {
        pthread_mutex_lock(&pool_lock);
        if (used + SOME > 16 * n + 4096)
            bench_wrong("too many cells");
        *mine = &pool[used += SOME];
        pthread_mutex_unlock(&pool_lock);
    }
    struct cell *c = --*mine;
    *c = (struct cell){.size = size, .body = body};
    return c;
}

/* In which eighth of a cube around middle a body lies; middle moves to that eighth's. */
static int eighth(long body, double size, double *middle)
{
    int which = 0;
    for (int d = 0; d < 3; d++) {
        int upper = position[body][d] >= middle[d];
        which |= upper << d;
        middle[d] += upper ? size / 4 : -size / 4;
    }
    return which;
}

static void insert(long body, struct cell **mine)
{
    struct cell *c = root;
    double middle[3] = {0.5, 0.5, 0.5};
    for (;;) {
        struct cell **slot = &c->child[eighth(body, c->size, middle)];
        pthread_mutex_t *lock = lock_of(c);
        pthread_mutex_lock(lock);
        struct cell *there = *slot;
        if (!there) {
            *slot = new_cell(mine, c->size / 2, body);
            pthread_mutex_unlock(lock);
            return;
        }
        if (there->body >= 0) { /* a leaf goes one level down */
            struct cell *between = new_cell(mine, c->size / 2, -1);
            double its_middle[3] = {middle[0], middle[1], middle[2]};
            int where = eighth(there->body, between->size, its_middle);
            there->size /= 2;
            between->child[where] = there;
            *slot = there = between;
        }
        pthread_mutex_unlock(lock);
        c = there;
    }
}

static void sum_up(struct cell *c)
{
    if (c->body >= 0) {
        c->mass = 1.0;
        memcpy(c->centre, position[c->body], sizeof c->centre);
        return;
    }
    for (int k = 0; k < 8; k++)
        if (c->child[k]) {
            sum_up(c->child[k]);
            c->mass += c->child[k]->mass;
            for (int d = 0; d < 3; d++)
                c->centre[d] += c->child[k]->mass * c->child[k]->centre[d];
        }
    for (int d = 0; d < 3; d++)
        c->centre[d] /= c->mass;
}

static void walk(const struct cell *c, long body, double *sum)
{
    if (c->body == body)
        return;
    double to[3], square = 1e-4;
    for (int d = 0; d < 3; d++) {
        to[d] = c->centre[d] - position[body][d];
        square += to[d] * to[d];
    }
    if (c->body < 0 && c->size * c->size > 0.5 * square) {
        for (int k = 0; k < 8; k++)
            if (c->child[k])
                walk(c->child[k], body, sum);
        return;
    }
    double f = c->mass / (square * sqrt(square));
    for (int d = 0; d < 3; d++)
        sum[d] += f * to[d];
}

static void work(long me)
{
    struct bench_part mine = bench_part(n, me);
    for (long s = 0; s < steps; s++) {
        struct cell *cells = NULL;
        if (me == 0) {
            used = 0;
            root = new_cell(&cells, 1.0, -1);
        }
        bench_wait();
        for (long b = mine.begin; b < mine.end; b++)
            insert(b, &cells);
        bench_wait();
        for (long k = me; k < 64; k += bench_threads) { /* the cells two levels down, then the top */
            struct cell *c = root->child[k / 8];
            if (c && c->body < 0 && c->child[k % 8])
                sum_up(c->child[k % 8]);
        }
        bench_wait();
        if (me == 0)
            for (int k = 0; k < 8; k++)
                for (int l = 0; root->child[k] && root->child[k]->body < 0 && l < 8; l++) {
                    struct cell *c = root->child[k]->child[l];
                    for (int d = 0; c && d < 3; d++)
                        root->child[k]->centre[d] += c->mass * c->centre[d];
                    root->child[k]->mass += c ? c->mass : 0.0;
                }
        if (me == 0)
            for (int k = 0; k < 8; k++)
                if (root->child[k]) {
                    struct cell *c = root->child[k];
                    if (c->body >= 0)
                        sum_up(c);
                    else
                        for (int d = 0; d < 3; d++)
                            c->centre[d] /= c->mass;
                    root->mass += c->mass;
                    for (int d = 0; d < 3; d++)
                        root->centre[d] += c->mass * c->centre[d];
                }
        if (me == 0)
            for (int d = 0; d < 3; d++)
                root->centre[d] /= root->mass;
        bench_wait();
        for (long b = mine.begin; b < mine.end; b++) {
            double sum[3] = {0.0, 0.0, 0.0};
            walk(root, b, sum);
            memcpy(force[b], sum, sizeof sum);
        }
        bench_wait();
        for (long b = mine.begin; b < mine.end; b++)
            for (int d = 0; d < 3; d++) {
                double at = position[b][d] + (velocity[b][d] += 1e-9 * force[b][d]);
                position[b][d] = at < 0.0 ? 0.0 : at > 0.999999 ? 0.999999 : at;
            }
    }
}

int main(int argc, char **argv)
{
    bench_threads = bench_arg(argc, argv, 1, 4, 1, BENCH_THREADS_MAX);
    n = bench_arg(argc, argv, 2, 2000, 2, 1000000);
    steps = bench_arg(argc, argv, 3, 2, 1, 10000);
    position = bench_alloc((size_t)n, sizeof *position), velocity = bench_alloc((size_t)n, sizeof *velocity);
    force = bench_alloc((size_t)n, sizeof *force), pool = bench_alloc((size_t)(16 * n + 8192), sizeof *pool);
    uint64_t random = 7, hash = 0;
    for (int l = 0; l < LOCKS; l++)
        pthread_mutex_init(&locks[l], NULL);
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++)
            position[b][d] = 0.5 + 0.49 * (bench_uniform(&random) - 0.5) * (b % 3 ? 0.5 : 2.0);
    bench_team(work);
    if (root->mass != (double)n)
        bench_wrong("bodies are missing from the tree");
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++)
            hash = bench_mix_double(hash, position[b][d]);
    bench_print("barnes", hash);
    return 0;
}
