/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM's name of an instruction, by which its costs are found: mnemonic, width and kinds of operands make it, but for
 * those that LLVM names in its own way.  Several names are tried, the likeliest first, and the first that the table of
 * costs knows is taken; the first of all if it knows none, or there is no table.
 */
#include "foreign/translate.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int (*known)(const char *name);

void peet_foreign_set_names(int (*is_known)(const char *name))
{
    known = is_known;
}

enum { NAME_BYTES = 64 };

struct attempt {
    char first[NAME_BYTES], *out;
    int found;
};

static void attempt(struct attempt *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void attempt(struct attempt *a, const char *format, ...)
{
    char name[NAME_BYTES];
    va_list args;
    if (a->found)
        return;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (!a->first[0])
        strcpy(a->first, name);
    if (known && known(name)) {
        strcpy(a->out, name);
        a->found = 1;
    }
}

struct shape {
    char kinds[8];    /* of explicit operands: r, m, i */
    char last[8];     /* without the first of three */
    unsigned width;   /* of the operation */
    unsigned imm;     /* bits of the immediate as it stands in the code */
    int vector, wide; /* some operand is a vector; of 256 bits */
};

static struct shape shape_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    struct shape s = {.width = z->operand_width, .imm = z->raw.imm[0].size};
    unsigned n = 0, plain = 0;
    for (unsigned k = 0; k < z->operand_count && n < 6; k++) {
        if (o[k].visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            continue;
        s.kinds[n++] = o[k].type == ZYDIS_OPERAND_TYPE_MEMORY ? 'm'
            : o[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE       ? 'i'
                                                              : 'r';
        plain += s.kinds[n - 1] != 'i';
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            const ZydisRegisterClass c = ZydisRegisterGetClass(o[k].reg.value);
            s.vector |= c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM;
            s.wide |= c == ZYDIS_REGCLASS_YMM;
            if (k == 0 && c == ZYDIS_REGCLASS_GPR8)
                s.width = 8;
        } else if (k == 0 && o[k].type == ZYDIS_OPERAND_TYPE_MEMORY && o[k].size == 8) {
            s.width = 8;
        }
    }
    strcpy(s.last, plain >= 3 ? s.kinds + 1 : s.kinds);
    return s;
}

static void try_control(struct attempt *a, const ZydisDecodedInstruction *z, const struct shape *s)
{
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        if (z->mnemonic == ZYDIS_MNEMONIC_JRCXZ)
            attempt(a, "JRCXZ");
        attempt(a, z->raw.imm[0].size == 8 ? "JCC_1" : "JCC_4");
        attempt(a, "JCC_1");
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        if (s->kinds[0] != 'i')
            attempt(a, "JMP64%c", s->kinds[0]);
        attempt(a, "JMP_%d", z->raw.imm[0].size / 8);
        attempt(a, "JMP_1");
        break;
    case ZYDIS_CATEGORY_CALL:
        if (s->kinds[0] != 'i')
            attempt(a, "CALL64%c", s->kinds[0]);
        attempt(a, "CALL64pcrel32");
        break;
    case ZYDIS_CATEGORY_RET:
        attempt(a, "RET64");
        break;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
        attempt(a, "NOOP");
        break;
    default:
        break;
    }
}

