/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cooperative switch between the host's stack and a context's: what the calling convention says a
 * call preserves, and no more.  A check that yields has saved the rest already (stub.S).
 */
        .text

/* void peet__switch(void **save, void *load) */
        .globl  peet__switch
        .hidden peet__switch
        .type   peet__switch, @function
        .p2align 5
peet__switch:
        .cfi_startproc
        .irp    reg, rbp, rbx, r12, r13, r14, r15
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset \reg, 0
        .endr
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rsp, (%rdi)
        movl    (%rsp), %eax
        movzwl  4(%rsp), %ecx
        movq    %rsi, %rsp
        /* loading control words is slow: only if they differ */
        cmpl    (%rsp), %eax
        jne     1f
2:      cmpw    4(%rsp), %cx
        jne     3f
4:      addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        .irp    reg, r15, r14, r13, r12, rbx, rbp
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .cfi_same_value \reg
        .endr
        ret
        .cfi_adjust_cfa_offset 56
        .cfi_rel_offset r15, 8
        .cfi_rel_offset r14, 16
        .cfi_rel_offset r13, 24
        .cfi_rel_offset r12, 32
        .cfi_rel_offset rbx, 40
        .cfi_rel_offset rbp, 48
1:      ldmxcsr (%rsp)
        jmp     2b
3:      fldcw   4(%rsp)
        jmp     4b
        .cfi_endproc
        .size   peet__switch, . - peet__switch

/* Where a new context begins: r12(r13, r14), on an aligned stack, with no caller. */
        .globl  peet__ctx_entry
        .hidden peet__ctx_entry
        .type   peet__ctx_entry, @function
        .p2align 4
peet__ctx_entry:
        .cfi_startproc
        .cfi_undefined rip
        xorl    %ebp, %ebp
        movq    %r13, %rdi
        movq    %r14, %rsi
        call    *%r12
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
