/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction of foreign code, as Zydis decodes it: where control goes after it, which registers it reads and writes.
 * Called by analyse.c, which knows traces, and by whoever looks at text.
 */
#include "foreign/translate.h"

#include <string.h>

enum { RCX = 1 };

static ZydisDecoder decoder;

unsigned peet__foreign_decode(const struct peet__foreign_image *image, uint64_t pc, ZydisDecodedInstruction *out,
    ZydisDecodedOperand *operands)
{
    if (!decoder.machine_mode &&
        !ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return 0;
    if (pc < image->lo || pc >= image->hi)
        return 0;
    const uint8_t *const at = image->text + (pc - image->lo);
    const ZyanStatus status = operands ? ZydisDecoderDecodeFull(&decoder, at, image->hi - pc, out, operands)
                                       : ZydisDecoderDecodeInstruction(&decoder, NULL, at, image->hi - pc, out);
    return ZYAN_SUCCESS(status) ? out->length : 0;
}

int peet__foreign_register(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r) - ZYDIS_REGISTER_RAX;
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return PEET_REG_VEC0 + ZydisRegisterGetId(r);
    case ZYDIS_REGCLASS_MASK:
        return PEET_REG_MASK0 + ZydisRegisterGetId(r);
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
        return PEET_REG_X87;
    case ZYDIS_REGCLASS_FLAGS:
        return PEET_REG_FLAGS;
    default:
        return -1;
    }
}

int peet__foreign_general(ZydisRegister r)
{
    int n = peet__foreign_register(r);
    return n >= 0 && n < 16 ? n : -1;
}

int peet__foreign_is_rep(const ZydisDecodedInstruction *z)
{
    return (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}

/* These leave their target as it was: without shadow stacks; if the source is 0. */
static int may_not_write(const ZydisDecodedInstruction *z)
{
    return z->mnemonic == ZYDIS_MNEMONIC_RDSSPQ || z->mnemonic == ZYDIS_MNEMONIC_RDSSPD ||
        z->mnemonic == ZYDIS_MNEMONIC_BSF || z->mnemonic == ZYDIS_MNEMONIC_BSR;
}

void peet__foreign_uses(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint32_t *out_reads,
    uint32_t *out_writes)
{
    uint32_t reads = 0, writes = 0;
    for (unsigned k = 0; k < z->operand_count; k++) {
        if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (peet__foreign_general(o[k].mem.base) >= 0)
                reads |= 1u << peet__foreign_general(o[k].mem.base);
            if (peet__foreign_general(o[k].mem.index) >= 0)
                reads |= 1u << peet__foreign_general(o[k].mem.index);
        } else if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && peet__foreign_general(o[k].reg.value) >= 0) {
            const uint32_t bit = 1u << peet__foreign_general(o[k].reg.value);
            if (o[k].actions != ZYDIS_OPERAND_ACTION_WRITE || o[k].size < 32 || may_not_write(z))
                reads |= bit;
            else
                writes |= bit;
        }
    }
    if (peet__foreign_is_rep(z))
        reads |= 1u << RCX;
    const ZydisAccessedFlags *f = z->cpu_flags;
    const int conditional = peet__foreign_is_rep(z) || z->meta.category == ZYDIS_CATEGORY_SHIFT ||
        z->meta.category == ZYDIS_CATEGORY_ROTATE;
    if (f && f->tested & PEET__FOREIGN_ARITHMETIC)
        reads |= PEET__FOREIGN_FLAGS;
    else if (f && !conditional &&
        ((f->modified | f->set_0 | f->set_1 | f->undefined) & PEET__FOREIGN_ARITHMETIC) == PEET__FOREIGN_ARITHMETIC)
        writes |= PEET__FOREIGN_FLAGS;
    else if (z->mnemonic == ZYDIS_MNEMONIC_SYSCALL || z->mnemonic == ZYDIS_MNEMONIC_PUSHFQ ||
        z->mnemonic == ZYDIS_MNEMONIC_LAHF)
        reads |= PEET__FOREIGN_FLAGS;
    *out_reads = reads;
    *out_writes = writes & ~reads;
}

enum peet__foreign_end peet__foreign_end_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    uint64_t next, uint64_t *out_target)
{
    const int direct = peet__foreign_names_target(z, o);

    if (direct)
        *out_target = next + (uint64_t)o[0].imm.value.s;
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        if (z->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
            return PEET__FOREIGN_UNKNOWN;
        return z->mnemonic == ZYDIS_MNEMONIC_JRCXZ || z->mnemonic == ZYDIS_MNEMONIC_JECXZ ||
                z->mnemonic == ZYDIS_MNEMONIC_LOOP || z->mnemonic == ZYDIS_MNEMONIC_LOOPE ||
                z->mnemonic == ZYDIS_MNEMONIC_LOOPNE
            ? PEET__FOREIGN_LOOP
            : PEET__FOREIGN_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return z->mnemonic != ZYDIS_MNEMONIC_JMP ? PEET__FOREIGN_UNKNOWN
            : direct                             ? PEET__FOREIGN_GOTO
                                                 : PEET__FOREIGN_GOTO_INDIRECT;
    case ZYDIS_CATEGORY_CALL:
        return direct ? PEET__FOREIGN_CALL : PEET__FOREIGN_CALL_INDIRECT;
    case ZYDIS_CATEGORY_RET:
        return z->mnemonic == ZYDIS_MNEMONIC_RET ? PEET__FOREIGN_RET : PEET__FOREIGN_UNKNOWN;
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
        return PEET__FOREIGN_STOP;
    default:
        break;
    }
    if (z->mnemonic == ZYDIS_MNEMONIC_UD2 || z->mnemonic == ZYDIS_MNEMONIC_HLT || z->mnemonic == ZYDIS_MNEMONIC_INT3)
        return PEET__FOREIGN_STOP;
    return PEET__FOREIGN_NEXT;
}

/* What has been asked for lately, by place.  `image` NULL: nothing */
enum { STEPS_BITS = 12 };
static struct peet__foreign_step steps[1u << STEPS_BITS];

static struct peet__foreign_step *place_of(uint64_t pc)
{
    return &steps[(uint32_t)pc * 0x9e3779b1u >> (32 - STEPS_BITS)];
}

const struct peet__foreign_step *peet__foreign_step_at(const struct peet__foreign_image *image, uint64_t pc)
{
    struct peet__foreign_step *const step = place_of(pc);
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction z;
    if (step->image == image && step->pc == pc)
        return step;
    if (!peet__foreign_decode(image, pc, &z, operands))
        return NULL;
    *step = (struct peet__foreign_step){.image = image, .pc = pc, .length = z.length};
    peet__foreign_uses(&z, operands, &step->reads, &step->writes);
    step->end = peet__foreign_end_of(&z, operands, pc + z.length, &step->target);
    step->calls_kernel = z.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
    return step;
}

void peet__foreign_steps_forget(void)
{
    memset(steps, 0, sizeof steps);
}
