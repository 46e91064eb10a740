/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for blocks that the machine leaves to peet (<peet/direct.h>): it decodes a record, looks its lines up,
 * adds its time, and jumps to the next.  This file makes the code of a function; preamble.c makes
 * what all functions share, and probes.c, ranges.c, staying.c and watch.c make parts of a block.
 *
 *   1. Before the code of each block, registers and memory are as decode/direct.c has them between two records.
 *   2. Where a block has no code, or its code cannot decide a case, the code returns, and decode/direct.c continues.
 *   3. The lines of a block are looked up in the order of its references.  A line that is found is stamped at once.
 *      For a line that is not found the machine is called, at once, and the code goes on after the call.  But if the
 *      block is `whole`, all lines are looked up before anything happens.
 */
#include "jit/direct.h"
#include "jit/emit.h"
#include "program/strides.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

static void free_direct(struct peet_program *p)
{
    for (unsigned k = 0; k < p->nfunctions; k++)
        if (p->functions[k]->direct)
            free(p->functions[k]->direct->patchables);
#ifdef __x86_64__
    peet__chunks_free(&p->direct->chunks);
#endif
    peet__direct_commit_free(p->direct);
    peet__direct_hold_free(p->direct);
    free(p->direct);
    p->direct = NULL;
    p->direct_replaced = NULL;
}

static void replaced(struct peet_program *p)
{
    memset(p->direct->sync, 0, sizeof p->direct->sync);
    peet__direct_unlink(p->direct);
}

int peet_program_set_direct(struct peet_program *p, const struct peet_direct *ops, void *self)
{
    struct peet__direct *d = calloc(1, sizeof *d);
    if (!d)
        return PEET_ENOMEM;
    d->ops = ops;
    d->self = self;
#ifdef __x86_64__
    if (ops->table(self, &d->table) == 0) {
        d->table.done = peet__decode_done;
        p->direct = d;
        p->direct_free = free_direct;
        p->direct_replaced = replaced;
        return 0;
    }
#endif
    free(d);
    return PEET_ENOTFOUND;
}

void peet_program_direct_host(struct peet_program *p, int (*go_back)(void *host, unsigned hw, uint64_t until),
    void *host)
{
    p->direct->table.go_back = go_back;
    p->direct->table.host = host;
}

void peet_program_direct_notes(struct peet_program *p, peet_decode_noted *fn, void *host)
{
    p->direct->noted = fn;
    p->direct->noted_host = host;
}

void peet_program_direct_unwanted(struct peet_program *p, uint32_t type)
{
    p->direct->unwanted = type;
}

uint64_t peet__direct_notes(struct peet_direct_run *run)
{
    struct peet__direct *const direct = peet__direct_of(run);
    while (run->at < run->end && PEET_RAW_IS_ABSTRACT(*run->at)) {
        const uint32_t nargs = PEET_RAW_NARGS(*run->at);
        const uint64_t *const behind = run->at + 1 + nargs;
        if (behind >= run->end) /* it may be one whose answer somebody waits for: these come last */
            break;
        if (peet__direct_unwanted(direct, *run->at)) {
            run->at = behind;
            continue;
        }
        if (!direct->noted || peet__direct_defers(run))
            break;
        peet__direct_ends(direct, run, run->time, 1);
        const int done = direct->noted(direct->noted_host, run, PEET_RAW_TYPE(*run->at), nargs, run->at + 1);
        peet__direct_begins(direct, run);
        if (!done)
            break;
        run->at = behind;
    }
    return 0;
}

#ifdef __x86_64__

#include "jit/preamble.h"

/* Is there room for another one? */
static int can_patch(struct emitter *m)
{
    struct peet__direct_function *const compiled = m->compiled;
    if (compiled->npatchables < compiled->cpatchables)
        return 1;
    const uint32_t n = compiled->cpatchables != 0 ? 2 * compiled->cpatchables : 64;
    struct peet__direct_patchable *const patchables = realloc(compiled->patchables, n * sizeof *patchables);
    if (!patchables)
        return 0;
    compiled->patchables = patchables;
    compiled->cpatchables = n;
    return 1;
}

