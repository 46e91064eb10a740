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

        .section .note.GNU-stack, "", @progbits
