/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a core takes for chains and streams of instructions, branches, and steps through its caches, in cycles. A chain of
 * dependent multiplications, three cycles each, is the clock, so that the same program says it of the processor that it runs
 * on and of a simulated one. Source of what the presets call measured.
 *
 *   clang-22 -O1 -c core.c && clang-22 -DCORE_MAIN core.c core.o -o core && ./core
 *   peetcc -DCORE_MAIN core.c core.o -o core.peet && peet run --foreign=record --machine x86,preset=zen3 -- ./core.peet 1 1000
 *
 * Arguments: the number of tries, of which the least counts (default 300: short ones, so that some of them are not disturbed
 * by another thread of the core); of turns (default 20000); the beginning of a name, which leaves all others out. The loops are
 * assembly, and so recorded as foreign code, from a plain object; main() is peetcc's.
 */
#ifdef CORE_MAIN
int core_main(int argc, char **argv);
int main(int argc, char **argv)
{
    return core_main(argc, argv);
}
#else
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REGION = 4 << 20, COINS = 1 << 14 };

static int tries = 300;
static uint64_t turns = 20000;
static const char *only = "";
static double cycle_ns;
static uint64_t value = 3;
static _Alignas(4096) unsigned char memory[REGION];
static unsigned char coins[COINS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static uint64_t random64(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int wanted(const char *name)
{
    return !strncmp(name, only, strlen(only));
}

static void say(const char *name, double ns, double per)
{
    printf("%-44s %7.2f\n", name, ns / cycle_ns / per);
}

/*
 * Cycles of one of @per in a loop of so many turns over the instructions, least of all tries. rax, rbx, xmm0: start at any value, 5,
 * 1; rsi: memory, whose first word is its own address and whose ninth is 0; rdi: coins; rcx counts; rdx is 0; r8 to r11 and xmm1 to xmm7 are free.
 */
#define LOOP(best, instructions) \
    for (int try = 0; try < tries; try++) { \
        register double x __asm__("xmm0") = 1; \
        uint64_t rounds = turns, a = value, b = 5; \
        uint64_t index = 0; \
        void *at = memory, *flips = coins; \
        *(void **)memory = memory; /* chains of loads go round in it */ \
        *(uint64_t *)(memory + 64) = 0; \
        const double begin = now_ns(); \
        double ns; \
        x = 1; \
        __asm__ volatile(".p2align 6\n1:\n" instructions "\ndec %%rcx\njnz 1b" \
            : "+c"(rounds), "+a"(a), "+b"(b), "+d"(index), "+S"(at), "+D"(flips), "+x"(x) \
            : \
            : "memory", "cc", "r8", "r9", "r10", "r11", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"); \
        ns = (now_ns() - begin) / (double)turns; \
        best = ns < best ? ns : best; \
        value = a | 1; /* random numbers go on */ \
    }
#define TIME(name, per, instructions) \
    do { \
        double best = 1e30; \
        if (!wanted(name)) \
            break; \
        LOOP(best, instructions) \
        say(name, best, per); \
    } while (0)
#define TEN(i) i "\n" i "\n" i "\n" i "\n" i "\n" i "\n" i "\n" i "\n" i "\n" i "\n"

static void clock_of(void)
{
    double best = 1e30;
    LOOP(best, TEN("imul %%rax, %%rax"))
    cycle_ns = best / 30;
}

static void latencies(void)
{
    TIME("chain: add", 10, TEN("add $1, %%rax"));
    TIME("chain: mov add", 10, TEN("mov %%rax, %%rdx\nlea 1(%%rdx), %%rax"));
    TIME("chain: lea three operands", 10, TEN("lea 1(%%rax,%%rbx,2), %%rax"));
    TIME("chain: shl", 10, TEN("shl $1, %%rax"));
    TIME("chain: shl cl", 10, TEN("shl %%cl, %%rax"));
    TIME("chain: cmov", 10, TEN("cmp $7, %%rax\ncmovb %%rbx, %%rax"));
    TIME("chain: setcc movzx", 10, TEN("cmp $7, %%rax\nsetb %%al\nmovzbl %%al, %%eax"));
    TIME("chain: adc", 10, TEN("adc %%rbx, %%rax"));
    TIME("chain: popcnt", 10, TEN("popcnt %%rax, %%rax"));
    TIME("chain: bsf", 10, TEN("bsf %%rbx, %%rbx"));
    TIME("chain: bswap", 10, TEN("bswap %%rax"));
    TIME("chain: xor rax rax, add", 10, TEN("xor %%eax, %%eax\nadd $1, %%rax"));
    TIME("chain: mul 64", 10, TEN("mul %%rbx"));
    TIME("chain: div 32, quotient of 4 bits", 5,
        "mov $40, %%eax\n.rept 5\nand $63, %%eax\nor $40, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 32, quotient of 28 bits", 5, ".rept 5\nor $0x7fffffff, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 64, quotient of 4 bits", 5,
        "mov $40, %%eax\n.rept 5\nand $63, %%eax\nor $40, %%eax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("chain: div 64, quotient of 60 bits", 5,
        ".rept 5\nmov $0x7fffffffffffffff, %%r8\nor %%r8, %%rax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("chain: idiv 32, quotient of 4 bits", 5, ".rept 5\nand $63, %%eax\nor $40, %%eax\ncltd\nidiv %%ebx\n.endr");
    TIME("chain: addsd", 10, TEN("addsd %%xmm0, %%xmm0"));
    TIME("chain: mulsd", 10, TEN("mulsd %%xmm0, %%xmm0"));
    TIME("chain: divsd", 10, TEN("divsd %%xmm0, %%xmm0"));
    TIME("chain: sqrtsd", 10, TEN("sqrtsd %%xmm0, %%xmm0"));
    TIME("chain: divss", 10, TEN("divss %%xmm0, %%xmm0"));
    TIME("chain: cvtsi2sd, cvttsd2si", 10, TEN("cvtsi2sd %%rax, %%xmm0\ncvttsd2si %%xmm0, %%rax"));
    TIME("chain: movq there and back", 10, TEN("movq %%rax, %%xmm0\nmovq %%xmm0, %%rax"));
    TIME("chain: ucomisd, cmov", 10, TEN("ucomisd %%xmm0, %%xmm0\ncmova %%rbx, %%rax\nmovq %%rax, %%xmm0"));
    TIME("chain: andpd", 10, TEN("andpd %%xmm0, %%xmm0"));
    TIME("chain: load", 10, TEN("mov (%%rsi), %%rsi"));
    TIME("chain: load, index", 10, TEN("mov 64(%%rsi,%%rdx,8), %%rdx"));
    TIME("chain: load a byte", 10, TEN("movzbl 64(%%rsi,%%rdx), %%edx"));
    TIME("chain: load into xmm, back", 10, TEN("movsd 64(%%rsi,%%rdx,8), %%xmm0\nmovq %%xmm0, %%rdx"));
    TIME("chain: add of memory", 10, TEN("add 64(%%rsi), %%rax"));
    TIME("chain: addsd of memory", 10, TEN("addsd 64(%%rsi), %%xmm0"));
}

static void widths(void)
{
    TIME("stream: nop", 20, TEN("nop\nnop"));
    TIME("stream: mov of registers", 10, TEN("mov %%rax, %%rdx"));
    TIME("stream: mov of a number", 20, TEN("mov $1, %%edx\nmov $2, %%r8d"));
    TIME("stream: zeros", 10, TEN("xor %%edx, %%edx"));
    TIME("stream: add", 20, TEN("add $1, %%rdx\nadd $1, %%r8"));
    TIME("stream: add, four chains", 20, ".rept 5\nadd $1, %%rdx\nadd $1, %%r8\nadd $1, %%r9\nadd $1, %%r10\n.endr");
    TIME("stream: add, five chains", 20,
        ".rept 4\nadd $1, %%rdx\nadd $1, %%r8\nadd $1, %%r9\nadd $1, %%r10\nadd $1, %%r11\n.endr");
    TIME("stream: lea", 20,
        ".rept 5\nlea 1(%%rax), %%rdx\nlea 2(%%rax), %%r8\nlea 3(%%rax), %%r9\nlea 4(%%rax), %%r10\n.endr");
    TIME("stream: lea three operands", 20,
        ".rept 5\nlea 1(%%rax,%%rbx), %%rdx\nlea 2(%%rax,%%rbx), %%r8\nlea 3(%%rax,%%rbx), %%r9\nlea 4(%%rax,%%rbx), %%r10\n.endr");
    TIME("stream: shl", 20, ".rept 5\nshl $1, %%rdx\nshl $1, %%r8\nshl $1, %%r9\nshl $1, %%r10\n.endr");
    TIME("stream: imul", 20,
        ".rept 5\nimul %%rax, %%rdx\nimul %%rax, %%r8\nimul %%rax, %%r9\nimul %%rax, %%r10\n.endr");
    TIME("stream: cmp cmov", 10, ".rept 5\ncmp $7, %%rdx\ncmovb %%rbx, %%r8\ncmp $7, %%rdx\ncmovb %%rbx, %%r9\n.endr");
    TIME("stream: div 32, small", 5, ".rept 5\nmov $40, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("stream: div 32, large", 5, ".rept 5\nmov $0x7fffffff, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("stream: div 64, small", 5, ".rept 5\nmov $40, %%eax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("stream: div 64, large", 5,
        "mov $0x7fffffffffffffff, %%r8\n.rept 5\nmov %%r8, %%rax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("stream: load", 20, TEN("mov (%%rsi), %%rdx\nmov 8(%%rsi), %%r8"));
    TIME("stream: load 16 bytes", 20, TEN("movaps (%%rsi), %%xmm1\nmovaps 16(%%rsi), %%xmm2"));
    TIME("stream: store to one line", 10, TEN("mov %%rax, (%%rsi)"));
    TIME("stream: store 16 bytes", 10, TEN("movaps %%xmm0, (%%rsi)"));
    TIME("stream: store to two lines in turn", 20, TEN("mov %%rax, (%%rsi)\nmov %%rax, 64(%%rsi)"));
    TIME("stream: load, store, add", 10, TEN("mov (%%rsi), %%rdx\nadd $1, %%r8\nmov %%rax, 64(%%rsi)"));
    TIME("stream: add to memory, four places", 20,
        ".rept 5\naddq $1, (%%rsi)\naddq $1, 64(%%rsi)\naddq $1, 128(%%rsi)\naddq $1, 192(%%rsi)\n.endr");
    TIME("stream: addsd, four chains", 20,
        ".rept 5\naddsd %%xmm0, %%xmm1\naddsd %%xmm0, %%xmm2\naddsd %%xmm0, %%xmm3\naddsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: mulsd, seven chains", 21,
        ".rept 3\nmulsd %%xmm0, %%xmm1\nmulsd %%xmm0, %%xmm2\nmulsd %%xmm0, %%xmm3\nmulsd %%xmm0, %%xmm4\n"
        "mulsd %%xmm0, %%xmm5\nmulsd %%xmm0, %%xmm6\nmulsd %%xmm0, %%xmm7\n.endr");
    TIME("stream: divsd", 20,
        ".rept 5\ndivsd %%xmm0, %%xmm1\ndivsd %%xmm0, %%xmm2\ndivsd %%xmm0, %%xmm3\ndivsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: sqrtsd", 20,
        ".rept 5\nsqrtsd %%xmm0, %%xmm1\nsqrtsd %%xmm0, %%xmm2\nsqrtsd %%xmm0, %%xmm3\nsqrtsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: cvtsi2sd", 10, TEN("cvtsi2sd %%rax, %%xmm1"));
    TIME("stream: movq to xmm", 10, TEN("movq %%rax, %%xmm1"));
    TIME("stream: pand", 20,
        ".rept 5\npand %%xmm0, %%xmm1\npand %%xmm0, %%xmm2\npand %%xmm0, %%xmm3\npand %%xmm0, %%xmm4\n.endr");
    TIME("stream: paddd", 20,
        ".rept 5\npaddd %%xmm0, %%xmm1\npaddd %%xmm0, %%xmm2\npaddd %%xmm0, %%xmm3\npaddd %%xmm0, %%xmm4\n.endr");
    TIME("stream: pshufd", 20,
        ".rept 5\npshufd $1, %%xmm0, %%xmm1\npshufd $1, %%xmm0, %%xmm2\npshufd $1, %%xmm0, %%xmm3\npshufd $1, %%xmm0, %%xmm4\n.endr");
}

static void forwarding(void)
{
    TIME("forward: store, load", 1, "mov %%rax, (%%rsi)\nmov (%%rsi), %%rax");
    TIME("forward: store, load by another register", 1, "mov %%rax, (%%rsi)\nlea (%%rsi), %%rdx\nmov (%%rdx), %%rax");
    TIME("forward: store, load by an old register", 1, "mov %%rsi, %%r8\nmov %%rax, (%%rsi)\nmov (%%r8), %%rax");
    TIME("forward: store, load, index", 1, "mov $1, %%edx\nmov %%rax, (%%rsi,%%rdx,8)\nmov (%%rsi,%%rdx,8), %%rax");
    TIME("forward: push, pop", 1, "lea -128(%%rsp), %%rsp\npush %%rax\npop %%rax\nlea 128(%%rsp), %%rsp");
    TIME("forward: add to memory", 1, "addq $1, (%%rsi)");
    TIME("forward: 4 bytes", 1, "mov %%eax, (%%rsi)\nmov (%%rsi), %%eax");
    TIME("forward: a byte", 1, "mov %%al, (%%rsi)\nmov (%%rsi), %%al");
    TIME("forward: byte, zero extended", 1, "mov %%al, (%%rsi)\nmovzbl (%%rsi), %%eax");
    TIME("forward: the low half", 1, "mov %%rax, (%%rsi)\nmov (%%rsi), %%eax");
    TIME("forward: the high half", 1, "mov %%rax, (%%rsi)\nmov 4(%%rsi), %%eax");
    TIME("forward: two halves into one (fails)", 1, "mov %%eax, (%%rsi)\nmov %%eax, 4(%%rsi)\nmov (%%rsi), %%rax");
    TIME("forward: xmm", 1, "movsd %%xmm0, (%%rsi)\nmovsd (%%rsi), %%xmm0");
    TIME("forward: from rax to xmm", 1, "mov %%rax, (%%rsi)\nmovsd (%%rsi), %%xmm0\nmovq %%xmm0, %%rax");
    TIME("forward: eight stores between", 1,
        "mov %%rax, (%%rsi)\n.set k, 8\n.rept 8\nmov %%rbx, k*8(%%rsi)\n.set k, k+1\n.endr\nmov (%%rsi), %%rax");
    TIME("forward: another place each turn", 1,
        "mov %%ecx, %%edx\nand $255, %%edx\nmov %%rax, (%%rsi,%%rdx,8)\nmov (%%rsi,%%rdx,8), %%rax");
    TIME("forward: as an addition's operand", 1, "mov %%rax, (%%rsi)\nadd (%%rsi), %%rax");
    TIME("forward: chain of addsd to memory", 1, "movsd (%%rsi), %%xmm1\naddsd %%xmm0, %%xmm1\nmovsd %%xmm1, (%%rsi)");
    TIME("forward: the address is the value", 1, "mov %%rsi, (%%rsi)\nmov (%%rsi), %%rsi");
}

/* Branches: @pattern says what coins hold. */
static void branches(void)
{
    uint64_t seed = 88172645463325252u;
    TIME("branch: not taken, each after a test", 10, "test %%rcx, %%rcx\n" TEN("jz 9f") "9:");
    TIME("branch: taken jumps", 10, ".rept 10\njmp 2f\n2:\n.endr");
    TIME("branch: taken jumps, 16 bytes apart", 10, ".rept 10\njmp 2f\n.p2align 4\n2:\n.endr");
    TIME("branch: taken jumps, 64 bytes apart", 10, ".rept 10\njmp 2f\n.p2align 6\n2:\n.endr");
    TIME("branch: taken jumps, three adds between", 10,
        ".rept 10\nadd $1, %%rdx\nadd $1, %%r8\nadd $1, %%r9\njmp 2f\n2:\n.endr");
    TIME("branch: taken jumps, seven nops between", 10,
        ".rept 10\nnop\nnop\nnop\nnop\nnop\nnop\nnop\njmp 2f\n2:\n.endr");
    TIME("branch: a loop of one turn", 1, "");
    TIME("branch: a loop of 4 instructions", 1, "nop\nnop");
    TIME("branch: a loop of 6 instructions", 1, "nop\nnop\nnop\nnop");
    TIME("branch: a loop of 7 instructions", 1, "nop\nnop\nnop\nnop\nnop");
    TIME("branch: a loop of 12 instructions", 1, TEN("nop"));
    TIME("branch: call, ret", 5,
        "lea -128(%%rsp), %%rsp\n.rept 5\ncall 2f\n.endr\nlea 128(%%rsp), %%rsp\njmp 3f\n2:\nret\n3:");
    TIME("branch: call, push, pop, ret", 5,
        "lea -128(%%rsp), %%rsp\n.rept 5\ncall 2f\n.endr\nlea 128(%%rsp), %%rsp\njmp 3f\n2:\npush %%rax\npop %%rax\nret\n3:");
    TIME("branch: indirect, always one target", 1, "lea 2f(%%rip), %%rdx\njmp *%%rdx\n2:");
    TIME("branch: indirect, two targets in turn", 1,
        "mov %%ecx, %%r8d\nand $1, %%r8d\nlea 2f(%%rip), %%rdx\nlea (%%rdx,%%r8,4), %%rdx\njmp *%%rdx\n2:\nnop\nnop\nnop\nnop\nnop");
    TIME("branch: indirect, four targets, a pattern of 8", 1,
        "mov %%ecx, %%r8d\nimul %%r8d, %%r8d\nshr $1, %%r8d\nand $3, %%r8d\nlea 2f(%%rip), %%rdx\nlea (%%rdx,%%r8,4), %%rdx\njmp *%%rdx\n2:\n"
        ".rept 16\nnop\n.endr");
    TIME("branch: indirect call, ret", 1,
        "lea -128(%%rsp), %%rsp\nlea 2f(%%rip), %%rdx\ncall *%%rdx\nlea 128(%%rsp), %%rsp\njmp 3f\n2:\nret\n3:");
#define COIN "mov %%ecx, %%edx\nand $16383, %%edx\nmovzbl (%%rdi,%%rdx), %%edx\ntest %%edx, %%edx\n"
    for (int i = 0; i < COINS; i++)
        coins[i] = 0;
    TIME("coin: always heads", 1, COIN "jz 2f\nadd $1, %%rax\n2:");
    for (int i = 0; i < COINS; i++)
        coins[i] = i & 1;
    TIME("coin: in turn", 1, COIN "jz 2f\nadd $1, %%rax\n2:");
    for (int i = 0; i < COINS; i++)
        coins[i] = i % 31 == 0;
    TIME("coin: one in 31", 1, COIN "jz 2f\nadd $1, %%rax\n2:");
    for (int i = 0; i < COINS; i++)
        coins[i] = random64(&seed) >> 33 & 1;
    for (int n = 64; n <= COINS; n *= 2) {
        char name[60];
        for (int i = n; i < COINS; i++)
            coins[i] = coins[i - n];
        snprintf(name, sizeof name, "coin: random, again after %d", n);
        for (int i = 0; i < n; i++)
            coins[i] = random64(&seed) >> 33 & 1;
        for (int i = n; i < COINS; i++)
            coins[i] = coins[i - n];
        TIME(name, 1, COIN "jz 2f\nadd $1, %%rax\n2:");
    }
}

/* An indirect jump to one of two or four targets, 64 bytes apart, in a random sequence that comes again. */
static void targets(void)
{
#define TARGET \
    "lea 2f(%%rip), %%r8\nshl $6, %%edx\nadd %%r8, %%rdx\njmp *%%rdx\n" \
    ".p2align 6\n2:\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\n3:"
#define WHICH "mov %%ecx, %%edx\nand $16383, %%edx\nmovzbl (%%rdi, %%rdx), %%edx\n"
    uint64_t seed = 7;
    for (int of = 2; of <= 4; of *= 2)
        for (int n = 4; n <= 4096; n *= 4) {
            char name[60];
            for (int i = 0; i < COINS; i++)
                coins[i] = i < n ? (unsigned char)((random64(&seed) >> 33) % (unsigned)of) : coins[i - n];
            snprintf(name, sizeof name, "targets: %d, again after %d", of, n);
            TIME(name, 1, WHICH TARGET);
            snprintf(name, sizeof name, "targets: %d, again after %d, a branch before", of, n);
            TIME(name, 1, WHICH "test $1, %%edx\njz 4f\nnop\n4:\n" TARGET);
        }
}

/* A coin is thrown in each turn; nobody can know how it falls. */
static void random_branches(void)
{
#define RANDOM \
    "mov %%rax, %%rdx\nshl $13, %%rdx\nxor %%rdx, %%rax\nmov %%rax, %%rdx\nshr $7, %%rdx\nxor %%rdx, %%rax\nmov %%rax, %%rdx\nshl $17, %%rdx\nxor %%rdx, %%rax\n"
    TIME("throw: no branch", 1, RANDOM "bt $33, %%rax");
    TIME("throw: branch over one instruction", 1, RANDOM "bt $33, %%rax\njc 2f\nadd $1, %%rbx\n2:");
    TIME("throw: indirect jump to one of two", 1,
        RANDOM
        "mov %%rax, %%rdx\nshr $33, %%rdx\nand $1, %%edx\nlea 2f(%%rip), %%r8\nlea (%%r8,%%rdx,4), %%rdx\njmp *%%rdx\n2:\nnop\nnop\nnop\nnop\nnop");
    TIME("throw: the same without the jump", 1,
        RANDOM
        "mov %%rax, %%rdx\nshr $33, %%rdx\nand $1, %%edx\nlea 2f(%%rip), %%r8\nlea (%%r8,%%rdx,4), %%rdx\n2:\nnop\nnop\nnop\nnop\nnop");
}

/* Steps through memory in random order, by lines. */
static void chase(const char *name, size_t bytes)
{
    const size_t n = bytes / 64;
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t seed = 3;
    double best = 1e30;
    void **p = (void **)memory;
    if (!wanted(name) || !order) {
        free(order);
        return;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = random64(&seed) % i;
        const uint32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < n; i++)
        *(void **)(memory + 64 * order[i]) = memory + 64 * order[(i + 1) % n];
    for (size_t i = 0; i < n; i++)
        p = *p;
    for (int try = 0; try < tries; try++) {
        const double begin = now_ns();
        double ns;
        for (uint64_t i = 0; i < 2 * turns; i++)
            p = *p;
        __asm__ volatile("" : "+r"(p));
        ns = (now_ns() - begin) / (2 * (double)turns);
        best = ns < best ? ns : best;
    }
    say(name, best, 1);
    free(order);
}

/* Through a region line by line, forwards, again and again. */
static void sweep(const char *name, size_t bytes, int writes)
{
    double best = 1e30;
    if (!wanted(name))
        return;
    for (int try = 0; try < tries + 1; try++) {
        const double begin = now_ns();
        double ns;
        uint64_t at = 0, sum = 0;
        if (writes)
            for (; at < bytes; at += 64)
                __asm__ volatile("mov %1, (%0)" : : "r"(memory + at), "r"(at) : "memory");
        else
            for (; at < bytes; at += 64)
                __asm__ volatile("add (%1), %0" : "+r"(sum) : "r"(memory + at) : "memory");
        ns = (now_ns() - begin) / (double)(bytes / 64);
        if (try)
            best = ns < best ? ns : best;
    }
    say(name, best, 1);
}

int core_main(int argc, char **argv);
int core_main(int argc, char **argv)
{
    tries = argc > 1 ? atoi(argv[1]) : tries;
    turns = argc > 2 ? (uint64_t)atol(argv[2]) : turns;
    only = argc > 3 ? argv[3] : only;
    if (tries < 1 || turns < 1) {
        fprintf(stderr, "usage: %s [TRIES [TURNS [NAME]]]\n", argv[0]);
        return 2;
    }
    memset(memory, 0, sizeof memory);
    clock_of();
    latencies();
    widths();
    forwarding();
    branches();
    targets();
    random_branches();
    chase("memory: steps in 16 KiB", 16 << 10);
    chase("memory: steps in 128 KiB", 128 << 10);
    chase("memory: steps in 256 KiB", 256 << 10);
    chase("memory: steps in 1 MiB", 1 << 20);
    sweep("memory: lines of 16 KiB, read", 16 << 10, 0);
    sweep("memory: lines of 256 KiB, read", 256 << 10, 0);
    sweep("memory: lines of 2 MiB, read", 2 << 20, 0);
    sweep("memory: lines of 16 KiB, written", 16 << 10, 1);
    sweep("memory: lines of 256 KiB, written", 256 << 10, 1);
    sweep("memory: lines of 2 MiB, written", 2 << 20, 1);
    return 0;
}
#endif