static void patchable(struct emitter *m, uint8_t *from, int32_t to)
{
    m->compiled->patchables[m->compiled->npatchables++] =
        (struct peet__direct_patchable){.from = from, .to = (uint32_t)to};
}

/* When all code is made: blocks without code are left to decode/direct.c. */
static void patch_jumps(struct emitter *m)
{
    const struct peet__direct_function *const compiled = m->compiled;
    for (uint32_t k = 0; k < compiled->npatchables; k++)
        aim_at(&m->e, compiled->patchables[k].from, *peet__direct_entry(compiled, compiled->patchables[k].to));
}

/* Is the word rax that of the block? */
static void compare_word(struct peet__emit *e, int32_t index)
{
    compare_constant(e, RAX, -1 - index);
}

/* Is it below those of all blocks? */
static void compare_with_all(struct emitter *m)
{
    compare_constant(&m->e, RAX, -(int32_t)m->f->nsegments);
}

/* On to the block that the next word names, from that one: straight to those that are likely, for jumps by a table are
 * harder to foresee. */
static void go_on(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[index];
    /* The next word says where it is, if it is a block's.  Each has a jump of its own: one for all is harder to foresee. */
    if (m->f->path_word || peet_block_leaves(&m->f->blocks[index])) {
        peet__direct_emit_link(m);
        load(e, RAX, RBP, 0);
        aim_at(e, peet__direct_look_up(e), m->strange);
        CODE(e, "\xff\x61\x08"); /* jmp [rcx + 8] */
        return;
    }
    load(e, RAX, RBP, 0);
    for (unsigned k = 0; k < 2 && c->next[k] >= 0 && can_patch(m); k++) {
        compare_word(e, c->next[k]);
        patchable(m, jump_ahead(e, IF_EQUAL), c->next[k]);
    }
    compare_with_all(m);
    jump_if(e, IF_BELOW, m->sync);
    CODE(e, "\x41\xff\x24\xc0"); /* jmp [r8 + rax * 8] */
}

/* The block's probes, counts, registers and time, and on by so many words.  Returns: the condition that the limit may
 * have come */
static unsigned happen(struct emitter *m, struct requested *w, uint32_t words, int32_t tail)
{
    struct peet__emit *const e = &m->e;
    const uint32_t index = w->index;
    peet__direct_see(m, w, tail);
    peet__direct_emit_probes(m, w, tail);
    if (!m->direct->table.logged || w->d.nlooks == 0)
        peet__direct_see_marks(m, w, NULL);
    peet__direct_count(m, index, 0, w->d.nlooks != 0, w->d.time);
    peet__direct_tally(m, index);
    if (m->direct->table.logged) {
        add_to_memory(e, RBX, RUN(reads), (int32_t)w->d.reads);
        add_to_memory(e, RBX, RUN(writes), (int32_t)w->d.writes);
    }
    add_constant(e, R15, w->d.stamps - w->stamps);
    add_constant(e, R12, m->f->blocks[index].ninsns);
    memory(e, 0xff, 0, R8, count_of(index)); /* inc qword [r8 + …] */
    if (m->direct->table.paths) {
        load(e, RAX, RBX, RUN(path));
        CODE(e, "\xc7\x00"); /* mov dword [rax], imm32 */
        word32(e, m->f->blocks[index].id);
        add_to_memory(e, RBX, RUN(path), 4);
    }
    update_registers(e, registers, RDX, &m->f->code[index]);
    peet__direct_last_is(e, index);
    add_constant(e, RBP, 8 * (uint64_t)words);
    return take_time(e, &w->d);
}

