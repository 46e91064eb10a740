/* SPDX-License-Identifier: Apache-2.0 */
/* Inline assembly: operands of all kinds, prefixes, sizes, addresses with symbols, loops and branches. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static long cells[64], table[16][4];
static struct {
    int first, second;
    long deep[8];
} record;

__attribute__((noinline)) static long locked(long *p, long by)
{
    long old = by, expected = 7;
    char equal;
    __asm__ volatile("lock addq %1, %0" : "+m"(*p) : "er"(by) : "cc");
    __asm__ volatile("lock; xaddq %0, %1" : "+r"(old), "+m"(*p) : : "memory", "cc");
    __asm__ volatile("lock cmpxchgq %3, %1\n\tsete %0" : "=q"(equal), "+m"(*p), "+a"(expected) : "r"(by) : "memory", "cc");
    __asm__ volatile("lock ; incl %0" : "+m"(record.second) : : "cc");
    __asm__ volatile("lock; addl $0, 0(%%rsp)" : : : "memory", "cc");
    __asm__ volatile("lock orl %1, %0" : "+m"(record.second) : "i"(0x40000000) : "cc"); /* no symbol */
    __asm__ volatile("lock andl $0xbfffffff, %0" : "+m"(record.second) : : "cc");
    __asm__ volatile("lock btsq %1, %0" : "+m"(cells[3]) : "I"(5L) : "cc", "memory");
    return old + expected + equal;
}

__attribute__((noinline)) static long exchange(int *p, int x)
{
    short y = (short)x;
    char z = (char)x;
    __asm__ volatile("xchgl %0, %1" : "+r"(x), "+m"(*p) : : "memory");
    __asm__ volatile("xchgw %w0, %1" : "+r"(y), "+m"(*(short *)p));
    __asm__ volatile("xchgb %b0, %1" : "+q"(z), "+m"(*(char *)p));
    return x + y + z;
}

__attribute__((noinline)) static uint64_t swap(uint64_t x, uint32_t y)
{
    uint16_t z = (uint16_t)y;
    __asm__("bswapq %0" : "+r"(x));
    __asm__("bswapl %k0" : "+r"(y));
    __asm__("rorw $8, %w0" : "+r"(z) : : "cc");
    __asm__("movb %h1, %b0" : "+Q"(x) : "Q"(y));
    return x ^ y ^ z;
}

__attribute__((noinline)) static long symbols(int i)
{
    long a, b, c, d;
    __asm__("movq %1, %0" : "=r"(a) : "m"(cells[9]));
    __asm__("movq 8+%1, %0" : "=r"(b) : "m"(cells[9]));
    __asm__("movq %H1, %0" : "=r"(c) : "m"(record.deep[3]));
    __asm__("movq %1, %0\n\taddq %2, %0\n\tmovq %0, %3" : "=&r"(d) : "m"(table[i][1]), "m"(table[i][2]), "m"(table[i][3]) : "cc", "memory");
    return a + b + c + d;
}

__attribute__((noinline)) static int multiply(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t low;
    unsigned char carry;
    __asm__("mulq %3" : "=a"(low), "=d"(*high) : "a"(a), "rm"(b) : "cc");
    __asm__("addq %2, %0\n\tsetc %1" : "+r"(low), "=q"(carry) : "r"(a) : "cc");
    __asm__("adcq $0, %0" : "+m"(*high) : : "cc");
    return (int)low + carry;
}

__attribute__((noinline)) static void move(void *to, const void *from, size_t n)
{
    void *t = to;
    size_t left = n;
    __asm__ volatile("cld\n\trep movsb" : "+D"(t), "+S"(from), "+c"(left) : : "memory");
    __asm__ volatile("rep stosb" : "+D"(t), "+c"(n) : "a"('.') : "memory");
}

__attribute__((noinline)) static double vectors(const double *x, const float *y)
{
    double r[2], s;
    float f = 2;
    __asm__("movupd %1, %%xmm4\n\taddpd %%xmm4, %%xmm4\n\tmovupd %%xmm4, %0" : "=m"(r) : "m"(*(const double(*)[2])x) : "xmm4");
    __asm__("sqrtsd %1, %0" : "=x"(s) : "xm"(x[1]));
    __asm__("mulss %1, %0" : "+x"(f) : "m"(*y));
    return r[0] + r[1] + s + f;
}

/* Bytes instead of instructions, and a prefix that makes another instruction. */
__attribute__((noinline)) static long bytes(long x, const long *p)
{
    int low = 32;
    long a, b = x, c;
    __asm__ volatile(".byte 0xf3, 0x90");
    __asm__("rep; bsfl %1, %0" : "+r"(low) : "r"((int)x) : "cc");
    __asm__(".byte 0x48, 0x8b, 0x07 # movq (%%rdi), %%rax\n\t.byte 0x48; .byte 0x01, 0xd0, 0x90" : "=a"(a), "+d"(b) : "D"(p), "m"(*p) : "cc");
    __asm__("xorl %%edx, %%edx\n\tdivq %2" : "=a"(c), "=&d"(b) : "m"(cells[5]), "0"(x) : "cc");
    return low + a + b + c;
}

