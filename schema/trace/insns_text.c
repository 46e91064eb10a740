/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two text formats.
 *
 * din (Dinero IV, -informat d): a line is a label, 0 a data read, 1 a data write, 2 an instruction fetch, and an
 * address in hexadecimal.
 * lackey (valgrind --tool=lackey --trace-mem=yes): "I  pc,size", " L address,size", " S address,size",
 * " M address,size"; other lines (Valgrind's own, which begin with ==) are skipped.
 *
 * In both, data follow their instruction.
 */
#include "trace/insns_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void din_write(struct peet_insn_writer *w, const struct peet_traced_insn *insn)
{
    if (!insn->again)
        fprintf(w->file, "2 %" PRIx64 "\n", insn->pc);
    for (unsigned i = 0; i < insn->nrefs; i++) {
        const struct peet_traced_ref *ref = &insn->refs[i];

        if (ref->kind == PEET_TRACED_LOAD || ref->kind == PEET_TRACED_MODIFY)
            fprintf(w->file, "0 %" PRIx64 "\n", ref->address);
        if (ref->kind == PEET_TRACED_STORE || ref->kind == PEET_TRACED_MODIFY)
            fprintf(w->file, "1 %" PRIx64 "\n", ref->address);
    }
}

static void lackey_write(struct peet_insn_writer *w, const struct peet_traced_insn *insn)
{
    static const char letters[] = {'L', 'S', 'M'};

    if (!insn->again)
        fprintf(w->file, "I  %08" PRIx64 ",%u\n", insn->pc, insn->length ? insn->length : 1);
    for (unsigned i = 0; i < insn->nrefs; i++)
        if (insn->refs[i].kind < sizeof letters)
            fprintf(w->file, " %c %08" PRIx64 ",%u\n", letters[insn->refs[i].kind], insn->refs[i].address,
                insn->refs[i].size ? insn->refs[i].size : 1);
}

/** The next line.  Returns: 1, 0 at the end, or a peet_err */
static int next_line(struct peet_insn_reader *r, struct peet_error *error)
{
    ssize_t n;

    errno = 0;
    n = getline(&r->line, &r->room, r->file);
    if (n < 0)
        return ferror(r->file) ? peet_error_set(error, PEET_EIO, "%s: cannot be read: %s", r->path, strerror(errno))
                               : 0;
    r->records++;
    if (n > 4096)
        return peet__insns_damaged(r, "a line of more than 4096 characters", error);
    r->line[strcspn(r->line, "\r\n")] = 0;
    return 1;
}

/** A data reference joins the instruction that has begun, or its continuation.  Returns: 1 if there is an instruction
 * to give */
static int add(struct peet_insn_reader *r, uint64_t address, uint32_t size, unsigned kind,
    struct peet_traced_insn *out_insn)
{
    struct peet_traced_insn next = {.pc = r->insn.pc, .length = r->insn.length, .again = r->begun};

    if (r->begun && peet__insns_add_ref(&r->insn, address, size, kind))
        return 0;
    peet__insns_add_ref(&next, address, size, kind);
    return peet__insns_give(r, &next, out_insn);
}

static int din_read(struct peet_insn_reader *r, struct peet_traced_insn *out_insn, struct peet_error *error)
{
    int got;

    while ((got = next_line(r, error)) > 0) {
        char *end, *at = r->line + strspn(r->line, " \t");
        unsigned long long address;

        if (!*at)
            continue;
        if (*at < '0' || *at > '4' || (at[1] != ' ' && at[1] != '\t'))
            return peet__insns_damaged(r, "a line is a label from 0 to 4 and an address", error);
        errno = 0;
        address = strtoull(at + 2, &end, 16);
        if (end == at + 2 || errno || strchr(at + 2, '-') || (*end && *end != ' ' && *end != '\t'))
            return peet__insns_damaged(r, "no address", error);
        if (*at == '2') {
            if (peet__insns_give(r, &(struct peet_traced_insn){.pc = address}, out_insn))
                return 1;
        } else if (*at <= '1' && add(r, address, 0, *at == '0' ? PEET_TRACED_LOAD : PEET_TRACED_STORE, out_insn)) {
            return 1;
        }
    }
    return got < 0 ? got : peet__insns_give(r, NULL, out_insn);
}

static int lackey_read(struct peet_insn_reader *r, struct peet_traced_insn *out_insn, struct peet_error *error)
{
    int got;

    while ((got = next_line(r, error)) > 0) {
        const char *text = r->line;
        uint64_t address;
        char kind;
        unsigned long size;
        int length = 0;

        if (!*text || !strncmp(text, "==", 2) || !strncmp(text, "--", 2))
            continue;
        if (sscanf(text, " %c %" SCNx64 ",%lu%n", &kind, &address, &size, &length) != 3 || text[length] ||
            strchr(text, '-') || !strchr("ILSM", kind) || size > 1 << 20)
            return peet__insns_damaged(r, "a line is I, L, S or M, an address and a size", error);
        if (kind == 'I') {
            if (size > 255)
                return peet__insns_damaged(r, "an instruction of more than 255 bytes", error);
            if (peet__insns_give(r, &(struct peet_traced_insn){.pc = address, .length = (uint8_t)size}, out_insn))
                return 1;
        } else if (add(r, address, (uint32_t)size,
                       kind == 'L'       ? PEET_TRACED_LOAD
                           : kind == 'S' ? PEET_TRACED_STORE
                                         : PEET_TRACED_MODIFY,
                       out_insn)) {
            return 1;
        }
    }
    return got < 0 ? got : peet__insns_give(r, NULL, out_insn);
}

const struct peet__insn_format peet__insns_din = {.name = "din", .write = din_write, .read = din_read};
const struct peet__insn_format peet__insns_lackey = {.name = "lackey", .write = lackey_write, .read = lackey_read};