/* All iterations of a loop whose record is at hand.  rax is how many; what is not certain is left. */
static void emit_iterations(struct emitter *m, const struct peet__block *c)
{
    struct peet__emit *const e = &m->e;
    const uint64_t step = (uint64_t)(c->loop_step > 0 ? c->loop_step : -c->loop_step);
    if (c->loop_step > 0) {
        load(e, RAX, RBP, 8);
        memory(e, 0x2b, RAX, R14, 8 * c->loop_reg); /* sub rax, [r14 + …] */
    } else {
        load(e, RAX, R14, 8 * c->loop_reg);
        memory(e, 0x2b, RAX, RBP, 8);
    }
    CODE(e, "\x48\x83\xe8\x01");         /* sub rax, 1; 0 and what is negative are too much */
    CODE(e, "\x48\x3d\x00\x00\x00\x70"); /* cmp rax, imm32 */
    jump_if(e, IF_AT_LEAST, m->leave);
    CODE(e, "\xff\xc0"); /* inc eax */
    if ((step & (step - 1)) != 0) {
        CODE(e, "\x31\xd2\xb9"); /* xor edx, edx; mov ecx, imm32 */
        word32(e, (uint32_t)step);
        CODE(e, "\xf7\xf1\x85\xd2"); /* div ecx; test edx, edx */
        jump_if(e, IF_NOT, m->leave);
    } else if (step > 1) {
        CODE(e, "\xa9"); /* test eax, imm32 */
        word32(e, (uint32_t)step - 1);
        jump_if(e, IF_NOT, m->leave);
        CODE(e, "\xc1\xe8"); /* shr eax, imm8 */
        byte(e, (unsigned)__builtin_ctzll(step));
    }
}

static void multiply(struct emitter *m, uint32_t by)
{
    CODE(&m->e, "\x48\x69\xc8"); /* imul rcx, rax, imm32 */
    word32(&m->e, by);
}

enum { MOST = 256 }; /* values of a block with machine code */

