/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for loops in which each probe stays in one line, from the first iteration to the last, and that line is
 * where it was last.  Most loops are short, and many are of this kind.  direct.c makes the loop around this code, and
 * calls the machine for all other loops.  (Where processors run ahead of each other, loops go in strips.)
 */
#include "jit/emitter.h"

#ifdef __x86_64__

void peet__direct_turns_times(struct peet__emit *e, int32_t by)
{
    memory(e, 0x69, RCX, RBX, RUN(turns)); /* imul rcx, [rbx + ...], imm32 */
    word32(e, (uint32_t)by);
}

/* In all iterations of a loop, are this probe's references, which begin at rax, in one line?  Returns: after the jump
 * that is taken if not */
static uint8_t *see_whether_one_line(struct emitter *m, const struct peet_direct_look *probe, int32_t stride)
{
    struct peet__emit *const e = &m->e;
    const int32_t behind = probe->span - 1;
    if (stride == 0) {
        CODE(e, "\x48\x8d\x88"); /* lea rcx, [rax + disp32] */
        word32(e, (uint32_t)behind);
    } else {
        peet__direct_turns_times(e, stride);
        CODE(e, "\x48\x8d\x8c\x08"); /* lea rcx, [rax + rcx + disp32] */
        word32(e, (uint32_t)(stride > 0 ? behind - stride : -stride));
    }
    if (stride < 0) {
        CODE(e, "\x48\x8d\x90"); /* lea rdx, [rax + disp32] */
        word32(e, (uint32_t)behind);
        CODE(e, "\x48\x31\xd1"); /* xor rcx, rdx */
    } else {
        CODE(e, "\x48\x31\xc1"); /* xor rcx, rax */
    }
    CODE(e, "\x48\xf7\xc1"); /* test rcx, imm32 */
    word32(e, -(1u << m->direct->table.line_shift));
    return jump_ahead(e, IF_NOT);
}

int peet__direct_can_stay(const struct emitter *m, const struct requested *w)
{
    const struct peet__block *const c = &m->f->code[w->index];
    int can = w->d.nlooks <= STAYING_PROBES && !w->d.whole && !w->d.varies && w->d.time <= INT32_MAX &&
        w->d.stamps <= INT32_MAX;
    for (uint32_t k = 0; can && k < w->d.nlooks; k++) {
        const int64_t stride = c->strides[w->d.looks[k].value];
        can = stride == (int32_t)stride && stride > INT32_MIN / 2 && stride < INT32_MAX / 2 && w->d.looks[k].span != 0;
    }
    return can;
}

uint32_t peet__direct_emit_staying(struct emitter *m, const struct requested *w, uint8_t **out_else)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    const struct peet_direct_block *const d = &w->d;
    uint32_t n = 0;
    peet__direct_turns_times(e, (int32_t)d->time);
    CODE(e, "\x4c\x01\xe9"); /* add rcx, r13 */
    out_else[n++] = jump_ahead(e, IF_BELOW);
    for (uint32_t k = d->nlooks; k-- > 0;) { /* as in a block */
        const struct peet__form a = begin_of(c, &d->looks[k]);
        compute(e, registers, &a);
        out_else[n++] = see_whether_one_line(m, &d->looks[k], (int32_t)c->strides[d->looks[k].value]);
        if (k == 1)
            CODE(e, "\x48\x89\xc6"); /* mov rsi, rax */
        else if (k > 1)
            store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    for (uint32_t k = 0; k < d->nlooks; k++) {
        if (k > 1)
            load(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        out_else[n++] = peet__direct_probe(m, k == 1 ? RSI : RAX, &d->looks[k]);
        store(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
    }
    peet__direct_turns_times(e, (int32_t)d->stamps);
    CODE(e, "\x4d\x8d\xbc\x0f"); /* lea r15, [r15 + rcx + disp32] */
    word32(e, -d->stamps);
    for (uint32_t k = 0; k < d->nlooks; k++) {
        load(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
        peet__direct_use(e, d->looks[k].last, d->looks[k].later);
    }
    add_constant(e, R15, d->stamps);
    peet__direct_turns_times(e, (int32_t)d->time);
    CODE(e, "\x49\x01\xcd"); /* add r13, rcx */
    return n;
}

#endif
