/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of instruction it is: its class, and its opcode as modules see it. */
#include "foreign/translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

static int starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

static int is_floating(const char *m)
{
    return ends(m, "ss") || ends(m, "sd") || ends(m, "ps") || ends(m, "pd");
}

static uint8_t class_of_name(const char *m)
{
    const char *plain = m[0] == 'v' && !starts(m, "verr") ? m + 1 : m;
    const int vector = plain != m;
    if ((is_floating(m) || m[0] == 'f') && !starts(plain, "cmov")) {
        if (starts(plain, "mul") || starts(plain, "fm") || starts(plain, "fnm"))
            return PEET_INSN_FP_MUL;
        if (starts(plain, "div") || starts(plain, "sqrt") || starts(plain, "fdiv") || starts(plain, "fsqrt"))
            return PEET_INSN_FP_DIV;
        if (starts(plain, "add") || starts(plain, "sub") || starts(plain, "fadd") || starts(plain, "fsub") ||
            starts(plain, "min") || starts(plain, "max") || starts(plain, "hadd"))
            return PEET_INSN_FP_ADD;
        return starts(plain, "mov") ? PEET_INSN_MOVE : PEET_INSN_FP_OTHER;
    }
    if (starts(plain, "mov") || starts(m, "push") || starts(m, "pop") || starts(m, "lea") || starts(m, "cmov"))
        return starts(m, "popcnt") ? PEET_INSN_INT : PEET_INSN_MOVE;
    if (vector || (m[0] == 'p' && !starts(m, "pdep") && !starts(m, "pext")))
        return PEET_INSN_SIMD;
    if (starts(m, "imul") || starts(m, "mul"))
        return PEET_INSN_INT_MUL;
    return starts(m, "idiv") || starts(m, "div") ? PEET_INSN_INT_DIV : PEET_INSN_INT;
}

uint8_t peet__foreign_class(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands)
{
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return PEET_INSN_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return PEET_INSN_JUMP;
    case ZYDIS_CATEGORY_CALL:
        return PEET_INSN_CALL;
    case ZYDIS_CATEGORY_RET:
        return PEET_INSN_RETURN;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
        return PEET_INSN_NOP;
    case ZYDIS_CATEGORY_STRINGOP:
        return PEET_INSN_STRING;
    default:
        break;
    }
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_ENDBR64:
        return PEET_INSN_NOP;
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
        return PEET_INSN_FENCE;
    case ZYDIS_MNEMONIC_XCHG:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY || operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return PEET_INSN_ATOMIC;
        break;
    default:
        break;
    }
    return z->attributes & ZYDIS_ATTRIB_HAS_LOCK ? PEET_INSN_ATOMIC
                                                 : class_of_name(ZydisMnemonicGetString(z->mnemonic));
}

struct kind {
    UT_hash_handle hh;
    char key[80], name[64];
    struct peet_opcode opcode;
};
static struct kind *kinds;

static const struct peet_opcode *kind_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands,
    uint8_t klass, unsigned variant)
{
    char name[64], key[80];
    struct kind *k;
    peet__foreign_opcode_name(z, operands, name);
    snprintf(key, sizeof key, "%s %u", name, variant);
    HASH_FIND_STR(kinds, key, k);
    if (!k && (k = calloc(1, sizeof *k)) != NULL) {
        strcpy(k->key, key);
        strcpy(k->name, name);
        k->opcode = (struct peet_opcode){.name = k->name,
            .mnemonic = ZydisMnemonicGetString(z->mnemonic),
            .latency_cycles = 1,
            .rthroughput_millicycles = 250,
            .uops = 1,
            .klass = klass,
            .variant = (uint16_t)variant};
        HASH_ADD_STR(kinds, key, k);
    }
    return k ? &k->opcode : NULL;
}

/* All that an instruction's name and variant depend on: opcodes.c. */
enum { FORM_OPERANDS = 6 };
struct form {
    uint16_t mnemonic, variant;
    uint8_t category, width, imm_bits, attributes, noperands, nvisible, is_stack_top;
    struct {
        uint16_t size_bits;
        uint8_t type, visibility, register_class;
    } operands[FORM_OPERANDS];
};

struct known_form {
    UT_hash_handle hh;
    struct form form;
    const struct peet_opcode *opcode;
};
static struct known_form *forms;

static void form_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned variant, struct form *out)
{
    const ZydisInstructionAttributes a = z->attributes;
    memset(out, 0, sizeof *out);
    out->mnemonic = (uint16_t)z->mnemonic;
    out->variant = (uint16_t)variant;
    out->category = (uint8_t)z->meta.category;
    out->width = z->operand_width;
    out->imm_bits = z->raw.imm[0].size;
    out->attributes = (uint8_t)((a & ZYDIS_ATTRIB_HAS_LOCK ? 1 : 0) | (a & ZYDIS_ATTRIB_HAS_REP ? 2 : 0) |
        (a & ZYDIS_ATTRIB_HAS_REPE ? 4 : 0) | (a & ZYDIS_ATTRIB_HAS_REPNE ? 8 : 0));
    out->noperands = z->operand_count;
    out->nvisible = z->operand_count_visible;
    out->is_stack_top = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == ZYDIS_REGISTER_ST0;
    for (unsigned k = 0; k < z->operand_count && k < FORM_OPERANDS; k++) {
        out->operands[k].size_bits = o[k].size;
        out->operands[k].type = (uint8_t)o[k].type;
        out->operands[k].visibility = (uint8_t)o[k].visibility;
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER)
            out->operands[k].register_class = (uint8_t)ZydisRegisterGetClass(o[k].reg.value);
    }
}

const struct peet_opcode *peet__foreign_opcode(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands,
    uint8_t klass)
{
    static const struct peet_opcode unknown = {"", "", 1, 250, 1, 0, PEET_INSN_OTHER, 0};
    const unsigned variant = peet__foreign_opcode_variant(z, operands);
    const struct peet_opcode *opcode;
    struct known_form *f;
    struct form form;
    form_of(z, operands, variant, &form);
    HASH_FIND(hh, forms, &form, sizeof form, f);
    if (f)
        return f->opcode;
    opcode = kind_of(z, operands, klass, variant);
    if (!opcode)
        return &unknown;
    if ((f = calloc(1, sizeof *f)) != NULL) {
        f->form = form;
        f->opcode = opcode;
        HASH_ADD(hh, forms, form, sizeof form, f);
    }
    return opcode;
}
