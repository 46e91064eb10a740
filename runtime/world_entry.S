/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of the functions in world_table.h.  In a plain run an entry is one jump to the C library's function: through a word
 * of .bss, so that it needs no relocation and no constructor to have run; while the word is empty, world_bind() finds
 * the function.  __wrap_<name> is what this library itself gets when it calls the function (the linker's --wrap): always
 * the C library's.
 */
#include "world_table.h"

        .set    peet__at, 0

        .macro  ENTRY name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        movq    peet__world_to+8*peet__at(%rip), %r11
        testq   %r11, %r11
        je      1f
        jmp     *%r11
1:      movl    $2*peet__at, %r11d
        jmp     world_first
        .cfi_endproc
        .size   \name, . - \name

        .globl  __wrap_\name
        .hidden __wrap_\name
        .type   __wrap_\name, @function
__wrap_\name:
        .cfi_startproc
        movq    peet__world_real+8*peet__at(%rip), %r11
        testq   %r11, %r11
        je      1f
        jmp     *%r11
1:      movl    $2*peet__at+1, %r11d
        jmp     world_first
        .cfi_endproc
        .size   __wrap_\name, . - __wrap_\name
        .set    peet__at, peet__at+1
        .endm

        .text
#define X(name) ENTRY name;
PEET__WORLD(X)
#undef X

/* r11: twice the number of the function, plus 1 for this library's own call.  Keeps all arguments, those of variadic
 * functions included. */
        .type   world_first, @function
        .p2align 4
world_first:
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
        movups  %xmm0, (%rsp)
        movups  %xmm1, 16(%rsp)
        movups  %xmm2, 32(%rsp)
        movups  %xmm3, 48(%rsp)
        movups  %xmm4, 64(%rsp)
        movups  %xmm5, 80(%rsp)
        movups  %xmm6, 96(%rsp)
        movups  %xmm7, 112(%rsp)
        movl    %r11d, %edi
        call    peet__world_bind
        movq    %rax, %r11
        movups  (%rsp), %xmm0
        movups  16(%rsp), %xmm1
        movups  32(%rsp), %xmm2
        movups  48(%rsp), %xmm3
        movups  64(%rsp), %xmm4
        movups  80(%rsp), %xmm5
        movups  96(%rsp), %xmm6
        movups  112(%rsp), %xmm7
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
        .size   world_first, . - world_first

        .bss
        .p2align 6
        .globl  peet__world_to, peet__world_real
        .hidden peet__world_to, peet__world_real
peet__world_to:
        .space  8*peet__at
peet__world_real:
        .space  8*peet__at

        .section .note.GNU-stack, "", @progbits
