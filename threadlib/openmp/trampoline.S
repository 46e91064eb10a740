/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points: each is a jump through its word of the table.  A word first leads to peet__omp_lazy, which asks
 * plain.c whether the program is simulated and stores where to go from then on, so that later calls cost one jump.
 * And peet__omp_invoke(), which calls the body of a parallel region with any number of arguments.
 */
#include "arch/x86_64/forward.h"

        .text

        .p2align 4
        .type peet__omp_lazy, @function
peet__omp_lazy:
        FORWARD peet__omp_resolve
        .size peet__omp_lazy, . - peet__omp_lazy

        /* void peet__omp_invoke(fn, gtid, tid, count, arguments): fn(gtid, tid, arguments[0], ...) */
        .p2align 4
        .globl peet__omp_invoke
        .hidden peet__omp_invoke
        .type peet__omp_invoke, @function
peet__omp_invoke:
        .cfi_startproc
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq %rdi, %r11
        movq %rsi, %rdi
        movq %rdx, %rsi
        movq %r8, %r10
        movq %rcx, %rax
        subq $4, %rax
        jle 2f
        /* the fifth and later ones on the stack, the last one first, at a multiple of 16 */
        leaq 1(%rax), %rdx
        andq $-2, %rdx
        shlq $3, %rdx
        subq %rdx, %rsp
        xorl %edx, %edx
1:      movq 32(%r10,%rdx,8), %r8
        movq %r8, (%rsp,%rdx,8)
        incq %rdx
        cmpq %rax, %rdx
        jl 1b
2:      cmpq $4, %rcx
        jl 3f
        movq 24(%r10), %r9
3:      cmpq $3, %rcx
        jl 4f
        movq 16(%r10), %r8
4:      movq %rcx, %rax
        testq %rax, %rax
        jle 6f
        cmpq $2, %rax
        jl 5f
        movq 8(%r10), %rcx
5:      movq (%r10), %rdx
6:      xorl %eax, %eax
        call *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size peet__omp_invoke, . - peet__omp_invoke

        .set peet__omp_index, 0
#define X(name)                                                                                                        \
        .text;                                                                                                         \
        .p2align 4;                                                                                                    \
        .globl name;                                                                                                   \
        .type name, @function;                                                                                         \
name:   jmp *peet__omp_to_##name(%rip);                                                                                \
peet__omp_lazy_##name:                                                                                                 \
        movl $peet__omp_index, %r11d;                                                                                  \
        jmp peet__omp_lazy;                                                                                            \
        .size name, . - name;                                                                                          \
        .section .data.rel.peet_omp, "aw", @progbits;                                                                  \
peet__omp_to_##name:                                                                                                   \
        .quad peet__omp_lazy_##name;                                                                                   \
        .section .data.rel.ro.peet_omp, "aw", @progbits;                                                               \
        .quad peet__omp_lazy_##name, peet__omp_##name;                                                                 \
        .set peet__omp_index, peet__omp_index + 1;

        .section .data.rel.peet_omp, "aw", @progbits
        /* arrays: the compiler takes it that they begin at a multiple of 16 */
        .globl peet__omp_table
        .hidden peet__omp_table
        .p2align 4
peet__omp_table:
        .section .data.rel.ro.peet_omp, "aw", @progbits
        .globl peet__omp_entries
        .hidden peet__omp_entries
        .p2align 4
peet__omp_entries:
#include "entries.def"
        .section .note.GNU-stack, "", @progbits
