/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginnings of stacks: a new context's first instruction, and a call on another stack.
 */
        .text

/* Jumped to with rsp at {fn, a, b, filler}, 16-byte aligned behind them. */
        .globl  peet__ctx_entry
        .hidden peet__ctx_entry
        .type   peet__ctx_entry, @function
        .p2align 4
peet__ctx_entry:
        .cfi_startproc
        .cfi_undefined rip
        popq    %rax
        popq    %rdi
        popq    %rsi
        popq    %rcx
        xorl    %ebp, %ebp
        xorl    %ebx, %ebx      /* the host's: who keeps them for the caller takes them for values of the program's */
        xorl    %r12d, %r12d
        xorl    %r13d, %r13d
        xorl    %r14d, %r14d
        xorl    %r15d, %r15d
        .irp    r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        pxor    %xmm\r, %xmm\r /* as in peet__clear_vectors() */
        .endr
        call    *%rax
        call    peet__ctx_finished
        ud2
        .cfi_endproc
        .size   peet__ctx_entry, . - peet__ctx_entry

/* void peet__call_on(void *stack_top, void (*fn)(void *), void *arg) */
        .globl  peet__call_on
        .hidden peet__call_on
        .type   peet__call_on, @function
        .p2align 4
peet__call_on:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        movq    %rdi, %rsp
        andq    $-16, %rsp
        movq    %rdx, %rdi
        call    *%rsi
        movq    %rbp, %rsp
        .cfi_def_cfa_register rsp
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   peet__call_on, . - peet__call_on

        .section .note.GNU-stack, "", @progbits
