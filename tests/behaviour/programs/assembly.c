/* SPDX-License-Identifier: Apache-2.0 */
/* Inline assembly: operands in registers and memory, flags as outputs, asm goto, the red zone, x87 and vector registers. */
#include <stdint.h>
#include <stdio.h>

static long cells[64];

__attribute__((noinline)) static long add(long a, long b)
{
    long r;
    __asm__("leaq (%1,%2), %0" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

__attribute__((noinline)) static int compare(long a, long b)
{
    int below, equal;
    __asm__("cmpq %3, %2" : "=@ccb"(below), "=@ccz"(equal) : "r"(a), "r"(b));
    return below * 2 + equal;
}

__attribute__((noinline)) static long scan(const char *s)
{
    long n = -1;
    __asm__ volatile("xorl %%eax, %%eax\n\trepne scasb" : "+D"(s), "+c"(n) : : "rax", "memory", "cc");
    return -n - 2;
}

__attribute__((noinline)) static int jump(int x)
{
    __asm__ goto("testl %0, %0\n\tjs %l1\n\tjz %l2" : : "r"(x) : "cc" : negative, zero);
    return 1;
negative:
    return -1;
zero:
    return 0;
}

__attribute__((noinline)) static long many(long a)
{
    long b = a * 3, c = b ^ 5, d = c + a, e = d * b;
    for (int i = 0; i < 20; i++) {
        __asm__ volatile("addq %1, %0\n\txorq %2, %1\n\timulq %3, %2" : "+r"(b), "+r"(c), "+r"(d) : "r"(e), "m"(cells[i])
                         : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc");
        cells[i] += b;
        e ^= c;
    }
    return b + c + d + e;
}

__attribute__((noinline)) static long red_zone(long x)
{
    long locals[6] = {x, x + 1, x + 2, x + 3, x + 4, x + 5}, sum = 0;
    for (int i = 0; i < 6; i++)
        __asm__ volatile("addq %1, %0" : "+r"(sum) : "m"(locals[i]));
    return sum + locals[x & 3];
}

__attribute__((noinline)) static double floats(double x)
{
    double r;
    __asm__("sqrtsd %1, %0" : "=x"(r) : "x"(x));
    __asm__("fldl %1\n\tfsin\n\tfstpl %0" : "=m"(r) : "m"(r));
    return r;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 500; i++) {
        sum += add(i, 7) + compare(i, 250) + scan("twelve chars") + jump(i - 3) + many(i) + red_zone(i);
        uint32_t a = 0, b, c, d;
        if (i % 100 == 0)
            __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
        sum += a > 0;
        __asm__ volatile("push %%rbx\n\tmovq %%rsp, %%rbx\n\tandq $-16, %%rsp\n\tmovq %%rbx, %%rsp\n\tpop %%rbx" : : : "memory", "cc");
    }
    printf("%ld %.6f\n", sum, floats(10));
    return 0;
}
