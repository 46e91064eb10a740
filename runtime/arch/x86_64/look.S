/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the subject's that may be there no longer: the handler of the fault (signals/fatal.c) goes on at
 * peet__look_fails if it comes from one of the accesses that have a name.
 */
        .text

/* int peet__look_same(const void *at, const void *copy, size_t bytes)
 * Whether @at holds what @copy does.  Memory that cannot be read does not. */
        .globl  peet__look_same, peet__look_words, peet__look_bytes, peet__look_fails
        .hidden peet__look_same, peet__look_words, peet__look_bytes, peet__look_fails
        .type   peet__look_same, @function
        .p2align 4
peet__look_same:
        .cfi_startproc
        xorl    %eax, %eax
1:      cmpq    $8, %rdx
        jb      2f
peet__look_words:
        movq    (%rdi), %rcx
        cmpq    (%rsi), %rcx
        jne     peet__look_fails
        addq    $8, %rdi
        addq    $8, %rsi
        subq    $8, %rdx
        jmp     1b
2:      testq   %rdx, %rdx
        jz      3f
peet__look_bytes:
        movb    (%rdi), %cl
        cmpb    (%rsi), %cl
        jne     peet__look_fails
        incq    %rdi
        incq    %rsi
        decq    %rdx
        jmp     2b
3:      movl    $1, %eax
peet__look_fails:
        ret
        .cfi_endproc
        .size   peet__look_same, . - peet__look_same

/* int peet__look_copy(void *to, const void *from, size_t bytes)
 * Whether all of it could be read and written. */
        .globl  peet__look_copy, peet__look_load, peet__look_store
        .hidden peet__look_copy, peet__look_load, peet__look_store
        .type   peet__look_copy, @function
        .p2align 4
peet__look_copy:
        .cfi_startproc
        xorl    %eax, %eax
1:      testq   %rdx, %rdx
        jz      2f
peet__look_load:
        movb    (%rsi), %cl
peet__look_store:
        movb    %cl, (%rdi)
        incq    %rdi
        incq    %rsi
        decq    %rdx
        jmp     1b
2:      movl    $1, %eax
        ret
        .cfi_endproc
        .size   peet__look_copy, . - peet__look_copy

        .section .note.GNU-stack, "", @progbits
