/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for loops of processors that run ahead of each other (table.logged), if all who look on have guards.  A loop is executed in
 * *strips*: as many iterations as all probes stay in their lines for.  One lookup, one entry of the log and one stamp for
 * each line serve all iterations of a strip.
 *
 *   1. run.rest is how many iterations are left; registers and counts are those of the place between two iterations.
 *      While it is not 0, the record of the loop has been read, and the loop's block is the last one.
 *   2. An iteration that lies in two lines, or of which a line is not found, goes the way of a block: other() executes it,
 *      or the code is left until it is due, and goes on after it.
 *   3. A strip that writes to a line with `units` is the table's loop()'s, which notes what is written.
 *   4. Observers take iterations for executions like others (compiled->counts).  Addresses go on by strides: if the first and the last iteration
 *      keep to a guard, all between them do.  A strip ends where an observer wants to see an execution.
 */
#include "jit/emitter.h"

#ifdef __x86_64__

/* Jumps to what is written later. */
struct jumps {
    uint8_t *from[2 * PEET_DIRECT_LOOKS + PEET_DIRECT_GUARDS * PEET__DIRECT_OBSERVERS + 2];
    uint32_t n;
};

static void aim_all(const struct peet__emit *e, const struct jumps *j)
{
    for (uint32_t k = 0; k < j->n; k++)
        aim(e, j->from[k]);
}

int peet__direct_can_strip(const struct emitter *m, const struct requested *w)
{
    const struct peet__block *const c = &m->f->code[w->index];
    int can = m->direct->table.logged && c->strides && peet__direct_can_see_strips(m, w) && w->d.whole &&
        w->d.nlooks != 0 && !w->d.varies && w->d.time <= INT32_MAX && w->d.stamps <= INT32_MAX &&
        within(c->addresses, c->nvalues, PEET__SLOT);
    for (uint32_t k = 0; can && k < w->d.nlooks; k++) {
        const int64_t stride = c->strides[w->d.looks[k].value];
        can = stride == (int32_t)stride && stride != INT32_MIN && w->d.looks[k].span != 0 &&
            w->d.looks[k].span <= 1u << m->direct->table.line_shift;
    }
    return can;
}

/* rsi becomes at most as many iterations as this probe's references, which begin at rax, stay in their line.  Jumps if they
 * lie in two. */
static void stay(struct emitter *m, const struct peet_direct_look *probe, int32_t stride, struct jumps *straddles)
{
    struct peet__emit *const e = &m->e;
    const uint32_t line_bytes = 1u << m->direct->table.line_shift;
    const uint32_t step = (uint32_t)(stride < 0 ? -stride : stride), most = line_bytes - probe->span;
    CODE(e, "\x89\xc1\x81\xe1"); /* mov ecx, eax; and ecx, imm32 */
    word32(e, line_bytes - 1);
    if (stride > 0) {
        byte(e, 0xba); /* mov edx, imm32 */
        word32(e, most);
        CODE(e, "\x29\xca"); /* sub edx, ecx */
        straddles->from[straddles->n++] = jump_ahead(e, IF_BELOW);
    } else {
        CODE(e, "\x81\xf9"); /* cmp ecx, imm32 */
        word32(e, most);
        straddles->from[straddles->n++] = jump_ahead(e, IF_ABOVE);
        CODE(e, "\x89\xca"); /* mov edx, ecx */
    }
    if (stride == 0)
        return;
    if (step > most) {
        CODE(e, "\xbe\x01\x00\x00\x00"); /* mov esi, 1 */
        return;
    }
    if ((step & (step - 1)) == 0) {
        CODE(e, "\xc1\xea"); /* shr edx, imm8 */
        byte(e, (unsigned)__builtin_ctz(step));
    } else { /* exact, for edx * step is below 2^32 (Granlund and Montgomery, PLDI 1994) */
        constant(e, RCX, (1ull << 32) / step + 1);
        CODE(e, "\x48\x0f\xaf\xd1\x48\xc1\xea\x20"); /* imul rdx, rcx; shr rdx, 32 */
    }
    CODE(e, "\xff\xc2\x48\x39\xf2\x48\x0f\x42\xf2"); /* inc edx; cmp rdx, rsi; cmovb rsi, rdx */
}

