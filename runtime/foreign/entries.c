/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the cache: at the begin of each foreign function, and where calls return to, the original text gets a
 * jump of five bytes to a stub:
 *
 *     push %rcx;  mov %fs:world, %rcx;  jrcxz 1f;  pop %rcx;  jmp translation
 *  1: pop %rcx;  the instructions that the jump has displaced;  jmp original behind them
 *
 * Nothing below the stack pointer is in use there.  Where something may aim between those bytes, as at memcpy(), a
 * short jump of two leads to a long one in the filling between functions.  Where that is not to be had either, what
 * comes there stays unseen until it leaves, and is counted.
 */
#include "foreign/translate.h"

#include <stdlib.h>
#include <string.h>

enum { JUMP_BYTES = 5, SHORT_BYTES = 2, SHORT_REACH = 120, STUB_BYTES = 512, MOST = 8 };

struct peet__foreign_counts peet__foreign_counts;

/* Is it filling between functions? */
static int is_filling(const struct peet__foreign_image *i, uint64_t pc)
{
    const uint8_t b = i->text[pc - i->lo];
    return b == 0xcc || b == 0x90 || b == 0;
}

/* A switch of the function may lead anywhere in it. */
static int jumps_through_tables(const struct peet__foreign_image *i, struct peet__foreign_function *f)
{
    if (f->jumps < 0) {
        f->jumps = 0;
        for (uint64_t pc = f->lo; pc + 1 < f->hi && !f->jumps; pc++)
            f->jumps = i->text[pc - i->lo] == 0xff && (i->text[pc + 1 - i->lo] >> 3 & 7) == 4;
    }
    return f->jumps;
}

struct window {
    struct peet__foreign_insn insns[MOST];
    unsigned n, bytes;
    int over; /* control does not fall out of its end */
};

/* Where none begins, nobody aims. */
static int starts_instruction(const struct window *w, uint64_t pc)
{
    for (unsigned k = 0; k < w->n; k++)
        if (pc > w->insns[k].pc && pc < w->insns[k].pc + w->insns[k].length)
            return 0;
    return 1;
}

/* The instructions that a jump at pc displaces.  Returns: whether it may. */
static int find_window(struct peet__foreign_image *i, uint64_t pc, unsigned jump_bytes, struct window *w)
{
    struct peet__foreign_function *f = peet__foreign_function_of(i, pc);
    if (!f || pc + jump_bytes > i->hi)
        return 0;
    for (w->n = w->bytes = 0, w->over = 0; w->bytes < jump_bytes && w->n < MOST; w->n++) {
        struct peet__foreign_insn *insn = &w->insns[w->n];
        insn->pc = pc + w->bytes;
        if (!(insn->length = (uint8_t)peet__foreign_decode(i, insn->pc, &insn->z, NULL)))
            return 0;
        memcpy(insn->bytes, i->text + (insn->pc - i->lo), insn->length);
        w->bytes += insn->length;
        const unsigned category = insn->z.meta.category;
        if (category == ZYDIS_CATEGORY_RET || category == ZYDIS_CATEGORY_UNCOND_BR ||
            insn->z.mnemonic == ZYDIS_MNEMONIC_UD2 || insn->z.mnemonic == ZYDIS_MNEMONIC_HLT) {
            w->over = 1;
            w->n++;
            break;
        }
    }
    for (uint64_t at = pc + w->bytes; w->bytes < jump_bytes && at < pc + jump_bytes; at++)
        if ((at < f->hi && jumps_through_tables(i, f)) || (at >= f->hi && !is_filling(i, at)))
            return 0;
    if (w->bytes < jump_bytes && !w->over)
        return 0;
    for (uint64_t at = pc + 1; at < pc + jump_bytes; at++) {
        const struct peet__foreign_function *other = peet__foreign_function_of(i, at);
        if ((starts_instruction(w, at) && peet__foreign_aimed_at(i, at)) ||
            ((const uint8_t *)at)[0] != i->text[at - i->lo] || (other && other->lo == at) || !other)
            return 0;
    }
    return ((const uint8_t *)pc)[0] == i->text[pc - i->lo];
}

static void put_near_jump(struct peet__foreign_code *c, uint64_t target)
{
    peet__put8(c, 0xe9);
    peet__put32(c, (int64_t)(target - ((uint64_t)c->at + 4)));
}

