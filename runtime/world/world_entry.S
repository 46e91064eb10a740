/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of the functions in world_table.h.  In a plain run an entry is one jump to the C library's function: through a word
 * of .bss, so that it needs no relocation and no constructor to have run; while the word is empty, world_bind() finds
 * the function.  __wrap_<name> is what this library itself gets when it calls the function (the linker's --wrap): always
 * the C library's.
 */
#include "arch/x86_64/forward.h"
#include "world/world_table.h"

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

/* The same as __wrap_<name> for other libraries of ours (unseen.S). */
#define X(name) .globl peet_rt_c_##name; .set peet_rt_c_##name, __wrap_##name;
PEET__WORLD_UNSEEN(X)
#undef X

/* r11: twice the number of the function, plus 1 for this library's own call.  Keeps all arguments, those of variadic
 * functions included. */
        .type   world_first, @function
        .p2align 4
world_first:
        FORWARD peet__world_bind
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
