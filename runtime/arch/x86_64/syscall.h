/* SPDX-License-Identifier: Apache-2.0 */
/* A system call as it is: no errno, nobody's interposition, nothing that needs a relocation. */
#ifndef PEET_SYSCALL_H
#define PEET_SYSCALL_H

/** raw_syscall().  Returns: what the kernel returned; -4095 to -1: an errno, negated */
static inline long peet__raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
        : "=a"(result)
        : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
        : "rcx", "r11", "memory");
    return result;
}

#endif
