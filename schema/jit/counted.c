/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code that counts blocks for observers (<peet/direct.h>, struct peet_direct_counted). A profile, for example,
 * is shown calls and returns only; for all other blocks, machine code adds to the observer's counters.
 *
 *   1. An execution is counted after its probes, when it is certain.
 *   2. Memory reports of an execution go out after the execution was shown. So if an execution may be shown, older
 *      reports go out where it begins.
 */
#include "jit/emitter.h"

#include <string.h>

/* Does it jump out of its function, perhaps?  In foreign code an indirect jump may, as longjmp()'s into the program does. */
static int is_tail_jump(const struct peet_block *block, int is_trace)
{
    const char *name = block->ninsns != 0 ? block->insns[block->ninsns - 1].opcode->name : "";
    return strncmp(name, "TAILJMP", 7) == 0 || (is_trace && strncmp(name, "JMP64", 5) == 0);
}

/* Where a function is entered; after a call, a return or a jump that leaves a function; in the middle of a trace of
 * several functions, and where such a trace begins, for there any jump may leave a function; and where a jump back to
 * the function's first instruction may be a call. */
void peet__direct_when_shown(struct peet_direct_counted *c, const struct peet_block *block, int is_trace)
{
    const int other = block->index != 0 && block[-1].function != block->function;
    c->always = (block->flags & PEET_BLOCK_ENTRY) != 0 || (is_trace && (block->flags & PEET_BLOCK_SYNC) != 0) ||
        other || peet_block_is_first(block);
    c->stops = (uint8_t)(peet_block_leaves(block) || is_tail_jump(block, is_trace));
}

#ifdef __x86_64__

static struct peet_direct_counted *counted_of(const struct emitter *m, uint32_t index, uint32_t observer)
{
    return peet__direct_counted_of(m->compiled->watches[(size_t)index * m->direct->nobservers + observer]);
}

/* Is the block counted?  @out_always: and always shown? */
static int is_counted(const struct emitter *m, uint32_t index, int *out_always)
{
    int any = 0;
    *out_always = 0;
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        const struct peet_direct_counted *const c = counted_of(m, index, o);
        any |= c != NULL;
        *out_always |= c && c->always;
    }
    return any;
}

/* An out-of-line stub for the case that the word there is not 0; it comes back here. */
static struct stub *if_set(struct emitter *m, const void *word, enum why why)
{
    struct stub *c;
    constant(&m->e, RAX, (uint64_t)(uintptr_t)word);
    CODE(&m->e, "\x83\x38\x00"); /* cmp dword [rax], 0 */
    c = add_stub(m, jump_ahead(&m->e, IF_NOT), 0, -1, why);
    c->back = m->e.at;
    return c;
}

static void in_cycles(const struct emitter *m, struct peet__emit *e)
{
    if (m->direct->table.clock_shift != 0) {
        CODE(e, "\x48\xc1\xe8"); /* shr rax, imm8 */
        byte(e, m->direct->table.clock_shift);
    }
}

static void begin_here(struct peet__emit *e)
{
    load(e, RAX, RBX, RUN(bound));
    CODE(e, "\x4c\x01\xe8"); /* add rax, r13 */
    store(e, RAX, RBX, RUN(began));
}

void peet__direct_count_from(struct emitter *m, uint32_t index, int waits)
{
    struct peet__emit *const e = &m->e;
    const uint32_t *const unreported = m->direct->table.unreported;
    int always;
    if (!is_counted(m, index, &always))
        return;
    if (waits || !m->direct->table.whole_cycles)
        begin_here(e);
    if (!unreported)
        return;
    if (always)
        if_set(m, unreported, STUB_REPORT);
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        const struct peet_direct_counted *const c = counted_of(m, index, o);
        if (c)
            if_set(m, always ? &c->sums->unsettled : &c->sums->stop, STUB_REPORT);
    }
}

/* Sums of an observer, and the block's own cycles. */
static void add_up(struct emitter *m, struct peet_direct_counted *c, int is_loop, uint64_t time)
{
    struct peet__emit *const e = &m->e;
    constant(e, RSI, (uint64_t)(uintptr_t)c->sums);
    for (uint32_t k = 0; k < PEET_DIRECT_SUMS; k++) {
        const int32_t at = (int32_t)(offsetof(struct peet_direct_sums, of) + k * sizeof c->sums->of[0]);
        if (c->adds[k] == 0)
            continue;
        if (is_loop) {
            CODE(e, "\x48\x69\x83"); /* imul rax, [rbx + disp32], imm32 */
            word32(e, (uint32_t)RUN(turns));
            word32(e, c->adds[k]);
            memory(e, 0x01, RAX, RSI, at); /* add [rsi + …], rax */
        } else {
            add_to_memory(e, RSI, at, (int32_t)c->adds[k]);
        }
    }
    if (c->stops) {
        constant(e, RAX, 1);
        store(e, RAX, RSI, offsetof(struct peet_direct_sums, stop));
    }
    if (m->direct->table.whole_cycles) /* executions are counted, and what they wait (commit.c) */
        return;
    constant(e, RSI, (uint64_t)(uintptr_t)&c->cycles);
    load(e, RAX, RBX, RUN(began));
    in_cycles(m, e);
    CODE(e, "\x48\x89\xc2"); /* mov rdx, rax */
    load(e, RAX, RBX, RUN(bound));
    CODE(e, "\x4c\x01\xe8"); /* add rax, r13 */
    add_constant(e, RAX, time);
    in_cycles(m, e);
    CODE(e, "\x48\x29\xd0");      /* sub rax, rdx */
    memory(e, 0x01, RAX, RSI, 0); /* add [rsi], rax */
}

static void show(struct emitter *m, uint32_t index, int is_loop, int waits)
{
    struct peet__emit *const e = &m->e;
    struct peet__direct_counted_site *const site = &m->compiled->sites[index];
    *site = (struct peet__direct_counted_site){
        .event = {.block = &m->f->blocks[index], .strides = m->f->code[index].strides},
        .only = m->direct->nobservers == 1 ? counted_of(m, index, 0) : NULL,
        .watches = &m->compiled->watches[(size_t)index * m->direct->nobservers]};
    if (!waits && m->direct->table.whole_cycles) /* it has not begun before */
        begin_here(e);
    constant(e, RSI, (uint64_t)(uintptr_t)site);
    if (is_loop)
        load(e, RDX, RBX, RUN(turns));
    else
        constant(e, RDX, 1);
    call(e, m->show);
}

void peet__direct_count(struct emitter *m, uint32_t index, int is_loop, int waits, uint64_t time)
{
    struct peet__emit *const e = &m->e;
    int always;
    if (!is_counted(m, index, &always))
        return;
    if (always)
        show(m, index, is_loop, waits);
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        if (!always && counted_of(m, index, o)) {
            struct stub *const c = if_set(m, &counted_of(m, index, o)->sums->stop, STUB_SHOW);
            c->index = index;
            c->probe = (uint8_t)is_loop;
            c->argument = (uint32_t)waits;
        }
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        if (counted_of(m, index, o))
            add_up(m, counted_of(m, index, o), is_loop, time);
    constant(e, RAX, (uint64_t)(uintptr_t)&m->f->blocks[index]);
    store(e, RAX, RBX, RUN(previous));
}

void peet__direct_emit_show(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    if (c->why == STUB_SHOW)
        show(m, c->index, c->probe, (int)c->argument);
    else
        call(e, m->report);
    jump(e, e->run + (c->back - e->write));
}

#endif
