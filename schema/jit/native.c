/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the decoders in machine code that native.h describes.  A block's code computes its values from the words of the
 * record and the followed registers, brings those up to date, writes the event, and jumps to the code of the block that
 * the next word names.  The code returns when there may be no room for one more event, and before any block that has no
 * code. It leaves the decode state as decode.c would have left it.
 */
#include "jit/native.h"
#include "jit/forms.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__

#include <stddef.h>

/* Registers while the code runs: rsi at the record (its words after it), rdi followed registers, rdx next value, rcx
 * next event, r8 table of blocks, r9 the run, xmm0 context and iterations; rax, r10 and r11 are scratch. */
enum { CHAIN = 4, BLOCK_EXTRA_BYTES = 512, VALUE_BYTES = 96 };

/* What every chunk begins with. */
enum { ENTER_AT = PEET__CHUNK_BEGIN, LEAVE_AT = 112, CODE_AT = 128 };

struct emitter {
    struct peet__function *f;
    int want_addresses;
    struct peet__emit e;
    const uint8_t *leave;    /* run-time address */
    uint32_t values, events; /* along the chain that is being written */
    struct peet__native *native;
};

/* -------------------------------------------------------------------------------------------- blocks */

static const struct peet__form_registers registers = {RSI, RDI, R10};

/* The block's values, registers and event. */
static void happen(struct emitter *m, uint32_t index)
{
    const struct peet__block *c = &m->f->code[index];
    if (m->want_addresses)
        for (uint32_t k = 0; k < c->nvalues; k++) {
            compute(&m->e, registers, &c->addresses[k]);
            store(&m->e, RAX, RDX, (int32_t)(8 * k));
        }
    update_registers(&m->e, registers, R11, c);
    constant(&m->e, RAX, (uint64_t)(uintptr_t)&m->f->blocks[index]);
    store(&m->e, RAX, RCX, offsetof(struct peet_block_event, block));
    if (m->want_addresses) {
        store(&m->e, RDX, RCX, offsetof(struct peet_block_event, values));
    } else {
        CODE(&m->e, "\x48\xc7\x41\x08"); /* mov qword [rcx + 8], 0 */
        word32(&m->e, 0);
    }
    CODE(&m->e, "\x0f\x11\x41\x10"); /* movups [rcx + 16], xmm0 */
    CODE(&m->e, "\x48\xc7\x41\x20"); /* mov qword [rcx + 32], 0 */
    word32(&m->e, 0);
    CODE(&m->e, "\x48\x83\xc1"); /* add rcx, imm8 */
    byte(&m->e, sizeof(struct peet_block_event));
    if (m->want_addresses && c->nvalues != 0) {
        CODE(&m->e, "\x48\x81\xc2"); /* add rdx, imm32 */
        word32(&m->e, 8 * c->nvalues);
    }
    m->values += c->nvalues;
    m->events++;
}
_Static_assert(offsetof(struct peet_block_event, block) == 0 && offsetof(struct peet_block_event, values) == 8 &&
        offsetof(struct peet_block_event, context) == 16 && offsetof(struct peet_block_event, turns) == 24 &&
        offsetof(struct peet_block_event, strides) == 32 && sizeof(struct peet_block_event) == 40,
    "the code knows this");

/* On to the block that the next word names. */
static void go_on(struct emitter *m)
{
    memory(&m->e, 0x3b, RCX, R9, offsetof(struct peet__native_run, events_stop)); /* cmp rcx, [r9 + …] */
    jump_if(&m->e, IF_ABOVE, m->leave);
    memory(&m->e, 0x3b, RDX, R9, offsetof(struct peet__native_run, values_stop));
    jump_if(&m->e, IF_ABOVE, m->leave);
    memory(&m->e, 0x3b, RSI, R9, offsetof(struct peet__native_run, safe));
    jump_if(&m->e, IF_AT_LEAST, m->leave);
    CODE(&m->e, "\x48\x8b\x06\x48\xf7\xd0\x48\x3d"); /* mov rax, [rsi]; not rax; cmp rax, imm32 */
    word32(&m->e, m->f->nsegments);
    jump_if(&m->e, IF_AT_LEAST, m->leave);
    CODE(&m->e, "\x41\xff\x24\xc0"); /* jmp [r8 + rax * 8] */
}

