/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pointer (fs base).  The C library keeps it in the first word of the thread's control block too,
 * so reading it needs no special instruction.  Writing it takes a few cycles where the kernel lets programs use
 * FSGSBASE (Linux 5.9), and a system call elsewhere.
 */
#ifndef PEET_FS_H
#define PEET_FS_H

#include <asm/prctl.h>
#include <stdint.h>
#include <sys/syscall.h>

/** Whether wrfsbase may be executed. */
extern int peet__fsgsbase;
void peet__fsgsbase_probe(void);

static inline uint64_t peet__fs_base(void)
{
    uint64_t base;
    __asm__("movq %%fs:0, %0" : "=r"(base));
    return base;
}

/** The same, for code that changes it in between. */
static inline uint64_t peet__fs_base_now(void)
{
    uint64_t base;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(base) : : "memory");
    return base;
}

static inline __attribute__((always_inline)) void peet__set_fs(uint64_t base)
{
    if (__builtin_expect(peet__fsgsbase, 1)) {
        __asm__ volatile("wrfsbase %0" : : "r"(base) : "memory");
    } else {
        long result;
        __asm__ volatile("syscall"
            : "=a"(result)
            : "a"((long)SYS_arch_prctl), "D"((long)ARCH_SET_FS), "S"(base)
            : "rcx", "r11", "memory");
    }
}

/** set_stack_guard() - the word that compiled code puts below its frames and looks at again, of this thread */
static inline void peet__set_stack_guard(uint64_t word)
{
    __asm__ volatile("movq %0, %%fs:0x28" : : "r"(word) : "memory");
}

/** pointer_clear() - what the C library has mangled for a jump buffer, as it was */
static inline uint64_t peet__pointer_clear(uint64_t value)
{
    uint64_t guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (value >> 17 | value << 47) ^ guard;
}

#endif
