/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h.  Which interface there is is found out when the plug-in is loaded, before QEMU reads the version that it wants. */
#include "host.h"

#include "api.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef const void *data_of_version_1(const struct qemu_insn *insn);
#define CR3_PAGE 0x000ffffffffff000ull

EXPORT int qemu_plugin_version = 1;

/* The registers that are asked for: their names in gdb's description, and their numbers for version 1, which does not need CR3. */
enum { RAX, RSP, CR3, NASKED };
static const char *const names[NASKED] = {"rax", "rsp", "cr3"};
static const int numbers[NASKED] = {[RAX] = 0, [RSP] = 7};

static struct {
    struct qemu_bytes *bytes;
    struct qemu_cpu *cpus[PEET_QEMU_CPUS_MAX];
    struct qemu_register *registers[PEET_QEMU_CPUS_MAX][NASKED];
    uint64_t counted;
    int begun;
} host;

static int is_first(void)
{
    return qemu_plugin_version == 1;
}

__attribute__((constructor)) static void choose_version(void)
{
    if (qemu_plugin_read_register && qemu_plugin_request_time_control)
        qemu_plugin_version = qemu_plugin_write_register ? 5 : qemu_plugin_read_memory_vaddr ? 4 : 3;
}

static void begins(uint64_t id, unsigned cpu)
{
    struct qemu_registers *all = qemu_plugin_get_registers();

    (void)id;
    for (unsigned i = 0; all && cpu < PEET_QEMU_CPUS_MAX && i < all->n; i++)
        for (unsigned k = 0; k < NASKED; k++)
            if (!strcmp(all->all[i].name, names[k]))
                host.registers[cpu][k] = all->all[i].handle;
    if (all)
        g_array_free(all, 1);
}

int peet_qemu_host_install(uint64_t id)
{
    host.bytes = g_byte_array_new();
    if (is_first()) {
        if (!&singlestep || !qemu_get_cpu || !x86_cpu_gdb_read_register || !cpu_get_phys_page_debug ||
            !qemu_plugin_register_vcpu_tb_exec_inline) {
            fprintf(stderr,
                "peet-qemu: this QEMU's plug-ins cannot read registers, and it does not export its own "
                "functions for that; QEMU 9.1 and later can\n");
            return -1;
        }
        return 0;
    }
    qemu_plugin_register_vcpu_init_cb(id, begins);
    return 0;
}

void peet_qemu_host_begin(void)
{
    host.begun = 1;
    if (is_first())
        singlestep = 1;
}

int peet_qemu_host_has_begun(void)
{
    return host.begun;
}

int peet_qemu_host_registers(void)
{
    return is_first() ? QEMU_NO_REGISTERS : QEMU_READS_REGISTERS;
}

static uint64_t read_register(unsigned cpu, unsigned asked)
{
    uint64_t value = 0;

    if (cpu >= PEET_QEMU_CPUS_MAX)
        return 0;
    g_byte_array_set_size(host.bytes, 0);
    if (!is_first()) {
        if (host.registers[cpu][asked])
            qemu_plugin_read_register(host.registers[cpu][asked], host.bytes);
    } else {
        if (!host.cpus[cpu])
            host.cpus[cpu] = qemu_get_cpu((int)cpu);
        x86_cpu_gdb_read_register(host.cpus[cpu], host.bytes, numbers[asked]);
    }
    if (host.bytes->n)
        memcpy(&value, host.bytes->data, host.bytes->n < 8 ? host.bytes->n : 8);
    return value;
}

uint64_t peet_qemu_host_sp(unsigned cpu)
{
    return read_register(cpu, RSP);
}

uint32_t peet_qemu_host_eax(unsigned cpu)
{
    return (uint32_t)read_register(cpu, RAX);
}

uint64_t peet_qemu_host_page(unsigned cpu, uint64_t address)
{
    if (!is_first())
        return read_register(cpu, CR3) & CR3_PAGE;
    return cpu_get_phys_page_debug(host.cpus[cpu], address & ~(uint64_t)4095);
}

size_t peet_qemu_host_bytes(const struct qemu_insn *insn, void *to, size_t room)
{
    data_of_version_1 *const where = (data_of_version_1 *)(void (*)(void))qemu_plugin_insn_data;
    const size_t n = qemu_plugin_insn_size(insn);

    if (!is_first())
        return qemu_plugin_insn_data(insn, to, room);
    memcpy(to, where(insn), n < room ? n : room);
    return n < room ? n : room;
}

/* A score for each processor, counted by the code itself, corrupts the system in QEMU 10.0.2 if it has several processors. */
static void executes(unsigned cpu, void *arg)
{
    (void)cpu;
    (void)arg;
    host.counted++;
}

void peet_qemu_host_count(struct qemu_block *block)
{
    if (is_first())
        qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_ADD_U64, &host.counted, 1);
    else
        qemu_plugin_register_vcpu_tb_exec_cb(block, executes, QEMU_NO_REGISTERS, NULL);
}

uint64_t peet_qemu_host_counted(void)
{
    return host.counted;
}