/* decode.c goes on with a block without a record. */
static void leave_before_tail(struct emitter *m, int32_t tail)
{
    CODE(&m->e, "\x49\xc7\x41"); /* mov qword [r9 + disp8], imm32 */
    byte(&m->e, offsetof(struct peet__native_run, tail));
    word32(&m->e, (uint32_t)tail);
    byte(&m->e, 0xe9); /* jmp leave */
    word32(&m->e, (uint32_t)(m->leave - (here(&m->e) + 4)));
}

/* What comes after a block: one without a record that it falls into unless the next record says otherwise, and what
 * comes after that. */
static void fall(struct emitter *m, uint32_t index, int depth)
{
    const struct peet__block *c = &m->f->code[index];
    uint8_t *early, *other, *taken = NULL;
    if (c->tail < 0) {
        go_on(m);
        return;
    }
    if (c->sure) {
        if (can_have_code(m->f, (uint32_t)c->tail)) {
            happen(m, (uint32_t)c->tail);
            fall(m, (uint32_t)c->tail, depth);
        } else {
            leave_before_tail(m, c->tail);
        }
        return;
    }
    memory(&m->e, 0x3b, RSI, R9, offsetof(struct peet__native_run, safe));
    early = jump_ahead(&m->e, IF_AT_LEAST);
    CODE(&m->e, "\x48\x8b\x06\x48\xf7\xd0"); /* mov rax, [rsi]; not rax */
    if (c->tail_taken >= 0) {
        CODE(&m->e, "\x48\x3d"); /* cmp rax, imm32 */
        word32(&m->e, (uint32_t)c->tail_taken);
        taken = jump_ahead(&m->e, IF_EQUAL);
    }
    CODE(&m->e, "\x48\x3d");
    word32(&m->e, m->f->nsegments);
    other = jump_ahead(&m->e, IF_AT_LEAST);
    if (depth < CHAIN && can_have_code(m->f, (uint32_t)c->tail)) {
        happen(m, (uint32_t)c->tail);
        fall(m, (uint32_t)c->tail, depth + 1);
    }
    /* The next word is not known yet, or not plain: decode.c sees what it means. */
    aim(&m->e, early);
    aim(&m->e, other);
    leave_before_tail(m, c->tail);
    if (taken) {
        aim(&m->e, taken);
        go_on(m);
    }
}

static void make_block(struct emitter *m, uint32_t index)
{
    const struct peet__block *c = &m->f->code[index];
    struct peet__native *n = m->native;
    m->values = m->events = 0;
    n->blocks[index] = here(&m->e);
    if (c->pad >= 0) { /* alignment that is executed if the block before it was the last */
        uint8_t *skip;
        constant(&m->e, R10, (uint64_t)(uintptr_t)&m->f->blocks[c->pad_after]);
        memory(&m->e, 0x39, R10, RCX, -(int32_t)sizeof(struct peet_block_event)); /* cmp [rcx - 40], r10 */
        skip = jump_ahead(&m->e, IF_NOT);
        happen(m, (uint32_t)c->pad);
        aim(&m->e, skip);
    }
    if (c->sync)
        n->sync[index] = here(&m->e);
    happen(m, index);
    CODE(&m->e, "\x48\x81\xc6"); /* add rsi, imm32 */
    word32(&m->e, 8 * (1 + c->slot_words));
    fall(m, index, 0);
    n->slots = c->slot_words > n->slots ? c->slot_words : n->slots;
    n->values = m->values > n->values ? m->values : n->values;
    n->events = m->events > n->events ? m->events : n->events;
}

