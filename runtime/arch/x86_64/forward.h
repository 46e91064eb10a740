/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * For assembler files: an entry that does not know yet where to go asks a C function and goes there as if nothing had
 * been.  Includers: world_entry.S, and threadlib's OpenMP entries.
 */
#ifndef PEET_FORWARD_H
#define PEET_FORWARD_H

/* FORWARD resolve: calls resolve(r11d) and jumps to what it returns.  All registers that may carry arguments, al of variadic
 * functions included, are what they were; the stack may stand at any multiple of 8. */
        .macro  FORWARD resolve
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        movq    %rsp, %rbp
        .cfi_def_cfa_register rbp
        andq    $-16, %rsp
        subq    $192, %rsp
        movq    %rdi, 128(%rsp)
        movq    %rsi, 136(%rsp)
        movq    %rdx, 144(%rsp)
        movq    %rcx, 152(%rsp)
        movq    %r8, 160(%rsp)
        movq    %r9, 168(%rsp)
        movq    %rax, 176(%rsp)
        movaps  %xmm0, (%rsp)
        movaps  %xmm1, 16(%rsp)
        movaps  %xmm2, 32(%rsp)
        movaps  %xmm3, 48(%rsp)
        movaps  %xmm4, 64(%rsp)
        movaps  %xmm5, 80(%rsp)
        movaps  %xmm6, 96(%rsp)
        movaps  %xmm7, 112(%rsp)
        movl    %r11d, %edi
        call    \resolve
        movq    %rax, %r11
        movaps  (%rsp), %xmm0
        movaps  16(%rsp), %xmm1
        movaps  32(%rsp), %xmm2
        movaps  48(%rsp), %xmm3
        movaps  64(%rsp), %xmm4
        movaps  80(%rsp), %xmm5
        movaps  96(%rsp), %xmm6
        movaps  112(%rsp), %xmm7
        movq    128(%rsp), %rdi
        movq    136(%rsp), %rsi
        movq    144(%rsp), %rdx
        movq    152(%rsp), %rcx
        movq    160(%rsp), %r8
        movq    168(%rsp), %r9
        movq    176(%rsp), %rax
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa rsp, 8
        jmp     *%r11
        .cfi_endproc
        .endm

#endif