/* Addresses of all probes, and how many iterations the strip has.  @past: jumps if the last one does not keep to a guard */
static void begin_strip(struct emitter *m, const struct requested *w, struct jumps *straddles, struct jumps *past)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    load(e, RSI, RBX, RUN(rest));
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        const struct peet__form a = begin_of(c, &w->d.looks[k]);
        compute(e, registers, &a);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        stay(m, &w->d.looks[k], (int32_t)c->strides[w->d.looks[k].value], straddles);
    }
    peet__direct_stop_strip(m, w);
    store(e, RSI, RBX, RUN(turns));
    peet__direct_turns_times(e, (int32_t)w->d.time);
    CODE(e, "\x4c\x01\xe9");        /* add rcx, r13 */
    jump_if(e, IF_BELOW, m->leave); /* the limit comes before */
    load(e, RSI, RBX, RUN(log));
    memory(e, 0x3b, RSI, RBX, RUN(log_end)); /* cmp rsi, [rbx + ...] */
    jump_if(e, IF_AT_LEAST, m->leave);
    past->n = peet__direct_see_last(m, w, past->from);
}

/* All lines are there: their uses go to the log, with the stamps of the last iteration.  r15 becomes the stamp before
 * that. */
static void use_lines(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    load(e, RSI, RBX, RUN(log));
    peet__direct_turns_times(e, (int32_t)w->d.stamps);
    CODE(e, "\x4d\x8d\xbc\x0f"); /* lea r15, [r15 + rcx + disp32] */
    word32(e, -w->d.stamps);
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        peet__direct_log(e, k, RUN(found) + (int32_t)(8 * k));
        peet__direct_use(e, w->d.looks[k].last, w->d.looks[k].later);
    }
    add_constant(e, RSI, w->d.nlooks * sizeof(struct peet_direct_use));
    store(e, RSI, RBX, RUN(log));
    peet__direct_turns_times(e, (int32_t)w->d.time);
    CODE(e, "\x49\x01\xcd"); /* add r13, rcx */
}

/* So many references in each of run.turns iterations join that count of the run. */
static void add_references(struct peet__emit *e, uint32_t n, int32_t count)
{
    if (n == 0)
        return;
    peet__direct_turns_times(e, (int32_t)n);
    memory(e, 0x01, RCX, RBX, count); /* add [rbx + ...], rcx */
}

