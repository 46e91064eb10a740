/* SPDX-License-Identifier: Apache-2.0 */
/* A block hash and a table-driven checksum: rotates, constant tables, unrolled rounds. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t table[256];
static unsigned char text[16384];

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static const uint32_t k[16] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};

__attribute__((noinline)) static void rounds(uint32_t h[8], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = (rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10) + w[i - 7] + (rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 16];
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i & 15] + w[i];
        uint32_t t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

__attribute__((noinline)) static uint32_t checksum(const unsigned char *p, size_t n)
{
    uint32_t c = ~0u;
    while (n--)
        c = table[(c ^ *p++) & 255] ^ c >> 8;
    return ~c;
}

int main(void)
{
    uint32_t h[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (unsigned i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int j = 0; j < 8; j++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    for (unsigned i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * i >> 3);
    for (unsigned i = 0; i + 64 <= sizeof text; i += 64)
        rounds(h, text + i);
    printf("%08x %08x %08x\n", h[0], h[7], checksum(text, sizeof text));
    return 0;
}
