/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a machine context, as signal handlers and the unwinder see them. */
#ifndef PEET_REGISTERS_H
#define PEET_REGISTERS_H

#include <stdint.h>
#include <stddef.h>
#include <sys/ucontext.h>

enum { PEET__SAVED_REGISTERS = 8 }; /* of a suspended context: pc, stack pointer, and what a callee keeps */

static inline uint64_t peet__uc_pc(const ucontext_t *uc)
{
    return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

static inline void peet__uc_set_frame(ucontext_t *uc, const void *pc, const void *sp)
{
    uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)pc;
    uc->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
}

/** uc_set_saved() - as peet_ctx_registers() gives them: pc, sp, frame pointer, rbx, r12 to r15 */
static inline void peet__uc_set_saved(ucontext_t *uc, const uint64_t saved[PEET__SAVED_REGISTERS])
{
    static const int registers[PEET__SAVED_REGISTERS] = {
        REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < PEET__SAVED_REGISTERS; i++)
        uc->uc_mcontext.gregs[registers[i]] = (greg_t)saved[i];
}

/* Does the code stand behind "mov $number, %eax; syscall", as the C library has it?  What lies on the page before may be none. */
static inline int peet__uc_called(const ucontext_t *uc, uint32_t *out_number)
{
    enum { CODE = 7, PAGE = 4096 }; /* bytes */
    const uint8_t *after = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
    if ((uintptr_t)after % PAGE < CODE || after[-2] != 0x0f || after[-1] != 0x05 || after[-7] != 0xb8)
        return 0;
    __builtin_memcpy(out_number, after - 6, sizeof *out_number);
    return 1;
}

/**
 * uc_restart() - a signal has ended a system call with EINTR: let it begin again, as if nothing had come
 * Only where its number stands before it.  Returns: whether there was one
 */
static inline int peet__uc_restart(ucontext_t *uc)
{
    uint32_t number;
    if (uc->uc_mcontext.gregs[REG_RAX] != -4 || !peet__uc_called(uc, &number))
        return 0;
    uc->uc_mcontext.gregs[REG_RAX] = number;
    uc->uc_mcontext.gregs[REG_RIP] -= 2;
    return 1;
}

/** uc_waits() - whether a signal has come in a system call that waits, and that will be made again: @out_number */
static inline int peet__uc_waits(const ucontext_t *uc, long *out_number)
{
    const uint8_t *at = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
    *out_number = (long)uc->uc_mcontext.gregs[REG_RAX];
    return at[0] == 0x0f && at[1] == 0x05;
}

/**
 * uc_listing() - whether a signal has come at the end of getdents64(), which leaves off when one is pending
 * out_fd, out_more, out_room: what a further call would be given.  Returns: whether; uc_listed() takes what that has said
 */
static inline int peet__uc_listing(const ucontext_t *uc, long number, long *out_fd, long *out_more, long *out_room)
{
    const greg_t *r = uc->uc_mcontext.gregs;
    uint32_t made;
    if (r[REG_RAX] <= 0 || r[REG_RAX] >= r[REG_RDX] || !peet__uc_called(uc, &made) || made != (uint32_t)number)
        return 0;
    *out_fd = (long)r[REG_RDI];
    *out_more = (long)(r[REG_RSI] + r[REG_RAX]);
    *out_room = (long)(r[REG_RDX] - r[REG_RAX]);
    return 1;
}

static inline void peet__uc_listed(ucontext_t *uc, long bytes)
{
    uc->uc_mcontext.gregs[REG_RAX] += bytes;
}

/** uc_replace() - general registers, but the stack pointer, that hold the one value get the other */
static inline void peet__uc_replace(ucontext_t *uc, uint64_t value, uint64_t other)
{
    static const int registers[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8, REG_R9,
        REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if ((uint64_t)uc->uc_mcontext.gregs[registers[i]] == value)
            uc->uc_mcontext.gregs[registers[i]] = (greg_t)other;
}

#endif