/* The machine goes round. */
static void call_loop(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    for (uint32_t k = 0; k < w->d.nlooks; k++) {
        const struct peet__form a = begin_of(c, &w->d.looks[k]);
        compute(e, registers, &a);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    peet__direct_show_values(m, w->index);
    byte(e, 0xbe); /* mov esi, imm32 */
    word32(e, m->f->blocks[w->index].id);
    load(e, RDX, RBX, RUN(turns));
    constant(e, RCX, (uint64_t)(uintptr_t)c->strides);
    call(e, m->loop);
    jump_if(e, IF_NOT, m->leave);
}

/* Registers after run.turns iterations; rax holds that. */
static void move_registers(struct emitter *m, const struct peet__block *c)
{
    struct peet__emit *const e = &m->e;
    for (uint32_t k = 0; k < c->nupdates; k++) {
        const int32_t at = 8 * c->updates[k].reg;
        if (!c->moving) {
            multiply(m, (uint32_t)c->steps[k].disp);
            memory(e, 0x01, RCX, R14, at);
            continue;
        }
        compute(e, registers, &c->steps[k]);
        memory(e, 0x2b, RAX, R14, at); /* sub rax, [r14 + ...] */
        CODE(e, "\x48\x0f\xaf\x83");   /* imul rax, [rbx + ...] */
        word32(e, (uint32_t)RUN(turns));
        memory(e, 0x01, RAX, R14, at);
    }
}

/* Does the code go round by itself, an iteration as any other block?  Strides that are in registers seldom stay in a line,
 * and then a machine's loop(), or a strip, has nothing to gain: in fft, one processor of bus, 0.15 s so and 0.24 s by
 * loop(); four of them 0.60 s so and 0.69 s by strips. */
static int goes_round(const struct emitter *m, uint32_t index, const struct peet_direct_block *d)
{
    return m->f->code[index].moving && d->nlooks != 0;
}

static void emit_each_iteration(struct emitter *m, struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const uint8_t *again;
    uint8_t *late, *done;
    m->compiled->strips[w->index] = again = here(e);
    if (peet__direct_watchers(m, w->index) != 0)
        m->compiled->counts[w->index] = PEET__ITERATIONS_COUNTED;
    late = jump_ahead(e, happen(m, w, 0, -1));
    add_to_memory(e, RBX, RUN(rest), -1);
    jump_if(e, IF_NOT, again);
    CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp over the rest */
    done = e->at;
    aim(e, late);
    add_to_memory(e, RBX, RUN(rest), -1);
    jump_if(e, IF_NOT, m->leave);
    /* for what comes behind the loop, the bound is where it has come to */
    memory(e, 0x03, R13, RBX, RUN(bound)); /* add r13, [rbx + ...] */
    CODE(e, "\x49\xff\xc5");               /* inc r13 */
    store(e, R13, RBX, RUN(bound));
    constant(e, R13, UINT64_MAX);
    aim(e, done);
}

static void emit_loop(struct emitter *m, struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const uint32_t index = w->index;
    const int by_itself = goes_round(m, index, &w->d);
    if (by_itself || peet__direct_can_strip(m, w)) {
        emit_iterations(m, &m->f->code[index]);
        store(e, RAX, RBX, RUN(rest));
        peet__direct_last_is(e, index);
        CODE(e, "\x48\x83\xc5\x10"); /* add rbp, 16 */
        if (by_itself)
            emit_each_iteration(m, w);
        else
            peet__direct_emit_strips(m, w);
        return;
    }
    const struct peet__block *c = &m->f->code[index];
    const int counted = w->d.nlooks == 0 || peet__direct_watchers(m, index) == 0; /* else loop_and_show() does it */
    peet__direct_count_from(m, index, 1);
    if (w->d.nlooks == 0)
        peet__direct_see_iterations(m, index);
    emit_iterations(m, c);
    store(e, RAX, RBX, RUN(turns));
    if (w->d.nlooks == 0) { /* the end of its time must be before the limit: then that of every iteration is */
        if (w->d.varies) {
            constant(e, RCX, (uint64_t)(uintptr_t)w->d.varies);
            memory(e, 0x8b, RCX, RCX, 0); /* mov rcx, [rcx] */
            CODE(e, "\x48\x0f\xaf\xc8");  /* imul rcx, rax */
        } else {
            multiply(m, (uint32_t)w->d.time);
        }
        CODE(e, "\x4c\x01\xe9"); /* add rcx, r13 */
        jump_if(e, IF_BELOW, m->leave);
        CODE(e, "\x49\x89\xcd"); /* mov r13, rcx */
    } else {
        if (peet__direct_watchers(m, index) == 0 && peet__direct_can_stay(m, w)) {
            uint8_t *other[2 * STAYING_PROBES + 2], *done;
            const uint32_t n = peet__direct_emit_staying(m, w, other);
            CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp over the rest */
            done = e->at;
            for (uint32_t k = 0; k < n; k++)
                aim(e, other[k]);
            call_loop(m, w);
            aim(e, done);
        } else {
            call_loop(m, w);
        }
    }
    peet__direct_count(m, index, 1, 1, 0);
    load(e, RAX, RBX, RUN(turns));
    multiply(m, m->f->blocks[index].ninsns);
    CODE(e, "\x49\x01\xcc"); /* add r12, rcx */
    if (counted)
        memory(e, 0x01, RAX, R8, count_of(index)); /* add [r8 + …], rax */
    if (m->direct->table.paths) {
        load(e, RCX, RBX, RUN(path));
        CODE(e, "\xc7\x01"); /* mov dword [rcx], imm32 */
        word32(e, m->f->blocks[index].id | PEET_DIRECT_TIMES);
        CODE(e, "\x89\x41\x04"); /* mov [rcx + 4], eax */
        add_to_memory(e, RBX, RUN(path), 8);
    }
    move_registers(m, c);
    peet__direct_last_is(e, index);
    CODE(e, "\x48\x83\xc5\x10"); /* add rbp, 16 */
}

static int is_small(int64_t x)
{
    return x == (int32_t)x;
}

/* A loop whose registers all move by small constants, or by others, and its values with them. */
static int can_loop(const struct peet__function *f, uint32_t index)
{
    const struct peet__block *c = &f->code[index];
    if (!c->recorded || !c->loop || (!c->strides && !c->moving) || c->nvalues > MOST ||
        !(f->blocks[index].flags & PEET_BLOCK_SIMPLE) || !is_small(c->loop_step) || c->loop_step == INT32_MIN ||
        c->loop_step == 0 || (c->nvalues != 0 && !c->addresses))
        return 0;
    for (uint32_t k = 0; k < c->nupdates; k++)
        if (!is_small((int64_t)c->steps[k].disp))
            return 0;
    return 1;
}

/* Values of registers and words that are all 0: they are as far apart as ever.  Returns: 0, or -1: they are not to be
 * had */
static int values_of(const struct peet__block *c, uint64_t values[MOST])
{
    if (c->nvalues > MOST || (c->nvalues != 0 && !c->addresses))
        return -1;
    for (uint32_t k = 0; k < c->nvalues; k++)
        values[k] = c->addresses[k].disp;
    return 0;
}

/* What the machine and those who look on want of a block, while its record's code is made.  Returns: NULL: a call */
static struct requested *ask(struct emitter *m, uint32_t index)
{
    struct requested *const w = &m->requested[m->nrequested];
    uint64_t values[MOST];
    *w = (struct requested){.index = index};
    if (values_of(&m->f->code[index], values) != 0 ||
        m->direct->ops->block(m->direct->self, &m->f->blocks[index], values, &w->d) != 0 ||
        peet__direct_ask_observers(m->direct, m->compiled, m->f, index, values, w->d.time) != 0)
        return NULL;
    m->nrequested++;
    return w;
}

/* What comes after a block: one without a record that it falls into unless the next record says otherwise, and what
 * comes after that.  @too_late: the condition that the limit may have come */
static void fall(struct emitter *m, uint32_t index, unsigned too_late, int depth)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *c = &m->f->code[index];
    struct requested *tail;
    uint8_t *late, *other, *taken = NULL;
    if (c->tail < 0) {
        jump_if(e, too_late, m->leave);
        m->compiled->behind[index] = here(e);
        go_on(m, index);
        return;
    }
    late = jump_ahead(e, too_late);
    m->compiled->behind[index] = here(e);
    if (c->sure) {
        if (can_have_code(m->f, (uint32_t)c->tail) && (tail = ask(m, (uint32_t)c->tail)) != NULL) {
            too_late = happen(m, tail, 0, c->tail);
            fall(m, (uint32_t)c->tail, too_late, depth);
        }
        aim(e, late);
        tail_is(m, (uint32_t)c->tail);
        return;
    }
    load(e, RAX, RBP, 0);
    if (c->tail_taken >= 0) {
        compare_word(e, c->tail_taken);
        taken = jump_ahead(e, IF_EQUAL);
    }
    compare_with_all(m);
    other = jump_ahead(e, IF_BELOW);
    if (depth < CHAIN && can_have_code(m->f, (uint32_t)c->tail) && (tail = ask(m, (uint32_t)c->tail)) != NULL) {
        too_late = happen(m, tail, 0, c->tail);
        fall(m, (uint32_t)c->tail, too_late, depth + 1);
    }
    /* The next word is not known yet, or not plain: decode/direct.c sees what it means. */
    aim(e, late);
    aim(e, other);
    tail_is(m, (uint32_t)c->tail);
    if (taken && can_patch(m))
        patchable(m, taken, c->tail_taken);
    else if (taken)
        aim_at(e, taken, m->leave);
}

