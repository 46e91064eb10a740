/* SPDX-License-Identifier: Apache-2.0 */
/* Register pressure and live flags: loops that need every register, carry chains over loop heads, long dependence without a dead register. */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

static unsigned long long a[64], b[64], c[65];

__attribute__((noinline)) static unsigned char add_long(const unsigned long long *x, const unsigned long long *y, unsigned long long *z, int n)
{
    unsigned char carry = 0;
    for (int i = 0; i < n; i++)
        carry = _addcarry_u64(carry, x[i], y[i], &z[i]);
    return carry;
}

__attribute__((noinline)) static unsigned char subtract_four(const unsigned long long *x, const unsigned long long *y, unsigned long long *z)
{
    unsigned char borrow = 0;
    borrow = _subborrow_u64(borrow, x[0], y[0], &z[0]);
    borrow = _subborrow_u64(borrow, x[1], y[1], &z[1]);
    borrow = _subborrow_u64(borrow, x[2], y[2], &z[2]);
    return _subborrow_u64(borrow, x[3], y[3], &z[3]);
}

__attribute__((noinline)) static long crowded(const long *p, const long *q, const long *r, const long *s, long *t, int n)
{
    long v0 = 0, v1 = 1, v2 = 2, v3 = 3, v4 = 4, v5 = 5, v6 = 6, v7 = 7, v8 = 8, v9 = 9;
    for (int i = 0; i < n; i++) {
        v0 += p[i] * v9;
        v1 ^= q[i] + v0;
        v2 += r[i] ^ v1;
        v3 -= s[i] + v2;
        v4 = v4 * 3 + v3;
        v5 ^= v4 >> 3;
        v6 += v5 & p[i];
        v7 -= v6 | q[i];
        v8 += v7 ^ r[i];
        v9 = v9 * 5 + v8;
        t[i] = v0 ^ v3 ^ v6 ^ v9;
        if (v9 & 1)
            v2 += t[i] + v7;
        else
            v1 -= t[i] + v8;
    }
    return v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9;
}

__attribute__((noinline)) static int flags_over_blocks(long x, long y, long *out)
{
    int n = 0;
    for (; x != y; n++) {
        if (x < y) {
            y -= x & 255;
            out[n & 7] = y;
        } else if (x > y) {
            x -= 3;
            out[n & 7] ^= x;
        }
        if (n > 1000)
            break;
    }
    return n;
}

int main(void)
{
    static long p[100], q[100], r[100], s[100], t[100], out[8];
    unsigned long long z[4], seed = 88172645463325252ull;
    long sum = 0;
    for (int i = 0; i < 64; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        a[i] = seed;
        b[i] = ~seed + (unsigned long long)(i & 1);
    }
    for (int i = 0; i < 100; i++)
        p[i] = i * 3, q[i] = i ^ 77, r[i] = i * i, s[i] = 100 - i;
    for (int n = 0; n < 64; n++) {
        sum += add_long(a, b, c, n) + subtract_four(a + n % 60, b + (n * 7) % 60, z) + (long)z[3];
        sum += crowded(p, q, r, s, t, n) + t[n / 2];
        sum += flags_over_blocks(n * 100, 5000 - n, out);
    }
    printf("%lx %llx\n", (unsigned long)sum, c[40]);
    return 0;
}
