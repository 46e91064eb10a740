/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace is: blocks one behind the other.  Registers are followed through it as sums of what they held at some
 * place and a constant, so that a push, a lea or an addition needs no new word in the record:
 *
 *     push %rbx            rsp: slot 0 - 8        one word, rsp before the block
 *     mov  8(%rdi), %rax   rdi: slot 1            one word, rdi before the block; rax unknown from here
 *     mov  (%rax), %rdx    rax: slot 2            one word, rax before this instruction
 *
 * Counting follows peet/counting.h: here stand the references that the processor makes.
 */
#include "foreign/translate.h"

#include <stdlib.h>
#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

static int starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ------------------------------------------------------------------------------------------ following */

/* What a register holds: some slot's value and a constant.  origin: of plan.origins, or one of these */
enum { UNKNOWN = -1, CONSTANT = -2 /* no slot's */ };
struct sum {
    int16_t origin;
    int64_t add;
};
/* slot: in the record, -1: not yet */
struct origin {
    uint8_t reg;
    uint16_t at;
    int16_t slot;
};
enum { ORIGINS = 16 + PEET__FOREIGN_SLOTS, BLOCK_INSNS = 48 };

struct state {
    struct peet__foreign_plan *plan;
    struct sum sums[16];
    struct origin origins[ORIGINS];
    unsigned norigins;
    uint32_t at; /* instruction */
    int full;
    uint64_t calls[PEET__FOREIGN_CALLS]; /* that have not returned: where to */
    uint32_t ncalls;
    /* how often what is at hand was executed: a block of a profile; NULL: not known */
    peet__foreign_profile_of *profile_of;
    const struct peet__foreign_profile *profile;
    uint32_t place;
    uint64_t reached, most; /* so often, of so many executions of the trace */
    uint32_t insns, parts;  /* at most */
};

static int slot_of(struct state *s, int origin)
{
    struct origin *o = &s->origins[origin];
    struct peet__foreign_plan *p = s->plan;
    if (o->slot >= 0)
        return o->slot;
    if (p->nslots == PEET__FOREIGN_SLOTS) {
        s->full = 1;
        return 0;
    }
    p->slots[p->nslots] = (struct peet__foreign_slot){o->reg, o->at};
    return o->slot = (int16_t)p->nslots++;
}

static int new_origin(struct state *s, int reg, uint32_t at)
{
    if (s->norigins == ORIGINS) {
        s->full = 1;
        return 0;
    }
    s->origins[s->norigins] = (struct origin){(uint8_t)reg, (uint16_t)at, -1};
    return (int)s->norigins++;
}

/* What a register holds before the instruction at hand, in terms of slots. */
static struct sum need(struct state *s, int reg)
{
    struct sum *v = &s->sums[reg];
    if (v->origin == UNKNOWN)
        *v = (struct sum){(int16_t)new_origin(s, reg, s->at), 0};
    return *v;
}

static struct peet_foreign_value *add_value(struct state *s)
{
    struct peet__foreign_plan *p = s->plan;
    struct peet_foreign_value *v = &p->values[p->nvalues++];
    *v = (struct peet_foreign_value){.slot = {PEET_FOREIGN_NO_SLOT, PEET_FOREIGN_NO_SLOT}};
    return v;
}

static void add_term(struct state *s, struct peet_foreign_value *v, int reg, int64_t multiplier)
{
    struct sum sum = need(s, reg);
    v->disp += (uint64_t)sum.add * (uint64_t)multiplier;
    if (sum.origin == CONSTANT)
        return;
    const int16_t slot = (int16_t)slot_of(s, sum.origin);
    if (multiplier == 1 && v->slot[0] == PEET_FOREIGN_NO_SLOT) {
        v->slot[0] = slot;
    } else {
        v->slot[1] = slot;
        v->multiplier = (int32_t)multiplier;
    }
}

/* @extra: added to the address; what the instruction itself does to the stack pointer before it uses it */
static unsigned address(struct state *s, const ZydisDecodedOperandMem *m, uint64_t next, int64_t extra)
{
    struct peet_foreign_value *v = add_value(s);
    v->disp = (uint64_t)(m->disp.value + extra);
    if (m->base == ZYDIS_REGISTER_RIP)
        v->disp += next;
    else if (peet__foreign_general(m->base) >= 0)
        add_term(s, v, peet__foreign_general(m->base), 1);
    if (peet__foreign_general(m->index) >= 0)
        add_term(s, v, peet__foreign_general(m->index), m->scale);
    v->fs = m->segment == ZYDIS_REGISTER_FS;
    return s->plan->nvalues - 1;
}

