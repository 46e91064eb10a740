/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a trace in the cache:
 *
 *     mov  cursor, T            T: a register that holds nothing here, or a spilled one
 *     cmp  limit, T; jae full   where the flags hold nothing; elsewhere they are saved, if the block may turn back
 *     movq $word, (T)           says that control goes to the end
 *     mov  r, 8(T) ...          the registers that addresses need
 *     lea  n(T), T; mov T, cursor
 *     the instructions, each as it is; before some of them another register is recorded, into its word of the same
 *     record
 *     where a call in the trace returns in it: the address on the stack is compared
 *     the way on: links, or a look in the table of places
 *     ways out of the middle:   the word becomes that of the path so far; what has been taken for blocks that do not
 *                               come is given back; a link
 *     what is executed once:    where the ring is full, links that are not settled, return addresses
 *
 * What looks for a place in the tables leaves rcx and rdx in the spill words; the place found gets them back.
 *
 * What several blocks of a trace need is recorded once.
 * A trace that has no profile yet counts how often it is executed, and how often each of its conditional jumps is taken.
 *
 * A record's room is taken at once, so that the words of one come before those of whatever the trace calls.
 */
#include "foreign/translate.h"

#include <peet/raw.h>
#include <sys/syscall.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

#define STATE(field) (PEET_FOREIGN_LOW + (field))
#define SPILL(k) STATE(PEET_FOREIGN_SPILL + 8 * (k))
#define CONTROL(field) (PEET_CONTROL_ADDRESS + (field))

/* mov between a register and a word at a fixed place. */
static void put_absolute(struct peet__foreign_code *c, unsigned opcode, unsigned reg, uint32_t place)
{
    peet__put8(c, 0x48 | (reg >> 3) << 2);
    peet__put8(c, opcode);
    peet__put8(c, 0x04 | (reg & 7) << 3);
    peet__put8(c, 0x25);
    peet__put32(c, (int32_t)place);
}

