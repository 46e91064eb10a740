/* SPDX-License-Identifier: Apache-2.0 */
/* `peet schema` for people, and the texts that both forms share; see schema_print.h. */
#include "schema_print.h"

#include "number.h"

#include <inttypes.h>
#include <stdio.h>

const char *peet_cli_class_text(unsigned klass)
{
    static const char *const texts[] = {"other", "move", "int", "int-mul", "int-div", "fp-add", "fp-mul", "fp-div",
        "fp-other", "simd", "branch", "jump", "call", "return", "fence", "atomic", "string", "nop", "asm"};
    _Static_assert(sizeof texts / sizeof *texts == PEET_INSN_CLASSES, "each class has a name");
    return klass < PEET_INSN_CLASSES ? texts[klass] : "unknown";
}

const char *peet_cli_ref_kind_text(unsigned kind)
{
    static const char *const texts[] = {"load", "store", "modify", "prefetch"};
    return kind < sizeof(texts) / sizeof(texts[0]) ? texts[kind] : "unknown";
}

const char *peet_cli_granularity_text(int granularity)
{
    return granularity == 0 ? "iteration" : granularity == 1 ? "block" : granularity == 2 ? "ref" : "unknown";
}

static int flag_texts(unsigned flags, const char *const *names, int nnames, const char **out_texts)
{
    int count = 0;
    for (int bit = 0; bit < nnames; bit++)
        if (flags & 1u << bit)
            out_texts[count++] = names[bit];
    out_texts[count] = NULL;
    return count;
}
#define FLAG_TEXTS(flags, names, out) flag_texts(flags, names, (int)(sizeof(names) / sizeof((names)[0])), out)

const char *peet_cli_ref_order_text(unsigned order)
{
    static const char *const names[PEET_ORDERS] = {NULL, "relaxed", "acquire", "release", "acq_rel", "seq_cst"};
    return order < PEET_ORDERS ? names[order] : NULL;
}

int peet_cli_insn_flag_texts(unsigned flags, const char *out_texts[static 17])
{
    static const char *const names[] = {"opaque", "indirect", "rep", "partial"};
    return FLAG_TEXTS(flags, names, out_texts);
}

int peet_cli_ref_flag_texts(unsigned flags, const char *out_texts[static 17])
{
    static const char *const names[] = {
        "stack", "global", "atomic", "volatile", "range", "conditional", "return-address", "tls"};
    return FLAG_TEXTS(flags, names, out_texts);
}

int peet_cli_block_flag_texts(unsigned flags, const char *out_texts[static 17])
{
    static const char *const names[] = {"entry", "simple", "opaque", "sync", "turn"};
    return FLAG_TEXTS(flags, names, out_texts);
}

