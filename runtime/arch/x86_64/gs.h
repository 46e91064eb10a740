/* SPDX-License-Identifier: Apache-2.0 */
/* The base of gs, which is added to the references of code compiled with -fpeet-domains.  See fs.h. */
#ifndef PEET_GS_H
#define PEET_GS_H

#include "fs.h"

static inline void peet__set_gs(uint64_t base)
{
    if (__builtin_expect(peet__fsgsbase, 1)) {
        __asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
    } else {
        long result;
        __asm__ volatile("syscall"
            : "=a"(result)
            : "a"((long)SYS_arch_prctl), "D"((long)ARCH_SET_GS), "S"(base)
            : "rcx", "r11", "memory");
    }
}

#endif