/* op reg, disp(base) */
static void put_memory(struct peet__foreign_code *c, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
    const int near = disp == (int8_t)disp;
    peet__put8(c, 0x48 | (reg >> 3) << 2 | base >> 3);
    peet__put8(c, opcode);
    const int none = disp == 0 && (base & 7) != RBP;
    peet__put8(c, (none ? 0 : near ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == RSP)
        peet__put8(c, 0x24);
    if (none)
        return;
    if (near)
        peet__put8(c, (uint8_t)disp);
    else
        peet__put32(c, disp);
}

static void put_save(struct peet__foreign_code *c, unsigned reg, uint32_t place)
{
    put_absolute(c, 0x89, reg, place);
}

/* By way of the register itself, in as many bytes: Zen 5 hands a stored value on to such a load at once. If neither the store's
 * address nor the load's has a register, that takes seven cycles. */
static void put_load(struct peet__foreign_code *c, unsigned reg, uint32_t place)
{
    if (reg >> 3)
        peet__put8(c, 0x41);
    peet__put8(c, 0xb8 | (reg & 7)); /* mov $place, reg */
    peet__put32(c, (int32_t)place);
    put_memory(c, 0x8b, reg, reg, 0);
}

/* The displacement that ends here leads to what comes next. */
static void aim_here(struct peet__foreign_code *c, uint8_t *behind)
{
    const int32_t ahead = (int32_t)(c->at - behind);
    __builtin_memcpy(behind - 4, &ahead, 4);
}

void peet__put_copy(struct peet__foreign_code *c, const struct peet__foreign_insn *insn)
{
    uint8_t *const at = c->at;
    peet__put_bytes(c, insn->bytes, insn->length);
    const ZydisDecodedInstruction *z = &insn->z;
    if (z->attributes & ZYDIS_ATTRIB_IS_RELATIVE && z->raw.disp.size == 32 && z->raw.modrm.mod == 0 &&
        z->raw.modrm.rm == 5) {
        const int32_t moved = (int32_t)(z->raw.disp.value + (int64_t)(insn->pc - (uint64_t)at));
        __builtin_memcpy(at + z->raw.disp.offset, &moved, 4);
    }
}

void peet__put_native_jump(struct peet__foreign_code *c, uint64_t target)
{
    PEET__PUT(c, "\xff\x25\x00\x00\x00\x00"); /* jmp *0(%rip) */
    peet__put64(c, target);
}

/* What comes later; behind the displacement, which was the last to be put. */
static struct peet__foreign_cold *add_cold(struct peet__foreign_code *c)
{
    struct peet__foreign_cold *cold = &c->cold[c->ncold++];
    peet__put32(c, 0);
    cold->from = c->at;
    return cold;
}

void peet__put_push(struct peet__foreign_code *c, uint64_t value)
{
    PEET__PUT(c, "\xff\x35"); /* push *word(%rip) */
    struct peet__foreign_cold *cold = add_cold(c);
    cold->kind = PEET__FOREIGN_WORD;
    cold->value = value;
}

void peet__put_link(struct peet__foreign_code *c, uint64_t target)
{
    struct peet__foreign_cold *cold = add_cold(c);
    cold->kind = PEET__FOREIGN_LINK;
    cold->value = target;
}

static void put_jump_link(struct peet__foreign_code *c, uint64_t target)
{
    peet__put8(c, 0xe9);
    peet__put_link(c, target);
}

/* Both registers that the way on needs. */
static void put_spills(struct peet__foreign_code *c)
{
    put_save(c, RCX, SPILL(0));
    put_save(c, RDX, SPILL(1));
}

void peet__put_arrival(struct peet__foreign_code *c, uint32_t dead)
{
    if (!(dead >> RCX & 1))
        put_load(c, RCX, SPILL(0));
    if (!(dead >> RDX & 1))
        put_load(c, RDX, SPILL(1));
}

/* The translator is asked for a link's target, and changes the link. */
static void put_cold_link(struct peet__foreign_code *c, const struct peet__foreign_cold *cold)
{
    struct peet__foreign_image *const image = peet__foreign_image_of(cold->value);
    if (!image || !peet__foreign_function_of(image, cold->value)) {
        peet__put_native_jump(c, cold->value);
        return;
    }
    put_spills(c);
    PEET__PUT(c, "\x48\xba"); /* mov $target, %rdx */
    peet__put64(c, cold->value);
    PEET__PUT(c, "\x48\xc7\x04\x25"); /* movq $number, link */
    peet__put32(c, STATE(PEET_FOREIGN_LINK));
    peet__put32(c, (int32_t)peet__foreign_link(c->image, cold->from - 4, image, cold->value));
    PEET__PUT(c, "\xff\x24\x25"); /* jmp *miss */
    peet__put32(c, STATE(PEET_FOREIGN_MISS_JUMP));
}

/* The host takes the words; everything is as it was then. */
static void put_yield(struct peet__foreign_code *c)
{
    PEET__PUT(c, "\x48\x8d\x64\x24\x80\xff\x14\x25"); /* lea -128(%rsp), %rsp; call *yield */
    peet__put32(c, STATE(PEET_FOREIGN_YIELD));
    PEET__PUT(c, "\x48\x8d\xa4\x24\x80\x00\x00\x00"); /* lea 128(%rsp), %rsp */
}

static void put_cold_full(struct peet__foreign_code *c, const struct peet__foreign_cold *cold)
{
    if (cold->spilled)
        put_load(c, (unsigned)cold->reg, SPILL(0));
    put_yield(c);
    if (cold->spilled)
        put_save(c, (unsigned)cold->reg, SPILL(0));
    put_load(c, (unsigned)cold->reg, CONTROL(PEET_CONTROL_CURSOR));
    peet__put8(c, 0xe9);
    peet__put32(c, cold->back - (c->at + 4));
}

void peet__put_cold(struct peet__foreign_code *c)
{
    for (uint32_t k = 0; k < c->ncold; k++) {
        const struct peet__foreign_cold *cold = &c->cold[k];
        aim_here(c, cold->from);
        switch (cold->kind) {
        case PEET__FOREIGN_WORD:
            peet__put64(c, cold->value);
            break;
        case PEET__FOREIGN_LINK:
            put_cold_link(c, cold);
            break;
        case PEET__FOREIGN_FULL:
            put_cold_full(c, cold);
            break;
        }
    }
    c->ncold = 0;
}

/* rcx becomes the place in the table for the original address in rdx, in half entries. */
static void put_place(struct peet__foreign_code *c)
{
    PEET__PUT(c, "\x0f\xb7\xca\x48\x8d\x0c\x09"); /* movzwl %dx, %ecx; lea (%rcx,%rcx), %rcx */
}

/* rdx: an original address; rcx and rdx are spilled.  On to its translation. */
static void put_look(struct peet__foreign_code *c, uint32_t table, uint32_t miss)
{
    put_place(c);
    PEET__PUT(c, "\x48\x8b\x0c\xcd"); /* mov key(,%rcx,8), %rcx */
    peet__put32(c, (int32_t)(table + offsetof(struct peet_foreign_place, key)));
    PEET__PUT(c, "\x48\x8d\x0c\x11\xe3\x07\xff\x24\x25"); /* lea (%rcx,%rdx), %rcx; jrcxz 1f; jmp *miss */
    peet__put32(c, (int32_t)miss);
    put_place(c);
    PEET__PUT(c, "\xff\x24\xcd"); /* jmp *code(,%rcx,8) */
    peet__put32(c, (int32_t)(table + offsetof(struct peet_foreign_place, code)));
}

/* The same where the flags hold nothing; @behind: the stack pointer is moved by so much, too. */
static void put_look_free(struct peet__foreign_code *c, uint32_t table, uint32_t miss, int behind)
{
    uint8_t *other;
    PEET__PUT(c, "\x0f\xb7\xca\xc1\xe1\x04"); /* movzwl %dx, %ecx; shl $4, %ecx */
    PEET__PUT(c, "\x48\x03\x91");             /* add key(%rcx), %rdx */
    peet__put32(c, (int32_t)(table + offsetof(struct peet_foreign_place, key)));
    PEET__PUT(c, "\x75\x00"); /* jne other */
    other = c->at;
    if (behind)
        put_memory(c, 0x8d, RSP, RSP, behind);
    PEET__PUT(c, "\xff\xa1"); /* jmp *code(%rcx) */
    peet__put32(c, (int32_t)(table + offsetof(struct peet_foreign_place, code)));
    other[-1] = (uint8_t)(c->at - other);
    PEET__PUT(c, "\x48\x2b\x91"); /* sub key(%rcx), %rdx */
    peet__put32(c, (int32_t)(table + offsetof(struct peet_foreign_place, key)));
    if (behind)
        put_memory(c, 0x8d, RSP, RSP, behind);
    PEET__PUT(c, "\xff\x24\x25"); /* jmp *miss */
    peet__put32(c, (int32_t)miss);
}

static void put_look_jump(struct peet__foreign_code *c)
{
    put_look(c, PEET_FOREIGN_JUMPS, STATE(PEET_FOREIGN_MISS_JUMP));
}

/* rdx becomes where an indirect jump or call goes. */
static void put_target(struct peet__foreign_code *c, const struct peet__foreign_insn *insn)
{
    const ZydisDecodedInstruction *z = &insn->z;
    const unsigned rex =
        z->raw.rex.offset || z->attributes & ZYDIS_ATTRIB_HAS_REX ? (unsigned)(z->raw.rex.X << 1 | z->raw.rex.B) : 0;
    if (z->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        peet__put8(c, 0x64);
    peet__put8(c, 0x48 | rex);
    peet__put8(c, 0x8b);
    const unsigned from = z->raw.modrm.offset; /* modrm, sib, displacement */
    peet__put8(c, (insn->bytes[from] & 0xc7) | RDX << 3);
    peet__put_bytes(c, insn->bytes + from + 1, (size_t)(insn->length - from - 1));
    if (z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5) {
        const int32_t moved = (int32_t)(z->raw.disp.value + (int64_t)(insn->pc + insn->length - (uint64_t)c->at));
        __builtin_memcpy(c->at - 4, &moved, 4);
    }
}

/* @more: what the return takes from the stack behind the address */
static void put_return(struct peet__foreign_code *c, unsigned more)
{
    put_spills(c);
    PEET__PUT(c, "\x48\x8b\x14\x24"); /* mov (%rsp), %rdx */
    if (more)
        put_look_free(c, PEET_FOREIGN_JUMPS, STATE(PEET_FOREIGN_MISS_JUMP), (int)(8 + more));
    else
        put_look_free(c, PEET_FOREIGN_RETURNS, STATE(PEET_FOREIGN_MISS_RETURN), 8);
}

/* A jump or call whose target is in a register or in memory. */
static void put_indirect(struct peet__foreign_code *c, const struct peet__foreign_part *p,
    const struct peet__foreign_insn *last)
{
    put_spills(c);
    put_target(c, last);
    if (p->end != PEET__FOREIGN_CALL_INDIRECT) {
        put_look_jump(c);
        return;
    }
    peet__put_push(c, p->next);
    put_look_free(c, PEET_FOREIGN_JUMPS, STATE(PEET_FOREIGN_MISS_JUMP), 0);
}

/* The way on behind the last instruction, which is one of control. */
static void put_end(struct peet__foreign_code *c, const struct peet__foreign_plan *plan)
{
    const struct peet__foreign_part *const p = peet__foreign_last(plan);
    const struct peet__foreign_insn *last = plan->n ? &plan->code[plan->n - 1] : NULL;
    switch (p->end) {
    case PEET__FOREIGN_BRANCH: /* where it leads: see put_way_on() */
        put_jump_link(c, p->next);
        break;
    case PEET__FOREIGN_LOOP: /* the instruction over a jump */
        peet__put_bytes(c, last->bytes, (size_t)(last->length - 1));
        peet__put8(c, 5);
        put_jump_link(c, p->next);
        put_jump_link(c, p->target);
        break;
    case PEET__FOREIGN_CALL:
        peet__put_push(c, p->next);
        put_jump_link(c, p->target);
        break;
    case PEET__FOREIGN_GOTO:
        put_jump_link(c, p->target);
        break;
    case PEET__FOREIGN_CALL_INDIRECT:
    case PEET__FOREIGN_GOTO_INDIRECT:
        if (!p->guess) {
            put_indirect(c, p, last);
            break;
        }
        if (p->end == PEET__FOREIGN_CALL_INDIRECT)
            peet__put_push(c, p->next);
        put_jump_link(c, p->target);
        break;
    case PEET__FOREIGN_RET:
        put_return(c, last->length >= 3 && last->z.raw.imm[0].size == 16 ? (unsigned)last->z.raw.imm[0].value.u : 0);
        break;
    case PEET__FOREIGN_STOP:
        PEET__PUT(c, "\x0f\x0b");
        break;
    case PEET__FOREIGN_UNKNOWN:
        peet__put_native_jump(c, p->next);
        break;
    default:
        put_jump_link(c, p->next);
    }
}

static int last_is_control(const struct peet__foreign_part *p)
{
    return p->end != PEET__FOREIGN_NEXT && p->end != PEET__FOREIGN_UNKNOWN && p->end != PEET__FOREIGN_STOP;
}

/* A call of a stub that keeps what is not its to change; all of this is as after recorded code (peet/raw.h). */
static void put_hook(struct peet__foreign_code *c, uint32_t slot, uint32_t word)
{
    PEET__PUT(c, "\x48\x8d\x64\x24\x80\xff\x14\x25"); /* lea -128(%rsp), %rsp; call *slot */
    peet__put32(c, (int32_t)slot);
    PEET__PUT(c, "\x0f\x1f\x80"); /* nopl word(%rax) */
    peet__put32(c, (int32_t)word);
    PEET__PUT(c, "\x48\x8d\xa4\x24\x80\x00\x00\x00"); /* lea 128(%rsp), %rsp */
}

/* mov $number, %eax; syscall */
static int calls_system(const struct peet__foreign_insn *insn, const struct peet__foreign_insn *next, uint64_t number)
{
    return next && next->z.mnemonic == ZYDIS_MNEMONIC_SYSCALL && insn->z.opcode == 0xb8 &&
        insn->z.raw.imm[0].value.u == number;
}

/* An instruction, and what it would tell of the host.  Between a system call and the number before it comes nothing, by which
 * handlers know it (peet__uc_restart()).  @next: NULL: another part's */
static void put_instruction(struct peet__foreign_code *c, const struct peet__foreign_insn *insn,
    const struct peet__foreign_insn *next)
{
    if (insn->z.mnemonic == ZYDIS_MNEMONIC_CPUID) {
        put_hook(c, STATE(PEET_FOREIGN_CPUID), 0);
        return;
    }
    if (calls_system(insn, next, SYS_mmap))
        put_hook(c, STATE(PEET_FOREIGN_MAPS), 0);
    peet__put_copy(c, insn);
    if (insn->z.mnemonic == ZYDIS_MNEMONIC_RDTSC)
        put_hook(c, CONTROL(PEET_CONTROL_CLOCK), PEET_HOOK_VECTORS | PEET_HOOK_RDTSC);
    else if (insn->z.mnemonic == ZYDIS_MNEMONIC_RDTSCP)
        put_hook(c, CONTROL(PEET_CONTROL_CLOCK), PEET_HOOK_VECTORS | PEET_HOOK_RDTSCP);
}

/* May it turn back, so that a circle could go round without a check? */
static int may_turn_back(const struct peet__foreign_plan *plan)
{
    for (uint32_t k = 0; k < plan->nparts; k++) {
        const struct peet__foreign_part *p = &plan->parts[k];
        switch (p->end) {
        case PEET__FOREIGN_BRANCH:
        case PEET__FOREIGN_LOOP:
        case PEET__FOREIGN_GOTO:
            if (p->target <= p->next)
                return 1;
            break;
        case PEET__FOREIGN_NEXT:
        case PEET__FOREIGN_STOP:
        case PEET__FOREIGN_UNKNOWN:
            break;
        default:
            return 1;
        }
    }
    return 0;
}

static uint8_t *put_jump_if_room(struct peet__foreign_code *c, unsigned reg)
{
    put_absolute(c, 0x3b, reg, CONTROL(PEET_CONTROL_LIMIT)); /* cmp limit, reg */
    PEET__PUT(c, "\x0f\x82");                                /* jb */
    peet__put32(c, 0);
    return c->at;
}

/* A check where the flags hold something. */
static void put_careful_check(struct peet__foreign_code *c)
{
    uint8_t *room;
    put_save(c, RAX, SPILL(2));
    put_save(c, RCX, SPILL(0));
    PEET__PUT(c, "\x9f\x0f\x90\xc0"); /* lahf; seto %al */
    put_load(c, RCX, CONTROL(PEET_CONTROL_CURSOR));
    room = put_jump_if_room(c, RCX);
    for (int full = 1; full >= 0; full--) { /* first the way that yields, which then skips the other */
        PEET__PUT(c, "\x04\x7f\x9e");       /* add $127, %al; sahf */
        put_load(c, RCX, SPILL(0));
        put_load(c, RAX, SPILL(2));
        if (full) {
            put_yield(c);
            peet__put8(c, 0xe9);
            peet__put32(c, 3 + 8 + 8);
            aim_here(c, room);
        }
    }
}

static void put_slots(struct peet__foreign_code *c, struct peet__foreign_plan *p, uint32_t at)
{
    uint32_t first = 0, used = 0;
    for (first = 0; first < p->nslots && (p->slots[first].at != at || !at); first++)
        ;
    if (first == p->nslots)
        return;
    for (uint32_t k = first; k < p->nslots; k++)
        if (p->slots[k].at == at)
            used |= 1u << p->slots[k].reg;
    const uint32_t free = peet__foreign_dead(p, at) & ~(used | PEET__FOREIGN_FLAGS);
    const unsigned with = free ? (unsigned)__builtin_ctz(free)
        : !(used >> RCX & 1)   ? RCX
        : !(used >> RDX & 1)   ? RDX
        : !(used >> RAX & 1)   ? RAX
                               : RDI;
    if (!free)
        put_save(c, with, SPILL(0));
    put_load(c, with, CONTROL(PEET_CONTROL_CURSOR));
    for (uint32_t k = first; k < p->nslots; k++)
        if (p->slots[k].at == at)
            put_memory(c, 0x89, p->slots[k].reg, with, -8 * (int32_t)(p->words - 1 - k));
    if (!free)
        put_load(c, with, SPILL(0));
}

/* One more at a place within reach, by a register that is free. */
static void put_count(struct peet__foreign_code *c, unsigned t, const uint64_t *count)
{
    for (int store = 0; store < 2; store++) {
        peet__put8(c, 0x48 | (t >> 3) << 2);
        peet__put8(c, store ? 0x89 : 0x8b);
        peet__put8(c, 0x05 | (t & 7) << 3);
        peet__put32(c, (int64_t)((uint64_t)count - ((uint64_t)c->at + 4)));
        if (!store)
            put_memory(c, 0x8d, t, t, 1);
    }
}

static void put_record(struct peet__foreign_code *c, const struct peet__foreign_plan *p, uint64_t word)
{
    uint32_t used = 1u << RSP;
    unsigned t = p->dead >= 0 ? (unsigned)p->dead : RCX;
    for (uint32_t k = 0; k < p->nslots; k++)
        if (p->slots[k].at == 0)
            used |= 1u << p->slots[k].reg;
    if (p->dead < 0)
        while (used >> t & 1)
            t++;
    const int spilled = p->dead < 0 && t < 16;
    if (t >= 16) /* all are recorded: cannot be, sixteen addresses of different registers in one block need rsp */
        t = RCX;
    if (!p->flags_free && may_turn_back(p))
        put_careful_check(c);
    if (spilled)
        put_save(c, t, SPILL(0));
    put_load(c, t, CONTROL(PEET_CONTROL_CURSOR));
    if (p->flags_free) {
        put_absolute(c, 0x3b, t, CONTROL(PEET_CONTROL_LIMIT)); /* cmp limit, t */
        PEET__PUT(c, "\x0f\x83");                              /* jae */
        struct peet__foreign_cold *cold = add_cold(c);
        cold->kind = PEET__FOREIGN_FULL;
        cold->back = c->at;
        cold->reg = (int)t;
        cold->spilled = spilled;
    }
    put_memory(c, 0xc7, 0, t, 0); /* movq $word, (t) */
    peet__put32(c, (int64_t)(word + PEET_FOREIGN_WORD_STEP * (p->nparts - 1)));
    for (uint32_t k = 0; k < p->nslots; k++)
        if (p->slots[k].at == 0)
            put_memory(c, 0x89, p->slots[k].reg, t, 8 * (int32_t)(1 + k));
    put_memory(c, 0x8d, t, t, 8 * (int32_t)p->words); /* lea */
    put_save(c, t, CONTROL(PEET_CONTROL_CURSOR));
    if (p->counts)
        put_count(c, t, p->counts);
    if (spilled)
        put_load(c, t, SPILL(0));
}

/* A jump out of a trace, behind one of its blocks. */
struct way_out {
    uint8_t *behind[2];
    const struct peet__foreign_part *part;
};

static uint8_t *put_branch(struct peet__foreign_code *c, unsigned condition)
{
    peet__put8(c, 0x0f);
    peet__put8(c, 0x80 | condition);
    peet__put32(c, 0);
    return c->at;
}

/* cmpl $value, add + the memory operand of an instruction, which is relative to its end */
static void put_compare(struct peet__foreign_code *c, const struct peet__foreign_insn *insn, int add, int32_t value)
{
    const uint64_t place = insn->pc + insn->length + (uint64_t)insn->z.raw.disp.value + (uint64_t)add;
    PEET__PUT(c, "\x81\x3d");
    peet__put32(c, (int64_t)(place - ((uint64_t)c->at + 8)));
    peet__put32(c, value);
}

/* From a block to the next one of the trace, and the jumps out of it, which are aimed later.  Returns: whether there are any */
static int put_way_on(struct peet__foreign_code *c, const struct peet__foreign_plan *p,
    const struct peet__foreign_part *part, struct way_out *out)
{
    const struct peet__foreign_insn *last = &p->code[part->insn + part->ninsns - 1];
    *out = (struct way_out){.part = part};
    if (part->end == PEET__FOREIGN_CALL && part != peet__foreign_last(p))
        peet__put_push(c, part->next);
    if (part->end == PEET__FOREIGN_BRANCH && part == peet__foreign_last(p) && !p->counts) {
        peet__put8(c, 0x0f);
        peet__put8(c, 0x80 | (last->z.opcode & 0xf));
        peet__put_link(c, part->target);
        return 0;
    }
    if (part->end == PEET__FOREIGN_BRANCH) {
        out->behind[0] = put_branch(c, (last->z.opcode & 0xf) ^ part->taken);
        return 1;
    }
    for (int high = 0; part->guess && high < 2; high++) {
        put_compare(c, last, 4 * high, (int32_t)(uint32_t)(part->target >> 32 * high));
        out->behind[high] = put_branch(c, 5);
    }
    if (part->guess && part->end == PEET__FOREIGN_CALL_INDIRECT && part != peet__foreign_last(p))
        peet__put_push(c, part->next);
    for (int high = 0; part->returns && high < 2; high++) {
        PEET__PUT(c, "\x81\x7c\x24"); /* cmpl $half, 4 * high(%rsp); jne */
        peet__put8(c, 4 * (unsigned)high);
        peet__put32(c, (int32_t)(uint32_t)(part->target >> 32 * high));
        out->behind[high] = put_branch(c, 5);
    }
    if (part->returns)
        PEET__PUT(c, "\x48\x8d\x64\x24\x08"); /* lea 8(%rsp), %rsp */
    return part->returns || part->guess;
}

/* @word: of the trace's first block */
static void put_way_out(struct peet__foreign_code *c, const struct peet__foreign_plan *p, const struct way_out *out,
    uint64_t word)
{
    const struct peet__foreign_part *part = out->part;
    const uint32_t given_back = p->nslots - peet__foreign_kept(p, part);
    const int early = part != peet__foreign_last(p);
    const uint64_t *count = p->counts && part->end == PEET__FOREIGN_BRANCH ? &p->counts[1 + (part - p->parts)] : NULL;
    const uint64_t to = part->taken ? part->next : part->target;
    const uint32_t free =
        part->returns || part->guess ? 0 : peet__foreign_dead_at(p->image, to) & ~(uint32_t)PEET__FOREIGN_FLAGS;
    const unsigned t = free ? (unsigned)__builtin_ctz(free) : RCX;
    for (int k = 0; k < 2; k++)
        if (out->behind[k])
            aim_here(c, out->behind[k]);
    if (early || count) {
        if (!free)
            put_save(c, t, SPILL(0));
        if (early) {
            put_load(c, t, CONTROL(PEET_CONTROL_CURSOR));
            put_memory(c, 0xc7, 0, t, -8 * (int32_t)p->words); /* movq $word, -words(t) */
            peet__put32(c, (int64_t)(word + PEET_FOREIGN_WORD_STEP * (uint64_t)(part - p->parts)));
        }
        if (given_back) {
            put_memory(c, 0x8d, t, t, -8 * (int32_t)given_back); /* lea */
            put_save(c, t, CONTROL(PEET_CONTROL_CURSOR));
        }
        if (count)
            put_count(c, t, count);
        if (!free)
            put_load(c, t, SPILL(0));
    }
    if (part->returns)
        put_return(c, 0);
    else if (part->guess)
        put_indirect(c, part, &p->code[part->insn + part->ninsns - 1]);
    else
        put_jump_link(c, to);
}

void peet__foreign_emit(struct peet__foreign_code *c, struct peet__foreign_plan *p, uint64_t word)
{
    const uint8_t *const begin = c->at;
    struct way_out out[PEET__FOREIGN_PARTS];
    uint32_t nout = 0;
    if (p->n)
        put_record(c, p, word);
    for (uint32_t m = 0; m < p->nparts; m++) {
        const struct peet__foreign_part *part = &p->parts[m];
        for (uint32_t k = part->insn; k < part->insn + part->ninsns; k++) {
            p->offsets[k] = (uint16_t)(k ? c->at - begin : 0);
            put_slots(c, p, k);
            if (k + 1 < part->insn + part->ninsns || !last_is_control(part))
                put_instruction(c, &p->code[k], k + 1 < part->insn + part->ninsns ? &p->code[k + 1] : NULL);
        }
        if (m + 1 == p->nparts)
            put_slots(c, p, p->n);
        if (p->n && put_way_on(c, p, part, &out[nout]))
            nout++;
    }
    put_end(c, p);
    for (uint32_t k = 0; k < nout; k++)
        put_way_out(c, p, &out[k], word);
    peet__put_cold(c);
}