/* Modifiers: of size where the operand may be in memory, addresses in registers, parts of vectors. */
__attribute__((noinline)) static long modified(long *p, long by)
{
    double v = 2;
    long r;
    __asm__ volatile("movq %q1, %0\n\taddl %k2, %k1\n\tprefetcht0 %a3\n\taddq %a3, %0" : "=&r"(r), "+m"(cells[31]) : "ir"(7L), "r"(p) : "cc", "memory");
    __asm__("movaps %x0, %%xmm7\n\taddsd %%xmm7, %x0" : "+x"(v) : : "xmm7");
    return r + by + (long)v;
}

__attribute__((noinline)) static void fences(void)
{
    __asm__ volatile("mfence" : : : "memory");
    __asm__ volatile("lfence; sfence" : : : "memory");
    __asm__ volatile("pause" : : : "memory");
    __asm__ volatile("nop\n\tnop");
    __asm__ volatile("prefetcht0 %0" : : "m"(cells[20]));
}

__attribute__((noinline)) static int flags(long a, long b)
{
    int below, equal;
    __asm__("cmpq %3, %2" : "=@ccb"(below), "=@ccz"(equal) : "r"(a), "rm"(b));
    __asm__("testl %1, %1\n\tcmovz %2, %0" : "+r"(below) : "r"(equal), "rm"((int)a) : "cc");
    return below * 2 + equal;
}

/* Loops and branches, with labels of both kinds; what follows a label may be aligned, or nothing. */
__attribute__((noinline)) static long length(const char *text)
{
    long n;
    __asm__ volatile("xorl %k0, %k0\n\t.p2align 4\n.Lnext%=:\tcmpb $0, (%1,%0)\n\tje .Lend%=\n\tincq %0\n\tjmp .Lnext%=\n.Lend%=:"
                     : "=&r"(n)
                     : "r"(text)
                     : "cc", "memory");
    return n;
}

__attribute__((noinline)) static long bits(unsigned long x, long *odd)
{
    long n = 0;
    __asm__("testq %2, %2\n\tjz 3f\n1:\n\tshrq $1, %2\n\tjnc 2f\n\tincq %0\n\txorq $1, %1\n2:\ttestq %2, %2\n\tjnz 1b\n3:" : "+r"(n), "+m"(*odd), "+r"(x) : : "cc");
    return n;
}

__attribute__((noinline)) static double product(const double *x, const double *y, long n)
{
    double r;
    __asm__ volatile("xorpd %%xmm0, %%xmm0\n\t.align 16\n1:\n\tmovupd (%1), %%xmm2\n\tmovupd (%2), %%xmm3\n\tmulpd %%xmm3, %%xmm2\n\t"
                     "addpd %%xmm2, %%xmm0\n\taddq $16, %1\n\taddq $16, %2\n\tsubq $2, %3\n\tjnz 1b\n\t"
                     "movapd %%xmm0, %%xmm2\n\tunpckhpd %%xmm0, %%xmm2\n\taddsd %%xmm2, %%xmm0\n\tmovsd %%xmm0, %0"
                     : "=m"(r), "+r"(x), "+r"(y), "+r"(n)
                     :
                     : "xmm0", "xmm2", "xmm3", "cc", "memory");
    return r;
}

__attribute__((noinline)) static int spin(unsigned *lock)
{
    unsigned got;
    __asm__ volatile("1:\tmovl $1, %1\n\txchgl %1, %0\n\ttestl %1, %1\n\tjz 3f\n2:\trep; nop\n\tcmpl $0, %0\n\tjne 2b\n\tjmp 1b\n3:" : "+m"(*lock), "=&r"(got) : : "memory", "cc");
    __asm__ volatile("movl $0, %0" : "=m"(*lock) : : "memory");
    return (int)got;
}

int main(void)
{
    double x[2] = {3, 16}, sum = 0;
    float y = 1.5f;
    uint64_t high = 1;
    char text[64], copy[64];
    memset(text, 'a', sizeof text);
    memset(copy, 0, sizeof copy);
    for (int i = 0; i < 64; i++)
        cells[i] = i * i;
    for (int i = 0; i < 64; i++)
        table[i / 4][i % 4] = i;
    for (int i = 0; i < 300; i++) {
        sum += (double)(locked(&cells[i % 32], i) % 1000) + (double)exchange(&record.first, i) + (double)(swap((uint64_t)i, (uint32_t)i) % 1000);
        sum += (double)symbols(i % 16) + multiply((uint64_t)i * 77, ~0ull / (uint64_t)(i + 1), &high) % 100 + (double)(high % 10);
        move(copy, text, (size_t)i % 20);
        sum += vectors(x, &y) + copy[i % 64] + flags(i, 150) + (double)bytes(i, &cells[i % 9]) + (double)(modified(&cells[i % 8], i) % 100);
        fences();
        text[60] = 0;
        sum += (double)length(text + i % 60) + (double)bits((unsigned long)i * 0x9e3779b97f4a7c15, &cells[i % 64]) + spin((unsigned *)&record.deep[2]);
        sum += product((const double *)table, (const double *)cells, 2 + i % 60 / 2 * 2);
    }
    printf("%.3f %d\n", sum, record.second);
    return 0;
}
