/* SPDX-License-Identifier: Apache-2.0 */
/* Straight code without end: blocks with thousands of references through different registers, and thousands of blocks in a row without a loop or a call.  With
 * SHORTER a third of them: the compiler takes a time that grows with the square. */
#include <stdio.h>

static long data[4096];
static long *volatile pointers[8];

#define R4(X, i) X(i) X(i + 1) X(i + 2) X(i + 3)
#define R16(X, i) R4(X, i) R4(X, i + 4) R4(X, i + 8) R4(X, i + 12)
#define R64(X, i) R16(X, i) R16(X, i + 16) R16(X, i + 32) R16(X, i + 48)
#define R256(X, i) R64(X, i) R64(X, i + 64) R64(X, i + 128) R64(X, i + 192)
#define R1024(X, i) R256(X, i) R256(X, i + 256) R256(X, i + 512) R256(X, i + 768)

/* a reference through a freshly loaded pointer each time: nothing can be derived */
#define CHASE(i) p = pointers[(i) & 7]; sum += p[(i) & 255]; p[((i) * 7) & 255] = sum;
#define BRANCH(i) if (x & (1l << ((i) % 63))) { sum += q[(i)]; q = pointers[(i) & 7]; }

__attribute__((noinline)) static long one_block(long sum)
{
    long *p;
    R1024(CHASE, 0)
#ifndef SHORTER
    R1024(CHASE, 1)
#endif
    return sum;
}

__attribute__((noinline)) static long many_blocks(long x, long sum)
{
    long *q = pointers[0];
    R1024(BRANCH, 0)
#ifndef SHORTER
    R1024(BRANCH, 3)
    R1024(BRANCH, 5)
#endif
    return sum;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 8; i++)
        pointers[i] = data + i * 311;
    for (int i = 0; i < 4096; i++)
        data[i] = i * 31 % 127;
    for (int i = 0; i < 20; i++) {
        sum += one_block(i);
        sum ^= many_blocks(~0l >> (i % 7), sum);
        sum ^= many_blocks(0x5a5a5a5a5a5a5al << (i % 3), i);
    }
    printf("%lx\n", (unsigned long)sum);
    return 0;
}
