/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plug-in asks of the QEMU that has loaded it, whichever generation of the plug-in interface that has (api.h): registers, address
 * spaces, bytes of instructions, how often the kernel has executed.  Called by the thread that executes the processor concerned.
 */
#ifndef PEET_QEMU_HOST_H
#define PEET_QEMU_HOST_H

#include <stddef.h>
#include <stdint.h>

struct qemu_block;
struct qemu_insn;

enum { PEET_QEMU_CPUS_MAX = 64 };

/** peet_qemu_host_install() - to be called once, by qemu_plugin_install().  Returns: 0; -1: a message has been printed */
int peet_qemu_host_install(uint64_t id);

/** peet_qemu_host_begin() - from now on instructions can be observed that are translated anew; _has_begun(): whether */
void peet_qemu_host_begin(void);
int peet_qemu_host_has_begun(void);

/** peet_qemu_host_registers() - what a callback before each instruction has to say it needs, for the functions below */
int peet_qemu_host_registers(void);
uint64_t peet_qemu_host_sp(unsigned cpu);
uint32_t peet_qemu_host_eax(unsigned cpu);
/**
 * peet_qemu_host_page() - what tells a page from those of the same address elsewhere: its physical address, or, where QEMU does not say that, the
 * address of the page tables that the processor uses (CR3), which is the address space's
 * Returns: it, or UINT64_MAX: nothing is mapped there
 */
uint64_t peet_qemu_host_page(unsigned cpu, uint64_t address);

/** peet_qemu_host_bytes() - at most `room` bytes of an instruction.  Returns: how many it has copied */
size_t peet_qemu_host_bytes(const struct qemu_insn *insn, void *to, size_t room);

/** peet_qemu_host_count() - count each execution of a block, by any processor; _counted(): how many there have been */
void peet_qemu_host_count(struct qemu_block *block);
uint64_t peet_qemu_host_counted(void);

#endif
