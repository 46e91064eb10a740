/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cooperative switch between the host's stack and a context's: what the calling convention says a
 * call preserves, and no more.  A check that yields has saved the rest already (stub.S).
 *
 * It is inline, and ends in a jump: the processor predicts returns by the calls that it has seen, and a
 * switch falsifies every prediction that is pending.  An out-of-line switch that returns made an event
 * there and back a third slower.
 */
#ifndef PEET_SWAP_H
#define PEET_SWAP_H

#include <stddef.h>
#include <stdint.h>

/** A suspended side. */
struct peet__saved {
    void *rsp, *rbp, *pc;
    uint32_t mxcsr;
    uint16_t x87_control, x87_flags; /* the latter: see peet__x87_flags() */
};
_Static_assert(offsetof(struct peet__saved, rbp) == 8 && offsetof(struct peet__saved, pc) == 16 &&
        offsetof(struct peet__saved, mxcsr) == 24 && offsetof(struct peet__saved, x87_control) == 28,
    "used below");

/** Suspend this side in *save, continue the one in *load.  Returns when somebody continues *save. */
static inline __attribute__((always_inline)) void peet__swap(struct peet__saved *save, const struct peet__saved *load)
{
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "movq %%rsp, 0(%0)\n\t"
                     "movq %%rbp, 8(%0)\n\t"
                     "movq %%rax, 16(%0)\n\t"
                     "stmxcsr 24(%0)\n\t"
                     "fnstcw 28(%0)\n\t"
                     "movl 24(%1), %%eax\n\t" /* loading control words is slow: only if they differ */
                     "cmpl 24(%0), %%eax\n\t"
                     "je 2f\n\t"
                     "ldmxcsr 24(%1)\n"
                     "2:\tmovzwl 28(%1), %%eax\n\t"
                     "cmpw 28(%0), %%ax\n\t"
                     "je 3f\n\t"
                     "fldcw 28(%1)\n"
                     "3:\tmovq 0(%1), %%rsp\n\t"
                     "movq 8(%1), %%rbp\n\t"
                     "jmp *16(%1)\n"
                     "1:"
        : "+D"(save), "+S"(load)
        :
        : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15");
}

/** What a call leaves in vector registers is nobody's, but a scalar conversion keeps the rest of its register, which is live
 * then: nothing of the host's may be there. */
static inline __attribute__((always_inline)) void peet__clear_vectors(void)
{
    __asm__ volatile("pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
                     "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
                     "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
                     "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15"
        :
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
}

/** Where a new context begins: with rsp at {fn, a, b}; calls fn(a, b), then peet__ctx_finished(). */
void peet__ctx_entry(void);

#endif
