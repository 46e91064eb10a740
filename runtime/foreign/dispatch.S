/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translated code that does not know where to go on asks the translator: every register and flag is kept, on a stack of the
 * translator's own, since the subject's may be small, and may have something below the stack pointer.
 */
#include "foreign.h"

#define STATE PEET_FOREIGN_LOW
/* As in stub.S. */
#define XSAVE_MASK 0xe7
#define XSAVE_BYTES 2752
#define XSAVE_HEADER 512

        .text

/* Jumped to with the target in rdx; rcx and rdx are in the first two spill words. */
        .globl  peet__foreign_miss_return, peet__foreign_miss_jump
        .hidden peet__foreign_miss_return, peet__foreign_miss_jump
        .type   peet__foreign_miss_return, @function
        .type   peet__foreign_miss_jump, @function
        .p2align 4
peet__foreign_miss_return:
        .cfi_startproc
        .cfi_undefined rip
        movq    $1, STATE+PEET_FOREIGN_KIND
        jmp     1f
peet__foreign_miss_jump:
        movq    $0, STATE+PEET_FOREIGN_KIND
1:      movq    %rdx, STATE+PEET_FOREIGN_TARGET
        movq    STATE+PEET_FOREIGN_SPILL, %rcx
        movq    STATE+PEET_FOREIGN_SPILL+8, %rdx
        movq    %rsp, STATE+PEET_FOREIGN_SUBJECT_SP
        movq    STATE+PEET_FOREIGN_STACK, %rsp
        pushfq
        .irp    reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        pushq   %\reg
        .endr
        movq    %rsp, %rbp
        cld
        subq    $XSAVE_BYTES, %rsp
        andq    $-64, %rsp
        movl    peet__xsave_kind(%rip), %ecx
        testl   %ecx, %ecx
        jz      2f
        xorl    %eax, %eax
        .irp    offset, 0, 8, 16, 24, 32, 40, 48, 56
        movq    %rax, XSAVE_HEADER+\offset(%rsp)
        .endr
        movl    $XSAVE_MASK, %eax
        xorl    %edx, %edx
        xsave64 (%rsp)
        vzeroupper
        jmp     3f
2:      fxsave64 (%rsp)
3:      fninit
        call    peet__foreign_dispatch
        cmpl    $0, peet__xsave_kind(%rip)
        je      4f
        movl    $XSAVE_MASK, %eax
        xorl    %edx, %edx
        xrstor64 (%rsp)
        jmp     5f
4:      fxrstor64 (%rsp)
5:      movq    %rbp, %rsp
        .irp    reg, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
        popq    %\reg
        .endr
        popfq
        movq    STATE+PEET_FOREIGN_SUBJECT_SP, %rsp
        jmp     *STATE+PEET_FOREIGN_TO
        .cfi_endproc
        .size   peet__foreign_miss_return, . - peet__foreign_miss_return

/* A return to code that is not translated: a real one, which the processor has predicted since the call.  It is jumped to
 * as any place of the tables. */
        .globl  peet__foreign_native_return
        .hidden peet__foreign_native_return
        .type   peet__foreign_native_return, @function
        .p2align 4
peet__foreign_native_return:
        movq    STATE+PEET_FOREIGN_SPILL, %rcx
        movq    STATE+PEET_FOREIGN_SPILL+8, %rdx
        leaq    -8(%rsp), %rsp
        ret
        .size   peet__foreign_native_return, . - peet__foreign_native_return

        .section .note.GNU-stack, "", @progbits