static void try_moves(struct attempt *a, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    const struct shape *s, const char *m)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        if (s->kinds[1] == 'i' && s->width == 64)
            attempt(a, s->imm == 64 ? "MOV64ri" : "MOV64%ci32", s->kinds[0]);
        attempt(a, "MOV%u%s", s->width, s->kinds);
        break;
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        attempt(a, "%.5s%u%s%u", m, s->width, s->kinds, o[1].size);
        break;
    case ZYDIS_MNEMONIC_LEA:
        attempt(a, s->width == 64 ? "LEA64r" : "LEA64_32r");
        break;
    case ZYDIS_MNEMONIC_PUSH:
        attempt(a, s->kinds[0] == 'i' ? "PUSH64i%u" : s->kinds[0] == 'm' ? "PUSH64rmm" : "PUSH64r", s->imm);
        break;
    case ZYDIS_MNEMONIC_POP:
        attempt(a, s->kinds[0] == 'm' ? "POP64rmm" : "POP64r");
        break;
    case ZYDIS_MNEMONIC_PUSHFQ:
        attempt(a, "PUSHF64");
        break;
    case ZYDIS_MNEMONIC_POPFQ:
        attempt(a, "POPF64");
        break;
    case ZYDIS_MNEMONIC_LEAVE:
        attempt(a, "LEAVE64");
        break;
    default:
        if (strncmp(m, "CMOV", 4) == 0)
            attempt(a, "CMOV%u%s", s->width, s->kinds);
        if (z->meta.category == ZYDIS_CATEGORY_SETCC)
            attempt(a, "SETCC%s", s->kinds);
    }
}

/* Vector moves between register files have names of their own. */
static void try_vector_moves(struct attempt *a, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    const struct shape *s, const char *m)
{
    const char *v = m[0] == 'V' ? "V" : "";
    const int quad = z->mnemonic == ZYDIS_MNEMONIC_MOVQ || z->mnemonic == ZYDIS_MNEMONIC_VMOVQ;
    if (!quad && z->mnemonic != ZYDIS_MNEMONIC_MOVD && z->mnemonic != ZYDIS_MNEMONIC_VMOVD)
        return;
    const int to_vector =
        o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(o[0].reg.value) == ZYDIS_REGCLASS_XMM;
    const int from_vector =
        o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(o[1].reg.value) == ZYDIS_REGCLASS_XMM;
    if (to_vector && from_vector)
        attempt(a, "%sMOVZPQILo2PQIrr", v);
    else if (quad && s->kinds[0] == 'm')
        attempt(a, "%sMOVPQI2QImr", v);
    else if (quad && s->kinds[1] == 'm')
        attempt(a, "%sMOVQI2PQIrm", v);
    else if (quad)
        attempt(a, to_vector ? "%sMOV64toPQIrr" : "%sMOVPQIto64rr", v);
    else
        attempt(a, to_vector ? "%sMOVDI2PDI%s" : "%sMOVPDI2DI%s", v, s->kinds);
}

static void try_vectors(struct attempt *a, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    const struct shape *s, const char *m)
{
    const char *y = s->wide ? "Y" : "", *si;
    try_vector_moves(a, z, o, s, m);
    if ((si = strstr(m, "SI2S")) != NULL) /* CVTSI2SD of 64 bits */
        attempt(a, o[z->operand_count_visible - 1].size == 64 ? "%.*sSI642%s%s" : "%.*sSI2%s%s", (int)(si - m), m,
            si + 3, s->last);
    if (strstr(m, "2SI") != NULL)
        attempt(a, o[0].size == 64 ? "%s64%s" : "%s%s", m, s->last);
    if (strncmp(m, "VFM", 3) == 0 || strncmp(m, "VFNM", 4) == 0)
        attempt(a, "%s%s%c", m, y, s->kinds[2]);
    attempt(a, "%s%s%s", m, y, s->last);
    attempt(a, "%s%s%s", m, y, s->kinds);
    attempt(a, "%s%s", m, s->last);
    attempt(a, "%s%s%s", m, y, s->kinds + 1); /* SQRTSDr, PSHUFDri: without the destination */
}

