/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a core takes for chains and streams of instructions, branches, and steps through its caches, in cycles. A chain of
 * dependent multiplications, three cycles each, is the clock, so that the same program says it of the processor that it runs
 * on and of a simulated one. Source of what the presets call measured.
 *
 *   clang-22 -O1 -c core.c && clang-22 -DCORE_MAIN core.c core.o -o core && ./core
 *   peetcc -DCORE_MAIN core.c core.o -o core.peet && peet run --foreign=record --machine x86,preset=zen3 -- ./core.peet 1 1000
 *
 * Arguments: the number of tries, of which the least counts (default 300); of turns (default 20000); the beginning of a name,
 * which leaves all others out. A try begins when no other thread of the core is at work, as four chains of additions tell; those
 * count in which that was still so at the end. Where there was none, the line ends with "disturbed". The loops are
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

enum { REGION = 4 << 20, COINS = 1 << 16 };

static int tries = 300;
static uint64_t turns = 20000;
static const char *only = "";
static double cycle_ns, asking_ns;
static int disturbed; /* no try of this measurement had the core for itself */
static uint64_t value = 3;
static _Alignas(4096) unsigned char memory[REGION];
static unsigned char coins[COINS];

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/** Four chains of additions for half a microsecond: they take four a cycle if no other thread of the core is at work. */
static double additions_ns(void)
{
    enum { ROUNDS = 160 };
    uint64_t w = 0, x = 0, y = 0, z = 0;
    const double begin = now_ns();

    for (int n = 0; n < ROUNDS; n++)
        __asm__ volatile(".rept 10\n add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n .endr"
            : "+r"(w), "+r"(x), "+r"(y), "+r"(z));
    return now_ns() - begin - asking_ns;
}

/** Has this thread the core for itself? Unknown before the clock is, and on cores that are narrower: then yes, too. */
static int quiet(void)
{
    static double least = 1e30;
    const double ns = additions_ns();

    least = ns < least ? ns : least;
    return ns < 1.06 * least;
}

/** A try begins when the core has been quiet for a while, or patience ends. */
static void await_quiet(void)
{
    for (int n = 0, asked = 0; n < 6 && asked < 2000; asked++)
        n = quiet() ? n + 1 : 0;
}