static void emit_stubs(struct emitter *m)
{
    struct peet__emit *const e = &m->e;
    for (uint32_t k = 0; k < m->nstubs; k++) {
        const struct stub *c = &m->stub[k];
        aim(e, c->from);
        switch ((enum why)c->why) {
        case STUB_MISS:
            peet__direct_emit_miss(m, c);
            continue;
        case STUB_UNITS:
            peet__direct_emit_units(m, c);
            continue;
        case STUB_OTHER:
            peet__direct_emit_other(m, c);
            continue;
        case STUB_ASK:
            peet__direct_emit_ask(m, c);
            jump_if(e, IF_EQUAL, e->run + (c->back - e->write));
            break;
        case STUB_MARK:
            peet__direct_emit_mark(m, c);
            continue;
        case STUB_SHOW:
        case STUB_REPORT:
            peet__direct_emit_show(m, c);
            continue;
        case STUB_WATCH:
            break;
        }
        go_before(m, c->tail);
    }
    m->nstubs = m->nrequested = 0;
}

/* Can a loop, as the machine wants it, be code? */
static int can_go_round(const struct emitter *m, uint32_t index, const struct peet_direct_block *d)
{
    const uint32_t mask = peet__direct_watchers(m, index);
    if (mask != 0 && m->compiled->counts[index] == PEET__ITERATIONS_COUNTED) /* it may have been of another kind */
        return goes_round(m, index, d) || peet__direct_can_strip(m, &m->requested[0]);
    if (d->nlooks == 0)
        return d->time <= INT32_MAX && (mask == 0 || peet__direct_can_see_iterations(m, index));
    return m->direct->table.loop && (mask == 0 || m->f->code[index].nvalues <= PEET__DIRECT_VALUES);
}