/* The block's other() executes an iteration, or says that it must wait; to come back to: @taken. */
static void call_other(struct emitter *m, struct requested *w)
{
    struct peet__emit *const e = &m->e;
    uint8_t *could_not, *in_time;
    if (peet__direct_watchers(m, w->index) != 0)
        peet__direct_store_values(m, w);
    CODE(e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
    word32(e, (uint32_t)RUN(tail_here));
    word32(e, (uint32_t)-1);
    byte(e, 0xbe); /* mov esi, imm32 */
    word32(e, m->f->blocks[w->index].id);
    call(e, m->other);
    could_not = jump_ahead(e, IF_NOT);
    const uint8_t *const taken = here(e);
    CODE(e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
    word32(e, (uint32_t)RUN(turns));
    word32(e, 1);
    if (w->d.time != 0) {
        add_constant(e, R13, w->d.time);
        in_time = jump_ahead(e, IF_AT_LEAST);
        memory(e, 0x03, R13, RBX, RUN(bound)); /* add r13, [rbx + ...]: the limit has come, the bound is behind it */
        CODE(e, "\x49\xff\xc5");               /* inc r13 */
        store(e, R13, RBX, RUN(bound));
        constant(e, R13, UINT64_MAX);
        aim(e, in_time);
    }
    uint8_t *over;
    CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp over the rest */
    over = e->at;
    aim(e, could_not);
    constant(e, RAX, (uint64_t)(uintptr_t)taken);
    store(e, RAX, RBX, RUN(again));
    jump(e, m->leave);
    aim(e, over);
}

/* A write that the key at ecx does not allow, with rdx as the probe leaves it: loop() takes the strip if the line may be read.
 * Returns: after the jump that is taken if it has */
static uint8_t *call_loop(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    uint8_t *other, *could_not, *taken;
    CODE(e, "\x49\x33\x14\xc9\x48\x83\xfa\x01"); /* xor rdx, [r9 + rcx * 8]; cmp rdx, 1: it may be read */
    other = jump_ahead(e, IF_NOT);
    if (m->direct->nobservers != 0) { /* nobody is shown the loop */
        constant(e, RSI, (uint64_t)(uintptr_t)m->direct);
        constant(e, RAX, 0);
        store(e, RAX, RSI, offsetof(struct peet__direct, loop_block));
    }
    byte(e, 0xbe); /* mov esi, imm32 */
    word32(e, m->f->blocks[w->index].id);
    load(e, RDX, RBX, RUN(turns));
    constant(e, RCX, (uint64_t)(uintptr_t)m->f->code[w->index].strides);
    call(e, m->loop);
    could_not = jump_ahead(e, IF_NOT);
    CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp to what it has taken */
    taken = e->at;
    aim(e, other);
    aim(e, could_not);
    return taken;
}

/* run.turns iterations are over, but for their stamps and references. */
static void end_strip(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    peet__direct_turns_times(e, (int32_t)m->f->blocks[w->index].ninsns);
    CODE(e, "\x49\x01\xcc"); /* add r12, rcx */
    for (uint32_t k = 0; k < c->nupdates; k++) {
        peet__direct_turns_times(e, (int32_t)c->steps[k].disp);
        memory(e, 0x01, RCX, R14, 8 * c->updates[k].reg);
    }
    load(e, RAX, RBX, RUN(turns));
    memory(e, 0x01, RAX, R8, 8 * (int32_t)(w->index + 1)); /* add [r8 + ...], rax: how often it was taken */
    memory(e, 0x29, RAX, RBX, RUN(rest));                  /* sub [rbx + ...], rax */
}

/* The last iteration's stamps, and the references of run.turns iterations. */
static void count_strip(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    add_constant(e, R15, w->d.stamps);
    add_references(e, w->d.reads, RUN(reads));
    add_references(e, w->d.writes, RUN(writes));
}

static uint8_t *jump_over(struct peet__emit *e)
{
    CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp over the rest */
    return e->at;
}

void peet__direct_emit_strips(struct emitter *m, struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const int is_seen = peet__direct_watchers(m, w->index) != 0;
    struct jumps straddles = {.n = 0}, missing = {.n = 0}, noted = {.n = 0}, past = {.n = 0};
    uint8_t *over, *there, *taken = NULL, *done;
    const uint8_t *strip;
    m->compiled->strips[w->index] = strip = here(e);
    if (is_seen)
        m->compiled->counts[w->index] = PEET__ITERATIONS_COUNTED;
    if (is_seen)
        peet__direct_see(m, w, -1);
    peet__direct_count_from(m, w->index, 1);
    begin_strip(m, w, &straddles, &past);
    if (past.n != 0) {
        over = jump_over(e);
        aim_all(e, &past);
        CODE(e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
        word32(e, (uint32_t)RUN(turns));
        word32(e, 1);
        aim(e, over);
    }
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        struct jumps *const to = m->direct->table.units && w->d.looks[k].units != 0 ? &noted : &missing;
        load(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        to->from[to->n++] = peet__direct_probe(m, RAX, &w->d.looks[k]);
        store(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
    }
    use_lines(m, w);
    count_strip(m, w);
    there = jump_over(e);
    if (noted.n != 0) {
        aim_all(e, &noted);
        taken = call_loop(m, w);
    }
    aim_all(e, &straddles);
    aim_all(e, &missing);
    for (uint32_t k = 0; k < w->d.nlooks; k++) { /* not all are known if one straddles */
        const struct peet__form a = begin_of(&m->f->code[w->index], &w->d.looks[k]);
        compute(e, registers, &a);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    call_other(m, w);
    count_strip(m, w);
    over = jump_over(e);
    aim(e, there);
    if (taken)
        aim(e, taken);
    if (is_seen)
        peet__direct_see_marks(m, w, m->f->code[w->index].strides);
    aim(e, over);
    if (is_seen)
        peet__direct_tally_strip(m, w->index);
    peet__direct_count(m, w->index, 1, 1, 0);
    end_strip(m, w);
    done = jump_ahead(e, IF_EQUAL);
    jump_if(e, see_time(e), m->leave);
    jump(e, strip);
    aim(e, done);
}

#endif
