/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive resonance (ART 2, Carpenter and Grossberg 1987): a neural network learns a few objects, then looks for them in
 * a thermal image, window by window.  Two dense matrices of weights, bottom-up and top-down, and a layer of neurons
 * that is gone over again and again.  The objects are planted where the program knows; it checks that they are found there.
 *
 *     peetcc -O2 -g -o resonance resonance.c -lm && peet run --observe dtrack -- ./resonance [IMAGE_SIDE]
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 40, INPUTS = SIDE * SIDE, OBJECTS = 6, CATEGORIES = 12, SETTLE = 6, LEARN = 30 };

/* A neuron of the first layer: 64 bytes. */
typedef struct { double I, W, X, V, U, P, Q, R; } f1_neuron;

static f1_neuron *f1_layer;
static double **bus;         /* bottom-up weights: bus[input][category] */
static double **tds;         /* top-down weights:  tds[input][category] */
static double Y[CATEGORIES];
static unsigned char *image;
static double objects[OBJECTS][INPUTS];
static const double a = 10, b = 10, d = 0.9, theta = 0.005;

static uint64_t seed = 4711;
static double random_unit(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 40) / (double)(1 << 24);
}

static double squash(double x)
{
    return x >= theta ? x : 0;
}

static double **matrix(double value)
{
    double **m = malloc(INPUTS * sizeof *m);
    for (int i = 0; i < INPUTS; i++) {
        m[i] = malloc(CATEGORIES * sizeof **m);
        for (int j = 0; j < CATEGORIES; j++)
            m[i][j] = value;
    }
    return m;
}

/* The first layer settles; the category `winner` (or none, -1) says what it expects. */
static void settle(int winner, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        double w = 0, v = 0, p = 0;
        for (int i = 0; i < INPUTS; i++) {
            f1_layer[i].W = f1_layer[i].I + a * f1_layer[i].U;
            w += f1_layer[i].W * f1_layer[i].W;
        }
        w = sqrt(w) + 1e-12;
        for (int i = 0; i < INPUTS; i++) {
            f1_layer[i].X = f1_layer[i].W / w;
            f1_layer[i].V = squash(f1_layer[i].X) + b * squash(f1_layer[i].Q);
            v += f1_layer[i].V * f1_layer[i].V;
        }
        v = sqrt(v) + 1e-12;
        for (int i = 0; i < INPUTS; i++) {
            f1_layer[i].U = f1_layer[i].V / v;
            f1_layer[i].P = f1_layer[i].U + (winner >= 0 ? d * tds[i][winner] : 0);
            p += f1_layer[i].P * f1_layer[i].P;
        }
        p = sqrt(p) + 1e-12;
        for (int i = 0; i < INPUTS; i++)
            f1_layer[i].Q = f1_layer[i].P / p;
    }
}

static void show(const double *input)
{
    for (int i = 0; i < INPUTS; i++)
        f1_layer[i] = (f1_neuron){.I = input[i]};
    settle(-1, SETTLE);
}

/* What each category gets from below.  Returns: the one with most among the first @n */
static int compete(int n)
{
    int best = 0;
    for (int j = 0; j < n; j++)
        Y[j] = 0;
    for (int i = 0; i < INPUTS; i++)
        for (int j = 0; j < n; j++)
            Y[j] += f1_layer[i].P * bus[i][j];
    for (int j = 1; j < n; j++)
        if (Y[j] > Y[best])
            best = j;
    return best;
}

/* How well the expectation agrees with the input: their cosine. */
static double agreement(int winner)
{
    double dot = 0, t = 0, u = 0;
    for (int i = 0; i < INPUTS; i++) {
        dot += tds[i][winner] * f1_layer[i].U;
        t += tds[i][winner] * tds[i][winner];
        u += f1_layer[i].U * f1_layer[i].U;
    }
    return dot / sqrt(t * u + 1e-12);
}

static void learn(int category)
{
    for (int step = 0; step < LEARN; step++) {
        settle(category, 1);
        for (int i = 0; i < INPUTS; i++) {
            double change = 0.6 * d * (f1_layer[i].P - tds[i][category]);
            tds[i][category] += change * (1 - d) * 5;
            bus[i][category] += 0.6 * d * (f1_layer[i].P - bus[i][category]) * (1 - d) * 5;
        }
    }
}

static void make_objects(void)
{
    for (int o = 0; o < OBJECTS; o++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                double value = 0.1;
                for (int k = 0; k <= o; k++) /* o + 1 warm spots */
                    value += exp(-(pow(x - 6 - 5.5 * ((k * 3 + o) % 6), 2) + pow(y - 6 - 5.5 * ((k * 5 + 2 * o) % 6), 2)) / 14);
                objects[o][y * SIDE + x] = value > 1 ? 1 : value;
            }
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 200, windows = 0, found = 0, wrong = 0;
    double *input = malloc(INPUTS * sizeof *input);

    side = side < SIDE ? SIDE : side / SIDE * SIDE;
    f1_layer = calloc(INPUTS, sizeof *f1_layer);
    image = calloc((size_t)side * (size_t)side, 1);
    bus = matrix(1.0 / sqrt(INPUTS));
    tds = matrix(0);
    make_objects();
    for (int o = 0; o < OBJECTS; o++) {
        show(objects[o]);
        learn(o);
    }
    /* the image: noise, and an object in every third window */
    for (int i = 0; i < side * side; i++)
        image[i] = (unsigned char)(255 * random_unit());
    for (int wy = 0, n = 0; wy < side; wy += SIDE)
        for (int wx = 0; wx < side; wx += SIDE, n++)
            for (int i = 0; n % 3 == 0 && i < INPUTS; i++)
                image[(wy + i / SIDE) * side + wx + i % SIDE] = (unsigned char)(240 * objects[n / 3 % OBJECTS][i] + 15 * random_unit());
    for (int wy = 0; wy < side; wy += SIDE)
        for (int wx = 0; wx < side; wx += SIDE, windows++) {
            for (int i = 0; i < INPUTS; i++)
                input[i] = image[(wy + i / SIDE) * side + wx + i % SIDE] / 255.0;
            show(input);
            int winner = compete(OBJECTS), seen = agreement(winner) > 0.95;
            found += seen;
            wrong += seen != (windows % 3 == 0) || (seen && winner != windows / 3 % OBJECTS);
        }
    printf("resonance: %d windows, %d objects found, %d wrong\n", windows, found, wrong);
    return wrong != 0;
}
