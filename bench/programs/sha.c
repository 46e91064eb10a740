/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha BYTES ROUNDS: SHA-256 (FIPS 180-4), checked against the standard's digest of "abc".  Integer in registers,
 * rotations, straight-line code with few references.
 */
#include "common.h"

static const uint32_t K[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
    0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138,
    0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70,
    0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
    0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void compress(uint32_t state[8], const unsigned char *data)
{
    uint32_t w[64], s[8];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)data[4 * t] << 24 | (uint32_t)data[4 * t + 1] << 16 | (uint32_t)data[4 * t + 2] << 8 |
            data[4 * t + 3];
    for (int t = 16; t < 64; t++)
        w[t] = (rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
            (rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t++) {
        uint32_t a = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
            K[t] + w[t];
        uint32_t b =
            (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (int k = 0; k < 8; k++)
        state[k] += s[k];
}

static void digest(const unsigned char *data, size_t bytes, uint32_t state[8])
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    size_t rest = bytes % 64, padded = rest < 56 ? 64 : 128;
    memcpy(state, start, sizeof start);
    for (size_t i = 0; i + 64 <= bytes; i += 64)
        compress(state, data + i);
    memcpy(last, data + bytes - rest, rest);
    last[rest] = 0x80;
    for (int k = 0; k < 8; k++)
        last[padded - 1 - (size_t)k] = (unsigned char)((uint64_t)bytes * 8 >> 8 * k);
    for (size_t i = 0; i < padded; i += 64)
        compress(state, last + i);
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 4000000, 1, 1000000000), rounds = bench_arg(argc, argv, 2, 40, 1, 100000);
    unsigned char *data = bench_alloc((size_t)n, 1);
    uint32_t state[8];
    uint64_t random = 12, hash = 0;
    digest((const unsigned char *)"abc", 3, state);
    if (state[0] != 0xba7816bf || state[7] != 0xf20015ad)
        bench_wrong("digest of \"abc\"");
    for (long i = 0; i < n; i++)
        data[i] = (unsigned char)(bench_random(&random) >> 56);
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        digest(data, (size_t)n, state);
        data[r % n] ^= (unsigned char)state[0];
        hash = bench_mix(hash, state[0]);
    }
    bench_print("sha", hash);
    free(data);
    return 0;
}
