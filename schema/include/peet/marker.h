/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line in a thread's function, by which a full-system simulator recognises the thread in the instructions that a
 * processor executes:
 *
 *     void *work(void *arg)
 *     {
 *         peet_marker(3);
 *
 * The first page of the thread's stack is locked in memory, so that its physical address names the thread as long as it
 * lives, and a pattern of three instructions is executed that no compiler makes: mov number,%eax; add $0,%eax; add
 * $0,%eax.  peet/extract.h finds the pattern and takes the thread's instructions out of the mixture.  The method is
 * that of "Precise threaded traces" (2013): sections 2.2 and 2.3, Figure 2.
 *
 * Put the line at the beginning of the function with which the thread starts, where the stack is still in its first
 * page; in main() too.  Without a simulator it costs a system call.  Needs nothing else of peet's.
 */
#ifndef PEET_MARKER_H
#define PEET_MARKER_H

#include <stdint.h>
#include <sys/mman.h>

#if !defined __x86_64__
#error "peet/marker.h: the pattern is defined for x86-64"
#endif

/**
 * peet_marker() - this is a thread to be traced
 * @number: what its trace shall be called; different for all threads of all programs that are traced together
 * Returns: 0, or -1 with errno if the page could not be locked (the limit of locked memory): the thread is found all
 * the same, and lost if its first page is swapped out
 */
static __inline__ __attribute__((always_inline)) int peet_marker(uint32_t number)
{
    const uintptr_t page = 4096;
    int locked = mlock((void *)((uintptr_t)__builtin_frame_address(0) & ~(page - 1)), page);

    __asm__ __volatile__("movl %0, %%eax\n\taddl $0, %%eax\n\taddl $0, %%eax" : : "r"(number) : "eax", "cc", "memory");
    return locked;
}

#endif
