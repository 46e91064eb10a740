/* SPDX-License-Identifier: Apache-2.0 */
/* What insns.c and the formats share. */
#ifndef PEET_TRACE_INSNS_FORMAT_H
#define PEET_TRACE_INSNS_FORMAT_H

#include "trace/insns.h"

#include <stdio.h>

struct peet__insn_format {
    const char *name;
    void (*begin)(struct peet_insn_writer *writer);
    void (*write)(struct peet_insn_writer *writer, const struct peet_traced_insn *insn);
    void (*end)(struct peet_insn_writer *writer);
    int (*read)(struct peet_insn_reader *reader, struct peet_traced_insn *out_insn, struct peet_error *error);
};

struct peet_insn_writer {
    const struct peet__insn_format *format;
    FILE *file;
    char *path;
    struct peet_whole *whole;
    uint64_t thread, instructions;
};

struct peet_insn_reader {
    const struct peet__insn_format *format;
    FILE *file;
    char *path, *line;
    size_t room;
    uint64_t records;
    int failed, begun, ended;
    struct peet_traced_insn insn; /* begun: more of it may follow */
    /* drmemtrace: of the branch that follows; what is left of a bundle; the file's thread.  untold: the next instruction
     * says whether what has begun was taken */
    uint64_t target, lengths, thread;
    unsigned untold, bundled, has_thread;
};

extern const struct peet__insn_format peet__insns_din, peet__insns_lackey, peet__insns_champsim, peet__insns_drmemtrace;

int peet__insns_damaged(struct peet_insn_reader *reader, const char *what, struct peet_error *error);
/** Returns: 0 if there is no room for more */
int peet__insns_add_ref(struct peet_traced_insn *insn, uint64_t address, uint32_t size, unsigned kind);
/** Returns: whether an instruction had been gathered, which is in @out_insn */
int peet__insns_give(struct peet_insn_reader *reader, const struct peet_traced_insn *next,
    struct peet_traced_insn *out_insn);

#endif