/* The displaced instructions, as the host executes them. */
static int put_displaced(struct peet__foreign_code *c, const struct window *w)
{
    for (unsigned k = 0; k < w->n; k++) {
        const struct peet__foreign_insn *insn = &w->insns[k];
        const uint64_t next = insn->pc + insn->length;
        const int relative = insn->z.raw.imm[0].is_relative;
        const uint64_t target = next + (uint64_t)insn->z.raw.imm[0].value.s;
        const unsigned category = insn->z.meta.category;
        if (category == ZYDIS_CATEGORY_COND_BR) {
            if (insn->z.mnemonic == ZYDIS_MNEMONIC_JRCXZ || insn->z.mnemonic == ZYDIS_MNEMONIC_JECXZ ||
                insn->bytes[0] == 0xe2 || insn->z.mnemonic == ZYDIS_MNEMONIC_XBEGIN)
                return 0;
            peet__put8(c, 0x0f);
            peet__put8(c, 0x80 | (insn->z.opcode & 0xf));
            peet__put32(c, (int64_t)(target - ((uint64_t)c->at + 4)));
        } else if (category == ZYDIS_CATEGORY_UNCOND_BR && relative) {
            put_near_jump(c, target);
        } else if (category == ZYDIS_CATEGORY_CALL) {
            if (!relative)
                return 0;
            peet__put_push(c, next);
            put_near_jump(c, target);
        } else {
            peet__put_copy(c, insn);
        }
    }
    if (!w->over)
        put_near_jump(c, w->insns[w->n - 1].pc + w->insns[w->n - 1].length);
    return 1;
}

static void write_jump(uint64_t at, uint64_t target)
{
    uint8_t jump[JUMP_BYTES] = {0xe9};
    const int32_t distance = (int32_t)(target - (at + JUMP_BYTES));
    memcpy(jump + 1, &distance, 4);
    memcpy((void *)at, jump, JUMP_BYTES);
}

/* Only nops and the like between two functions? */
static int is_free(struct peet__foreign_image *i, uint64_t lo, uint64_t hi)
{
    ZydisDecodedInstruction z;
    for (uint64_t at = lo; at < hi;) {
        if (is_filling(i, at)) {
            at++;
        } else {
            if (!peet__foreign_decode(i, at, &z, NULL) || z.mnemonic != ZYDIS_MNEMONIC_NOP)
                return 0;
            at += z.length;
        }
    }
    return 1;
}

/* A jump that stands there may have bytes that stood there before. */
static int is_taken(const struct peet__foreign_image *i, uint64_t at)
{
    for (unsigned k = 0; k < i->nfillings; k++)
        if (at < i->fillings[k] + JUMP_BYTES && i->fillings[k] < at + JUMP_BYTES)
            return 1;
    return 0;
}

/* Returns: whether it can be remembered */
static int take(struct peet__foreign_image *i, uint64_t at)
{
    uint64_t *more = realloc(i->fillings, (i->nfillings + 1) * sizeof *more);
    if (!more)
        return 0;
    i->fillings = more;
    more[i->nfillings++] = at;
    return 1;
}

/* Room for a jump in what fills the text up between functions, within reach of a short one, and not where that stands,
 * which a function of one byte is shorter than.  0: none */
static uint64_t find_filling(struct peet__foreign_image *i, uint64_t pc)
{
    const unsigned before = peet__foreign_functions_up_to(i, pc - SHORT_REACH);
    for (unsigned k = before ? before - 1 : 0; k + 1 < i->nfunctions && i->functions[k].lo <= pc + SHORT_REACH; k++) {
        const uint64_t lo = i->functions[k].hi, hi = i->functions[k + 1].lo;
        if (hi < lo + JUMP_BYTES || !is_free(i, lo, hi))
            continue;
        for (uint64_t at = lo; at + JUMP_BYTES <= hi; at++)
            if (at + SHORT_REACH > pc && at < pc + SHORT_REACH && (at + JUMP_BYTES <= pc || at >= pc + SHORT_BYTES) &&
                memcmp((const void *)at, i->text + (at - i->lo), JUMP_BYTES) == 0 && !is_taken(i, at))
                return at;
    }
    return 0;
}

/* Returns: whether it can be remembered */
static int add_entry(struct peet__foreign_image *i, const struct peet__foreign_entry *entry)
{
    if (!i->is_late)
        return 1;                             /* it does not go away */
    if (!(i->nentries & (i->nentries + 1))) { /* room for 1, 3, 7 ... */
        struct peet__foreign_entry *more = realloc(i->entries_at, (2 * i->nentries + 1) * sizeof *more);
        if (!more)
            return 0;
        i->entries_at = more;
    }
    i->entries_at[i->nentries++] = *entry;
    return 1;
}

static void write_entry(const struct peet__foreign_entry *entry)
{
    write_jump(entry->through ? entry->through : entry->pc, (uint64_t)entry->stub);
    if (entry->through) {
        const uint8_t jump[SHORT_BYTES] = {0xeb, (uint8_t)(entry->through - (entry->pc + SHORT_BYTES))};
        memcpy((void *)entry->pc, jump, SHORT_BYTES);
    }
}

