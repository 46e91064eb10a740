/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lz BYTES ROUNDS: a Lempel-Ziv coder with a hash table of last positions: pack, unpack, compare.  Bytes, short loops
 * of unknown length, copies that overlap themselves.
 */
#include "common.h"

enum { WINDOW = 65535, SHORTEST = 4, LONGEST = 255 + SHORTEST, TABLE = 1 << 14 };

static int32_t table[TABLE];

static uint32_t four(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Codes: 0..127 = that many + 1 literals follow; 128 = match: length - SHORTEST, distance low, distance high. */
static long pack(const unsigned char *in, long n, unsigned char *out)
{
    long o = 0, literals = 0, i = 0;
    memset(table, -1, sizeof table);
    while (i < n) {
        long length = 0, distance = 0;
        if (i + SHORTEST <= n) {
            int32_t *slot = &table[four(in + i) * 2654435761u >> 18];
            long candidate = *slot;
            *slot = (int32_t)i;
            if (candidate >= 0 && i - candidate <= WINDOW && four(in + candidate) == four(in + i)) {
                length = SHORTEST;
                distance = i - candidate;
                while (i + length < n && length < LONGEST && in[candidate + length] == in[i + length])
                    length++;
            }
        }
        if (literals && (length || literals == 128)) {
            out[o++] = (unsigned char)(literals - 1);
            memcpy(out + o, in + i - literals, (size_t)literals);
            o += literals;
            literals = 0;
        }
        if (length) {
            out[o++] = 128;
            out[o++] = (unsigned char)(length - SHORTEST);
            out[o++] = (unsigned char)distance;
            out[o++] = (unsigned char)(distance >> 8);
            i += length;
        } else {
            literals++;
            i++;
        }
    }
    if (literals) {
        out[o++] = (unsigned char)(literals - 1);
        memcpy(out + o, in + n - literals, (size_t)literals);
        o += literals;
    }
    return o;
}

static long unpack(const unsigned char *in, long n, unsigned char *out)
{
    long o = 0;
    for (long i = 0; i < n;) {
        if (in[i] < 128) {
            long count = in[i] + 1;
            memcpy(out + o, in + i + 1, (size_t)count);
            o += count;
            i += count + 1;
        } else {
            long length = in[i + 1] + SHORTEST, from = o - (in[i + 2] | in[i + 3] << 8);
            for (long k = 0; k < length; k++)
                out[o++] = out[from + k];
            i += 4;
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    long n = bench_arg(argc, argv, 1, 2000000, 16, 1000000000), rounds = bench_arg(argc, argv, 2, 15, 1, 100000);
    unsigned char *text = bench_alloc((size_t)n, 1), *back = bench_alloc((size_t)n, 1);
    unsigned char *packed = bench_alloc((size_t)(n + n / 64 + 16), 1);
    uint64_t random = 10, hash = 0;
    char words[512][12];
    for (int w = 0; w < 512; w++) {
        size_t length = 2 + bench_random(&random) % 9;
        for (size_t k = 0; k < length; k++)
            words[w][k] = (char)('a' + bench_random(&random) % 26);
        words[w][length] = 0;
    }
    for (long i = 0; i < n;) {
        const char *word = words[(bench_random(&random) >> 55) * (bench_random(&random) >> 55) >> 9];
        for (; *word && i < n; word++)
            text[i++] = (unsigned char)*word;
        if (i < n)
            text[i++] = ' ';
    }
    for (long r = 0; r < rounds; r++) {
        bench_lap();
        long size = pack(text, n, packed);
        if (unpack(packed, size, back) != n || memcmp(text, back, (size_t)n) != 0)
            bench_wrong("unpacked text differs");
        hash = bench_mix(hash, (uint64_t)size);
        text[(r * 7919) % n] ^= 1;
    }
    bench_print("lz", hash);
    free(text), free(back), free(packed);
    return 0;
}
