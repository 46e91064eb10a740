/* SPDX-License-Identifier: Apache-2.0 */
/* Bit manipulation and 128-bit integers: counts, scans, rotates, byte swaps, bit tests, modular powers. */
#include <stdint.h>
#include <stdio.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

typedef unsigned __int128 u128;

static uint64_t map[64];

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

__attribute__((noinline)) static uint64_t mulmod(uint64_t a, uint64_t b, uint64_t m)
{
    return (uint64_t)((u128)a * b % m);
}

__attribute__((noinline)) static uint64_t powmod(uint64_t a, uint64_t e, uint64_t m)
{
    uint64_t r = 1;
    for (; e; e >>= 1, a = mulmod(a, a, m))
        if (e & 1)
            r = mulmod(r, a, m);
    return r;
}

__attribute__((noinline)) static u128 wide(u128 x, u128 y, int n)
{
    for (int i = 0; i < n; i++) {
        x = x * 3 + y;
        y = (y << 5) ^ (x >> 67);
        if (x > y)
            x -= y / 7;
    }
    return x ^ y;
}

__attribute__((noinline)) static uint64_t tricks(uint64_t x)
{
    uint64_t r = 0;
    r += (uint64_t)__builtin_popcountll(x);
    r += x ? (uint64_t)__builtin_clzll(x) : 64;
    r += x ? (uint64_t)__builtin_ctzll(x) : 64;
    r ^= __builtin_bswap64(x);
    r += x << 11 | x >> 53;
    r += (x & 0x5555555555555555u) + (x >> 1 & 0x5555555555555555u);
    r ^= x & (x - 1);
    r += (uint64_t)__builtin_parityll(x);
    return r;
}

__attribute__((noinline)) static void set_bits(uint64_t x)
{
    unsigned bit = (unsigned)(x & 4095);
    map[bit / 64] |= 1ull << bit % 64;
    map[(bit ^ 77) / 64] &= ~(1ull << bit % 64);
    map[x >> 58] ^= 1ull << (x >> 52 & 63);
}

__attribute__((noinline)) static int tested(uint64_t x, unsigned n)
{
    int r = 0;
    for (unsigned i = 0; i < n; i++) {
        if (x >> (i * 7 & 63) & 1)
            r += (int)i;
        if (map[i & 63] & 1ull << (x + i & 63))
            r ^= 5;
        x ^= 1ull << (i & 63); /* a complement by number */
    }
    return r;
}

int main(void)
{
    uint64_t s = 88172645463325252ull, sum = 0, ones = 0;
    for (int i = 0; i < 20000 / SHARE; i++) {
        uint64_t x = next(&s);
        sum += tricks(x);
        sum += (uint64_t)tested(x, (unsigned)i & 15);
        set_bits(x);
    }
    for (int i = 0; i < 64; i++)
        ones += (uint64_t)__builtin_popcountll(map[i]);
    u128 w = wide(s, sum, 500);
    printf("%llx %llu %llx %llx %llx\n", (unsigned long long)sum, (unsigned long long)ones,
        (unsigned long long)powmod(3, 1000000006, 1000000007), (unsigned long long)powmod(s, sum, 0xffffffffffffffc5ull),
        (unsigned long long)(w ^ w >> 64));
    return 0;
}
