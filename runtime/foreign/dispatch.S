/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translated code that does not know where to go on asks the translator: every register and flag is kept, by a stub
 * (arch/x86_64/stub.S), on a stack of the translator's own, since the subject's may be small, and may have something
 * below the stack pointer.
 */
#include "foreign.h"

#define STATE PEET_FOREIGN_LOW

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
        call    peet__stub_dispatch
        movq    STATE+PEET_FOREIGN_SUBJECT_SP, %rsp
        jmp     *STATE+PEET_FOREIGN_TO
        .cfi_endproc
        .size   peet__foreign_miss_return, . - peet__foreign_miss_return

/* A return to code that is not translated: a real one, which the processor has predicted since the call.  It is jumped
 * to as any place of the tables. */
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
