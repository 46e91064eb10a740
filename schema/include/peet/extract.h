/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads' instructions out of the mixture that processors execute: programs, other programs, the operating system.
 * Whoever has a full-system simulator calls peet_extract_step() for each executed instruction; threads that have
 * executed the pattern of peet/marker.h come out, each with what it executed since.  Nothing here knows a simulator or
 * an operating system.
 *
 * The rule is that of the paper of 2013: when the pattern has been executed, the thread's stack is the region below the
 * end of the page that the stack pointer lies in, and the physical address of that page names the thread.  An
 * instruction is a thread's if the stack pointer lies in the thread's region and the region's first page has that
 * physical address in the address space in which the processor is.
 */
#ifndef PEET_EXTRACT_H
#define PEET_EXTRACT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEET_EXTRACT_UNMAPPED UINT64_MAX
#define PEET_EXTRACT_NO_NUMBER UINT64_MAX

struct peet_extract_insn {
    unsigned core;
    uint64_t pc;
    const uint8_t *bytes;
    unsigned length;
    uint64_t sp; /* before the instruction */
};

struct peet_extract_ops {
    /** translate() - the physical address of a virtual one, in the address space in which a core is.  Returns: it, or
     * PEET_EXTRACT_UNMAPPED */
    uint64_t (*translate)(void *arg, unsigned core, uint64_t address);
    /** number() - eax of a core, just after the pattern; NULL: it cannot be read.  Returns: it, or
     * PEET_EXTRACT_NO_NUMBER */
    uint64_t (*number)(void *arg, unsigned core);
    /** thread() - a thread has been found.  @thread: 0, 1, ...; @number: as in the marker.  May be NULL */
    void (*thread)(void *arg, unsigned thread, uint64_t number);
    /** insn() - an instruction of a thread; valid until it returns */
    void (*insn)(void *arg, unsigned thread, const struct peet_extract_insn *insn);
};

struct peet_extract_config {
    uint64_t stack_bytes; /* 0: 8 MiB */
    uint64_t page_bytes;  /* 0: 4096 */
    /* k of the paper: the stack ends so many pages above the beginning of the page of the pattern; 0: 1 */
    uint64_t pages_above;
};

struct peet_extract;

/** peet_extract_new() - @config: copied, NULL: all defaults; @ops: copied.  Returns: NULL without memory */
struct peet_extract *peet_extract_new(const struct peet_extract_config *config, const struct peet_extract_ops *ops,
    void *arg);
void peet_extract_free(struct peet_extract *extract);

/** peet_extract_step() - a core has executed an instruction.  Returns: its thread, -1: none that is traced, -2: out of
 * memory */
int peet_extract_step(struct peet_extract *extract, const struct peet_extract_insn *insn);

/** peet_extract_threads() - how many have been found */
unsigned peet_extract_threads(const struct peet_extract *extract);

#ifdef __cplusplus
}
#endif
#endif
