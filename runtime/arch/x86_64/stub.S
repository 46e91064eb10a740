/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs: where a check of compiled code goes when the ring is full, and the hooks of atomic accesses,
 * clocks and markers.  Compiled code calls as
 *
 *     lea -128(%rsp), %rsp;  call *PEET_CONTROL_STUB;  lea 128(%rsp), %rsp
 *
 * at a place where it keeps no promise about stack alignment and expects every register, flag and
 * vector register back.  Hooks (peet/raw.h) are called the same way.
 */
#define CONTROL 0x7ffd0000
#define CURSOR (CONTROL + 0)
#define SCRATCH_BEGIN (CONTROL + 24)
#define FIRST_THREAD (CONTROL + 112)

/* State components that the full stub keeps: x87, SSE, AVX, mask registers, AVX-512.  Not kept: AMX
 * tiles, which the host never touches, and PKRU. */
#define XSAVE_MASK 0xe7
#define XSAVE_BYTES 2752
#define XSAVE_HEADER 512
#define XSAVE_SSE 2

/* The vector registers where xsave has not written them because all are zero.  Whether it writes zeros depends on the
 * processor, on how the registers became zero, and on switches by the kernel. */
        .section .rodata
        .p2align 4
        .type   zeros, @object
        .size   zeros, 256
zeros:  .zero   256

        .text

/* The plain run: nobody reads the words.  A thread that is not the one that its control page is for gets a page and
 * a ring of its own first.  A copy has 0 in FIRST_THREAD. */
        .globl  peet__stub_plain
        .hidden peet__stub_plain
        .type   peet__stub_plain, @function
        .p2align 4
peet__stub_plain:
        .cfi_startproc
        pushfq
        .cfi_adjust_cfa_offset 8
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        movq    %gs:FIRST_THREAD, %rax
        testq   %rax, %rax
        jz      1f
        cmpq    %fs:0, %rax
        jne     2f
1:      movq    %gs:SCRATCH_BEGIN, %rax
        movq    %rax, %gs:CURSOR
        popq    %rax
        .cfi_adjust_cfa_offset -8
        popfq
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_adjust_cfa_offset 16
2:      popq    %rax
        .cfi_adjust_cfa_offset -8
        popfq
        .cfi_adjust_cfa_offset -8
        jmp     peet__stub_own
        .cfi_endproc
        .size   peet__stub_plain, . - peet__stub_plain

/* The hooks of a plain run. */
        .globl  peet__stub_none
        .hidden peet__stub_none
        .type   peet__stub_none, @function
        .p2align 4
peet__stub_none:
        .cfi_startproc
        ret
        .cfi_endproc
        .size   peet__stub_none, . - peet__stub_none

/* The simulated run: save everything, call target(frame, xmm registers), which suspends us, restore.
 * The frame is what frame.h says.  A hook's word, in the code that we return to, says what vector state is
 * live; if none is, NULL is passed for it.  A check has no such word. */
#define FRAME_PC 128
#define HOOK_WORD 3
#define HOOK_VECTORS 0x40000000
#define HOOK_XMM 0x20000000
#define XMM_IMAGE 160

        .macro  STUB name, target, hook
        .globl  \name
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:
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
        movl    peet__xsave_kind(%rip), %ecx
        .if     \hook
        movq    FRAME_PC(%rbp), %rax
        movl    HOOK_WORD(%rax), %eax
        testl   $HOOK_VECTORS, %eax
        jnz     9f
        andq    $-16, %rsp
        testl   $HOOK_XMM, %eax
        jnz     7f
        testl   %ecx, %ecx
        jz      8f
        vzeroupper
8:      movq    %rbp, %rdi
        xorl    %esi, %esi
        call    \target
        jmp     5f
7:      subq    $256, %rsp
        .irp    r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movaps  %xmm\r, 16*\r(%rsp)
        .endr
        testl   %ecx, %ecx
        jz      6f
        vzeroupper
6:      movq    %rbp, %rdi
        movq    %rsp, %rsi
        call    \target
        .irp    r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        movaps  16*\r(%rsp), %xmm\r
        .endr
        jmp     5f
9:
        .endif
        subq    $XSAVE_BYTES, %rsp
        andq    $-64, %rsp
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
        leaq    XMM_IMAGE(%rsp), %rsi
        cmpl    $0, peet__xsave_kind(%rip)
        je      3f
        testl   $XSAVE_SSE, XSAVE_HEADER(%rsp)
        jnz     3f
        leaq    zeros(%rip), %rsi /* they are zero, and not written */
3:      call    \target
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
        .size   \name, . - \name
        .endm

        STUB    peet__stub_full, peet__stub_yield, 0
        STUB    peet__stub_own, peet__ring_own, 0
        STUB    peet__stub_real, peet__real_stub, 0
        STUB    peet__stub_foreign, peet__stub_foreign_yield, 0
        STUB    peet__stub_dispatch, peet__foreign_dispatch, 0
        STUB    peet__stub_cpuid, peet__foreign_cpuid, 0
        STUB    peet__stub_maps, peet__foreign_maps, 0
        STUB    peet__stub_loader, peet__hook_loader, 0
        STUB    peet__stub_turn, peet__hook_turn, 1
        STUB    peet__stub_clock, peet__hook_clock, 1
        STUB    peet__stub_mark, peet__hook_mark, 1
        STUB    peet__stub_outside, peet__hook_outside, 1
        STUB    peet__stub_return, peet__hook_return, 1

/* The dynamic linker's call of mmap() comes here (loader.c). */
        .globl  peet__loader_mmap
        .hidden peet__loader_mmap
        .type   peet__loader_mmap, @function
        .p2align 4
peet__loader_mmap:
        leaq    -128(%rsp), %rsp
        call    peet__stub_loader
        leaq    128(%rsp), %rsp
        movl    $9, %eax
        syscall
        jmp     *peet__loader_back(%rip)
        .size   peet__loader_mmap, . - peet__loader_mmap

        .section .note.GNU-stack, "", @progbits
