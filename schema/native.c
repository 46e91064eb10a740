/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the decoders in machine code that native.h describes.  A block's code computes its values from the words of
 * the record and the followed registers, brings those up to date, writes the event, and jumps to the code of the
 * block that the next word names.  It leaves, with everything as decode.c left it, when there may be no room for one
 * more block, and before whatever it has no code for.  Memory is mapped twice, so that none is ever both
 * writable and executable.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Registers while the code runs: rsi at the record (its words behind it), rdi followed registers, rdx next value, rcx next
 * event, r8 table of blocks, r9 the run, xmm0 context and turns; rax, r10 and r11 are scratch. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

enum { CHUNK_BYTES = 1 << 18, CHAIN = 4, BLOCK_EXTRA_BYTES = 512, VALUE_BYTES = 64 };

/* What every chunk begins with; nothing stands right at its beginning, because checks of calls look before what is called. */
enum { ENTER_AT = 64, LEAVE_AT = 112, CODE_AT = 128 };

/** Mapped code; `write` and `run` show the same memory. */
struct chunk {
    struct chunk *next;
    uint8_t *write, *run;
    size_t size, used;
};

struct maker {
    struct peet__function *f;
    int want_addresses;
    uint8_t *at;             /* where to write */
    uint8_t *write, *run;    /* the chunk */
    const uint8_t *leave;    /* run-time address */
    uint32_t values, events; /* along the chain that is being written */
    struct peet__native *native;
};

static struct chunk *chunk_new(size_t size)
{
    struct chunk *c = calloc(1, sizeof *c);
    int fd = c != NULL ? memfd_create("peet-decoders", MFD_CLOEXEC) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        goto fail;
    c->size = size;
    c->write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (c->write == MAP_FAILED)
        goto fail;
    c->run = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (c->run == MAP_FAILED) {
        munmap(c->write, size);
        goto fail;
    }
    close(fd);
    return c;
fail:
    if (fd >= 0)
        close(fd);
    free(c);
    return NULL;
}

/* --------------------------------------------------------------------------------------- instructions */

static void byte(struct maker *m, unsigned value)
{
    *m->at++ = (uint8_t)value;
}

static void word32(struct maker *m, uint32_t value)
{
    memcpy(m->at, &value, sizeof value);
    m->at += sizeof value;
}

static void bytes(struct maker *m, const char *code, size_t n)
{
    memcpy(m->at, code, n);
    m->at += n;
}
#define CODE(m, text) bytes((m), (text), sizeof(text) - 1)

/* opcode reg, [base + disp] of 64 bits; base is neither rsp nor r12 */
static void memory(struct maker *m, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
    const int small = disp >= -128 && disp <= 127;
    byte(m, 0x48 | (reg >> 3) << 2 | base >> 3);
    byte(m, opcode);
    byte(m, (small ? 0x40u : 0x80u) | (reg & 7) << 3 | (base & 7));
    if (small)
        byte(m, (uint8_t)disp);
    else
        word32(m, (uint32_t)disp);
}

static void load(struct maker *m, unsigned reg, unsigned base, int32_t disp)
{
    memory(m, 0x8b, reg, base, disp);
}

static void store(struct maker *m, unsigned reg, unsigned base, int32_t disp)
{
    memory(m, 0x89, reg, base, disp);
}

static void constant(struct maker *m, unsigned reg, uint64_t value)
{
    if (value == (uint64_t)(int64_t)(int32_t)value) { /* mov r64, simm32 */
        byte(m, 0x48 | reg >> 3);
        byte(m, 0xc7);
        byte(m, 0xc0 | (reg & 7));
        word32(m, (uint32_t)value);
        return;
    }
    byte(m, 0x48 | reg >> 3);
    byte(m, 0xb8 | (reg & 7));
    memcpy(m->at, &value, sizeof value);
    m->at += sizeof value;
}

/* A conditional jump (0x80 | condition) to a place of the same chunk, by its run-time address. */
static void jump_if(struct maker *m, unsigned condition, const uint8_t *to)
{
    byte(m, 0x0f);
    byte(m, condition);
    word32(m, (uint32_t)(to - (m->run + (m->at - m->write) + 4)));
}
enum { IF_AT_LEAST = 0x83, IF_EQUAL = 0x84, IF_NOT = 0x85, IF_ABOVE = 0x87 };

/* The same to a place not written yet; aim() tells it. */
static uint8_t *jump_ahead(struct maker *m, unsigned condition)
{
    byte(m, 0x0f);
    byte(m, condition);
    word32(m, 0);
    return m->at;
}

