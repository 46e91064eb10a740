/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChampSim: 64 bytes for each instruction: its address (64 bits), whether it is a branch and is taken (8 each), 2
 * registers that it writes and 4 that it reads (8 each), 2 addresses that it writes and 4 that it reads (64 each), 0
 * where there is none.
 *
 * ChampSim finds the kind of a branch by its registers: 26 is the instruction pointer, 6 the stack pointer, 25 the
 * flags, any other number is "other".
 *
 *   kind             reads                        writes
 *   jump             ip                           ip
 *   indirect jump    other                        ip
 *   conditional      ip, flags                    ip
 *   call             ip, stack                    ip, stack
 *   indirect call    ip, stack, other             ip, stack
 *   return           stack                        ip, stack
 *
 * Registers of peet/module.h: rsp is 6, the flags are 25, all others are their number + 64.  "Other" are the registers
 * that the target comes from, or NONE if it lies at an address that no register is part of.
 */
#include "trace/insns_format.h"

#include <string.h>

enum { STACK = 6, FLAGS = 25, IP = 26, OTHERS = 64, REG_RSP = 4, REG_FLAGS = 48, NONE = 122, WRITES = 2, READS = 4 };

struct record {
    uint64_t ip;
    uint8_t is_branch, taken, writes[WRITES], reads[READS];
    uint64_t stores[WRITES], loads[READS];
};
_Static_assert(sizeof(struct record) == 64, "as it stands in the file");

static uint8_t to_champsim(unsigned reg)
{
    return (uint8_t)(reg == REG_RSP ? STACK : reg == REG_FLAGS ? FLAGS : reg + OTHERS);
}

/** Registers other than those by which ChampSim tells branches apart. */
static int other(unsigned reg)
{
    return reg != REG_RSP && reg != REG_FLAGS;
}

static void branch_registers(struct record *r, const struct peet_traced_insn *insn)
{
    static const struct {
        uint8_t reads[READS], writes[WRITES];
    } of[PEET_TRACED_BRANCHES] = {
        [PEET_TRACED_CONDITIONAL] = {{IP, FLAGS}, {IP}},
        [PEET_TRACED_JUMP] = {{IP}, {IP}},
        [PEET_TRACED_INDIRECT_JUMP] = {{NONE}, {IP}},
        [PEET_TRACED_CALL] = {{IP, STACK}, {IP, STACK}},
        [PEET_TRACED_INDIRECT_CALL] = {{IP, STACK, NONE}, {IP, STACK}},
        [PEET_TRACED_RETURN] = {{STACK}, {IP, STACK}},
    };

    r->is_branch = 1;
    r->taken = insn->branch != PEET_TRACED_CONDITIONAL || insn->taken;
    memcpy(r->reads, of[insn->branch].reads, READS);
    memcpy(r->writes, of[insn->branch].writes, WRITES);
    if (insn->branch != PEET_TRACED_INDIRECT_JUMP && insn->branch != PEET_TRACED_INDIRECT_CALL)
        return;
    unsigned at = insn->branch == PEET_TRACED_INDIRECT_JUMP ? 0 : 2; /* the place of "other" */
    for (unsigned i = 0; i < insn->nreads && at < READS; i++)
        if (other(insn->reads[i]))
            r->reads[at++] = to_champsim(insn->reads[i]);
}

static void put(struct peet_insn_writer *w, struct record *r)
{
    fwrite(r, sizeof *r, 1, w->file);
    memset(r->loads, 0, sizeof r->loads);
    memset(r->stores, 0, sizeof r->stores);
}