/** A try took so much. Those count that were undisturbed to their end, and others only as long as there are none. */
static void take(double ns, double *least, int first)
{
    const int undisturbed = quiet() && quiet() && quiet();

    disturbed = first ? 1 : disturbed;
    if (undisturbed >= !disturbed && (ns < *least || (undisturbed && disturbed)))
        *least = ns;
    disturbed = disturbed && !undisturbed;
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
    printf("%-52s %7.2f%s\n", name, ns / cycle_ns / per, disturbed ? "  disturbed" : "");
    fflush(stdout);
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
        *(uint64_t *)(memory + 72) = 0x1f80; /* as mxcsr is */ \
        *(uint64_t *)(memory + 128) = 0; \
        *(uint64_t *)(memory + 136) = 1; \
        double begin, ns; \
        await_quiet(); \
        begin = now_ns(); \
        x = 1; \
        __asm__ volatile(".p2align 6\n1:\n" instructions "\ndec %%rcx\njnz 1b" \
            : "+c"(rounds), "+a"(a), "+b"(b), "+d"(index), "+S"(at), "+D"(flips), "+x"(x) \
            : \
            : "memory", "cc", "r8", "r9", "r10", "r11", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"); \
        ns = (now_ns() - begin - asking_ns) / (double)turns; \
        take(ns, &best, !try); \
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
    asking_ns = 1e30;
    for (int i = 0; i < 100; i++) {
        const double begin = now_ns(), ns = now_ns() - begin;
        asking_ns = ns < asking_ns ? ns : asking_ns;
    }
    for (int i = 0; i < 100; i++)
        await_quiet();
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
    TIME("chain: div 32, quotient of 2 bits", 5,
        ".rept 5\nand $7, %%eax\nor $8, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 32, quotient of 12 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x4000, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 32, quotient of 20 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x400000, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 32, from edx", 5, ".rept 5\nmov $77, %%eax\nand $3, %%edx\ndiv %%ebx\n.endr");
    TIME("chain: div 64, from rdx", 5, ".rept 5\nmov $77, %%eax\nand $3, %%edx\ndiv %%rbx\n.endr");
    TIME("chain: div 64, quotient of 12 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x4000, %%eax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("chain: div 64, quotient of 28 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x40000000, %%eax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("chain: idiv 64, quotient of 12 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x4000, %%eax\ncqto\nidiv %%rbx\n.endr");
    TIME("chain: idiv 32, quotient of 20 bits", 5,
        ".rept 5\nand $0xfff, %%eax\nor $0x400000, %%eax\ncltd\nidiv %%ebx\n.endr");
    TIME("chain: remainders of 32 bits", 5, ".rept 5\nlea 0x4000(%%rdx), %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
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
    TIME("chain: load into xmm, no index, back", 10, TEN("movsd (%%rsi), %%xmm0\nmovq %%xmm0, %%rsi"));
    TIME("chain: load 16 bytes into xmm, back", 10, TEN("movups (%%rsi), %%xmm0\nmovq %%xmm0, %%rsi"));
    TIME("chain: load into xmm as an operand, back", 10,
        "xorps %%xmm0, %%xmm0\n" TEN("movq %%rsi, %%xmm0\nandpd (%%rsi), %%xmm0\nmovq %%xmm0, %%rsi"));
    TIME("chain: and, pcmpeqb of memory, pmovmskb, tzcnt", 10,
        TEN("and $0, %%eax\npcmpeqb 128(%%rsi,%%rax), %%xmm1\npmovmskb %%xmm1, %%eax\ntzcnt %%eax, %%eax"));
    TIME("chain: load as an operand, and", 10, TEN("and (%%rsi), %%rsi"));
    TIME("chain: load as an operand, index", 10, TEN("mov 64(%%rsi,%%rdx,8), %%rdx\nadd 64(%%rsi,%%rdx,8), %%rdx"));
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
    TIME("stream: idiv 32, small", 5, ".rept 5\nmov $40, %%eax\ncltd\nidiv %%ebx\n.endr");
    TIME("stream: idiv 32, large", 5, ".rept 5\nmov $0x7fffffff, %%eax\ncltd\nidiv %%ebx\n.endr");
    TIME("stream: idiv 64, small", 5, ".rept 5\nmov $40, %%eax\ncqto\nidiv %%rbx\n.endr");
    TIME("stream: div 32, small", 5, ".rept 5\nmov $40, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("stream: div 32, large", 5, ".rept 5\nmov $0x7fffffff, %%eax\nxor %%edx, %%edx\ndiv %%ebx\n.endr");
    TIME("stream: div 64, small", 5, ".rept 5\nmov $40, %%eax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("stream: div 64, large", 5,
        "mov $0x7fffffffffffffff, %%r8\n.rept 5\nmov %%r8, %%rax\nxor %%edx, %%edx\ndiv %%rbx\n.endr");
    TIME("stream: load", 20, TEN("mov (%%rsi), %%rdx\nmov 8(%%rsi), %%r8"));
    TIME("stream: load 16 bytes", 20, TEN("movaps (%%rsi), %%xmm1\nmovaps 16(%%rsi), %%xmm2"));
    TIME("stream: two loads and a store of 16 bytes", 10,
        TEN("movaps (%%rsi), %%xmm1\nmovaps 16(%%rsi), %%xmm2\nmovaps %%xmm0, 64(%%rsi)"));
    TIME("stream: a load and a store of 16 bytes", 10, TEN("movaps (%%rsi), %%xmm1\nmovaps %%xmm0, 64(%%rsi)"));
    TIME("stream: a load, a product and a store", 10,
        TEN("movsd 256(%%rsi), %%xmm1\nmulsd %%xmm0, %%xmm1\nmovsd %%xmm1, 64(%%rsi)"));
    TIME("stream: two loads of 8 bytes, a sum, a store", 10,
        TEN("movsd 256(%%rsi), %%xmm1\naddsd 320(%%rsi), %%xmm1\nmovsd %%xmm1, 64(%%rsi)"));
    TIME("stream: store of a double", 10, TEN("movsd %%xmm0, 64(%%rsi)"));
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
        "movapd %%xmm0, %%xmm1\nmovapd %%xmm0, %%xmm2\nmovapd %%xmm0, %%xmm3\nmovapd %%xmm0, %%xmm4\n.rept 5\ndivsd %%xmm0, %%xmm1\ndivsd %%xmm0, %%xmm2\ndivsd %%xmm0, %%xmm3\ndivsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: sqrtsd", 20,
        ".rept 5\nsqrtsd %%xmm0, %%xmm1\nsqrtsd %%xmm0, %%xmm2\nsqrtsd %%xmm0, %%xmm3\nsqrtsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: cvtsi2sd", 10, TEN("cvtsi2sd %%rax, %%xmm1"));
    TIME("stream: cvtsi2sd, a zero before", 10, TEN("xorps %%xmm1, %%xmm1\ncvtsi2sd %%rax, %%xmm1"));
    TIME("stream: cvttsd2si", 10, TEN("cvttsd2si %%xmm0, %%rdx"));
    TIME("stream: stmxcsr", 10, TEN("stmxcsr 64(%%rsi)"));
    TIME("stream: stmxcsr and 40 additions", 1,
        "stmxcsr 64(%%rsi)\n.rept 10\nadd $1, %%rdx\nadd $1, %%r8\nadd $1, %%r9\nadd $1, %%r10\n.endr");
    TIME("stream: stmxcsr and 40 products", 1,
        "stmxcsr 64(%%rsi)\n.rept 10\nmulsd %%xmm0, %%xmm1\nmulsd %%xmm0, %%xmm2\nmulsd %%xmm0, %%xmm3\nmulsd %%xmm0, %%xmm4\n.endr");
    TIME("stream: stmxcsr and 20 stores", 1, "stmxcsr 64(%%rsi)\n.rept 20\nmov %%rax, 128(%%rsi)\n.endr");
    TIME("stream: ldmxcsr and 40 additions", 1,
        "ldmxcsr 72(%%rsi)\n.rept 10\nadd $1, %%rdx\nadd $1, %%r8\nadd $1, %%r9\nadd $1, %%r10\n.endr");
    TIME("stream: ldmxcsr, the same", 10, "stmxcsr 64(%%rsi)\n" TEN("ldmxcsr 64(%%rsi)"));
    TIME("stream: stmxcsr, ldmxcsr, 4 products", 1,
        "stmxcsr 64(%%rsi)\nldmxcsr 64(%%rsi)\nmulsd %%xmm0, %%xmm1\nmulsd %%xmm0, %%xmm2\nmulsd %%xmm0, %%xmm3\nmulsd %%xmm0, %%xmm4");
    TIME("stream: movq from xmm", 10, TEN("movq %%xmm0, %%rdx"));
    TIME("stream: ucomisd", 10, TEN("ucomisd %%xmm0, %%xmm0"));
    TIME("stream: rol", 20, ".rept 5\nrol $3, %%rdx\nrol $3, %%r8\nrol $3, %%r9\nrol $3, %%r10\n.endr");
    TIME("stream: setb", 20, ".rept 5\nsetb %%dl\nsetb %%r8b\nsetb %%r9b\nsetb %%r10b\n.endr");
    TIME("stream: movzx", 20,
        ".rept 5\nmovzbl %%al, %%edx\nmovzbl %%bl, %%r8d\nmovzwl %%ax, %%r9d\nmovzwl %%bx, %%r10d\n.endr");
    TIME("stream: cmp and a branch that is not taken", 10, TEN("cmp $7, %%rbx\nje 9f") "9:");
    TIME("stream: popcnt", 20,
        ".rept 5\npopcnt %%rax, %%rdx\npopcnt %%rax, %%r8\npopcnt %%rax, %%r9\npopcnt %%rax, %%r10\n.endr");
    TIME("stream: mul 64", 10, TEN("mov %%rbx, %%rax\nmul %%rbx"));
    TIME("stream: imul of memory", 10, TEN("mov 64(%%rsi), %%rdx\nimul %%rbx, %%rdx"));
    TIME("stream: push", 10, "lea -128(%%rsp), %%rsp\n" TEN("push %%rax") "lea 208(%%rsp), %%rsp");
    TIME("stream: push and pop", 10, "lea -128(%%rsp), %%rsp\n" TEN("push %%rax\npop %%rdx") "lea 128(%%rsp), %%rsp");
    TIME("stream: movq to xmm", 10, TEN("movq %%rax, %%xmm1"));
    TIME("stream: pand", 20,
        ".rept 5\npand %%xmm0, %%xmm1\npand %%xmm0, %%xmm2\npand %%xmm0, %%xmm3\npand %%xmm0, %%xmm4\n.endr");
    TIME("stream: paddd", 20,
        ".rept 5\npaddd %%xmm0, %%xmm1\npaddd %%xmm0, %%xmm2\npaddd %%xmm0, %%xmm3\npaddd %%xmm0, %%xmm4\n.endr");
    TIME("stream: pshufd", 20,
        ".rept 5\npshufd $1, %%xmm0, %%xmm1\npshufd $1, %%xmm0, %%xmm2\npshufd $1, %%xmm0, %%xmm3\npshufd $1, %%xmm0, %%xmm4\n.endr");
}

/* How much work in advance of what waits: chains that begin anew in each turn, so that several are under way. */
static void windows(void)
{
#define WINDOW(n) \
    TIME("window: 8 divisions in a chain, " #n " nops", 1, \
        "movapd %%xmm0, %%xmm1\n.rept 8\ndivsd %%xmm0, %%xmm1\n.endr\n.rept " #n "\nnop\n.endr")
#define CHAIN(what, n, first, then) TIME("window: a chain of " #n " " what, 1, first "\n.rept " #n "\n" then "\n.endr")
#define ADDS(n) CHAIN("add", n, "xor %%edx, %%edx", "add $1, %%rdx")
#define SHIFTS(n) CHAIN("shl", n, "xor %%edx, %%edx", "shl $1, %%rdx")
#define MULTIPLICATIONS(n) CHAIN("imul", n, "mov %%rbx, %%rdx", "imul %%rbx, %%rdx")
#define LOADS(n) CHAIN("mov of memory", n, "mov %%rsi, %%rdx", "mov (%%rdx), %%rdx")
#define SUMS(n) CHAIN("addsd", n, "movapd %%xmm0, %%xmm1", "addsd %%xmm0, %%xmm1")
#define PRODUCTS(n) CHAIN("mulsd", n, "movapd %%xmm0, %%xmm1", "mulsd %%xmm0, %%xmm1")
    WINDOW(60);
    WINDOW(100);
    WINDOW(140);
    WINDOW(200);
    WINDOW(240);
    WINDOW(300);
    MULTIPLICATIONS(8);
    MULTIPLICATIONS(16);
    MULTIPLICATIONS(20);
    MULTIPLICATIONS(24);
    MULTIPLICATIONS(32);
    ADDS(16);
    ADDS(32);
    ADDS(48);
    ADDS(64);
    ADDS(96);
    ADDS(128);
    SHIFTS(16);
    SHIFTS(32);
    SHIFTS(48);
    SHIFTS(64);
    SHIFTS(96);
    LOADS(8);
    LOADS(16);
    LOADS(24);
    LOADS(32);
    LOADS(48);
    LOADS(64);
    LOADS(96);
    SUMS(16);
    SUMS(24);
    SUMS(32);
    SUMS(48);
    SUMS(64);
    SUMS(96);
    PRODUCTS(16);
    PRODUCTS(32);
    PRODUCTS(64);
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
    /* coins are random: which of two stores it is that a load asks for */
#define EITHER "mov %%ecx, %%r8d\nand $65535, %%r8d\nmovzbl (%%rdi,%%r8), %%r8d\n"
    uint64_t seed = 77;
    for (int kind = 0; kind < 3; kind++) {
        static const char *const kinds[] = {"never", "in turn", "at random"};
        char name[80];
        for (int i = 0; i < COINS; i++)
            coins[i] = kind == 0 ? 0 : kind == 1 ? i & 1 : random64(&seed) >> 33 & 1;
        snprintf(name, sizeof name, "forward: or from elsewhere, %s", kinds[kind]);
        TIME(name, 1, EITHER "mov %%rax, 256(%%rsi)\nmov 256(%%rsi,%%r8,8), %%rax\nadd $1, %%rax");
        snprintf(name, sizeof name, "forward: or from the store before, %s", kinds[kind]);
        TIME(name, 1,
            EITHER "mov %%rax, 256(%%rsi)\nmov %%rax, 264(%%rsi)\nmov 256(%%rsi,%%r8,8), %%rax\nadd $1, %%rax");
        snprintf(name, sizeof name, "forward: to the same place or not, %s", kinds[kind]);
        TIME(name, 1, EITHER "mov %%rax, 256(%%rsi,%%r8,8)\nmov 256(%%rsi), %%rax\nadd $1, %%rax");
        snprintf(name, sizeof name, "forward: add to one of two places, %s", kinds[kind]);
        TIME(name, 1, EITHER "addq $1, 256(%%rsi,%%r8,8)");
        snprintf(name, sizeof name, "forward: or from elsewhere, no chain, %s", kinds[kind]);
        TIME(name, 1, EITHER "mov %%rbx, 256(%%rsi)\nmov 256(%%rsi,%%r8,8), %%rax\nadd $1, %%rax");
    }
    for (int i = 0; i < COINS; i++)
        coins[i] = i % 3 == 0;
#define PERHAPS "test %%r8d, %%r8d\njz 2f\nmov %%rbx, 320(%%rsi)\n2:\n"
    TIME("forward: a store between now and then", 1,
        EITHER "mov %%rax, 256(%%rsi)\n" PERHAPS "mov 256(%%rsi), %%rax\nadd $1, %%rax");
    TIME("forward: a store between now and then, stack", 1,
        EITHER "mov %%rax, -256(%%rsp)\n" PERHAPS "mov -256(%%rsp), %%rax\nadd $1, %%rax");
    TIME("forward: a store between now and then, push", 1,
        "lea -128(%%rsp), %%rsp\n" EITHER "push %%rax\n" PERHAPS "pop %%rax\nadd $1, %%rax\nlea 128(%%rsp), %%rsp");
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
#define COIN "mov %%ecx, %%edx\nand $65535, %%edx\nmovzbl (%%rdi,%%rdx), %%edx\ntest %%edx, %%edx\n"
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
    for (int n = 64; n <= COINS;
        n += n < 32768 ? n : 8192) { /* those longer than the turns come again with the next try */
        char name[80];
        for (int i = n; i < COINS; i++)
            coins[i] = coins[i - n];
        snprintf(name, sizeof name, "coin: random, again after %d", n);
        for (int i = 0; i < n; i++)
            coins[i] = random64(&seed) >> 33 & 1;
        for (int i = n; i < COINS; i++)
            coins[i] = coins[i - n];
        TIME(name, 1, COIN "jz 2f\nadd $1, %%rax\n2:");
        snprintf(name, sizeof name, "coin: random, again after %d, 20 nops", n);
        TIME(name, 1, COIN "jz 2f\nadd $1, %%rax\n2:" TEN("nop\nnop"));
    }
}

/* Loops at the end of a line of 64 bytes and across it, and long instructions one after the other. */
static void lines(void)
{
#define AT(n) \
    TIME("lines: 200 turns of dec, jnz, " #n " bytes into a line", 200, \
        ".p2align 6\n.skip " #n " - 5, 0x90\nmov $200, %%edx\n2:\ndec %%edx\njnz 2b")
#define LONG_NOP(bytes, times) \
    TIME("lines: nops of " #bytes " bytes", times, \
        ".p2align 6\n.rept " #times "\n.skip " #bytes " - 8, 0x66\n.byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n.endr")
    AT(16);
    AT(56);
    AT(60);
    AT(61);
    AT(62);
    AT(63);
    AT(64);
    LONG_NOP(8, 400);
    LONG_NOP(10, 400);
    LONG_NOP(12, 400);
    LONG_NOP(15, 400);
}

/* Outcomes that need longer and longer histories: one in n differs, a random sequence of n comes again, a loop of n turns. */
static void late(void)
{
    static const int few[] = {2, 4, 8, 12, 14, 16, 20, 24, 32, 48, 64, 128, 192, 0},
                     many[] = {16, 64, 128, 256, 384, 512, 1024, 2048, 4096, 0};
    uint64_t seed = 88172645463325252u;
    char name[80];

    for (const int *n = few; *n; n++) {
        for (int i = 0; i < COINS; i++)
            coins[i] = i % *n == 0;
        snprintf(name, sizeof name, "late: not taken one in %d, at best %.2f", *n, 2 - 1. / *n);
        TIME(name, 1, COIN "jz 2f\nadd $1, %%rax\n2:");
        memset(coins, *n, sizeof coins);
        snprintf(name, sizeof name, "late: a loop of %d turns", *n);
        TIME(name, 1, "movzbl (%%rdi), %%edx\n2:\ndec %%edx\njnz 2b");
    }
    for (const int *n = many; *n; n++) {
        int ones = 0;

        for (int i = 0; i < COINS; i++)
            coins[i] = i < *n ? random64(&seed) >> 33 & 1 : coins[i - *n];
        for (int i = 0; i < *n; i++)
            ones += coins[i];
        snprintf(name, sizeof name, "late: random, again after %d, at best %.2f", *n, 2 - (double)ones / *n);
        TIME(name, 1, COIN "jz 2f\nadd $1, %%rax\n2:");
    }
}

/* A loop of 1 to 16 turns, each of a load that waits for the one before; how many turns is random, and comes again. */
static void loops(void)
{
    uint64_t seed = 99;
    for (int n = 4; n <= 16384; n *= 4) {
        char name[80];
        for (int i = 0; i < COINS; i++)
            coins[i] = i < n ? (unsigned char)(1 + (random64(&seed) >> 33) % 16) : coins[i - n];
        snprintf(name, sizeof name, "loops: 1 to 16 turns, again after %d", n);
        TIME(name, 1,
            "mov %%ecx, %%edx\nand $65535, %%edx\nmovzbl (%%rdi,%%rdx), %%edx\n2:\nmov (%%rsi), %%rsi\ndec %%edx\njnz 2b");
        snprintf(name, sizeof name, "loops: 1 to 16 turns, a new chain, again after %d", n);
        TIME(name, 1,
            "mov %%ecx, %%edx\nand $65535, %%edx\nmovzbl (%%rdi,%%rdx), %%edx\nmov %%rsi, %%r8\n"
            "2:\nmov (%%r8), %%r8\nimul $1, %%r8, %%r8\ndec %%edx\njnz 2b");
    }
}

/* An indirect jump to one of two or four targets, 64 bytes apart, in a random sequence that comes again. */
static void targets(void)
{
#define TARGET \
    "lea 2f(%%rip), %%r8\nshl $6, %%edx\nadd %%r8, %%rdx\njmp *%%rdx\n" \
    ".p2align 6\n2:\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\njmp 3f\n.p2align 6\n3:"
#define WHICH "mov %%ecx, %%edx\nand $65535, %%edx\nmovzbl (%%rdi, %%rdx), %%edx\n"
#define NEAR_TARGET \
    "lea 2f(%%rip), %%r8\nshl $4, %%edx\nadd %%r8, %%rdx\njmp *%%rdx\n" \
    ".p2align 6\n2:\njmp 3f\n.p2align 4\njmp 3f\n.p2align 4\njmp 3f\n.p2align 4\njmp 3f\n.p2align 4\n3:"
#define ODD_TARGET(apart) \
    "lea 2f(%%rip), %%r8\nimul $" apart ", %%edx, %%edx\nadd %%r8, %%rdx\njmp *%%rdx\n" \
    ".p2align 6\n2:\n.rept 4\njmp 3f\n.skip " apart " - 2, 0x90\n.endr\n.p2align 7\n3:"
#define CALLED \
    "lea 2f(%%rip), %%r8\nshl $4, %%edx\nadd %%r8, %%rdx\nlea -128(%%rsp), %%rsp\ncall *%%rdx\nlea 128(%%rsp), %%rsp\njmp 3f\n" \
    ".p2align 6\n2:\nret\n.p2align 4\nret\n.p2align 4\nret\n.p2align 4\nret\n.p2align 4\n3:"
    uint64_t seed = 7;
    for (int of = 2; of <= 4; of *= 2)
        for (int n = 4; n <= 4096; n *= 4) {
            char name[80];
            for (int i = 0; i < COINS; i++)
                coins[i] = i < n ? (unsigned char)((random64(&seed) >> 33) % (unsigned)of) : coins[i - n];
            snprintf(name, sizeof name, "targets: %d, again after %d", of, n);
            TIME(name, 1, WHICH TARGET);
            snprintf(name, sizeof name, "targets: %d, again after %d, a branch before", of, n);
            TIME(name, 1, WHICH "test $1, %%edx\njz 4f\nnop\n4:\n" TARGET);
            snprintf(name, sizeof name, "targets: %d, 16 bytes apart, again after %d", of, n);
            TIME(name, 1, WHICH NEAR_TARGET);
            snprintf(name, sizeof name, "targets: %d, 20 bytes apart, again after %d", of, n);
            TIME(name, 1, WHICH ODD_TARGET("20"));
            snprintf(name, sizeof name, "targets: %d, 24 bytes apart, again after %d", of, n);
            TIME(name, 1, WHICH ODD_TARGET("24"));
            snprintf(name, sizeof name, "targets: %d, 17 bytes apart, again after %d", of, n);
            TIME(name, 1, WHICH ODD_TARGET("17"));
            snprintf(name, sizeof name, "targets: %d, calls, again after %d", of, n);
            TIME(name, 1, WHICH CALLED);
        }
}

/* A coin is thrown in each turn; nobody can know how it falls. */
static void random_branches(void)
{
#define RANDOM \
    "mov %%rax, %%rdx\nshl $13, %%rdx\nxor %%rdx, %%rax\nmov %%rax, %%rdx\nshr $7, %%rdx\nxor %%rdx, %%rax\nmov %%rax, %%rdx\nshl $17, %%rdx\nxor %%rdx, %%rax\n"
    TIME("throw: no branch", 1, RANDOM "bt $33, %%rax");
    TIME("throw: branch over one instruction", 1, RANDOM "bt $33, %%rax\njc 2f\nadd $1, %%rbx\n2:");
    TIME("throw: branch by a comparison", 1, RANDOM "mov %%eax, %%r8d\ncmp $0, %%r8d\njl 2f\nadd $1, %%rbx\n2:");
    TIME("throw: the comparison alone", 1, RANDOM "mov %%eax, %%r8d\ncmp $0, %%r8d");
    TIME("throw: branch to another line", 1,
        RANDOM "bt $33, %%rax\njc 2f\nadd $1, %%rbx\njmp 3f\n.p2align 6\n.skip 64, 0x90\n2:\nadd $2, %%rbx\n3:");
    TIME("throw: branch, then 12 multiplications", 1,
        RANDOM "mov %%rax, %%r8\nbt $33, %%rax\njc 2f\nadd $1, %%rbx\n2:\n.rept 12\nimul %%r8, %%r8\n.endr");
    TIME("throw: no branch, then 12 multiplications", 1,
        RANDOM "mov %%rax, %%r8\nbt $33, %%rax\n.rept 12\nimul %%r8, %%r8\n.endr");
    TIME("throw: branch by what is loaded", 1,
        RANDOM "mov %%eax, %%r8d\nand $8, %%r8d\nmov 128(%%rsi,%%r8), %%r8\ntest %%r8, %%r8\njz 2f\nadd $1, %%rbx\n2:");
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
        double begin, ns;
        await_quiet();
        begin = now_ns();
        for (uint64_t i = 0; i < 2 * turns; i++)
            p = *p;
        __asm__ volatile("" : "+r"(p));
        ns = (now_ns() - begin - asking_ns) / (2 * (double)turns);
        take(ns, &best, !try);
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
        double begin, ns;
        uint64_t at = 0, sum = 0;
        await_quiet();
        begin = now_ns();
        if (writes)
            for (; at < bytes; at += 64)
                __asm__ volatile("mov %1, (%0)" : : "r"(memory + at), "r"(at) : "memory");
        else
            for (; at < bytes; at += 64)
                __asm__ volatile("add (%1), %0" : "+r"(sum) : "r"(memory + at) : "memory");
        ns = (now_ns() - begin - asking_ns) / (double)(bytes / 64);
        if (try)
            take(ns, &best, try == 1);
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
    windows();
    forwarding();
    branches();
    lines();
    late();
    loops();
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
