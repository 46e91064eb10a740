/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for executions of a block in which probes lie in two lines (<peet/direct.h>, struct peet_direct_cut).
 *
 * The probes of a block can straddle line ends in many combinations. For each combination that the machine has met
 * often, one function is emitted. It probes all lines of the combination, misses included. A combination is named by
 * the offsets at which the probes begin in their lines. A combination without a function goes to the machine's other().
 * The code of probes.c calls these functions, and goes on after them.
 */
#include "jit/emitter.h"

#ifdef __x86_64__

#include <stdlib.h>

uint8_t *peet__direct_call_straddle(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    uint8_t *never, *none;
    load(e, RCX, R8, 8 * (int32_t)(1 + m->f->nall + w->index));
    CODE(e, "\x48\x85\xc9"); /* test rcx, rcx */
    never = jump_ahead(e, IF_EQUAL);
    load(e, RDX, RCX, offsetof(struct peet__direct_straddles, names));
    CODE(e, "\x31\xf6"); /* xor esi, esi */
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        if (w->d.looks[k].span < 2)
            continue;
        load(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        byte(e, 0x25); /* and eax, imm32 */
        word32(e, (1u << m->direct->table.line_shift) - 1);
        CODE(e, "\x48\x0b\xb4\xc2"); /* or rsi, [rdx + rax * 8 + disp32] */
        word32(e, (uint32_t)sizeof(uint64_t) * k << m->direct->table.line_shift);
    }
    constant(e, RAX, PEET__STRADDLES_FACTOR);
    CODE(e, "\x48\x0f\xaf\xc6\x48\xc1\xe8"); /* imul rax, rsi; shr rax, imm8 */
    byte(e, 64 - PEET__STRADDLES_BITS);
    CODE(e, "\xc1\xe0\x04\x48\x01\xc1"); /* shl eax, 4; add rcx, rax */
    const uint8_t *const again = here(e);
    load(e, RDX, RCX, offsetof(struct peet__direct_straddles, straddles) + offsetof(struct peet__direct_straddle, to));
    CODE(e, "\x48\x85\xd2"); /* test rdx, rdx */
    none = jump_ahead(e, IF_EQUAL);
    memory(e, 0x3b, RSI, RCX, offsetof(struct peet__direct_straddles, straddles)); /* cmp rsi, [rcx + disp8] */
    CODE(e, "\x48\x8d\x49\x10");                                                   /* lea rcx, [rcx + 16] */
    jump_if(e, IF_NOT, again);
    CODE(e, "\xff\xd2\xe9\x00\x00\x00\x00"); /* call rdx; jmp rel32 */
    uint8_t *const done = e->at;
    aim(e, never);
    aim(e, none);
    return done;
}
_Static_assert(sizeof(struct peet__direct_straddle) == 16, "the code knows this");

/* Adds the time and stamps of the combination. At the limit or after it, r13 stays -1. */
static void emit_straddle_costs(struct peet__emit *e, const struct peet__direct *d, const struct peet__function *f,
    uint32_t index, const struct peet_direct_cut *cut)
{
    for (uint32_t o = 0; d->table.whole_cycles && cut->time != 0 && o < d->nobservers; o++) {
        struct peet_direct_counted *const c = peet__direct_counted_by(d, f, index, o);
        if (!c)
            continue;
        constant(e, RAX, (uint64_t)(uintptr_t)&c->cycles);
        add_to_memory(e, RAX, 0, (int32_t)(cut->time >> d->table.clock_shift));
    }
    if (cut->time != 0) {
        add_constant(e, R13, cut->time);
        uint8_t *const before = jump_ahead(e, IF_AT_LEAST);
        memory(e, 0x01, R13, RBX, RUN(bound)); /* add [rbx + …], r13 */
        add_to_memory(e, RBX, RUN(bound), 1);
        constant(e, R13, UINT64_MAX);
        aim(e, before);
    }
    add_constant(e, R15, cut->stamps);
    if (cut->taken) {
        constant(e, RAX, (uint64_t)(uintptr_t)cut->taken);
        CODE(e, "\x48\xff\x00"); /* inc qword [rax] */
    }
}