int peet__foreign_enter_at(struct peet__foreign_image *i, uint64_t pc)
{
    struct window w;
    uint8_t *stub;
    uint64_t through = 0;
    if (((const uint8_t *)pc)[0] != i->text[pc - i->lo])
        return 1; /* already */
    if (!find_window(i, pc, JUMP_BYTES, &w) &&
        (!find_window(i, pc, SHORT_BYTES, &w) || !(through = find_filling(i, pc))))
        return 0;
    if (!(stub = peet__foreign_room(i, STUB_BYTES)))
        return 0;
    struct peet__foreign_code c = {.image = i, .at = stub};
    PEET__PUT(&c, "\x51\x64\x48\x8b\x0c\x25"); /* push %rcx; mov %fs:world, %rcx */
    peet__put32(&c, peet__foreign_world_offset);
    uint8_t *const skip = c.at;
    PEET__PUT(&c, "\xe3\x00\x59"); /* jrcxz 1f; pop %rcx */
    peet__put8(&c, 0xe9);
    peet__put_link(&c, pc);
    skip[1] = (uint8_t)(c.at - (skip + 2));
    peet__put8(&c, 0x59); /* 1: pop %rcx */
    if (!put_displaced(&c, &w))
        return 0;
    peet__put_cold(&c);
    const struct peet__foreign_entry entry = {.pc = pc, .through = through, .stub = stub};
    if ((through && !take(i, through)) || !add_entry(i, &entry))
        return 0;
    i->cache_at = c.at;
    write_entry(&entry);
    return 1;
}

static void enter(struct peet__foreign_image *i, uint64_t pc)
{
    if (((const uint8_t *)pc)[0] != i->text[pc - i->lo])
        return; /* already */
    peet__foreign_counts.entries++;
    if (peet__foreign_enter_at(i, pc))
        return;
    peet__foreign_counts.unsafe_entries++;
    peet__foreign_enter_called(i, pc);
}

/* Bytes of its function that look like a call or a jump to the beginning of another one are taken for that. */
void peet__foreign_enter_called(struct peet__foreign_image *i, uint64_t pc)
{
    enum { CALL = 0xe8, BYTES = 5 }; /* and a jump, one more */
    struct peet__foreign_function *f = i->wants_all || i->is_late ? NULL : peet__foreign_function_of(i, pc);
    if (!f || f->called_entered)
        return;
    f->called_entered = 1;
    for (uint64_t at = f->lo; at + BYTES <= f->hi; at++) {
        const uint8_t *code = i->text + (at - i->lo);
        int32_t distance;
        memcpy(&distance, code + 1, sizeof distance);
        const uint64_t target = at + BYTES + (uint64_t)(int64_t)distance;
        if ((code[0] & 0xfe) != CALL || target < i->lo || target >= i->hi)
            continue;
        const struct peet__foreign_function *other = peet__foreign_function_of(i, target);
        if (other && other->lo == target)
            enter(i, target);
    }
}

void peet__foreign_enter_asked_for(const struct peet__foreign_image *i, uint64_t stub, uint64_t end)
{
    enum { PUSH = 0x68, BYTES = 5, ENDBR_BYTES = 4 }; /* push $number; jmp the first stub */
    const uint8_t *code = i->text + (stub - i->lo);
    uint64_t bytes = end - stub;
    uint32_t number;
    if (bytes >= ENDBR_BYTES && memcmp(code, "\xf3\x0f\x1e\xfa", ENDBR_BYTES) == 0) {
        code += ENDBR_BYTES;
        bytes -= ENDBR_BYTES;
    }
    if (bytes < BYTES || code[0] != PUSH)
        return;
    memcpy(&number, code + 1, sizeof number);
    const uint64_t pc = peet__foreign_asked_for(i, number);
    struct peet__foreign_image *const image = pc ? peet__foreign_image_of(pc) : NULL;
    const struct peet__foreign_function *const f = image ? peet__foreign_function_of(image, pc) : NULL;
    if (f && f->lo == pc && !f->recorded && !f->chooses && !image->entries[0])
        enter(image, pc);
}

void peet__foreign_enter_functions(struct peet__foreign_image *i)
{
    for (unsigned k = 0; i->entries[0] && k < PEET_FOREIGN_ALLOCATOR_ENTRIES; k++)
        enter(i, (uint64_t)i->entries[k]);
    for (unsigned k = 0; !i->entries[0] && k < i->nfunctions; k++)
        if (!i->functions[k].recorded && !i->functions[k].chooses &&
            (i->wants_all || i->is_late || i->functions[k].wanted))
            enter(i, i->functions[k].lo);
}

void peet__foreign_enter_again(const struct peet__foreign_image *i)
{
    for (unsigned k = 0; k < i->nentries; k++)
        write_entry(&i->entries_at[k]);
}
