/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call whose frame notices that an exception leaves it, without the compiler's support library: the
 * personality routine (pthread_barrier.c) does the work itself and has no landing pad.
 */
        .text

/* void peet__once_call(void (*fn)(void)) */
        .globl  peet__once_call
        .hidden peet__once_call
        .type   peet__once_call, @function
        .p2align 4
peet__once_call:
        .cfi_startproc
        .hidden peet__once_personality
        .cfi_personality 0x1b, peet__once_personality
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    *%rdi
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   peet__once_call, . - peet__once_call

        .section .note.GNU-stack, "", @progbits