/* Emits the function of one combination: it probes all lines of the block.  Returns: its run-time address;
 * NULL: there is no room */
static const uint8_t *emit_straddle(struct peet__direct *d, const uint8_t *miss, const struct peet__function *f,
    uint32_t index, const struct peet_direct_cut *cut)
{
    enum { STRADDLE_BYTES = 256, LINE_BYTES = 128 };
    struct {
        uint8_t *missing, *back;
    } lines[2 * PEET_DIRECT_LOOKS];
    struct peet__chunk *const c = peet__chunk_for(&d->chunks, STRADDLE_BYTES + (size_t)cut->nlines * LINE_BYTES);
    struct emitter *const m = c ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return NULL;
    struct peet__emit *const e = &m->e;
    m->direct = d;
    m->e = (struct peet__emit){c->write + c->used, c->write, c->run};
    const uint8_t *const begin = here(e);
    CODE(e, "\x48\x83\xec\x08"); /* sub rsp, 8: as everywhere in blocks */
    for (uint32_t k = 0; k < cut->nlines; k++) {
        const struct peet_direct_line *const l = &cut->lines[k];
        load(e, RAX, RBX, RUN(addresses) + 8 * l->look);
        if (l->second)
            add_constant(e, RAX, 1ull << d->table.line_shift);
        lines[k].missing = peet__direct_probe(m, RAX, &(struct peet_direct_look){.either = l->either});
        lines[k].back = e->at;
        peet__direct_use(e, l->last, l->later);
    }
    emit_straddle_costs(e, d, f, index, cut);
    CODE(e, "\x48\x83\xc4\x08\xc3"); /* add rsp, 8; ret */
    for (uint32_t k = 0; k < cut->nlines; k++) {
        aim(e, lines[k].missing);
        byte(e, 0xbe); /* mov esi, imm32 */
        word32(e, cut->lines[k].site);
        constant(e, RCX, (uint64_t)(uintptr_t)miss);
        CODE(e, "\xff\xd1"); /* call rcx */
        jump(e, e->run + (lines[k].back - e->write));
    }
    c->used = (size_t)(e->at - c->write);
    free(m);
    return begin;
}

/* The entry of the combination with this name; if there is none, a free entry, whose `to` is NULL. */
static struct peet__direct_straddle *place_of(struct peet__direct_straddles *straddles, uint64_t name)
{
    struct peet__direct_straddle *at =
        &straddles->straddles[name * PEET__STRADDLES_FACTOR >> (64 - PEET__STRADDLES_BITS)];
    while (at->to && at->name != name)
        at++;
    return at;
}

int peet__direct_learn_straddle(struct peet_direct_run *run, uint32_t block_id)
{
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__function *const f = peet__direct_function_of(run->blocks);
    const uint32_t index = block_id - f->blocks[0].id;
    if (index >= f->nall)
        return 0;
    const void **const slot = peet__direct_straddles_of(f->direct, f->nall, index);
    struct peet__direct_straddles *straddles = (struct peet__direct_straddles *)(uintptr_t)*slot;
    struct peet_direct_cut cut;
    struct peet__direct_straddle *place;
    if ((straddles && straddles->n == PEET__STRADDLES_MOST) || d->ops->cut(d->self, &f->blocks[index], &cut) != 0)
        return 0;
    if (!straddles && /* even if all of them had to go after the last place, there is one more */
        !(straddles = peet__own(f, 1,
              sizeof *straddles +
                  ((1u << PEET__STRADDLES_BITS) + PEET__STRADDLES_MOST + 1) * sizeof *straddles->straddles)))
        return 0;
    straddles->names = cut.names;
    place = place_of(straddles, cut.name);
    if (!place->to && (place->to = emit_straddle(d, f->direct->miss, f, index, &cut)) != NULL) {
        place->name = cut.name;
        straddles->n++;
    }
    *slot = straddles;
    return 0;
}

#endif