static void aim(const struct maker *m, uint8_t *behind_jump)
{
    uint32_t distance = (uint32_t)(m->at - behind_jump);
    memcpy(behind_jump - 4, &distance, sizeof distance);
}

/* -------------------------------------------------------------------------------------------- blocks */

/* A term of an address: a word of the record or a followed register. */
static void load_term(struct maker *m, unsigned reg, uint32_t term)
{
    if (term >= PEET__SLOT)
        load(m, reg, RSI, (int32_t)(8 * (1 + term - PEET__SLOT)));
    else
        load(m, reg, RDI, (int32_t)(8 * term));
}

/* rax becomes a + b * mb + disp; uses r10. */
static void compute(struct maker *m, const struct peet__address *f)
{
    const int wide = f->disp != (uint64_t)(int64_t)(int32_t)f->disp;
    const int two = f->mb != 0 && f->b != PEET__ZERO;
    const int32_t disp = wide ? 0 : (int32_t)f->disp;
    int scale = f->mb == 1 ? 0 : f->mb == 2 ? 1 : f->mb == 4 ? 2 : f->mb == 8 ? 3 : -1;
    if (f->a == PEET__ZERO && !two) {
        constant(m, RAX, f->disp);
        return;
    }
    load_term(m, RAX, f->a);
    if (two) {
        load_term(m, R10, f->b);
        if (scale < 0) {
            CODE(m, "\x4d\x69\xd2"); /* imul r10, r10, imm32 */
            word32(m, (uint32_t)f->mb);
            scale = 0;
        }
        CODE(m, "\x4a\x8d\x84"); /* lea rax, [rax + r10 * scale + disp32] */
        byte(m, (unsigned)scale << 6 | 2 << 3 | RAX);
        word32(m, (uint32_t)disp);
    } else if (disp != 0) {
        CODE(m, "\x48\x05"); /* add rax, imm32 */
        word32(m, (uint32_t)disp);
    }
    if (wide) {
        constant(m, R10, f->disp);
        CODE(m, "\x4c\x01\xd0"); /* add rax, r10 */
    }
}

/* Does a later update use the register that this one changes? */
static int used_later(const struct peet__block *c, uint32_t k)
{
    for (uint32_t j = k + 1; j < c->nupdates; j++)
        if (c->steps[j].a == c->updates[k].reg || (c->steps[j].mb != 0 && c->steps[j].b == c->updates[k].reg))
            return 1;
    return 0;
}

/* Forms of registers and of the words of the block's own record. */
static int within(const struct peet__address *forms, uint32_t n, uint32_t terms)
{
    for (uint32_t k = 0; k < n; k++)
        if (forms[k].a >= terms || (forms[k].mb != 0 && forms[k].b >= terms))
            return 0;
    return 1;
}

static int has_code(const struct peet__function *f, uint32_t index)
{
    const struct peet__block *c = &f->code[index];
    const uint32_t terms = PEET__SLOT + (c->recorded ? c->slot_words : 0);
    if (c->loop || !(f->blocks[index].flags & PEET_BLOCK_SIMPLE) || (c->nvalues != 0 && c->addresses == NULL) ||
        (c->nupdates != 0 && c->steps == NULL) || c->slot_words > 4096 || !within(c->addresses, c->nvalues, terms) ||
        !within(c->steps, c->nupdates, terms))
        return 0;
    /* Updates happen at once: those whose old value is still wanted wait in a scratch register, of which there is one. */
    uint32_t waiting = 0;
    for (uint32_t k = 0; k < c->nupdates; k++)
        waiting += (uint32_t)used_later(c, k);
    return waiting <= 1;
}

