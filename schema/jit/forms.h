/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all emitters of machine code share: which blocks can have code, and how a value is computed from the words of a
 * record and the followed registers.
 */
#ifndef PEET_FORMS_H
#define PEET_FORMS_H

#include "jit/emit.h"
#include "program/parts.h"

/** Which registers hold the address of the record, that of the followed registers, and nothing. */
struct peet__form_registers {
    uint8_t record, followed, scratch;
};

/* A term of an address: a word of the record or a followed register. */
static inline void load_term(struct peet__emit *e, struct peet__form_registers r, unsigned reg, uint32_t term)
{
    if (term >= PEET__PAST)
        load(e, reg, r.record, -8 * (int32_t)(term - PEET__PAST));
    else if (term >= PEET__SLOT)
        load(e, reg, r.record, (int32_t)(8 * (1 + term - PEET__SLOT)));
    else
        load(e, reg, r.followed, (int32_t)(8 * term));
}

/* rax becomes rax + term * times + disp. */
static inline void add_term(struct peet__emit *e, struct peet__form_registers r, uint32_t term, int32_t times,
    int32_t disp)
{
    const unsigned high = r.scratch >> 3, low = r.scratch & 7;
    int scale = times == 1 ? 0 : times == 2 ? 1 : times == 4 ? 2 : times == 8 ? 3 : -1;
    load_term(e, r, r.scratch, term);
    if (scale < 0) {
        byte(e, 0x48 | high << 2 | high); /* imul scratch, scratch, imm32 */
        byte(e, 0x69);
        byte(e, 0xc0 | low << 3 | low);
        word32(e, (uint32_t)times);
        scale = 0;
    }
    byte(e, 0x48 | high << 1); /* lea rax, [rax + scratch * scale + disp32] */
    CODE(e, "\x8d\x84");
    byte(e, (unsigned)scale << 6 | low << 3 | RAX);
    word32(e, (uint32_t)disp);
}

/* rax becomes the form's value. */
static inline void compute(struct peet__emit *e, struct peet__form_registers r, const struct peet__form *f)
{
    const int wide = f->disp != (uint64_t)(int64_t)(int32_t)f->disp;
    const int two = f->mb != 0 && f->b != PEET__ZERO, three = f->mc != 0 && f->c != PEET__ZERO;
    const int32_t disp = wide ? 0 : (int32_t)f->disp;
    if (f->a == PEET__ZERO && !two && !three) {
        constant(e, RAX, f->disp);
        return;
    }
    load_term(e, r, RAX, f->a);
    if (two)
        add_term(e, r, f->b, f->mb, three ? 0 : disp);
    if (three)
        add_term(e, r, f->c, f->mc, disp);
    if (!two && !three)
        add_constant(e, RAX, (uint64_t)(int64_t)disp);
    if (wide) {
        constant(e, r.scratch, f->disp);
        byte(e, 0x48 | (r.scratch >> 3) << 2); /* add rax, scratch */
        byte(e, 0x01);
        byte(e, 0xc0 | (r.scratch & 7) << 3 | RAX);
    }
}

/* Does a later update use the register that this one changes? */
static inline int used_later(const struct peet__block *c, uint32_t k)
{
    for (uint32_t j = k + 1; j < c->nupdates; j++)
        if (c->steps[j].a == c->updates[k].reg || (c->steps[j].mb != 0 && c->steps[j].b == c->updates[k].reg) ||
            (c->steps[j].mc != 0 && c->steps[j].c == c->updates[k].reg))
            return 1;
    return 0;
}

/* Does the register only move by a constant that an instruction can have? */
static inline int only_moves(const struct peet__block *c, uint32_t k)
{
    const struct peet__form *step = &c->steps[k];
    return step->a == c->updates[k].reg && (step->mb == 0 || step->b == PEET__ZERO) &&
        (step->mc == 0 || step->c == PEET__ZERO) && step->disp == (uint64_t)(int64_t)(int32_t)step->disp;
}

/* The followed registers become what they are after the block; those whose old value is still wanted wait in @wait. */
static inline void update_registers(struct peet__emit *e, struct peet__form_registers r, unsigned wait,
    const struct peet__block *c)
{
    unsigned waiting = UINT32_MAX;
    for (uint32_t k = 0; k < c->nupdates; k++) {
        if (only_moves(c, k) && !used_later(c, k)) {
            add_to_memory(e, r.followed, 8 * c->updates[k].reg, (int32_t)c->steps[k].disp);
            continue;
        }
        compute(e, r, &c->steps[k]);
        if (used_later(c, k)) {
            byte(e, 0x48 | wait >> 3); /* mov wait, rax */
            byte(e, 0x89);
            byte(e, 0xc0 | RAX << 3 | (wait & 7));
            waiting = c->updates[k].reg;
        } else {
            store(e, RAX, r.followed, (int32_t)(8 * c->updates[k].reg));
        }
    }
    if (waiting != UINT32_MAX)
        store(e, wait, r.followed, (int32_t)(8 * waiting));
}

/* Forms of registers and of the words of the block's own record, or, of a sure tail, of the one before it. */
static inline int within(const struct peet__form *forms, uint32_t n, uint32_t terms)
{
    for (uint32_t k = 0; k < n; k++)
        if ((forms[k].a >= terms && forms[k].a < PEET__PAST) ||
            (forms[k].mb != 0 && forms[k].b >= terms && forms[k].b < PEET__PAST) ||
            (forms[k].mc != 0 && forms[k].c >= terms && forms[k].c < PEET__PAST))
            return 0;
    return 1;
}

/* Can the block's record, or the block without one, be taken by code? */
static inline int can_have_code(const struct peet__function *f, uint32_t index)
{
    const struct peet__block *c = &f->code[index];
    const uint32_t terms = PEET__SLOT + (c->recorded ? c->slot_words : 0);
    if (c->loop || !(f->blocks[index].flags & PEET_BLOCK_SIMPLE) || (c->nvalues != 0 && !c->addresses) ||
        c->slot_words > 4096 || !within(c->addresses, c->nvalues, terms) || !within(c->steps, c->nupdates, terms))
        return 0;
    /* Updates happen at once: those whose old value is still wanted wait in a scratch register, of which there is one.
     */
    uint32_t waiting = 0;
    for (uint32_t k = 0; k < c->nupdates; k++)
        waiting += (uint32_t)used_later(c, k);
    return waiting <= 1;
}

#endif