static struct peet_ref *add_ref(struct state *s, uint8_t kind, unsigned bytes, unsigned flags, unsigned value)
{
    struct peet_ref *r = &s->plan->refs[s->plan->nrefs++];
    const struct peet__foreign_part *part = peet__foreign_last(s->plan);
    value -= part->value;
    *r = (struct peet_ref){.insn = s->at - part->insn,
        .size_bytes = (uint16_t)(bytes ? bytes : 1),
        .flags = (uint16_t)flags,
        .value = (uint16_t)value,
        .kind = kind};
    return r;
}

/* On the stack, so far from where its pointer is before the instruction. */
static void stack_ref(struct state *s, uint8_t kind, unsigned bytes, int64_t offset, unsigned flags)
{
    struct peet_foreign_value *v = add_value(s);
    v->disp = (uint64_t)offset;
    add_term(s, v, RSP, 1);
    add_ref(s, kind, bytes, PEET_REF_STACK | flags, s->plan->nvalues - 1);
}

/* A range of a rep-prefixed instruction: as many elements as rounds. */
static void range_ref(struct state *s, uint8_t kind, unsigned bytes, int reg, int compares)
{
    struct peet_foreign_value *v = add_value(s);
    const unsigned first = s->plan->nvalues - 1;
    add_term(s, v, reg, 1);
    v = add_value(s);
    add_term(s, v, RCX, 1);
    if (compares) { /* what is left of the count is not done */
        v->slot[1] = (int16_t)slot_of(s, new_origin(s, RCX, s->at + 1));
        v->multiplier = -1;
    }
    add_ref(s, kind, bytes, PEET_REF_RANGE, first);
}

static int is_prefetch(const ZydisDecodedInstruction *z)
{
    return starts(ZydisMnemonicGetString(z->mnemonic), "prefetch");
}

