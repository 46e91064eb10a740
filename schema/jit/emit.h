/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing x86-64 machine code: a few instructions, and mapped memory for them.  native.c and direct.c make code with
 * it. Memory is mapped twice, so that none is ever both writable and executable.
 */
#ifndef PEET_EMIT_H
#define PEET_EMIT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Mapped code; `write` and `run` show the same memory. */
struct peet__chunk {
    struct peet__chunk *next;
    uint8_t *write, *run;
    size_t size, used;
    size_t common[16]; /* of whoever makes code: where that stands in it which all of it uses; 0: nowhere yet */
};

/** peet__chunk_for() - a chunk with so much room, the list's first or a new one, which then is the first; nothing
 * stands in a new one's first bytes, because checks of calls look before what is called.  Returns: NULL: not to be had
 */
struct peet__chunk *peet__chunk_for(struct peet__chunk **list, size_t room);
void peet__chunks_free(struct peet__chunk **list);
enum { PEET__CHUNK_BEGIN = 64 };

/** Where code is being written. */
struct peet__emit {
    uint8_t *at;
    uint8_t *write, *run; /* the chunk */
};

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

static inline void byte(struct peet__emit *e, unsigned value)
{
    *e->at++ = (uint8_t)value;
}

static inline void word32(struct peet__emit *e, uint32_t value)
{
    memcpy(e->at, &value, sizeof value);
    e->at += sizeof value;
}

static inline void word64(struct peet__emit *e, uint64_t value)
{
    memcpy(e->at, &value, sizeof value);
    e->at += sizeof value;
}

static inline void bytes(struct peet__emit *e, const char *code, size_t n)
{
    memcpy(e->at, code, n);
    e->at += n;
}
#define CODE(e, text) bytes((e), (text), sizeof(text) - 1)

/* The run-time address of what comes next. */
static inline const uint8_t *here(const struct peet__emit *e)
{
    return e->run + (e->at - e->write);
}

/* opcode reg, [base + disp] of 64 bits; base is neither rsp nor r12 */
static inline void memory(struct peet__emit *e, unsigned opcode, unsigned reg, unsigned base, int32_t disp)
{
    const int small = disp >= -128 && disp <= 127;
    byte(e, 0x48 | (reg >> 3) << 2 | base >> 3);
    byte(e, opcode);
    byte(e, (small ? 0x40u : 0x80u) | (reg & 7) << 3 | (base & 7));
    if (small)
        byte(e, (uint8_t)disp);
    else
        word32(e, (uint32_t)disp);
}

static inline void load(struct peet__emit *e, unsigned reg, unsigned base, int32_t disp)
{
    memory(e, 0x8b, reg, base, disp);
}

static inline void store(struct peet__emit *e, unsigned reg, unsigned base, int32_t disp)
{
    memory(e, 0x89, reg, base, disp);
}

static inline void constant(struct peet__emit *e, unsigned reg, uint64_t value)
{
    if (value == (uint64_t)(int64_t)(int32_t)value) { /* mov r64, simm32 */
        byte(e, 0x48 | reg >> 3);
        byte(e, 0xc7);
        byte(e, 0xc0 | (reg & 7));
        word32(e, (uint32_t)value);
        return;
    }
    byte(e, 0x48 | reg >> 3);
    byte(e, 0xb8 | (reg & 7));
    word64(e, value);
}

/* The end of an instruction of the group 0x81, or 0x83, whose operand is a byte. */
static inline void immediate(struct peet__emit *e, int32_t value)
{
    if (value == (int8_t)value)
        byte(e, (uint8_t)value);
    else
        word32(e, (uint32_t)value);
}
/* Which of the two it begins with. */
static inline unsigned by_immediate(int32_t value)
{
    return value == (int8_t)value ? 0x83 : 0x81;
}

/* add reg, imm; an imm of more than 32 bits goes through rax */
static inline void add_constant(struct peet__emit *e, unsigned reg, uint64_t value)
{
    if (value == 0)
        return;
    if (value != (uint64_t)(int64_t)(int32_t)value) {
        constant(e, RAX, value);
        byte(e, 0x48 | reg >> 3);
        byte(e, 0x01);
        byte(e, 0xc0 | RAX << 3 | (reg & 7));
        return;
    }
    byte(e, 0x48 | reg >> 3);
    byte(e, by_immediate((int32_t)value));
    byte(e, 0xc0 | (reg & 7));
    immediate(e, (int32_t)value);
}

/* add qword [base + disp], imm */
static inline void add_to_memory(struct peet__emit *e, unsigned base, int32_t disp, int32_t value)
{
    if (value == 0)
        return;
    memory(e, by_immediate(value), 0, base, disp);
    immediate(e, value);
}

/* cmp reg, imm */
static inline void compare_constant(struct peet__emit *e, unsigned reg, int32_t value)
{
    byte(e, 0x48 | reg >> 3);
    byte(e, by_immediate(value));
    byte(e, 0xf8 | (reg & 7));
    immediate(e, value);
}

/* A conditional jump (0x80 | condition) to a place of the same chunk, by its run-time address. */
static inline void jump_if(struct peet__emit *e, unsigned condition, const uint8_t *to)
{
    byte(e, 0x0f);
    byte(e, condition);
    word32(e, (uint32_t)(to - (here(e) + 4)));
}
enum {
    IF_BELOW = 0x82,
    IF_AT_LEAST = 0x83,
    IF_EQUAL = 0x84,
    IF_NOT = 0x85,
    IF_ABOVE = 0x87,
    IF_NEGATIVE = 0x88,
    IF_NOT_ABOVE_ZERO = 0x8e
};

static inline void jump(struct peet__emit *e, const uint8_t *to)
{
    byte(e, 0xe9);
    word32(e, (uint32_t)(to - (here(e) + 4)));
}

static inline void call(struct peet__emit *e, const uint8_t *to)
{
    byte(e, 0xe8);
    word32(e, (uint32_t)(to - (here(e) + 4)));
}

/* The same to a place not written yet; aim() tells it. */
static inline uint8_t *jump_ahead(struct peet__emit *e, unsigned condition)
{
    byte(e, 0x0f);
    byte(e, condition);
    word32(e, 0);
    return e->at;
}

/* The same to a run-time address. */
static inline void aim_at(const struct peet__emit *e, uint8_t *behind_jump, const uint8_t *to)
{
    uint32_t distance = (uint32_t)(to - (e->run + (behind_jump - e->write)));
    memcpy(behind_jump - 4, &distance, sizeof distance);
}

static inline void aim(const struct peet__emit *e, uint8_t *behind_jump)
{
    uint32_t distance = (uint32_t)(e->at - behind_jump);
    memcpy(behind_jump - 4, &distance, sizeof distance);
}

#endif