/* x87: LLVM's names end in _F; the size is that of the operand in memory, or a stack register's place. */
static void try_x87(struct attempt *a, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, const char *m)
{
    static const struct {
        const char *intel, *llvm;
    } names[] = {{"FLD", "LD_F"}, {"FST", "ST_F"}, {"FSTP", "ST_FP"}, {"FILD", "ILD_F"}, {"FIST", "IST_F"},
        {"FISTP", "IST_FP"}, {"FISTTP", "ISTT_FP"}, {"FXCH", "XCH_F"}, {"FADD", "ADD_F"}, {"FMUL", "MUL_F"},
        {"FSUB", "SUB_F"}, {"FSUBR", "SUBR_F"}, {"FDIV", "DIV_F"}, {"FDIVR", "DIVR_F"}, {"FADDP", "ADD_FP"},
        {"FMULP", "MUL_FP"}, {"FSUBP", "SUB_FP"}, {"FSUBRP", "SUBR_FP"}, {"FDIVP", "DIV_FP"}, {"FDIVRP", "DIVR_FP"},
        {"FCHS", "CHS_F"}, {"FABS", "ABS_F"}, {"FSQRT", "SQRT_F"}, {"FLDZ", "LD_F0"}, {"FLD1", "LD_F1"},
        {"FUCOMI", "UCOM_FIr"}, {"FUCOMIP", "UCOM_FIPr"}, {"FCOMI", "COM_FIr"}, {"FCOMIP", "COM_FIPr"},
        {"FXAM", "XAM_F"}, {"FNSTSW", "FNSTSW16r"}, {"FNSTCW", "FNSTCW16m"}, {"FLDCW", "FLDCW16m"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(m, names[k].intel) != 0)
            continue;
        for (unsigned i = 0; i < z->operand_count_visible; i++)
            if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
                attempt(a, "%s%um", names[k].llvm, o[i].size);
        attempt(a, "%s", names[k].llvm);
        attempt(a, "%srr", names[k].llvm);
        attempt(a,
            o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].reg.value == ZYDIS_REGISTER_ST0 ? "%sST0r" : "%srST0",
            names[k].llvm);
        attempt(a, "%srST0", names[k].llvm);
    }
}

static void try_strings(struct attempt *a, const ZydisDecodedInstruction *z, const char *m)
{
    char name[NAME_BYTES];
    const size_t n = strlen(m);
    snprintf(name, sizeof name, "%s", m);
    if (n && name[n - 1] == 'D')
        name[n - 1] = 'L'; /* MOVSL */
    if (z->attributes & ZYDIS_ATTRIB_HAS_REPNE)
        attempt(a, "REPNE_%s", name);
    else if (z->attributes & ZYDIS_ATTRIB_HAS_REPE)
        attempt(a, "REPE_%s", name);
    else if (z->attributes & ZYDIS_ATTRIB_HAS_REP)
        attempt(a, "REP_%s_64", name[n - 1] == 'L' ? (name[n - 1] = 'D', name) : name);
    attempt(a, "%s", name);
}

