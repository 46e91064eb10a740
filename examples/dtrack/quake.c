/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wave through the ground: explicit time steps u'' = -K u / m on an unstructured mesh, three directions at each node, the
 * stiffness K in 3 by 3 blocks, rows compressed, of which only the upper half is kept.  The product of matrix and vector takes nearly
 * all the time.  It checks that products with the whole and the halved matrix agree, and that energy is conserved.
 *
 *     peetcc -O2 -g -o quake quake.c -lm && peet run --observe dtrack -- ./quake [SIDE [STEPS]]
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int nnodes, nedges;
static double (*K)[3][3];    /* blocks: of row i from rows[i] on, the diagonal one first */
static int *columns, *rows;
static double (*disp[3])[3]; /* displacements: before, now, next */
static double (*velocity)[3];
static double *M;            /* masses */
static int (*edges)[2];

static uint64_t seed = 99;
static int random_below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

static void *array(size_t n, size_t bytes)
{
    void *p = calloc(n, bytes);
    if (!p)
        exit(1);
    return p;
}

static int by_nodes(const void *x, const void *y)
{
    const int *a = x, *b = y;
    return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : (a[1] > b[1]) - (a[1] < b[1]);
}

/* A grid of nodes, numbered nearly along its rows as mesh generators do, joined to their neighbours and along diagonals. */
static void make_mesh(int side)
{
    static const int to[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}};
    int *number, n = 0;

    nnodes = side * side * side;
    number = array((size_t)nnodes, sizeof *number);
    for (int i = 0; i < nnodes; i++)
        number[i] = i;
    for (int i = 0; i < nnodes; i++) { /* swapped within a few hundred places */
        int j = i + random_below(300), keep = number[i];
        if (j >= nnodes)
            continue;
        number[i] = number[j];
        number[j] = keep;
    }
    edges = array((size_t)nnodes * 6, sizeof *edges);
    for (int z = 0; z < side; z++)
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                for (int k = 0; k < 6; k++) {
                    int x2 = x + to[k][0], y2 = y + to[k][1], z2 = z + to[k][2];
                    if (x2 == side || y2 == side || z2 == side)
                        continue;
                    int a = number[(z * side + y) * side + x], b = number[(z2 * side + y2) * side + x2];
                    edges[n][0] = a < b ? a : b;
                    edges[n++][1] = a < b ? b : a;
                }
    nedges = n;
    qsort(edges, (size_t)n, sizeof *edges, by_nodes);
    free(number);
}

/* Springs along the edges, a little different in each direction; each node is also tied to its place. */
static void make_matrix(void)
{
    int *diagonal = array((size_t)nnodes, sizeof *diagonal), at = 0, e = 0;

    K = array((size_t)(nnodes + nedges), sizeof *K);
    columns = array((size_t)(nnodes + nedges), sizeof *columns);
    rows = array((size_t)nnodes + 1, sizeof *rows);
    for (int i = 0; i < nnodes; i++) {
        rows[i] = at;
        diagonal[i] = at;
        columns[at++] = i;
        for (; e < nedges && edges[e][0] == i; e++)
            columns[at++] = edges[e][1];
    }
    rows[nnodes] = at;
    for (int i = 0; i < nnodes; i++) {
        for (int d = 0; d < 3; d++)
            K[diagonal[i]][d][d] += 0.05;
        for (int k = rows[i] + 1; k < rows[i + 1]; k++)
            for (int d = 0; d < 3; d++)
                for (int f = 0; f < 3; f++) {
                    double stiff = d == f ? 1 + 0.1 * d : 0.05;
                    K[k][d][f] = -stiff;
                    K[diagonal[i]][d][f] += stiff;
                    K[diagonal[columns[k]]][d][f] += stiff;
                }
    }
    free(diagonal);
}

/* w = K v: each block above the diagonal also stands for its image below. */
static void smvp(double (*v)[3], double (*w)[3])
{
    for (int i = 0; i < nnodes; i++)
        w[i][0] = w[i][1] = w[i][2] = 0;
    for (int i = 0; i < nnodes; i++) {
        double sum[3] = {0, 0, 0};
        for (int d = 0; d < 3; d++)
            for (int f = 0; f < 3; f++)
                sum[d] += K[rows[i]][d][f] * v[i][f];
        for (int k = rows[i] + 1; k < rows[i + 1]; k++) {
            int col = columns[k];
            for (int d = 0; d < 3; d++)
                for (int f = 0; f < 3; f++) {
                    sum[d] += K[k][d][f] * v[col][f];
                    w[col][d] += K[k][f][d] * v[i][f];
                }
        }
        for (int d = 0; d < 3; d++)
            w[i][d] += sum[d];
    }
}

/* The same from the edges, without a matrix: for the check. */
static void direct(double (*v)[3], double (*w)[3])
{
    for (int i = 0; i < nnodes; i++)
        for (int d = 0; d < 3; d++)
            w[i][d] = 0.05 * v[i][d];
    for (int e = 0; e < nedges; e++) {
        int i = edges[e][0], j = edges[e][1];
        for (int d = 0; d < 3; d++)
            for (int f = 0; f < 3; f++) {
                double force = (d == f ? 1 + 0.1 * d : 0.05) * (v[i][f] - v[j][f]);
                w[i][d] += force;
                w[j][d] -= force;
            }
    }
}

static double energy(double (*u)[3], double (*product)[3])
{
    double sum = 0;
    smvp(u, product);
    for (int i = 0; i < nnodes; i++)
        for (int d = 0; d < 3; d++)
            sum += M[i] * velocity[i][d] * velocity[i][d] / 2 + u[i][d] * product[i][d] / 2;
    return sum;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 16, steps = argc > 2 ? atoi(argv[2]) : 20;
    const double dt = 0.05;
    double before, after, most = 0;

    make_mesh(side < 2 ? 2 : side);
    make_matrix();
    for (int t = 0; t < 3; t++)
        disp[t] = array((size_t)nnodes, sizeof *disp[t]);
    velocity = array((size_t)nnodes, sizeof *velocity);
    M = array((size_t)nnodes, sizeof *M);
    for (int i = 0; i < nnodes; i++)
        M[i] = 1 + 0.5 * (i % 3);
    for (int d = 0; d < 3; d++)
        disp[1][nnodes / 2][d] = 1;
    before = energy(disp[1], disp[2]);
    for (int t = 0; t < steps; t++) { /* velocity Verlet */
        double (*u)[3] = disp[1], (*force)[3] = disp[2];
        if (t == 0)
            smvp(u, force);
        for (int i = 0; i < nnodes; i++)
            for (int d = 0; d < 3; d++) {
                velocity[i][d] -= dt / 2 * force[i][d] / M[i];
                u[i][d] += dt * velocity[i][d];
            }
        smvp(u, force);
        for (int i = 0; i < nnodes; i++)
            for (int d = 0; d < 3; d++)
                velocity[i][d] -= dt / 2 * force[i][d] / M[i];
    }
    after = energy(disp[1], disp[2]);
    direct(disp[1], disp[0]);
    for (int i = 0; i < nnodes; i++)
        for (int d = 0; d < 3; d++)
            most = fmax(most, fabs(disp[0][i][d] - disp[2][i][d]));
    int wrong = !(most < 1e-9) || !(fabs(after - before) < 0.01 * before);
    printf("quake: %d nodes, %d edges, %d steps, energy %.6f, then %.6f: %s\n", nnodes, nedges, steps, before, after, wrong ? "wrong" : "as it should be");
    return wrong;
}