static void string_refs(struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    const int compares =
        starts(ZydisMnemonicGetString(z->mnemonic), "cmps") || starts(ZydisMnemonicGetString(z->mnemonic), "scas");
    for (int store = 0; store < 2; store++)
        for (unsigned k = 0; k < z->operand_count; k++) {
            if (o[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
                ((o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) != store)
                continue;
            const uint8_t kind = store ? PEET_REF_STORE : PEET_REF_LOAD;
            if (peet__foreign_is_rep(z))
                range_ref(s, kind, o[k].size / 8, peet__foreign_general(o[k].mem.base), compares);
            else
                add_ref(s, kind, o[k].size / 8, 0, address(s, &o[k].mem, 0, 0));
        }
}

/* Libraries have rbp for anything, seldom for a frame: what it points to is not taken for the stack. */
static unsigned place_flags(const ZydisDecodedOperandMem *m)
{
    return (m->base == ZYDIS_REGISTER_RSP ? PEET_REF_STACK : 0) |
        (m->base == ZYDIS_REGISTER_RIP || (m->base == ZYDIS_REGISTER_NONE && m->segment != ZYDIS_REGISTER_FS)
                ? PEET_REF_GLOBAL
                : 0) |
        (m->segment == ZYDIS_REGISTER_FS ? PEET_REF_TLS : 0);
}

/* The instruction shows this memory operand, or hides that it stores where rdi points (maskmovdqu): the stack's are for
 * the caller.  A gather is one reference, at its base. */
static int is_reference(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (o->mem.type == ZYDIS_MEMOP_TYPE_MEM || o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
        (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN || o->mem.base == ZYDIS_REGISTER_RDI);
}

static void operand_refs(struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t next,
    uint8_t klass)
{
    const int64_t popped = z->mnemonic == ZYDIS_MNEMONIC_POP ? 8 : 0;
    for (unsigned k = 0; k < z->operand_count; k++) {
        if (!is_reference(&o[k]))
            continue;
        const int reads = (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
                  writes = (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
        const uint8_t kind = is_prefetch(z) ? PEET_REF_PREFETCH
            : reads && writes               ? PEET_REF_MODIFY
            : writes                        ? PEET_REF_STORE
                                            : PEET_REF_LOAD;
        const unsigned value = address(s, &o[k].mem, next, o[k].mem.base == ZYDIS_REGISTER_RSP ? popped : 0);
        struct peet_ref *r = add_ref(s, kind, o[k].size / 8,
            place_flags(&o[k].mem) | (klass == PEET_INSN_ATOMIC ? PEET_REF_ATOMIC : 0), value);
        r->order = klass == PEET_INSN_ATOMIC ? PEET_ORDER_SEQ_CST : PEET_ORDER_NONE;
    }
}

static void references(struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t next,
    uint8_t klass)
{
    if (klass == PEET_INSN_NOP || z->mnemonic == ZYDIS_MNEMONIC_LEA)
        return;
    if (klass == PEET_INSN_STRING) {
        string_refs(s, z, o);
        return;
    }
    const unsigned width =
        z->operand_width == 16 && z->mnemonic != ZYDIS_MNEMONIC_CALL && z->mnemonic != ZYDIS_MNEMONIC_RET ? 2 : 8;
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
        stack_ref(s, PEET_REF_LOAD, width, 0, 0);
        operand_refs(s, z, o, next, klass);
        break;
    case ZYDIS_MNEMONIC_RET:
        stack_ref(s, PEET_REF_LOAD, 8, 0, PEET_REF_FETCH);
        break;
    case ZYDIS_MNEMONIC_LEAVE: {
        struct peet_foreign_value *v = add_value(s);
        add_term(s, v, RBP, 1);
        add_ref(s, PEET_REF_LOAD, 8, PEET_REF_STACK, s->plan->nvalues - 1);
        break;
    }
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
        operand_refs(s, z, o, next, klass);
        stack_ref(s, PEET_REF_STORE, width, -(int64_t)width, 0);
        break;
    case ZYDIS_MNEMONIC_CALL:
        operand_refs(s, z, o, next, klass);
        stack_ref(s, PEET_REF_STORE, 8, -8, PEET_REF_FETCH);
        break;
    default:
        operand_refs(s, z, o, next, klass);
    }
}

/* What an instruction writes that does not depend on any register, as far as that is certain: an immediate operand, an
 * address, what is read from memory that the dynamic linker has protected (addresses of data and offsets of thread-local
 * variables).  @to: it is written; next: behind the instruction */
static struct sum constant_of(const struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    uint64_t next)
{
    struct sum value = {CONSTANT, 0};
    const uint64_t address = next + (uint64_t)o[1].mem.disp.value;
    if (z->mnemonic == ZYDIS_MNEMONIC_MOV && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].size >= 32)
        value.add = o[0].size == 32 ? (int64_t)(uint32_t)o[1].imm.value.u : o[1].imm.value.s;
    else if (z->mnemonic == ZYDIS_MNEMONIC_XOR && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        o[0].reg.value == o[1].reg.value && o[0].size >= 32)
        value.add = 0;
    else if (z->mnemonic == ZYDIS_MNEMONIC_LEA && o[1].mem.base == ZYDIS_REGISTER_RIP && o[0].size == 64)
        value.add = (int64_t)address;
    else if (z->mnemonic == ZYDIS_MNEMONIC_MOV && o[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
        o[1].mem.base == ZYDIS_REGISTER_RIP && o[0].size == 64 && address >= s->plan->image->fixed_lo &&
        address + sizeof value.add <= s->plan->image->fixed_hi)
        memcpy(&value.add, (const void *)address, sizeof value.add);
    else
        value.origin = UNKNOWN;
    return value;
}

/* Registers behind the instruction, which ends there. */
static void follow(struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t behind)
{
    struct sum next = {UNKNOWN, 0};
    const int any =
        z->operand_count > 1 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? peet__foreign_general(o[0].reg.value) : -1;
    int to = z->operand_count && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[0].size == 64
        ? peet__foreign_general(o[0].reg.value)
        : -1;
    int64_t rsp = 0;
    int rsp_moves = 1;
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
        rsp = z->operand_width == 16 ? -2 : -8;
        break;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
        rsp = z->operand_width == 16 ? 2 : 8;
        break;
    case ZYDIS_MNEMONIC_CALL:
        rsp = -8;
        break;
    case ZYDIS_MNEMONIC_RET:
        rsp = 8;
        break;
    default:
        rsp_moves = 0;
    }
    if (to >= 0 && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        (z->mnemonic == ZYDIS_MNEMONIC_ADD || z->mnemonic == ZYDIS_MNEMONIC_SUB)) {
        next = s->sums[to];
        next.add += z->mnemonic == ZYDIS_MNEMONIC_ADD ? o[1].imm.value.s : -o[1].imm.value.s;
    } else if (to >= 0 && (z->mnemonic == ZYDIS_MNEMONIC_INC || z->mnemonic == ZYDIS_MNEMONIC_DEC)) {
        next = s->sums[to];
        next.add += z->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
    } else if (to >= 0 && z->mnemonic == ZYDIS_MNEMONIC_MOV && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        peet__foreign_general(o[1].reg.value) >= 0) {
        next = s->sums[peet__foreign_general(o[1].reg.value)];
    } else if (to >= 0 && z->mnemonic == ZYDIS_MNEMONIC_LEA && peet__foreign_general(o[1].mem.base) >= 0 &&
        o[1].mem.index == ZYDIS_REGISTER_NONE && z->address_width == 64) {
        next = s->sums[peet__foreign_general(o[1].mem.base)];
        next.add += o[1].mem.disp.value;
    } else if (any >= 0 && any != RSP) {
        next = constant_of(s, z, o, behind);
        to = any;
    }
    const struct sum stack = s->sums[RSP];
    for (unsigned k = 0; k < z->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
            peet__foreign_general(o[k].reg.value) >= 0)
            s->sums[peet__foreign_general(o[k].reg.value)] = (struct sum){UNKNOWN, 0};
    if (peet__foreign_is_rep(z))
        s->sums[RCX] = (struct sum){UNKNOWN, 0};
    if (rsp_moves && !(z->mnemonic == ZYDIS_MNEMONIC_POP && to == RSP))
        s->sums[RSP] = (struct sum){stack.origin, stack.add + rsp};
    else if (next.origin != UNKNOWN && !rsp_moves)
        s->sums[to] = next;
}

/* -------------------------------------------------------------------------------------------- registers */

static void add_reg(struct peet__foreign_plan *p, struct peet_insn *insn, int reg, uint8_t *count)
{
    if (reg < 0 || p->nregs == PEET__FOREIGN_REGS)
        return;
    for (unsigned k = 0; k < *count; k++)
        if (p->regs[p->nregs - 1 - k] == reg)
            return;
    p->regs[p->nregs++] = (uint8_t)reg;
    (*count)++;
}

/* Registers as struct peet_insn has them: of addresses, of data, written. */
static void registers(struct peet__foreign_plan *p, struct peet_insn *insn, const ZydisDecodedInstruction *z,
    const ZydisDecodedOperand *o)
{
    uint8_t data = 0;
    const uint32_t first = p->nregs;
    for (unsigned k = 0; k < z->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            add_reg(p, insn, peet__foreign_register(o[k].mem.base), &insn->naddresses);
            add_reg(p, insn, peet__foreign_register(o[k].mem.index), &insn->naddresses);
        }
    for (unsigned k = 0; k < z->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && o[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ &&
            !(peet__foreign_register(o[k].reg.value) == PEET_REG_FLAGS &&
                !(z->cpu_flags && z->cpu_flags->tested & PEET__FOREIGN_ARITHMETIC)))
            add_reg(p, insn, peet__foreign_register(o[k].reg.value), &data);
    insn->nreads = (uint8_t)(insn->naddresses + data);
    for (unsigned k = 0; k < z->operand_count; k++)
        if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
            add_reg(p, insn, peet__foreign_register(o[k].reg.value), &insn->nwrites);
            if (peet__foreign_general(o[k].reg.value) >= 0 && o[k].size < 32)
                insn->flags |= PEET_INSN_PARTIAL;
        }
    insn->regs = p->regs + first;
}

/* ----------------------------------------------------------------------------------------------- blocks */

/* What is not known to be dead is live: bits of general registers, bit 16 the flags. */
struct life {
    uint32_t read, dead;
};

static void live(struct life *life, uint32_t reads, uint32_t writes)
{
    life->read |= reads & ~life->dead;
    life->dead |= writes & ~life->read;
}

static uint8_t flags_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint8_t klass)
{
    if (klass == PEET_INSN_JUMP || klass == PEET_INSN_CALL)
        return peet__foreign_names_target(z, o) ? 0 : PEET_INSN_INDIRECT;
    return klass == PEET_INSN_STRING && peet__foreign_is_rep(z) ? PEET_INSN_REP : 0;
}

static void one(struct state *s, const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t pc)
{
    struct peet__foreign_plan *p = s->plan;
    struct peet_insn *insn = &p->insns[p->n];
    struct peet__foreign_insn *code = &p->code[p->n];
    const uint8_t klass = peet__foreign_class(z, o);
    s->at = p->n;
    *code = (struct peet__foreign_insn){.pc = pc, .length = z->length, .z = *z};
    memcpy(code->bytes, p->image->text + (pc - p->image->lo), z->length);
    peet__foreign_uses(z, o, &code->reads, &code->writes);
    *insn = (struct peet_insn){.pc = pc,
        .opcode = peet__foreign_opcode(z, o, klass),
        .first_ref = (uint16_t)(p->nrefs - peet__foreign_last(p)->ref),
        .length_bytes = z->length,
        .flags = flags_of(z, o, klass)};
    registers(p, insn, z, o);
    references(s, z, o, pc + z->length, klass);
    insn->nrefs = (uint16_t)(p->nrefs - peet__foreign_last(p)->ref - insn->first_ref);
    follow(s, z, o, pc + z->length);
    p->n++;
}

static void begin_part(struct peet__foreign_plan *p, const struct peet__foreign_image *image, uint64_t pc)
{
    p->parts[p->nparts++] = (struct peet__foreign_part){
        .pc = pc, .image = image, .end = PEET__FOREIGN_NEXT, .insn = p->n, .ref = p->nrefs, .value = p->nvalues};
}

/* So often a block of a trace was executed. */
static uint64_t times(const struct peet__foreign_profile *profile, uint32_t place)
{
    uint64_t n = profile->counts[0];
    for (uint32_t k = 0; k < place; k++)
        n -= profile->counts[1 + k] < n ? profile->counts[1 + k] : n;
    return n;
}

/* Which way does the conditional jump at the end go?  Without a profile, ahead: a jump back is nearly always taken, and
 * ends the trace.  Returns: where to, 0: that is not certain enough */
static uint64_t likely(struct state *s, struct peet__foreign_part *last)
{
    enum { LEAST = 2 }; /* of so many executions of the trace, one comes on */
    if (!s->profile)
        return last->target > last->next && !s->profile_of ? last->next : 0;
    const uint64_t n = times(s->profile, s->place), taken = s->profile->counts[1 + s->place];
    if (n == 0)
        return 0;
    last->taken = 2 * taken > n;
    const uint64_t on = last->taken ? (taken < n ? taken : n) : n - taken;
    s->reached = (uint64_t)((double)s->reached * (double)on / (double)n);
    return s->reached * LEAST < s->most ? 0 : last->taken ? last->target : last->next;
}

/* The profile of the next block, which begins at pc. */
static void follow_profile(struct state *s, const struct peet__foreign_part *last, uint64_t pc)
{
    const struct peet__foreign_profile *const p = s->profile;
    if (p && !last->taken && s->place + 1 < p->nparts && p->parts[s->place + 1].pc == pc) {
        s->place++;
        return;
    }
    s->profile = s->profile_of ? s->profile_of(pc) : NULL;
    s->place = 0;
}

static int may_go_to(const struct peet__foreign_plan *p, const struct peet__foreign_image *image, uint64_t to,
    unsigned most)
{
    unsigned before = 0;
    for (uint32_t k = 0; k < p->nparts; k++)
        before += p->parts[k].pc == to;
    return before < most && peet__foreign_image_of(to) == image && peet__foreign_function_of(p->image, to) &&
        peet_rt_foreign_instead(to) == to;
}

/* By a word at a fixed place, a jump or call leads where it led before. */
static void guess(const struct state *s, struct peet__foreign_part *last)
{
    const struct peet__foreign_insn *const insn = &s->plan->code[s->plan->n - 1];
    uint64_t to;
    if ((last->end != PEET__FOREIGN_CALL_INDIRECT && last->end != PEET__FOREIGN_GOTO_INDIRECT) ||
        insn->z.raw.modrm.mod != 0 || insn->z.raw.modrm.rm != 5)
        return;
    memcpy(&to, (const void *)(last->next + (uint64_t)insn->z.raw.disp.value), sizeof to);
    last->guess = to != last->next && peet__foreign_can_translate(to);
    if (last->guess)
        last->target = to;
}

/* Where the trace goes on behind its last block; 0: nowhere. */
static uint64_t way_on(struct state *s, const struct peet__foreign_image *image)
{
    enum { TURNS = 4 }; /* a short loop goes round so often in a trace */
    struct peet__foreign_plan *p = s->plan;
    struct peet__foreign_part *last = &p->parts[p->nparts - 1];
    uint64_t to = 0;
    if (p->n && s->profile_of)
        guess(s, last);
    if (s->full || p->nparts == s->parts)
        return 0;
    switch (last->end) {
    case PEET__FOREIGN_BRANCH:
        to = likely(s, last);
        break;
    case PEET__FOREIGN_CALL:
        to = s->ncalls < PEET__FOREIGN_CALLS ? last->target : 0;
        break;
    case PEET__FOREIGN_GOTO:
        to = last->target;
        break;
    case PEET__FOREIGN_CALL_INDIRECT:
        to = last->guess && s->ncalls < PEET__FOREIGN_CALLS ? last->target : 0;
        break;
    case PEET__FOREIGN_GOTO_INDIRECT:
        to = last->guess ? last->target : 0;
        break;
    case PEET__FOREIGN_RET:
        to = s->ncalls && p->code[p->n - 1].length < 3 ? s->calls[s->ncalls - 1] : 0;
        break;
    default:
        break;
    }
    if (!to || !may_go_to(p, image, to, s->profile_of ? TURNS : 1)) {
        last->taken = 0;
        return 0;
    }
    if (last->end == PEET__FOREIGN_CALL || last->end == PEET__FOREIGN_CALL_INDIRECT) {
        s->calls[s->ncalls++] = last->next;
    } else if (last->end == PEET__FOREIGN_RET) {
        s->ncalls--;
        last->returns = 1;
        last->target = to;
    }
    follow_profile(s, last, to);
    return to;
}

/* The kernel or the runtime comes in here. */
static int ends_part(const ZydisDecodedInstruction *z)
{
    return z->mnemonic == ZYDIS_MNEMONIC_SYSCALL || z->mnemonic == ZYDIS_MNEMONIC_RDTSC ||
        z->mnemonic == ZYDIS_MNEMONIC_RDTSCP || z->mnemonic == ZYDIS_MNEMONIC_CPUID;
}

/* One block, from pc on.  Where it ends does not depend on the trace: if that has no room for it, it has no instructions. */
static void analyse_part(struct state *s, uint64_t pc)
{
    struct peet__foreign_plan *p = s->plan;
    struct peet__foreign_part *const part = &p->parts[p->nparts - 1];
    const uint32_t first_slot = p->nslots, first_reg = p->nregs;
    const struct peet__foreign_function *f = peet__foreign_function_of(p->image, pc);
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction z;
    while (part->end == PEET__FOREIGN_NEXT && p->n < part->insn + BLOCK_INSNS && !s->full) {
        if (p->n > part->insn && f && pc != f->lo && pc >= f->hi)
            break; /* into the next function */
        if (p->n == s->insns || p->nslots + 8 > PEET__FOREIGN_SLOTS || s->norigins + 8 > ORIGINS)
            s->full = 1;
        if (s->full)
            break;
        if (!peet__foreign_decode(p->image, pc, &z, operands)) {
            part->end = PEET__FOREIGN_UNKNOWN;
            break;
        }
        part->end = peet__foreign_end_of(&z, operands, pc + z.length, &part->target);
        if (part->end == PEET__FOREIGN_UNKNOWN)
            break;
        one(s, &z, operands, pc);
        pc += z.length;
        if (ends_part(&z))
            break;
    }
    if (s->full && p->nparts > 1) {
        p->n = part->insn, p->nrefs = part->ref, p->nvalues = part->value;
        p->nslots = first_slot, p->nregs = first_reg;
    }
    part->next = pc;
    part->ninsns = p->n - part->insn;
    part->nrefs = p->nrefs - part->ref;
    part->nvalues = p->nvalues - part->value;
    part->nslots = p->nslots;
}

static int is_call_or_return(enum peet__foreign_end end)
{
    return end == PEET__FOREIGN_CALL || end == PEET__FOREIGN_CALL_INDIRECT || end == PEET__FOREIGN_RET;
}

/* What is dead where control goes that is none of the part's next one; what is dead where it ends, for the last. */
static uint32_t dead_outside(const struct peet__foreign_plan *p, const struct peet__foreign_part *part)
{
    const int last = part == peet__foreign_last(p);
    switch (part->end) {
    case PEET__FOREIGN_BRANCH:
        return last ? peet__foreign_dead_at(p->image, part->target) & peet__foreign_dead_at(p->image, part->next)
                    : peet__foreign_dead_at(p->image, part->taken ? part->next : part->target);
    case PEET__FOREIGN_GOTO:
        return last ? peet__foreign_dead_at(p->image, part->target) : UINT32_MAX;
    case PEET__FOREIGN_CALL:
        return last ? 0 : UINT32_MAX;
    default:
        return 0;
    }
}

uint32_t peet__foreign_dead(struct peet__foreign_plan *p, uint32_t insn)
{
    struct life life = {1u << RSP, 0};
    uint32_t part = 0, k = insn;
    while (part + 1 < p->nparts && p->parts[part + 1].insn <= insn)
        part++;
    for (; part < p->nparts; part++) {
        struct peet__foreign_part *const of = &p->parts[part];
        for (; k < of->insn + of->ninsns; k++)
            live(&life, p->code[k].reads, p->code[k].writes);
        if (is_call_or_return(of->end)) /* the calling convention */
            live(&life, 0, PEET__FOREIGN_FLAGS);
        if (!of->dead_known && (p->has_profile || of->end != PEET__FOREIGN_BRANCH))
            of->dead_outside = dead_outside(p, of);
        of->dead_known = 1;
        if (part + 1 == p->nparts)
            live(&life, 0, of->dead_outside);
        else
            live(&life, ~of->dead_outside, 0);
        if (!of->dead_outside)
            break;
    }
    return life.dead & ~(1u << RSP);
}

/* @branches: so many conditional jumps are looked behind */
static uint32_t dead_from(const struct peet__foreign_image *image, uint64_t pc, unsigned branches)
{
    enum { MOST = 12 };
    const struct peet__foreign_step *at;
    struct life life = {1u << RSP, 0};
    for (unsigned k = 0; k < MOST && (at = peet__foreign_step_at(image, pc)) != NULL; k++) {
        const struct peet__foreign_step step = *at;
        live(&life, step.reads, step.writes);
        pc += step.length;
        if (is_call_or_return(step.end))
            live(&life, 0, PEET__FOREIGN_FLAGS);
        if (step.end == PEET__FOREIGN_BRANCH && branches)
            live(&life, 0, dead_from(image, pc, branches - 1) & dead_from(image, step.target, branches - 1));
        if (step.end == PEET__FOREIGN_GOTO)
            pc = step.target;
        else if (step.end != PEET__FOREIGN_NEXT || step.calls_kernel)
            break;
    }
    return life.dead;
}

uint32_t peet__foreign_dead_at(const struct peet__foreign_image *image, uint64_t pc)
{
    return dead_from(image, pc, 1);
}

int peet__foreign_analyse(struct peet__foreign_image *image, uint64_t pc, peet__foreign_profile_of *profile,
    struct peet__foreign_plan *p)
{
    enum { FEW_INSNS = BLOCK_INSNS + 8, FEW_PARTS = 12 };
    struct state s = {.plan = p,
        .norigins = 16,
        .profile_of = profile,
        .profile = profile ? profile(pc) : NULL,
        .insns = profile ? PEET__FOREIGN_INSNS : FEW_INSNS,
        .parts = profile ? PEET__FOREIGN_PARTS : FEW_PARTS};
    p->image = image;
    p->has_profile = profile != NULL;
    p->nparts = p->n = p->nrefs = p->nvalues = p->nregs = p->nslots = p->words = 0;
    for (int r = 0; r < 16; r++) {
        s.origins[r] = (struct origin){(uint8_t)r, 0, -1};
        s.sums[r] = (struct sum){(int16_t)r, 0};
    }
    s.reached = s.most = s.profile ? s.profile->counts[0] : 1;
    for (; pc; pc = way_on(&s, image)) {
        begin_part(p, image, pc);
        analyse_part(&s, pc);
        if (p->parts[p->nparts - 1].ninsns == 0 && p->nparts > 1) { /* it cannot go on there after all */
            p->nparts--;
            p->parts[p->nparts - 1].taken = p->parts[p->nparts - 1].returns = 0;
            break;
        }
    }
    p->words = p->n ? 1 + p->nslots : 0;
    const uint32_t dead = peet__foreign_dead(p, 0);
    p->dead = dead & 0xffff ? __builtin_ctz(dead) : -1;
    p->flags_free = (dead & PEET__FOREIGN_FLAGS) != 0;
    return 0;
}
