/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `peet schema --json`; see schema_print.h.  Objects are made by jansson; only the frame around the
 * functions is written here, so that no more than one function is in memory as JSON at a time.
 */
#include "schema_print.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <peet/raw.h>

/* Function and file names are bytes; what is no UTF-8 cannot stand in JSON and becomes '?'. */
static json_t *text_json(const char *text)
{
    if (!text)
        text = "";
    json_t *value = json_string(text);
    if (value)
        return value;
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

static json_t *texts_json(const char *const *texts)
{
    json_t *list = json_array();
    for (; *texts; texts++)
        json_array_append_new(list, json_string(*texts));
    return list;
}

static json_t *ref_json(const struct peet_ref *ref)
{
    const char *flags[17];
    peet_cli_ref_flag_texts(ref->flags, flags);
    json_t *json = json_pack("{s:s, s:i, s:i, s:o}", "kind", peet_cli_ref_kind_text(ref->kind), "size_bytes",
        (int)ref->size_bytes, "value", (int)ref->value, "flags", texts_json(flags));
    if (ref->order)
        json_object_set_new(json, "order", json_string(peet_cli_ref_order_text(ref->order)));
    return json;
}

static json_t *insn_json(const struct peet_block *block, const struct peet_insn *insn)
{
    static const struct peet_opcode unknown = {.name = "", .mnemonic = ""};
    const struct peet_opcode *opcode = insn->opcode ? insn->opcode : &unknown;
    const char *flags[17];
    char buffer[8];
    json_t *addresses = json_array(), *reads = json_array(), *writes = json_array(), *refs = json_array();
    for (unsigned i = 0; insn->regs && i < (unsigned)insn->nreads + insn->nwrites; i++)
        json_array_append_new(i < insn->naddresses ? addresses
                : i < insn->nreads                 ? reads
                                                   : writes,
            json_string(peet_cli_reg_text(insn->regs[i], buffer)));
    for (unsigned i = 0; i < insn->nrefs && insn->first_ref + i < block->nrefs; i++)
        json_array_append_new(refs, ref_json(&block->refs[insn->first_ref + i]));
    peet_cli_insn_flag_texts(insn->flags, flags);
    return json_pack("{s:I, s:i, s:o, s:o, s:s, s:i, s:i, s:i, s:i, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "pc",
        (json_int_t)insn->pc, "length_bytes", (int)insn->length_bytes, "opcode", text_json(opcode->name), "mnemonic",
        text_json(opcode->mnemonic), "class", peet_cli_class_text(opcode->klass), "line", (int)insn->line,
        "latency_cycles", (int)opcode->latency_cycles, "rthroughput_millicycles", (int)opcode->rthroughput_millicycles,
        "uops", (int)opcode->uops, "ports", (json_int_t)opcode->ports, "variant", (int)opcode->variant, "address_reads",
        addresses, "reads", reads, "writes", writes, "flags", texts_json(flags), "references", refs);
}

static json_t *block_json(const struct peet_block *block)
{
    const char *flags[17];
    json_t *insns = json_array();
    for (uint32_t i = 0; i < block->ninsns; i++)
        json_array_append_new(insns, insn_json(block, &block->insns[i]));
    peet_cli_block_flag_texts(block->flags, flags);
    return json_pack("{s:i, s:I, s:i, s:i, s:i, s:i, s:o, s:o}", "index", (int)block->index, "pc",
        (json_int_t)block->pc, "line", (int)block->line, "code_bytes", (int)block->code_bytes, "values",
        (int)block->nvalues, "cost_cycles", (int)block->cost_cycles, "flags", texts_json(flags), "instructions", insns);
}

static int dump(json_t *value, size_t flags)
{
    if (!value)
        return PEET_ENOMEM;
    json_dumpf(value, stdout, flags | JSON_PRESERVE_ORDER);
    json_decref(value);
    return 0;
}

int peet_cli_schema_json_head(const char *path, const struct peet_cli_schema_totals *totals, int with_functions)
{
    json_t *classes = json_object();
    for (unsigned klass = 0; klass < PEET_INSN_CLASSES; klass++)
        json_object_set_new(classes, peet_cli_class_text(klass), json_integer((json_int_t)totals->by_class[klass]));
    json_t *summary = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:o}", "functions",
        (json_int_t)totals->functions, "blocks", (json_int_t)totals->blocks, "instructions",
        (json_int_t)totals->instructions, "references", (json_int_t)totals->references, "code_bytes",
        (json_int_t)totals->code_bytes, "loads", (json_int_t)totals->loads, "stores", (json_int_t)totals->stores,
        "modifies", (json_int_t)totals->modifies, "prefetches", (json_int_t)totals->prefetches, "granularity",
        peet_cli_granularity_text(totals->granularity), "asm_statements", (json_int_t)totals->gaps.asm_statements,
        "opaque_functions", (json_int_t)totals->gaps.opaque_functions, "instructions_by_class", classes);
    json_t *peet = json_pack("{s:s, s:i}", "version", PEET_VERSION, "schema_version", PEET_SCHEMA_VERSION);
    int err = 0;
    fputs("{\"peet\": ", stdout);
    err = dump(peet, 0);
    fputs(",\n\"program\": ", stdout);
    if (!err)
        err = dump(text_json(path), JSON_ENCODE_ANY);
    fputs(",\n\"summary\": ", stdout);
    if (!err)
        err = dump(summary, 0);
    if (with_functions)
        fputs(",\n\"functions\": [", stdout);
    return err;
}

int peet_cli_schema_json_function(const struct peet_function *function, int first)
{
    json_t *blocks = json_array();
    for (uint32_t i = 0; i < function->nblocks; i++)
        json_array_append_new(blocks, block_json(&function->blocks[i]));
    fputs(first ? "\n" : ",\n", stdout);
    return dump(json_pack("{s:o, s:o, s:i, s:I, s:I, s:i, s:o}", "name", text_json(function->name), "file",
                    text_json(function->file), "line", (int)function->line, "pc", (json_int_t)function->pc,
                    "runtime_pc", (json_int_t)function->runtime_pc, "code_bytes", (int)function->code_bytes, "blocks",
                    blocks),
        0);
}

void peet_cli_schema_json_functions_end(void)
{
    fputs("\n]", stdout);
}

void peet_cli_schema_json_tail(void)
{
    fputs("}\n", stdout);
}
