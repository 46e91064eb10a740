/* SPDX-License-Identifier: Apache-2.0 */
/* A recursive and an iterative Fourier transform with complex numbers; calls into the mathematics library. */
#include <complex.h>
#include <math.h>
#include <stdio.h>

#ifdef SMALL
#define N 512
#else
#define N 2048
#endif

static double complex x[N], y[N], scratch[N];

static void recursive(double complex *out, const double complex *in, int n, int step)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    recursive(out, in, n / 2, 2 * step);
    recursive(out + n / 2, in + step, n / 2, 2 * step);
    for (int k = 0; k < n / 2; k++) {
        double complex w = cexp(-2.0 * I * M_PI * k / n) * out[k + n / 2];
        double complex e = out[k];
        out[k] = e + w;
        out[k + n / 2] = e - w;
    }
}

static void iterative(double complex *v, int n)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex t = v[i];
            v[i] = v[j];
            v[j] = t;
        }
    }
    for (int len = 2; len <= n; len *= 2) {
        double angle = -2 * M_PI / len;
        double complex step = cos(angle) + I * sin(angle);
        for (int i = 0; i < n; i += len) {
            double complex w = 1;
            for (int k = 0; k < len / 2; k++) {
                double complex e = v[i + k], o = v[i + k + len / 2] * w;
                v[i + k] = e + o;
                v[i + k + len / 2] = e - o;
                w *= step;
            }
        }
    }
}

int main(void)
{
    double difference = 0;
    for (int i = 0; i < N; i++)
        x[i] = y[i] = (i * 37 % 101) * 0.01 + I * ((i * 17 % 53) * 0.02);
    recursive(scratch, x, N, 1);
    iterative(y, N);
    for (int i = 0; i < N; i++)
        difference += cabs(scratch[i] - y[i]);
    printf("%.6f %.6f %d\n", creal(scratch[5]), cimag(y[N - 3]), difference < 1e-6);
    return 0;
}