/* Where a record says where it is: that is in this function. */
static void to_function(struct emitter *m)
{
    constant(&m->e, R8, (uint64_t)(uintptr_t)m->compiled->table);
    store(&m->e, R8, RBX, RUN(blocks));
}

static void make_block(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *c = &m->f->code[index];
    const uint8_t *begin, *body;
    struct requested *w, *pad = NULL;
    unsigned too_late;
    m->nrequested = 0;
    if (!(w = ask(m, index)) || (c->loop && !can_go_round(m, index, &w->d)) ||
        (c->pad >= 0 &&
            (!(pad = ask(m, (uint32_t)c->pad)) || pad->d.nlooks != 0 || m->f->code[c->pad].nupdates != 0 ||
                peet__direct_watchers(m, (uint32_t)c->pad) != 0)))
        return;
    const int falls = c->sync && c->pad < 0; /* from there into the block's code; else a jump leads there */
    const uint8_t *sync = here(e);
    if (falls)
        to_function(m);
    begin = here(e);
    if (c->pad >= 0) { /* alignment that is executed if the block before it was the last */
        uint8_t *skip;
        CODE(e, "\x81\xff"); /* cmp edi, imm32 */
        word32(e, (uint32_t)c->pad_after);
        skip = jump_ahead(e, IF_NOT);
        jump_if(e, happen(m, pad, 0, -1), m->leave);
        aim(e, skip);
    }
    body = here(e);
    if (c->loop) {
        emit_loop(m, w);
        too_late = see_time(e);
    } else {
        too_late = happen(m, w, 1 + c->slot_words, -1);
    }
    fall(m, index, too_late, 0);
    const uint32_t nrequested = m->nrequested;
    emit_stubs(m);
    *peet__direct_entry(m->compiled, index) = begin;
    if (!c->sync)
        return;
    if (!falls) {
        sync = here(e);
        to_function(m);
        jump(e, body);
    }
    const uint8_t *const together = peet__direct_emit_together(m, nrequested, sync);
    m->compiled->sync[index] = together ? together : sync;
}

/* What comes for certain behind a block that has no code. */
static void make_behind(struct emitter *m, uint32_t index)
{
    m->nrequested = 0;
    fall(m, index, see_time(&m->e), 0);
    emit_stubs(m);
}

/* More than the code of a block can take, with all that it falls into. */
static size_t most_bytes(const struct peet__function *f, uint32_t index, uint32_t nobservers)
{
    size_t n = 0;
    for (int depth = 0; depth <= CHAIN + 1;) {
        const struct peet__block *c = &f->code[index];
        const size_t probes = c->nvalues < PEET_DIRECT_LOOKS ? c->nvalues : PEET_DIRECT_LOOKS;
        const size_t guards = f->blocks[index].nrefs < PEET_DIRECT_GUARDS ? f->blocks[index].nrefs : PEET_DIRECT_GUARDS;
        /* addresses once more for other() */
        n += BLOCK_EXTRA_BYTES + (2 * probes + (c->nupdates << c->moving)) * VALUE_BYTES + probes * PROBE_BYTES;
        if (nobservers != 0)
            n += LOOP_BYTES + (probes + c->nvalues * ((size_t)nobservers + 1)) * VALUE_BYTES +
                nobservers * (WATCH_BYTES + COUNT_BYTES + (c->loop ? 2 : 1) * guards * (size_t)GUARD_BYTES);
        if (c->tail < 0)
            break;
        depth += !c->sure;
        index = (uint32_t)c->tail;
    }
    return n;
}