static void try_integers(struct attempt *a, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    const struct shape *s, const char *m)
{
    const int locked = (z->attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
    const size_t n = strlen(s->kinds);
    if (z->mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B || z->mnemonic == ZYDIS_MNEMONIC_CMPXCHG8B)
        attempt(a, "%s%s", locked ? "L" : "", m);
    if (z->mnemonic == ZYDIS_MNEMONIC_CMPXCHG || z->mnemonic == ZYDIS_MNEMONIC_XADD)
        attempt(a, locked ? "L%s%u" : s->kinds[0] == 'm' ? "%s%urm" : "%s%urr", m, s->width);
    if (z->mnemonic == ZYDIS_MNEMONIC_XCHG)
        attempt(a, strchr(s->kinds, 'm') ? "XCHG%urm" : "XCHG%urr", s->width);
    if (z->mnemonic == ZYDIS_MNEMONIC_SHLD || z->mnemonic == ZYDIS_MNEMONIC_SHRD)
        attempt(a, s->imm ? "%s%u%cri8" : "%s%u%crCL", m, s->width, s->kinds[0]);
    if (z->meta.category == ZYDIS_CATEGORY_SHIFT || z->meta.category == ZYDIS_CATEGORY_ROTATE) {
        const char *by = z->operand_count > 1 && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? "CL" : s->imm ? "i" : "1";
        attempt(a, "%s%u%c%s", m, s->width, s->kinds[0], by);
    }
    if (n == 1 && s->kinds[0] == 'i') /* of the accumulator */
        attempt(a, "%s%ui%u", m, s->imm == 8 ? 8 : s->width, s->imm);
    if (n && s->kinds[n - 1] == 'i') {
        if (s->imm == 8 && s->width > 8)
            attempt(a, "%s%s%u%s8", locked ? "LOCK_" : "", m, s->width, s->kinds);
        if (s->imm == 32 && s->width == 64)
            attempt(a, "%s%s64%s32", locked ? "LOCK_" : "", m, s->kinds);
    }
    attempt(a, "%s%s%u%s", locked ? "LOCK_" : "", m, s->width, s->kinds);
    attempt(a, "%s%u%s", m, s->width, s->last);
    attempt(a, "%s%c%c%u", m, n ? s->kinds[n - 1] : 'r', n > 1 ? s->kinds[0] : 'r', s->width);
    attempt(a, "%s", m);
}

void peet__foreign_opcode_name(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, char out[64])
{
    const struct shape s = shape_of(z, o);
    struct attempt a = {.out = out};
    char m[32];
    size_t n = 0;
    for (const char *from = ZydisMnemonicGetString(z->mnemonic); from && *from && n + 1 < sizeof m; from++)
        m[n++] = (char)toupper((unsigned char)*from);
    m[n] = 0;
    try_control(&a, z, &s);
    if (z->meta.category == ZYDIS_CATEGORY_STRINGOP)
        try_strings(&a, z, m);
    try_moves(&a, z, o, &s, m);
    if (m[0] == 'F')
        try_x87(&a, z, o, m);
    if (s.vector)
        try_vectors(&a, z, o, &s, m);
    else
        try_integers(&a, z, o, &s, m);
    if (!a.found)
        strcpy(out, a.first);
}

/* What its cost depends on besides: enum peet_variant. */

static unsigned shape_of_address(const ZydisDecodedOperand *o)
{
    const ZydisRegister base = o->mem.base;
    const unsigned scale = o->mem.index == ZYDIS_REGISTER_NONE ? 1 : o->mem.scale;
    unsigned v = base == ZYDIS_REGISTER_NONE                       ? 0
        : base == ZYDIS_REGISTER_RBP || base == ZYDIS_REGISTER_R13 ? 2
        : base == ZYDIS_REGISTER_RIP                               ? 3
                                                                   : 1;
    if (o->mem.index != ZYDIS_REGISTER_NONE)
        v |= PEET_VARIANT_INDEX;
    v |= (scale == 8 ? 3u : scale == 4 ? 2u : scale == 2 ? 1u : 0u) << PEET_VARIANT_SCALE_SHIFT;
    if (base == ZYDIS_REGISTER_RIP)
        v |= 2u << PEET_VARIANT_DISP_SHIFT; /* the compiler had a symbol there */
    else if (o->mem.disp.has_displacement && o->mem.disp.value)
        v |= 1u << PEET_VARIANT_DISP_SHIFT;
    return v;
}

unsigned peet__foreign_opcode_variant(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    unsigned n = z->operand_count_visible;

    if (z->mnemonic == ZYDIS_MNEMONIC_LEA)
        return shape_of_address(&o[1]);
    if (z->meta.category == ZYDIS_CATEGORY_COND_BR || z->meta.category == ZYDIS_CATEGORY_SETCC ||
        z->meta.category == ZYDIS_CATEGORY_CMOV)
        return z->opcode & 15; /* the condition */
    /* two equal sources: of two operands the first is one as well */
    if (n >= 2 && n <= 3 && o[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        o[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER && o[n - 2].reg.value == o[n - 1].reg.value)
        return PEET_VARIANT_SAME;
    return 0;
}
