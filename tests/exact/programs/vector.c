/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that a compiler vectorises: gathers, masked loads and stores, reductions, conversions, bytes. */
#include <stdint.h>
#include <stdio.h>

#define N 1021
#ifdef SMALL
#define ROUNDS 10
#else
#define ROUNDS 60
#endif

static double table[N], picked[N], wide[N];
static float reals[N], limits[N], chosen[N], other[N];
static int32_t index32[N], whole[N], conditional[N];
static int64_t index64[N], sums[N];
static uint8_t bytes[N], more[N];
static uint16_t halves[N];

__attribute__((noinline)) static void gather(int n)
{
    for (int i = 0; i < n; i++)
        picked[i] = table[index32[i]] * 2 + table[index64[i]];
}

__attribute__((noinline)) static void gather_if(int n)
{
    for (int i = 0; i < n; i++)
        if (whole[i] & 4)
            chosen[i] = reals[index32[i]] + 1;
}

__attribute__((noinline)) static void masked(int n)
{
    for (int i = 0; i < n; i++)
        if (reals[i] > limits[i])
            other[i] = other[i] * 0.5f + reals[i];
    for (int i = 0; i < n; i++)
        if (whole[i] > 20)
            conditional[i] += whole[i] * 3;
    for (int i = 0; i < n; i++)
        if (sums[i] & 1)
            sums[i] -= index64[i];
    for (int i = 0; i < n; i++)
        if (table[i] < 40)
            wide[i] = table[i] / 3;
}

__attribute__((noinline)) static double reduce(int n)
{
    double d = 0;
    float f = 0, top = -1e9f;
    int64_t s = 0;
    for (int i = 0; i < n; i++)
        d += table[i] * wide[i];
    for (int i = 0; i < n; i++)
        f += reals[i] * limits[i];
    for (int i = 0; i < n; i++)
        top = reals[i] > top ? reals[i] : top;
    for (int i = 0; i < n; i++)
        s += whole[i];
    return d + (double)f + (double)top + (double)s;
}

__attribute__((noinline)) static void convert(int n)
{
    for (int i = 0; i < n; i++)
        wide[i] = reals[i];
    for (int i = 0; i < n; i++)
        whole[i] = (int32_t)limits[i] + bytes[i];
    for (int i = 0; i < n; i++)
        halves[i] = (uint16_t)(bytes[i] * more[i]);
    for (int i = 0; i < n; i++)
        bytes[i] = (uint8_t)((bytes[i] + more[i] + 1) >> 1);
    for (int i = 0; i < n; i++)
        sums[i] += (int64_t)whole[i] * halves[i];
}

__attribute__((noinline)) static void reverse_and_stride(int n)
{
    for (int i = 0; i < n; i++)
        picked[i] += wide[n - 1 - i];
    for (int i = 0; 3 * i + 2 < n; i++)
        table[i] = table[3 * i] + table[3 * i + 1] - table[3 * i + 2];
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        table[i] = i * 0.75;
        reals[i] = (float)(i % 37);
        limits[i] = (float)(i % 23);
        index32[i] = (i * 613 + 5) % N;
        index64[i] = (i * 409 + 7) % N;
        whole[i] = i % 61;
        bytes[i] = (uint8_t)(i * 5);
        more[i] = (uint8_t)(i * 11);
        sums[i] = i;
    }
    double total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int n = N - round % 9;
        gather(n);
        gather_if(n);
        masked(n);
        total += reduce(n);
        convert(n);
        reverse_and_stride(n);
    }
    for (int i = 0; i < N; i++)
        total += picked[i] + (double)chosen[i] + (double)other[i] + conditional[i] + (double)sums[i];
    printf("%.10g %d\n", total, bytes[N / 2]);
    return 0;
}
