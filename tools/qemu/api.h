/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plug-in uses of QEMU's plug-in interface (documented in QEMU's manual, "TCG Plugins"), declared here because no Debian package
 * has the header.  Types are opaque, numbers are those of interface version 1, which QEMU 6.0 to 8.1 accept.
 *
 * That interface cannot read registers.  QEMU exports its own functions beside it, and three of them give what is missing: qemu_get_cpu(),
 * x86_cpu_gdb_read_register(), which appends a register's bytes to a GLib array, and cpu_get_phys_page_debug().  The state that they
 * see is that of the last translated block's end; so blocks must be of one instruction.  QEMU's variable `singlestep` says so; it is set when the first
 * pattern is translated, that of the system's first process, so that the system boots at full speed.
 */
#ifndef PEET_QEMU_API_H
#define PEET_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QEMU_PLUGIN_VERSION = 1, QEMU_NO_REGISTERS = 0, QEMU_READS_AND_WRITES = 3, QEMU_ADD_U64 = 0 };

struct qemu_info {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;
};

struct qemu_block;
struct qemu_insn;

uint64_t qemu_plugin_tb_vaddr(const struct qemu_block *block);
size_t qemu_plugin_tb_n_insns(const struct qemu_block *block);
struct qemu_insn *qemu_plugin_tb_get_insn(const struct qemu_block *block, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_insn *insn);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*fn)(uint64_t id, struct qemu_block *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_block *block, int operation, void *to, uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_insn *insn, void (*fn)(unsigned cpu, void *arg), int registers,
    void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_insn *insn,
    void (*fn)(unsigned cpu, uint32_t info, uint64_t address, void *arg), int registers, int which, void *arg);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*fn)(uint64_t id, void *arg), void *arg);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);

/* QEMU's own, and GLib's.  singlestep: blocks that are looked up from now on have one instruction */
extern int singlestep;
struct qemu_cpu;
struct qemu_bytes {
    uint8_t *data;
    unsigned n;
};
struct qemu_cpu *qemu_get_cpu(int number);
int x86_cpu_gdb_read_register(struct qemu_cpu *cpu, struct qemu_bytes *to, int number);
uint64_t cpu_get_phys_page_debug(struct qemu_cpu *cpu, uint64_t page);
struct qemu_bytes *g_byte_array_new(void);
struct qemu_bytes *g_byte_array_set_size(struct qemu_bytes *bytes, unsigned n);
enum { QEMU_REGISTER_RAX = 0, QEMU_REGISTER_RSP = 7 }; /* as gdb numbers them */

#endif
