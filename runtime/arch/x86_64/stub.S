/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Yield stubs: where a check of compiled code goes when the ring is full.  Compiled code calls as
 *
 *     lea -128(%rsp), %rsp;  call *PEET_CONTROL_STUB;  lea 128(%rsp), %rsp
 *
 * at a place where it keeps no promise about stack alignment and expects every register, flag and
 * vector register back.
 */
#define CONTROL 0x7ffd0000
#define CURSOR (CONTROL + 0)
#define SCRATCH_BEGIN (CONTROL + 24)

/* State components that the full stub keeps: x87, SSE, AVX, mask registers, AVX-512.  Not kept: AMX
 * tiles, which the host never touches, and PKRU. */
#define XSAVE_MASK 0xe7
#define XSAVE_BYTES 2752
#define XSAVE_HEADER 512

        .text

/* The plain run: nobody reads the words. */
        .globl  peet__stub_plain
        .hidden peet__stub_plain
        .type   peet__stub_plain, @function
        .p2align 4
peet__stub_plain:
        .cfi_startproc
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        movq    SCRATCH_BEGIN, %rax
        movq    %rax, CURSOR
        popq    %rax
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   peet__stub_plain, . - peet__stub_plain

/* The simulated run: save everything, let peet__stub_yield(frame) suspend us, restore.  The frame is
 * what cpu.c reads: r15 r14 r13 r12 r11 r10 r9 r8 rdi rsi rbp rbx rdx rcx rax flags pc. */
        .globl  peet__stub_full
        .hidden peet__stub_full
        .type   peet__stub_full, @function
        .p2align 4
peet__stub_full:
        .cfi_startproc
        pushfq
        .cfi_adjust_cfa_offset 8
        .irp    reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \reg, 0
        .endr
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        cld
        subq    $XSAVE_BYTES, %rsp
        andq    $-64, %rsp
        movl    peet__xsave_kind(%rip), %ecx
        testl   %ecx, %ecx
        jz      1f
        xorl    %eax, %eax
        .irp    offset, 0, 8, 16, 24, 32, 40, 48, 56
        movq    %rax, XSAVE_HEADER+\offset(%rsp)
        .endr
        movl    $XSAVE_MASK, %eax
        xorl    %edx, %edx
        cmpl    $2, %ecx
        jne     2f
        xsavec64 (%rsp)
        vzeroupper
        jmp     3f
2:      xsave64 (%rsp)
        vzeroupper
        jmp     3f
1:      fxsave64 (%rsp)
3:      fninit
        movq    %rbp, %rdi
        call    peet__stub_yield
        cmpl    $0, peet__xsave_kind(%rip)
        je      4f
        movl    $XSAVE_MASK, %eax
        xorl    %edx, %edx
        xrstor64 (%rsp)
        jmp     5f
4:      fxrstor64 (%rsp)
5:      movq    %rbp, %rsp
        .cfi_def_cfa_register rsp
        .irp    reg, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .cfi_same_value \reg
        .endr
        popfq
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   peet__stub_full, . - peet__stub_full

        .section .note.GNU-stack, "", @progbits