/* More than the code of a block can take, with all that it falls into. */
static size_t most_bytes(const struct peet__function *f, uint32_t index)
{
    size_t n = 0;
    for (int depth = 0; depth <= CHAIN + 1;) {
        const struct peet__block *c = &f->code[index];
        n += BLOCK_EXTRA_BYTES + (size_t)(c->nvalues + c->nupdates) * VALUE_BYTES;
        if (c->tail < 0)
            break;
        depth += !c->sure;
        index = (uint32_t)c->tail;
    }
    return n;
}

static void free_chunks(struct peet_program *p)
{
    peet__chunks_free(&p->native_chunks);
}

static struct peet__chunk *chunk_for(struct peet_program *p, size_t room)
{
    p->native_free = free_chunks;
    struct peet__chunk *c = peet__chunk_for(&p->native_chunks, room + CODE_AT);
    if (!c || c->used != PEET__CHUNK_BEGIN)
        return c;
    /* enter: mov r9, rdi; mov rdi, rsi; mov r8, rdx; mov rax, rcx; mov rsi, [r9]; mov rdx, [r9 + 8]; mov rcx, [r9 +
     * 16]; movups xmm0, [r9 + 56]; jmp rax */
    static const char enter[] =
        "\x49\x89\xf9\x48\x89\xf7\x49\x89\xd0\x48\x89\xc8\x49\x8b\x31\x49\x8b\x51\x08\x49\x8b\x49\x10"
        "\x41\x0f\x10\x41\x38\xff\xe0";
    /* leave: mov [r9], rsi; mov [r9 + 8], rdx; mov [r9 + 16], rcx; ret */
    static const char leave[] = "\x49\x89\x31\x49\x89\x51\x08\x49\x89\x49\x10\xc3";
    _Static_assert(offsetof(struct peet__native_run, context) == 56 &&
            offsetof(struct peet__native_run, events) == 16 && ENTER_AT + sizeof enter <= LEAVE_AT &&
            LEAVE_AT + sizeof leave <= CODE_AT,
        "enter and leave know this");
    memcpy(c->write + ENTER_AT, enter, sizeof enter);
    memcpy(c->write + LEAVE_AT, leave, sizeof leave);
    c->used = CODE_AT;
    return c;
}

const struct peet__native *peet__native_make(struct peet_program *p, struct peet__function *f, int want_addresses)
{
    struct peet__native *n = peet__own(f, 1, sizeof *n);
    size_t room = 0;
    struct peet__chunk *c;
    if (!n || !(n->blocks = peet__own(f, f->nsegments, sizeof *n->blocks)) ||
        !(n->sync = peet__own(f, f->nsegments, sizeof *n->sync)))
        return NULL;
    for (uint32_t k = 0; k < f->nsegments; k++)
        if (f->code[k].plain && can_have_code(f, k))
            room += most_bytes(f, k);
    c = room < (size_t)1 << 30 ? chunk_for(p, room) : NULL;
    if (!c)
        return NULL;
    n->enter = (peet__native_enter *)(uintptr_t)(c->run + ENTER_AT);
    n->leave = c->run + LEAVE_AT;
    struct emitter m = {.f = f,
        .want_addresses = want_addresses,
        .e = {c->write + c->used, c->write, c->run},
        .leave = n->leave,
        .native = n};
    for (uint32_t k = 0; k < f->nsegments; k++) {
        n->blocks[k] = n->sync[k] = n->leave;
        if (f->code[k].plain && can_have_code(f, k))
            make_block(&m, k);
    }
    c->used = (size_t)(m.e.at - c->write);
    return n;
}

#else

const struct peet__native *peet__native_make(struct peet_program *p, struct peet__function *f, int want_addresses)
{
    (void)p, (void)f, (void)want_addresses;
    return NULL;
}

#endif
