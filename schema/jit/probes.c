/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for the probes of a block, called looks in <peet/direct.h>: is each line where it was last, with the
 * right that is needed?
 *
 *     line  = address >> line_shift
 *     frame = hints[peet_direct_hint(table, line)]         where the line was last
 *     keys[frame] == line << 2 | 3, but for `either`       is it still there, with the right?
 *     used[frame] = stamp + last                           then this is all
 *
 * If a line is not there, the code calls the machine: miss() for this line, or other() for the whole block.  Before the
 * first probe nothing of the block has happened.  With table.logged, the old used[frame] goes to run->log first, so
 * that the hit can be undone.
 */
#include "jit/emitter.h"

#ifdef __x86_64__

#include <string.h>

uint8_t *peet__direct_probe(struct emitter *m, unsigned reg, const struct peet_direct_look *probe)
{
    struct peet__emit *const e = &m->e;
    const struct peet_direct_table *t = &m->direct->table;
    CODE(e, "\x48\xc1"); /* shr reg, imm8 */
    byte(e, 0xe8 | reg);
    byte(e, t->line_shift);
    if (t->hint_factor != 0) {
        byte(e, 0x69); /* imul ecx, reg, imm32 */
        byte(e, 0xc8 | reg);
        word32(e, t->hint_factor);
        CODE(e, "\xc1\xe9"); /* shr ecx, imm8 */
        byte(e, t->hint_shift);
    } else {
        byte(e, 0x89); /* mov ecx, reg */
        byte(e, 0xc1 | reg << 3);
        CODE(e, "\x81\xe1"); /* and ecx, imm32 */
        word32(e, t->hint_mask);
    }
    CODE(e, "\x41\x8b\x0c\x8b\x48\x8d\x14"); /* mov ecx, [r11 + rcx * 4]; lea rdx, [reg * 4 + 3] */
    byte(e, 0x85 | reg << 3);
    word32(e, 3);
    if (probe->either != 0) {
        CODE(e, "\x49\x33\x14\xc9\x48\xf7\xc2"); /* xor rdx, [r9 + rcx * 8]; test rdx, imm32 */
        word32(e, ~(uint32_t)probe->either);
    } else {
        CODE(e, "\x49\x3b\x14\xc9"); /* cmp rdx, [r9 + rcx * 8] */
    }
    return jump_ahead(e, IF_NOT);
}

void peet__direct_use(struct peet__emit *e, uint32_t last, int later)
{
    CODE(e, "\x49\x8d\x97"); /* lea rdx, [r15 + disp32] */
    word32(e, last);
    if (later)
        CODE(e, "\x49\x3b\x14\xca\x76\x04"); /* cmp rdx, [r10 + rcx * 8]; jbe over the store */
    CODE(e, "\x49\x89\x14\xca");             /* mov [r10 + rcx * 8], rdx */
}

/* The line at ecx, the k-th probe's, is used; if that is the block's last stamp, it is time for all of them. */
static void note(struct emitter *m, struct requested *w, uint32_t k)
{
    struct peet__emit *const e = &m->e;
    const struct peet_direct_look *const probe = &w->d.looks[k];
    if (k + 1 == w->d.nlooks && probe->last == w->d.stamps) {
        w->stamps = w->d.stamps;
        add_constant(e, R15, w->stamps);
        if (probe->later)
            CODE(e, "\x4d\x3b\x3c\xca\x76\x04"); /* cmp r15, [r10 + rcx * 8]; jbe over the store */
        CODE(e, "\x4d\x89\x3c\xca");             /* mov [r10 + rcx * 8], r15 */
        return;
    }
    peet__direct_use(e, probe->last, probe->later);
}

/* The block's k-th probe with cuts: where both lines are, and by which stamps they are used.  @reg: the address, which is
 * among the run's, too;
 *  @missing: after jumps that are taken if something is not there */