const char *peet_cli_reg_text(unsigned reg, char buffer[static 8])
{
    static const char *const general[] = {
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
    if (reg < PEET_REG_VEC0)
        return general[reg];
    if (reg < PEET_REG_FLAGS)
        snprintf(buffer, 8, "vec%u", reg - PEET_REG_VEC0);
    else if (reg >= PEET_REG_MASK0 && reg < PEET_REG_OTHER)
        snprintf(buffer, 8, "k%u", reg - PEET_REG_MASK0);
    else
        return reg == PEET_REG_FLAGS ? "flags" : reg == PEET_REG_X87 ? "x87" : "other";
    return buffer;
}

static void print_flags(const char *const *texts)
{
    for (; *texts; texts++)
        printf(" %s", *texts);
}

void peet_cli_schema_text_head(const char *path, const struct peet_cli_schema_totals *totals)
{
    char functions[PEET_CLI_NUMBER_BYTES], blocks[PEET_CLI_NUMBER_BYTES], instructions[PEET_CLI_NUMBER_BYTES];
    char references[PEET_CLI_NUMBER_BYTES];
    printf("%s: %s functions, %s blocks, %s instructions, %s references\n", path,
        peet_cli_grouped(functions, totals->functions), peet_cli_grouped(blocks, totals->blocks),
        peet_cli_grouped(instructions, totals->instructions), peet_cli_grouped(references, totals->references));
    printf("  references: %" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64 " modifies, %" PRIu64 " prefetches\n",
        totals->loads, totals->stores, totals->modifies, totals->prefetches);
    printf("  instructions:");
    const char *separator = " ";
    for (unsigned klass = 0; klass < PEET_INSN_CLASSES; klass++)
        if (totals->by_class[klass]) {
            printf("%s%" PRIu64 " %s", separator, totals->by_class[klass], peet_cli_class_text(klass));
            separator = ", ";
        }
    printf("\n  compiled for granularity %s; not observable: %" PRIu64
           " inline assembly statements or the like, %" PRIu64 " functions\n",
        peet_cli_granularity_text(totals->granularity), totals->gaps.asm_statements, totals->gaps.opaque_functions);
}

static void print_insn(const struct peet_block *block, const struct peet_insn *insn)
{
    const char *texts[17];
    char buffer[8];
    const struct peet_opcode *opcode = insn->opcode;
    printf("    %#" PRIx64 " %2u  %-10s %-16s %-8s %u/%u.%03u cycles, %u uops", insn->pc, insn->length_bytes,
        opcode && opcode->mnemonic ? opcode->mnemonic : "?", opcode && opcode->name ? opcode->name : "?",
        peet_cli_class_text(opcode ? opcode->klass : PEET_INSN_OTHER), opcode ? opcode->latency_cycles : 0,
        opcode ? opcode->rthroughput_millicycles / 1000 : 0, opcode ? opcode->rthroughput_millicycles % 1000 : 0,
        opcode ? opcode->uops : 0);
    if (insn->nreads || insn->nwrites)
        printf(";");
    for (unsigned i = 0; insn->regs && i < (unsigned)insn->nreads + insn->nwrites; i++)
        printf("%s%s%s%s", i == insn->nreads ? " -> " : " ", i == 0 && insn->naddresses ? "[" : "",
            peet_cli_reg_text(insn->regs[i], buffer), i + 1 == insn->naddresses ? "]" : "");
    if (peet_cli_insn_flag_texts(insn->flags, texts)) {
        printf(";");
        print_flags(texts);
    }
    if (insn->line && insn->line != block->line)
        printf("; line %u", insn->line);
    putchar('\n');
    for (unsigned i = 0; i < insn->nrefs && insn->first_ref + i < block->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[insn->first_ref + i];
        printf("      %s %u bytes, value %u", peet_cli_ref_kind_text(ref->kind), ref->size_bytes, ref->value);
        peet_cli_ref_flag_texts(ref->flags, texts);
        print_flags(texts);
        if (ref->order)
            printf(" %s", peet_cli_ref_order_text(ref->order));
        putchar('\n');
    }
}

void peet_cli_schema_text_function(const struct peet_function *function)
{
    printf("\nfunction %s", function->name);
    if (function->file && *function->file)
        printf(" (%s:%u)", function->file, function->line);
    printf(" at %#" PRIx64 ", recorded code at %#" PRIx64 ", %u bytes, %u blocks\n", function->pc, function->runtime_pc,
        function->code_bytes, function->nblocks);
    for (uint32_t b = 0; b < function->nblocks; b++) {
        const struct peet_block *block = &function->blocks[b];
        const char *texts[17];
        printf("  block %u at %#" PRIx64 ", %u bytes, %u instructions, %u references, %u values, %u cycles",
            block->index, block->pc, block->code_bytes, block->ninsns, block->nrefs, block->nvalues,
            block->cost_cycles);
        if (block->line)
            printf(", line %u", block->line);
        if (peet_cli_block_flag_texts(block->flags, texts)) {
            printf(";");
            print_flags(texts);
        }
        putchar('\n');
        for (uint32_t i = 0; i < block->ninsns; i++)
            print_insn(block, &block->insns[i]);
    }
}
