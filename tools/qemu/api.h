/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plug-in uses of QEMU's plug-in interface (documented in QEMU's manual, "TCG Plugins"), declared here because no Debian package
 * has the header.  Types are opaque.  Two generations of the interface are served; what one of them lacks is declared weak, and host.c alone knows
 * which is there.
 *
 * Version 1 (QEMU 6.0 to 8.2) cannot read registers.  QEMU exports its own functions beside it, and three of them give what is missing:
 * qemu_get_cpu(), x86_cpu_gdb_read_register(), which appends a register's bytes to a GLib array, and cpu_get_phys_page_debug().  The state that they
 * see is that of the last translated block's end; so blocks must be of one instruction.  QEMU's variable `singlestep` says so; it is set when the first
 * pattern is translated, that of the system's first process, so that the system boots at full speed.
 *
 * Versions 3 to 5 (QEMU 9.1 and later) read registers by name in callbacks that ask for it.
 */
#ifndef PEET_QEMU_API_H
#define PEET_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_WEAK __attribute__((weak))

enum { QEMU_NO_REGISTERS = 0, QEMU_READS_REGISTERS = 1, QEMU_READS_AND_WRITES = 3, QEMU_ADD_U64 = 0 };

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
size_t qemu_plugin_insn_size(const struct qemu_insn *insn);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*fn)(uint64_t id, struct qemu_block *block));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_block *block, void (*fn)(unsigned cpu, void *arg), int registers,
    void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_insn *insn, void (*fn)(unsigned cpu, void *arg), int registers,
    void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_insn *insn,
    void (*fn)(unsigned cpu, uint32_t info, uint64_t address, void *arg), int registers, int which, void *arg);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*fn)(uint64_t id, unsigned cpu));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*fn)(uint64_t id, void *arg), void *arg);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);

/* From version 3 on it copies at most `room` bytes to `to`; in version 1 it has the first argument alone, and returns where they are. */
size_t qemu_plugin_insn_data(const struct qemu_insn *insn, void *to, size_t room);

/* GLib's, which QEMU is linked with. */
struct qemu_bytes {
    uint8_t *data;
    unsigned n;
};
struct qemu_bytes *g_byte_array_new(void);
struct qemu_bytes *g_byte_array_set_size(struct qemu_bytes *bytes, unsigned n);
char *g_array_free(void *array, int and_elements);

/* Version 1, and QEMU's own.  singlestep: blocks that are looked up from now on have one instruction */
extern QEMU_WEAK int singlestep;
struct qemu_cpu;
QEMU_WEAK struct qemu_cpu *qemu_get_cpu(int number);
QEMU_WEAK int x86_cpu_gdb_read_register(struct qemu_cpu *cpu, struct qemu_bytes *to, int number);
QEMU_WEAK uint64_t cpu_get_phys_page_debug(struct qemu_cpu *cpu, uint64_t page);
QEMU_WEAK void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_block *block, int operation, void *to,
    uint64_t value);

/* Versions 3 and later. */
struct qemu_register;
struct qemu_described {
    struct qemu_register *handle;
    const char *name, *feature;
};
struct qemu_registers {
    struct qemu_described *all;
    unsigned n;
};
QEMU_WEAK struct qemu_registers *qemu_plugin_get_registers(void);
QEMU_WEAK int qemu_plugin_read_register(struct qemu_register *handle, struct qemu_bytes *to);
QEMU_WEAK void qemu_plugin_request_time_control(void); /* version 3, by which it is told from 2 */
QEMU_WEAK void qemu_plugin_read_memory_vaddr(void);    /* version 4 */
QEMU_WEAK void qemu_plugin_write_register(void);       /* version 5 */

#endif
