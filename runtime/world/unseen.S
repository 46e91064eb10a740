/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the other libraries of ours that run on the subject's contexts call of the C library.  Their calls are bound to this
 * library's entries as the program's are, and would be taken for the program's references.  Such a library has this file among its
 * sources and is linked with --wrap for each of the names (peet_unseen() in CMakeLists.txt).
 */
#include "world/world_table.h"

        .text
#define X(name)                                     \
        .globl  __wrap_##name;                      \
        .hidden __wrap_##name;                      \
        .type   __wrap_##name, @function;           \
__wrap_##name:                                      \
        jmp     *peet_rt_c_##name@GOTPCREL(%rip);   \
        .size   __wrap_##name, . - __wrap_##name;
PEET__WORLD_UNSEEN(X)

        .section .note.GNU-stack, "", @progbits
