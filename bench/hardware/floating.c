/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point: matrices, chains, division, square roots, the mathematical library. */
#include "kernels.h"

#include <math.h>

enum { DIM = 40, GRID = 64, BODIES = 5 };

static float fa[DIM][DIM], fb[DIM][DIM], fc[DIM][DIM];
static double grid[GRID][GRID], vector[400], product[400];

static uint64_t floatmm(void)
{
    uint64_t seed = 5, hash = 0;
    for (int i = 0; i < DIM * DIM; i++) {
        fa[i / DIM][i % DIM] = (float)bench_uniform(&seed);
        fb[i / DIM][i % DIM] = (float)bench_uniform(&seed);
    }
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            float s = 0;
            for (int k = 0; k < DIM; k++)
                s += fa[i][k] * fb[k][j];
            fc[i][j] = s;
            hash = bench_mix_double(hash, s);
        }
    return hash;
}

static uint64_t mandelbrot(void)
{
    uint64_t inside = 0;
    for (int y = 0; y < 48; y++)
        for (int x = 0; x < 48; x++) {
            double cr = 2.0 * x / 48 - 1.5, ci = 2.0 * y / 48 - 1, zr = 0, zi = 0;
            int n = 0;
            for (; n < 50 && zr * zr + zi * zi < 4; n++) {
                double t = zr * zr - zi * zi + cr;
                zi = 2 * zr * zi + ci;
                zr = t;
            }
            inside += n == 50;
        }
    return inside;
}

static uint64_t spectral(void)
{
    enum { N = 100 };
    double u[N], v[N], sum = 0;
    for (int i = 0; i < N; i++)
        u[i] = 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            v[i] = 0;
            for (int j = 0; j < N; j++)
                v[i] += u[j] / ((i + j) * (i + j + 1) / 2 + i + 1);
        }
        memcpy(u, v, sizeof u);
    }
    for (int i = 0; i < N; i++)
        sum += u[i];
    return bench_mix_double(0, sum);
}

static uint64_t planets(void)
{
    static double at[BODIES][3] = {{0, 0, 0}, {4.8, -1.1, -0.1}, {8.3, 4.1, -0.4}, {12.8, -15.1, -0.2},
        {15.3, -25.9, 0.2}},
                  speed[BODIES][3] = {{0}, {0.6, 2.8, 0}, {-1, 1.8, 0}, {1, 0.8, 0}, {0.9, 0.5, 0}};
    static const double mass[BODIES] = {39.5, 0.037, 0.011, 0.0017, 0.002};
    for (int step = 0; step < 500; step++) {
        for (int i = 0; i < BODIES; i++)
            for (int j = i + 1; j < BODIES; j++) {
                double d[3], square = 0, pull;
                for (int k = 0; k < 3; k++) {
                    d[k] = at[i][k] - at[j][k];
                    square += d[k] * d[k];
                }
                pull = 0.001 / (square * sqrt(square));
                for (int k = 0; k < 3; k++) {
                    speed[i][k] -= d[k] * mass[j] * pull;
                    speed[j][k] += d[k] * mass[i] * pull;
                }
            }
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k < 3; k++)
                at[i][k] += 0.001 * speed[i][k];
    }
    return bench_mix_double(0, at[0][0]);
}

static uint64_t horner(void)
{
    double sum = 0;
    for (int i = 0; i < 4000; i++) {
        double x = i * 1e-4, y = 1;
        for (int k = 0; k < 8; k++)
            y = y * x + 0.5 + k;
        sum += y;
    }
    return bench_mix_double(0, sum);
}

static uint64_t stencil(void)
{
    for (int i = 0; i < GRID; i++)
        grid[0][i] = i;
    for (int sweep = 0; sweep < 4; sweep++)
        for (int i = 1; i < GRID - 1; i++)
            for (int j = 1; j < GRID - 1; j++)
                grid[i][j] = 0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
    return bench_mix_double(0, grid[GRID / 2][GRID / 2]);
}

static uint64_t leibniz(void)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += (i & 1 ? -4.0 : 4.0) / (2 * i + 1);
    return bench_mix_double(0, sum);
}

static uint64_t library(void)
{
    double sum = 0;
    for (int i = 1; i < 3000; i++) {
        const double x = i * 0.001;
        sum += sin(x) * cos(x) + exp(-x) + log(x);
    }
    return bench_mix_double(0, sum);
}

static uint64_t powers(void)
{
    double sum = 0;
    for (int i = 1; i < 4000; i++)
        sum += pow(i * 0.01, -0.5) + 1 / (i * (i + 1.0));
    return bench_mix_double(0, sum);
}

static uint64_t blas(void)
{
    for (int i = 0; i < 400; i++)
        vector[i] = i * 0.5;
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < 400; i++)
            product[i] += vector[i] * (0.5 + round);
    return bench_mix_double(0, product[200]);
}

static uint64_t average(void)
{
    uint64_t seed = 17;
    double sum = 0;
    int inside = 0;
    for (int i = 0; i < 8000; i++) {
        double x = bench_uniform(&seed), y = bench_uniform(&seed);
        inside += x * x + y * y < 1;
        sum += sqrt(x);
    }
    return bench_mix_double((uint64_t)inside, sum);
}

KERNELS({"floatmm", floatmm}, {"mandelbrot", mandelbrot}, {"spectral", spectral}, {"planets", planets},
    {"horner", horner}, {"stencil", stencil}, {"leibniz", leibniz}, {"library", library}, {"powers", powers},
    {"blas", blas}, {"average", average})