/** References that a record has no room for take further records of the same address, which are no branches. */
static void champsim_write(struct peet_insn_writer *w, const struct peet_traced_insn *insn)
{
    struct record r = {.ip = insn->pc};
    unsigned loads = 0, stores = 0, puts = 0;

    if (insn->branch && !insn->again) {
        branch_registers(&r, insn);
    } else {
        for (unsigned i = 0, n = 0; i < insn->nreads && n < READS; i++)
            r.reads[n++] = to_champsim(insn->reads[i]);
        for (unsigned i = 0, n = 0; i < insn->nwrites && n < WRITES; i++)
            r.writes[n++] = to_champsim(insn->writes[i]);
    }
    for (unsigned i = 0; i < insn->nrefs; i++) {
        const struct peet_traced_ref *ref = &insn->refs[i];
        const int load = ref->kind == PEET_TRACED_LOAD || ref->kind == PEET_TRACED_MODIFY;
        const int store = ref->kind == PEET_TRACED_STORE || ref->kind == PEET_TRACED_MODIFY;

        if (loads + (unsigned)load > READS || stores + (unsigned)store > WRITES) {
            put(w, &r);
            if (!puts++ && r.is_branch) {
                r = (struct record){.ip = insn->pc};
            }
            loads = stores = 0;
        }
        if (load)
            r.loads[loads++] = ref->address;
        if (store)
            r.stores[stores++] = ref->address;
    }
    put(w, &r);
}

static int has(const uint8_t *regs, unsigned n, unsigned reg)
{
    for (unsigned i = 0; i < n; i++)
        if (regs[i] == reg)
            return 1;
    return 0;
}

static unsigned branch_of(const struct record *r)
{
    const int ip = has(r->reads, READS, IP), stack = has(r->reads, READS, STACK), flags = has(r->reads, READS, FLAGS);
    const int writes_stack = has(r->writes, WRITES, STACK);
    int other = 0;

    for (unsigned i = 0; i < READS; i++)
        other |= r->reads[i] && r->reads[i] != IP && r->reads[i] != STACK && r->reads[i] != FLAGS;
    if (!has(r->writes, WRITES, IP))
        return PEET_TRACED_NONE;
    if (stack && writes_stack)
        return !ip ? PEET_TRACED_RETURN : other ? PEET_TRACED_INDIRECT_CALL : PEET_TRACED_CALL;
    if (!ip && other)
        return PEET_TRACED_INDIRECT_JUMP;
    return flags || other ? PEET_TRACED_CONDITIONAL : PEET_TRACED_JUMP;
}

static int champsim_read(struct peet_insn_reader *reader, struct peet_traced_insn *out_insn, struct peet_error *error)
{
    struct record r;
    const size_t n = fread(&r, 1, sizeof r, reader->file);

    if (!n)
        return ferror(reader->file) ? peet_error_set(error, PEET_EIO, "%s: cannot be read", reader->path) : 0;
    reader->records++;
    if (n < sizeof r)
        return peet__insns_damaged(reader, "it is cut off", error);
    if (r.is_branch > 1 || r.taken > 1)
        return peet__insns_damaged(reader, "neither a branch nor none", error);
    *out_insn = (struct peet_traced_insn){.pc = r.ip, .branch = (uint8_t)branch_of(&r), .taken = r.taken};
    for (unsigned i = 0; i < READS && !out_insn->branch; i++)
        if (r.reads[i])
            out_insn->reads[out_insn->nreads++] = (uint8_t)(r.reads[i] == STACK ? REG_RSP
                    : r.reads[i] == FLAGS                                       ? REG_FLAGS
                                                                                : r.reads[i] - OTHERS);
    for (unsigned i = 0; i < WRITES && !out_insn->branch; i++)
        if (r.writes[i])
            out_insn->writes[out_insn->nwrites++] = (uint8_t)(r.writes[i] == STACK ? REG_RSP
                    : r.writes[i] == FLAGS                                         ? REG_FLAGS
                                                                                   : r.writes[i] - OTHERS);
    for (unsigned i = 0; i < READS; i++)
        if (r.loads[i])
            peet__insns_add_ref(out_insn, r.loads[i], 0, PEET_TRACED_LOAD);
    for (unsigned i = 0; i < WRITES; i++)
        if (r.stores[i])
            peet__insns_add_ref(out_insn, r.stores[i], 0, PEET_TRACED_STORE);
    return 1;
}

const struct peet__insn_format peet__insns_champsim = {
    .name = "champsim", .write = champsim_write, .read = champsim_read};