/* Without code so far. */
static struct peet__direct_function *new_function(const struct peet__direct *direct, struct peet__function *f)
{
    enum { PATIENCE = 8 };
    struct peet__direct_function *compiled = peet__own(f, 1, sizeof *compiled);
    const void **table = peet__own(f, (size_t)f->nsegments + 1 + f->nall, sizeof *table);
    if (!compiled || !table || !(compiled->sync = peet__own(f, f->nsegments, sizeof *compiled->sync)) ||
        !(compiled->told = peet__own(f, f->nall, sizeof *compiled->told)) ||
        !(compiled->behind = peet__own(f, f->nall, sizeof *compiled->behind)) ||
        !(compiled->strips = peet__own(f, f->nall, sizeof *compiled->strips)) ||
        !(compiled->counts = peet__own(f, f->nall, sizeof *compiled->counts)) ||
        !(compiled->watches = peet__own(f, (size_t)f->nall * direct->nobservers + 1, sizeof(void *))) ||
        !(compiled->asked = peet__own(f, f->nall, sizeof *compiled->asked)) ||
        !(compiled->sites = peet__own(f, f->nall, sizeof *compiled->sites)))
        return NULL;
    compiled->table = table + f->nsegments;
    compiled->table[0] = f;
    compiled->patience = PATIENCE;
    return compiled;
}

struct peet__direct_function *peet__direct_make(struct peet__direct *direct, struct peet__function *f)
{
    enum { PREAMBLE_BYTES = 2048 };
    struct peet__direct_function *const compiled = f->direct ? f->direct : new_function(direct, f);
    size_t room = PREAMBLE_BYTES;
    struct preamble pre;
    struct peet__chunk *c;
    struct emitter *m;
    if (!compiled)
        return NULL;
    if (f->direct)
        peet__direct_unlink(direct);
    for (uint32_t k = 0; k < f->nsegments; k++)
        if ((f->code[k].plain && can_have_code(f, k)) || can_loop(f, k) ||
            (f->code[k].sure && (k == 0 || !can_have_code(f, k))))
            room += most_bytes(f, k, direct->nobservers);
    c = peet__chunk_for(&direct->chunks, room);
    m = c ? calloc(1, sizeof *m) : NULL;
    if (!m)
        return NULL;
    m->f = f;
    m->direct = direct;
    m->compiled = compiled;
    m->e = (struct peet__emit){c->write + c->used, c->write, c->run};
    if (c->common[0] == 0) {
        pre = peet__direct_write_preamble(&m->e, direct);
        memcpy(c->common, &pre, sizeof pre);
    }
    memcpy(&pre, c->common, sizeof pre);
    m->leave = c->run + pre.leave, m->sync = c->run + pre.sync, m->miss = c->run + pre.miss,
    m->other = c->run + pre.other;
    m->strange = c->run + pre.strange, m->loop = c->run + pre.loop, m->ask = c->run + pre.ask,
    m->mark = c->run + pre.mark, m->show = c->run + pre.show, m->report = c->run + pre.report,
    m->learn = c->run + pre.learn;
    compiled->enter = (peet__direct_enter *)(uintptr_t)(c->run + pre.enter);
    compiled->leave = m->leave;
    compiled->npatchables = 0;
    for (uint32_t k = 0; k < f->nsegments; k++) {
        *peet__direct_entry(compiled, k) = compiled->sync[k] = m->leave;
        compiled->behind[k] = compiled->strips[k] = NULL;
    }
    for (uint32_t k = 0; k < f->nsegments; k++) {
        if ((f->code[k].plain && can_have_code(f, k)) || can_loop(f, k))
            make_block(m, k);
        else if (f->code[k].sure && !compiled->behind[k])
            make_behind(m, k);
    }
    for (uint32_t k = 0; k < f->nall; k++)
        if (compiled->counts[k] == PEET__ITERATIONS_UNKNOWN)
            compiled->counts[k] = PEET__ITERATIONS_SHOWN;
    patch_jumps(m);
    c->used = (size_t)(m->e.at - c->write);
    free(m);
    return compiled;
}

#else

struct peet__direct_function *peet__direct_make(struct peet__direct *direct, struct peet__function *f)
{
    (void)direct, (void)f;
    return NULL;
}

#endif
