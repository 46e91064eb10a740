/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short loops, many times over: up and down, a byte, a word or a line at a time, over one array and over four, within one line and through several, again and
 * again from the same places of lines and from others.
 */
#include <stdint.h>
#include <stdio.h>

enum { BYTES = 6000, ROUNDS = 1500 };
static uint8_t a[BYTES], b[BYTES];
static uint32_t w[BYTES], v[BYTES];
static double x[BYTES], y[BYTES];

/* What is called is not unrolled, and its loops stay loops. */
#define LOOP __attribute__((noinline)) static

LOOP unsigned same(unsigned i, unsigned k, unsigned n)
{
    unsigned at = 0;
    while (at < n && a[i + at] == b[k + at])
        at++;
    return at;
}
LOOP unsigned back(unsigned i, unsigned n)
{
    unsigned sum = 0;
    for (unsigned k = n; k-- > 0;)
        sum += a[i + k];
    return sum;
}
LOOP void copy_down(unsigned to, unsigned from, unsigned n)
{
    for (unsigned k = n; k-- > 0;)
        w[to + k] = w[from + k] + k;
}
LOOP void four(unsigned i, unsigned k, unsigned n)
{
    for (unsigned j = 0; j < n; j++)
        x[i + j] = y[k + j] + w[i + 2 * j] + v[k + j];
}
LOOP void apart(unsigned i, unsigned n)
{
    for (unsigned j = 0; j < n; j++)
        v[i + 33 * j] ^= w[i + j];
}
LOOP uint32_t window(unsigned i, unsigned n)
{
    uint32_t sum = 0;
    for (unsigned j = 0; j < n; j++)
        sum += w[i + j + 16] = w[i + j] + w[i + j + 1] + w[i + j + 9] + w[i + j + 14];
    return sum;
}
LOOP uint32_t one_word(unsigned i, unsigned n)
{
    for (unsigned j = 0; j < n; j++)
        *(volatile uint32_t *)&w[i] += v[i + j];
    return w[i];
}

int main(void)
{
    uint32_t random = 12345, hash = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        a[i] = (uint8_t)(i / 5 % 3);
        b[i] = (uint8_t)(i / 7 % 2);
        w[i] = v[i] = i;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        const unsigned i = random >> 8 & 0x7ff, k = random >> 19 & 0x7ff, n = 1 + (random >> 5 & (round & 7 ? 7 : 63));
        hash = hash * 31 + same(i, k, n) + back(k, n);
        copy_down(i, k, n);
        four(k, i, n);
        apart(i, n);
        hash ^= window(64, 48) + window(i, n) + one_word(k, n);
    }
    for (unsigned i = 0; i < BYTES; i++)
        hash = hash * 31 + w[i] + v[i] + (uint32_t)x[i];
    printf("%08x\n", hash);
    return 0;
}