/* The block's values, registers and event. */
static void happen(struct maker *m, uint32_t index)
{
    const struct peet__block *c = &m->f->code[index];
    unsigned waiting = UINT32_MAX;
    if (m->want_addresses)
        for (uint32_t k = 0; k < c->nvalues; k++) {
            compute(m, &c->addresses[k]);
            store(m, RAX, RDX, (int32_t)(8 * k));
        }
    for (uint32_t k = 0; k < c->nupdates; k++) {
        const int wait = used_later(c, k);
        compute(m, &c->steps[k]);
        if (wait) {
            CODE(m, "\x49\x89\xc3"); /* mov r11, rax */
            waiting = c->updates[k].reg;
        } else {
            store(m, RAX, RDI, (int32_t)(8 * c->updates[k].reg));
        }
    }
    if (waiting != UINT32_MAX)
        store(m, R11, RDI, (int32_t)(8 * waiting));
    constant(m, RAX, (uint64_t)(uintptr_t)&m->f->blocks[index]);
    store(m, RAX, RCX, offsetof(struct peet_block_event, block));
    if (m->want_addresses) {
        store(m, RDX, RCX, offsetof(struct peet_block_event, values));
    } else {
        CODE(m, "\x48\xc7\x41\x08"); /* mov qword [rcx + 8], 0 */
        word32(m, 0);
    }
    CODE(m, "\x0f\x11\x41\x10"); /* movups [rcx + 16], xmm0 */
    CODE(m, "\x48\xc7\x41\x20"); /* mov qword [rcx + 32], 0 */
    word32(m, 0);
    CODE(m, "\x48\x83\xc1"); /* add rcx, imm8 */
    byte(m, sizeof(struct peet_block_event));
    if (m->want_addresses && c->nvalues != 0) {
        CODE(m, "\x48\x81\xc2"); /* add rdx, imm32 */
        word32(m, 8 * c->nvalues);
    }
    m->values += c->nvalues;
    m->events++;
}
_Static_assert(offsetof(struct peet_block_event, block) == 0 && offsetof(struct peet_block_event, values) == 8 &&
        offsetof(struct peet_block_event, context) == 16 && offsetof(struct peet_block_event, turns) == 24 &&
        offsetof(struct peet_block_event, strides) == 32 && sizeof(struct peet_block_event) == 40,
    "the code knows this");

/* On to the block that the next word names. */
static void go_on(struct maker *m)
{
    memory(m, 0x3b, RCX, R9, offsetof(struct peet__native_run, events_stop)); /* cmp rcx, [r9 + …] */
    jump_if(m, IF_ABOVE, m->leave);
    memory(m, 0x3b, RDX, R9, offsetof(struct peet__native_run, values_stop));
    jump_if(m, IF_ABOVE, m->leave);
    memory(m, 0x3b, RSI, R9, offsetof(struct peet__native_run, safe));
    jump_if(m, IF_AT_LEAST, m->leave);
    CODE(m, "\x48\x8b\x06\x48\xf7\xd0\x48\x3d"); /* mov rax, [rsi]; not rax; cmp rax, imm32 */
    word32(m, m->f->nsegments);
    jump_if(m, IF_AT_LEAST, m->leave);
    CODE(m, "\x41\xff\x24\xc0"); /* jmp [r8 + rax * 8] */
}

/* What comes behind a block: one without a record that it falls into unless the next record says otherwise, and what
 * comes behind that. */
static void fall(struct maker *m, uint32_t index, int depth)
{
    const struct peet__block *c = &m->f->code[index];
    uint8_t *early, *other, *taken = NULL;
    if (c->tail < 0) {
        go_on(m);
        return;
    }
    memory(m, 0x3b, RSI, R9, offsetof(struct peet__native_run, safe));
    early = jump_ahead(m, IF_AT_LEAST);
    CODE(m, "\x48\x8b\x06\x48\xf7\xd0"); /* mov rax, [rsi]; not rax */
    if (c->tail_taken >= 0) {
        CODE(m, "\x48\x3d"); /* cmp rax, imm32 */
        word32(m, (uint32_t)c->tail_taken);
        taken = jump_ahead(m, IF_EQUAL);
    }
    CODE(m, "\x48\x3d");
    word32(m, m->f->nsegments);
    other = jump_ahead(m, IF_AT_LEAST);
    if (depth < CHAIN && has_code(m->f, (uint32_t)c->tail)) {
        happen(m, (uint32_t)c->tail);
        fall(m, (uint32_t)c->tail, depth + 1);
    }
    /* The next word is not known yet, or not plain: decode.c sees what it means. */
    aim(m, early);
    aim(m, other);
    CODE(m, "\x49\xc7\x41"); /* mov qword [r9 + disp8], imm32 */
    byte(m, offsetof(struct peet__native_run, tail));
    word32(m, (uint32_t)c->tail);
    byte(m, 0xe9); /* jmp leave */
    word32(m, (uint32_t)(m->leave - (m->run + (m->at - m->write) + 4)));
    if (taken != NULL) {
        aim(m, taken);
        go_on(m);
    }
}

static const uint8_t *here(const struct maker *m)
{
    return m->run + (m->at - m->write);
}

static void make_block(struct maker *m, uint32_t index)
{
    const struct peet__block *c = &m->f->code[index];
    struct peet__native *n = m->native;
    m->values = m->events = 0;
    n->blocks[index] = here(m);
    if (c->pad >= 0) { /* alignment that is executed if the block before it was the last */
        uint8_t *skip;
        constant(m, R10, (uint64_t)(uintptr_t)&m->f->blocks[c->pad_after]);
        memory(m, 0x39, R10, RCX, -(int32_t)sizeof(struct peet_block_event)); /* cmp [rcx - 40], r10 */
        skip = jump_ahead(m, IF_NOT);
        happen(m, (uint32_t)c->pad);
        aim(m, skip);
    }
    if (c->sync)
        n->sync[index] = here(m);
    happen(m, index);
    CODE(m, "\x48\x81\xc6"); /* add rsi, imm32 */
    word32(m, 8 * (1 + c->slot_words));
    fall(m, index, 0);
    n->slots = c->slot_words > n->slots ? c->slot_words : n->slots;
    n->values = m->values > n->values ? m->values : n->values;
    n->events = m->events > n->events ? m->events : n->events;
}

