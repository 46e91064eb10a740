/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbody BODIES STEPS: Barnes and Hut's hierarchical force calculation: an octree built anew in every step, then walked
 * recursively for every body.  Pointers, recursion, floating point with square roots.
 */
#include <math.h>
#include "common.h"

struct node {
    double mass, centre[3], half; /* half the edge of its cube; body or cell */
    double middle[3];
    struct node *child[8];
    long body; /* >= 0: a leaf with this body */
};

static long n, pool_used, pool_size;
static struct node *pool;
static double (*position)[3], (*velocity)[3], (*force)[3];

static struct node *node_new(const double middle[3], double half)
{
    if (pool_used == pool_size)
        bench_wrong("more tree nodes than bodies can need");
    struct node *node = &pool[pool_used++];
    memset(node, 0, sizeof *node);
    memcpy(node->middle, middle, sizeof node->middle);
    node->half = half;
    node->body = -1;
    return node;
}

static int octant(const struct node *node, const double *x)
{
    return (x[0] > node->middle[0]) | (x[1] > node->middle[1]) << 1 | (x[2] > node->middle[2]) << 2;
}

static void insert(struct node *node, long body)
{
    int o = octant(node, position[body]);
    struct node *child = node->child[o];
    if (child && child->body < 0) {
        insert(child, body);
        return;
    }
    double quarter = node->half / 2, middle[3];
    for (int d = 0; d < 3; d++)
        middle[d] = node->middle[d] + (o >> d & 1 ? quarter : -quarter);
    struct node *fresh = node_new(middle, quarter);
    node->child[o] = fresh;
    if (!child) {
        fresh->body = body;
        return;
    }
    insert(fresh, child->body);
    insert(fresh, body);
}

static void summarise(struct node *node)
{
    if (node->body >= 0) {
        node->mass = 1.0 / (double)n;
        memcpy(node->centre, position[node->body], sizeof node->centre);
        return;
    }
    for (int o = 0; o < 8; o++) {
        struct node *child = node->child[o];
        if (!child)
            continue;
        summarise(child);
        node->mass += child->mass;
        for (int d = 0; d < 3; d++)
            node->centre[d] += child->mass * child->centre[d];
    }
    for (int d = 0; d < 3; d++)
        node->centre[d] /= node->mass;
}

static void attract(const struct node *node, long body, double *sum)
{
    double r[3], square = 1e-4;
    if (node->body == body)
        return;
    for (int d = 0; d < 3; d++) {
        r[d] = node->centre[d] - position[body][d];
        square += r[d] * r[d];
    }
    if (node->body >= 0 || 4.0 * node->half * node->half < 0.25 * square) {
        double f = node->mass / (square * sqrt(square));
        for (int d = 0; d < 3; d++)
            sum[d] += f * r[d];
        return;
    }
    for (int o = 0; o < 8; o++)
        if (node->child[o])
            attract(node->child[o], body, sum);
}

static void step(void)
{
    double size = 0.0;
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++)
            size = fmax(size, fabs(position[b][d]));
    pool_used = 0;
    struct node *root = node_new((double[3]){0, 0, 0}, size * 1.0001);
    for (long b = 0; b < n; b++)
        insert(root, b);
    summarise(root);
    for (long b = 0; b < n; b++) {
        if (b % 16 == 0)
            bench_lap();
        memset(force[b], 0, sizeof force[b]);
        attract(root, b, force[b]);
    }
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++) {
            velocity[b][d] += 0.01 * force[b][d];
            position[b][d] += 0.01 * velocity[b][d];
        }
}

int main(int argc, char **argv)
{
    n = bench_arg(argc, argv, 1, 8000, 2, 1000000);
    long steps = bench_arg(argc, argv, 2, 6, 1, 100000);
    pool_size = 40 * n + 1000;
    pool = bench_alloc((size_t)pool_size, sizeof *pool);
    position = bench_alloc((size_t)n, sizeof *position);
    velocity = bench_alloc((size_t)n, sizeof *velocity);
    force = bench_alloc((size_t)n, sizeof *force);
    uint64_t random = 4, hash = 0;
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++) {
            position[b][d] = bench_uniform(&random) * 2.0 - 1.0;
            velocity[b][d] = 0.1 * (bench_uniform(&random) - 0.5);
        }
    for (long s = 0; s < steps; s++)
        step();
    for (long b = 0; b < n; b++)
        for (int d = 0; d < 3; d++)
            hash = bench_mix_double(hash, position[b][d]);
    bench_print("nbody", hash);
    free(pool), free(position), free(velocity), free(force);
    return 0;
}
