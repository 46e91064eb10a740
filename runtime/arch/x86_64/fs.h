/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread pointer (fs base).  The C library keeps it in the first word of the thread's control block too,
 * so reading it needs no special instruction.  Writing it takes a few cycles where the kernel lets programs use
 * FSGSBASE (Linux 5.9), and a system call elsewhere.  There it can be made absent in a few cycles: a segment register
 * takes the base of the segment that it is loaded with, and that of the flat data segment is 0.  What then uses
 * thread-local storage touches the first page of memory, or the kernel's half, and faults (contexts/pointer.c).
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

/** The selector of the flat data segment: __USER_DS. */
#define PEET__FLAT_SEGMENT 0x2b

/** Whether the calling thread has none. */
static inline int peet__fs_absent(void)
{
    unsigned selector;
    __asm__ volatile("movl %%fs, %0" : "=r"(selector));
    return __builtin_expect(selector == PEET__FLAT_SEGMENT, 0);
}

static inline void peet__fs_drop(void)
{
    __asm__ volatile("movl %0, %%fs" : : "r"(PEET__FLAT_SEGMENT) : "memory");
}

/** peet__fs_base() for code that changes it in between. */
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

/** Whether Valgrind executes the program, which knows no segment registers: its request RUNNING_ON_VALGRIND, a row of
 * rotations that do nothing (Valgrind's manual, "The Client Request mechanism"). */
static inline int peet__under_valgrind(void)
{
    const uint64_t request[6] = {0x1001};
    uint64_t result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
        : "+d"(result)
        : "a"(request)
        : "cc", "memory");
    return result != 0;
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