/* More than the code of a block can take, with all that it falls into. */
static size_t most_bytes(const struct peet__function *f, uint32_t index)
{
    size_t n = 0;
    for (int depth = 0; depth <= CHAIN + 1; depth++) {
        const struct peet__block *c = &f->code[index];
        n += BLOCK_EXTRA_BYTES + (size_t)(c->nvalues + c->nupdates) * VALUE_BYTES;
        if (c->tail < 0)
            break;
        index = (uint32_t)c->tail;
    }
    return n;
}

static struct chunk *chunk_for(struct peet_program *p, size_t room)
{
    struct chunk *c = p->native_chunks;
    if (c != NULL && c->size - c->used >= room)
        return c;
    c = chunk_new(room + CODE_AT > CHUNK_BYTES ? room + CODE_AT : CHUNK_BYTES);
    if (c == NULL)
        return NULL;
    /* enter: mov r9, rdi; mov rdi, rsi; mov r8, rdx; mov rax, rcx; mov rsi, [r9]; mov rdx, [r9 + 8]; mov rcx, [r9 + 16];
     * movups xmm0, [r9 + 56]; jmp rax */
    static const char enter[] = "\x49\x89\xf9\x48\x89\xf7\x49\x89\xd0\x48\x89\xc8\x49\x8b\x31\x49\x8b\x51\x08\x49\x8b\x49\x10"
                                "\x41\x0f\x10\x41\x38\xff\xe0";
    /* leave: mov [r9], rsi; mov [r9 + 8], rdx; mov [r9 + 16], rcx; ret */
    static const char leave[] = "\x49\x89\x31\x49\x89\x51\x08\x49\x89\x49\x10\xc3";
    _Static_assert(offsetof(struct peet__native_run, context) == 56 && offsetof(struct peet__native_run, events) == 16 &&
            ENTER_AT + sizeof enter <= LEAVE_AT && LEAVE_AT + sizeof leave <= CODE_AT,
        "enter and leave know this");
    memcpy(c->write + ENTER_AT, enter, sizeof enter);
    memcpy(c->write + LEAVE_AT, leave, sizeof leave);
    c->used = CODE_AT;
    c->next = p->native_chunks;
    p->native_chunks = c;
    return c;
}

const struct peet__native *peet__native_make(struct peet_program *p, struct peet__function *f, int want_addresses)
{
    struct peet__native *n = peet__own(f, 1, sizeof *n);
    size_t room = 0;
    struct chunk *c;
    if (n == NULL || (n->blocks = peet__own(f, f->nsegments, sizeof *n->blocks)) == NULL ||
        (n->sync = peet__own(f, f->nsegments, sizeof *n->sync)) == NULL)
        return NULL;
    for (uint32_t k = 0; k < f->nsegments; k++)
        if (f->code[k].plain && has_code(f, k))
            room += most_bytes(f, k);
    c = room < (size_t)1 << 30 ? chunk_for(p, room) : NULL;
    if (c == NULL)
        return NULL;
    n->enter = (peet__native_enter *)(uintptr_t)(c->run + ENTER_AT);
    n->leave = c->run + LEAVE_AT;
    struct maker m = {.f = f, .want_addresses = want_addresses, .at = c->write + c->used, .write = c->write, .run = c->run, .leave = n->leave,
        .native = n};
    for (uint32_t k = 0; k < f->nsegments; k++) {
        n->blocks[k] = n->sync[k] = n->leave;
        if (f->code[k].plain && has_code(f, k))
            make_block(&m, k);
    }
    c->used = (size_t)(m.at - c->write);
    return n;
}

void peet__native_free(struct peet_program *p)
{
    for (struct chunk *c = p->native_chunks, *next; c != NULL; c = next) {
        next = c->next;
        munmap(c->write, c->size);
        munmap(c->run, c->size);
        free(c);
    }
    p->native_chunks = NULL;
}

#else

const struct peet__native *peet__native_make(struct peet_program *p, struct peet__function *f, int want_addresses)
{
    (void)p, (void)f, (void)want_addresses;
    return NULL;
}

void peet__native_free(struct peet_program *p)
{
    (void)p;
}

#endif
