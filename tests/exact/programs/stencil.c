/* SPDX-License-Identifier: Apache-2.0 */
/* Floating point: Jacobi relaxation on a grid, a matrix product, an LU factorisation. */
#include <stdio.h>

#ifdef SMALL
#define N 26
#define STEPS 20
#else
#define N 66
#define STEPS 40
#endif

static double grid[2][N][N], a[N][N], b[N][N], c[N][N];
static float smooth[N * N];

__attribute__((noinline)) static double relax(int steps)
{
    double change = 0;
    for (int s = 0; s < steps; s++) {
        double(*from)[N] = grid[s & 1], (*to)[N] = grid[~s & 1];
        change = 0;
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                to[i][j] = 0.25 * (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
                double d = to[i][j] - from[i][j];
                change += d < 0 ? -d : d;
            }
    }
    return change;
}

__attribute__((noinline)) static void multiply(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

__attribute__((noinline)) static double factor(void)
{
    double det = 1;
    for (int k = 0; k < N; k++) {
        det *= a[k][k];
        for (int i = k + 1; i < N; i++) {
            double f = a[i][k] / a[k][k];
            a[i][k] = f;
            for (int j = k + 1; j < N; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    return det;
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            grid[0][i][j] = grid[1][i][j] = i == 0 || j == N - 1 ? 1.0 : 0.0;
            a[i][j] = i == j ? 2.0 : 1.0 / (1 + i + j);
            b[i][j] = (i * 7 + j * 3) % 11 * 0.5;
            smooth[i * N + j] = (float)(i - j);
        }
    double change = relax(STEPS);
    multiply();
    float acc = 0;
    for (int i = 1; i < N * N - 1; i++)
        acc += (smooth[i - 1] + smooth[i] * 2.0f + smooth[i + 1]) * 0.25f;
    printf("%.12g %.12g %.6g %.12g %.12g\n", change, c[3][5], (double)acc, factor(), grid[0][N / 2][N / 2]);
    return 0;
}