static void probe_straddling(struct emitter *m, unsigned reg, const struct peet_direct_look *probe, uint32_t k,
    uint8_t *missing[3])
{
    struct peet__emit *const e = &m->e;
    const int32_t address = RUN(addresses) + (int32_t)(8 * k);
    missing[0] = peet__direct_probe(m, reg, probe);
    store(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
    load(e, RAX, RBX, address);
    add_constant(e, RAX, probe->span - 1u);
    missing[1] = peet__direct_probe(m, RAX, probe);
    store(e, RCX, RBX, RUN(second) + (int32_t)(8 * k));
    load(e, RAX, RBX, address);
    byte(e, 0x25); /* and eax, imm32 */
    word32(e, (1u << m->direct->table.line_shift) - 1);
    constant(e, RCX, (uint64_t)(uintptr_t)probe->cuts);
    CODE(e, "\x0f\xb7\x04\x41\x85\xc0"); /* movzx eax, word [rcx + rax * 2]; test eax, eax */
    missing[2] = jump_ahead(e, IF_EQUAL);
    store(e, RAX, RBX, RUN(lasts) + (int32_t)(8 * k));
}

/* Both lines of such a probe are used.  Without a jump, for nobody knows which comes later. */
static void use_straddling(struct peet__emit *e, uint32_t k)
{
    load(e, RAX, RBX, RUN(lasts) + (int32_t)(8 * k));
    load(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
    CODE(e, "\x0f\xb6\xd0\xc1\xe8\x08"); /* movzx edx, al; shr eax, 8 */
    CODE(e, "\x4c\x01\xfa\x4c\x01\xf8"); /* add rdx, r15; add rax, r15 */
    /* cmp rdx, [r10 + rcx * 8]; cmovb rdx, [...]; mov [...], rdx */
    CODE(e, "\x49\x3b\x14\xca\x49\x0f\x42\x14\xca\x49\x89\x14\xca");
    load(e, RCX, RBX, RUN(second) + (int32_t)(8 * k));
    CODE(e, "\x49\x3b\x04\xca\x49\x0f\x42\x04\xca\x49\x89\x04\xca"); /* the same with rax */
}

/* The flags say whether so many bytes from rax on are in one line: then equal. */
static void see_line(struct emitter *m, uint32_t span)
{
    struct peet__emit *const e = &m->e;
    CODE(e, "\x8d\x88"); /* lea ecx, [rax + disp32] */
    word32(e, span - 1);
    CODE(e, "\x31\xc1\xf7\xc1"); /* xor ecx, eax; test ecx, imm32 */
    word32(e, -(1u << m->direct->table.line_shift));
}

/* Are so many bytes likely to be naturally aligned: a whole word, something on the stack, an array's element? */
static int likely_aligned(const struct peet__form *a, uint32_t span)
{
    enum { WORD_BYTES = 8 };
    if (span > WORD_BYTES || (span & (span - 1)) != 0)
        return 0;
    return span == WORD_BYTES ||
        (a->mb == 0 ? a->a == RSP : a->mb % (int32_t)span == 0 || (a->mc != 0 && a->mc % (int32_t)span == 0));
}

/* Do the bytes from rax on lie in one line?  Naturally aligned ones do. */
static void check_straddling(struct emitter *m, uint32_t requested, const struct peet__form *a, uint32_t span,
    int32_t tail)
{
    struct peet__emit *const e = &m->e;
    struct stub *c;
    if (span < 2)
        return;
    if (likely_aligned(a, span)) {
        byte(e, 0xa8); /* test al, imm8 */
        byte(e, span - 1);
        c = add_stub(m, jump_ahead(e, IF_NOT), requested, tail, STUB_OTHER);
        c->span = (uint8_t)span;
        c->same = e->at;
    } else {
        see_line(m, span);
        add_stub(m, jump_ahead(e, IF_NOT), requested, tail, STUB_OTHER);
    }
}

void peet__direct_log(struct peet__emit *e, uint32_t entry, int32_t found)
{
    enum { ENTRY = sizeof(struct peet_direct_use) };
    if (found != 0)
        load(e, RCX, RBX, found);
    CODE(e, "\x49\x8b\x14\xca"); /* mov rdx, [r10 + rcx * 8] */
    store(e, RCX, RSI, (int32_t)(ENTRY * entry));
    store(e, RDX, RSI, (int32_t)(ENTRY * entry) + 8);
}

/* All lines are there: their uses go to the log first. */
static void use_logged(struct emitter *m, struct requested *w, int32_t tail)
{
    enum { ENTRY = sizeof(struct peet_direct_use) };
    struct peet__emit *const e = &m->e;
    uint32_t n = 0;
    load(e, RSI, RBX, RUN(log));
    memory(e, 0x3b, RSI, RBX, RUN(log_end)); /* cmp rsi, [rbx + …] */
    add_stub(m, jump_ahead(e, IF_AT_LEAST), (uint32_t)(w - m->requested), tail, STUB_OTHER);
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        const int32_t found = RUN(found) + (int32_t)(8 * k);
        if (w->d.looks[k].cuts) {
            peet__direct_log(e, n++, found);
            peet__direct_log(e, n++, RUN(second) + (int32_t)(8 * k));
            use_straddling(e, k);
            continue;
        }
        peet__direct_log(e, n++, w->d.nlooks != 1 ? found : 0); /* else it is there still */
        note(m, w, k);
    }
    add_constant(e, RSI, ENTRY * n);
    store(e, RSI, RBX, RUN(log));
}

void peet__direct_emit_probes(struct emitter *m, struct requested *w, int32_t tail)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    const struct peet_direct_block *const d = &w->d;
    const uint32_t requested = (uint32_t)(w - m->requested);
    /* nothing has happened yet; the first one's address stays in rax, the second one's in rsi */
    for (uint32_t k = d->nlooks; k-- > 0;) {
        const struct peet__form a = begin_of(c, &d->looks[k]);
        compute(e, registers, &a);
        if (!d->looks[k].cuts)
            check_straddling(m, requested, &a, d->looks[k].span, tail);
        if (k == 1)
            CODE(e, "\x48\x89\xc6"); /* mov rsi, rax */
        if (k > 1 || d->looks[k].cuts)
            store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const unsigned reg = k == 1 ? RSI : RAX;
        uint8_t *missing;
        if (k > 1)
            load(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        if (d->looks[k].cuts) {
            uint8_t *straddling[3];
            probe_straddling(m, reg, &d->looks[k], k, straddling);
            for (unsigned i = 0; i < 3; i++)
                add_stub(m, straddling[i], requested, tail, STUB_OTHER);
            continue;
        }
        missing = peet__direct_probe(m, reg, &d->looks[k]);
        if (d->whole) {
            struct stub *const other = add_stub(m, missing, requested, tail,
                m->direct->table.units && d->looks[k].units != 0 ? STUB_UNITS : STUB_OTHER);
            other->back = e->at;
            other->probe = (uint8_t)k;
            if (!m->direct->table.logged || d->nlooks != 1)
                store(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
            continue;
        }
        struct stub *const miss = add_stub(m, missing, requested, -1, STUB_MISS);
        miss->back = e->at;
        miss->probe = (uint8_t)k;
        note(m, w, k);
    }
    if (m->direct->table.logged && d->nlooks != 0) {
        use_logged(m, w, tail);
        peet__direct_see_marks(m, w, NULL); /* other() sees to its own */
        w->back = e->at;
        return;
    }
    for (uint32_t k = 0; d->whole && k < d->nlooks; k++) {
        if (d->looks[k].cuts) {
            use_straddling(e, k);
            continue;
        }
        load(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
        note(m, w, k);
    }
    w->back = e->at;
}

void peet__direct_emit_other(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    struct requested *const w = &m->requested[c->argument];
    uint8_t *could_not;
    if (c->span != 0) {
        see_line(m, c->span);
        jump_if(e, IF_EQUAL, e->run + (c->same - e->write));
    }
    if (w->other) {
        jump(e, w->other);
        return;
    }
    w->other = here(e);
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        const struct peet__form a = begin_of(&m->f->code[w->index], &w->d.looks[k]);
        compute(e, registers, &a);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    if (m->direct->holds && peet__direct_watchers(m, w->index) != 0)
        peet__direct_store_values(m, w);
    if (m->direct->tells) {
        constant(e, RAX, (uint64_t)(uintptr_t)&m->compiled->watches[w->index * m->direct->nobservers]);
        store(e, RAX, RBX, RUN(missing));
    }
    if (m->direct->table.logged) {
        CODE(e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
        word32(e, (uint32_t)RUN(tail_here));
        word32(e, (uint32_t)c->tail);
    }
    byte(e, 0xbe); /* mov esi, imm32 */
    word32(e, m->f->blocks[w->index].id);
    call(e, m->other);
    could_not = jump_ahead(e, IF_NOT);
    const uint8_t *const taken = here(e);
    add_constant(e, R15, w->stamps);
    jump(e, e->run + (w->back - e->write));
    aim(e, could_not);
    if (m->direct->table.logged) {
        constant(e, RAX, (uint64_t)(uintptr_t)taken);
        store(e, RAX, RBX, RUN(again));
    }
    go_before(m, c->tail);
}

void peet__direct_emit_units(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    const struct peet_direct_table *const t = &m->direct->table;
    const struct requested *const w = &m->requested[c->argument];
    const struct peet_direct_look *const probe = &w->d.looks[c->probe];
    const struct peet__form a = begin_of(&m->f->code[w->index], probe);
    uint8_t *others[3];
    CODE(e, "\x49\x33\x14\xc9\x48\x83\xfa\x01"); /* xor rdx, [r9 + rcx * 8]; cmp rdx, 1: it may be read */
    others[0] = jump_ahead(e, IF_NOT);
    store(e, RCX, RBX, RUN(found) + (int32_t)(8 * c->probe));
    compute(e, registers, &a);
    byte(e, 0xa9); /* test eax, imm32 */
    word32(e, (1u << t->unit_shift) - 1);
    others[1] = jump_ahead(e, IF_NOT);
    CODE(e, "\x89\xc1\x81\xe1"); /* mov ecx, eax; and ecx, imm32 */
    word32(e, (1u << t->line_shift) - 1);
    CODE(e, "\xc1\xe9"); /* shr ecx, imm8 */
    byte(e, t->unit_shift);
    constant(e, RAX, probe->units);
    CODE(e, "\x48\xd3\xe0"); /* shl rax, cl */
    load(e, RCX, RBX, RUN(found) + (int32_t)(8 * c->probe));
    load(e, RDX, RBX, RUN(writable));
    CODE(e, "\x48\x8b\x14\xca\x48\xf7\xd2\x48\x85\xc2"); /* mov rdx, [rdx + rcx * 8]; not rdx; test rdx, rax */
    others[2] = jump_ahead(e, IF_NOT);
    jump(e, e->run + (c->back - e->write));
    for (unsigned i = 0; i < 3; i++)
        aim(e, others[i]);
    peet__direct_emit_other(m, c);
}

int peet__direct_often(struct peet_direct_run *run, uint32_t block_id, uint32_t times)
{
    enum { A_GOOD_PART = 8 };
    struct peet__direct *const d = peet__direct_of(run);
    struct peet__function *const f = peet__direct_function_of(run->blocks);
    const uint32_t index = block_id - f->blocks[0].id;
    if (!d->ops->often || index >= f->nall || (uint64_t)times * A_GOOD_PART < *peet__direct_taken(f->direct, index))
        return 0;
    if (d->ops->often(d->self, &f->blocks[index]) != 0)
        return 0;
    const uint32_t n = ++f->direct->cut;
    if ((n & (n - 1)) != 0) /* less and less often: what waits is said with what comes next */
        return 0;
    if (peet__direct_make(d, f)) /* else the old code does it; and it does until it is left */
        memset(d->sync, 0, sizeof d->sync);
    return 0;
}

void peet__direct_emit_miss(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    const struct requested *const w = &m->requested[c->argument];
    const struct peet_direct_look *const probe = &w->d.looks[c->probe];
    const int32_t next = RUN(addresses) + 8;
    const int waits = c->probe == 0 && w->d.nlooks > 1; /* rsi has the next one's address */
    if (c->probe == 1)
        CODE(e, "\x48\x89\xf0"); /* mov rax, rsi */
    if (waits)
        store(e, RSI, RBX, next);
    /* whoever reports the miss wants to know where it was; the others' are there */
    if (m->direct->nobservers != 0 && c->probe <= 1) {
        const struct peet__form a = begin_of(&m->f->code[w->index], probe);
        byte(e, 0x50 | RAX); /* push rax */
        compute(e, registers, &a);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * c->probe));
        byte(e, 0x58 | RAX); /* pop rax */
    }
    if (m->direct->tells) { /* rax is the line */
        constant(e, RDX, (uint64_t)(uintptr_t)&m->compiled->watches[w->index * m->direct->nobservers]);
        store(e, RDX, RBX, RUN(missing));
    }
    byte(e, 0xbe); /* mov esi, imm32 */
    word32(e, probe->site);
    call(e, m->miss);
    if (waits)
        load(e, RSI, RBX, next);
    jump(e, e->run + (c->back - e->write));
}

#endif
