/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References and groups of references that lie in two lines: records that are not aligned, frames at every offset, loops up and
 * down with strides that divide nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct __attribute__((packed)) record { uint8_t tag; uint64_t a, b; uint32_t c; double d; };

static uint64_t __attribute__((noinline)) frames(unsigned depth, uint64_t x)
{
    volatile uint64_t local[3] = {x, x + 1, x + 2};
    if (depth == 0)
        return local[0];
    uint64_t more = frames(depth - 1, x * 3 + local[1]);
    return more ^ local[2];
}

static uint64_t __attribute__((noinline)) turns(const uint8_t *bytes, size_t n, size_t step)
{
    uint64_t sum = 0;
    for (size_t i = 0; i + 8 <= n; i += step) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        sum += word;
    }
    for (size_t i = n - 8; i >= step; i -= step)
        sum ^= bytes[i];
    return sum;
}

int main(void)
{
    enum { N = 500 };
    struct record *r = malloc(N * sizeof *r + 1);
    uint64_t sum = 0, seed = 88172645463325252u;
    if (r == NULL)
        return 1;
    memset(r, 0, N * sizeof *r);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned k = 0; k < N; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            struct record *one = &r[seed % N];
            one->a += seed;
            one->b ^= one->a + k;
            one->c++;
            one->d += (double)one->c;
            sum += one->b + (uint64_t)one->d;
        }
        for (unsigned depth = 0; depth < 40; depth++)
            sum += frames(depth, seed);
        for (size_t step = 1; step < 80; step += 3)
            sum += turns((const uint8_t *)r, N * sizeof *r - round, step);
    }
    printf("%llu\n", (unsigned long long)sum);
    free(r);
    return 0;
}
