/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compiled code does to record itself, by hand: words at the cursor, and the check.  So the
 * runtime is tested without the compiler pass.
 */
#ifndef IMITATION_H
#define IMITATION_H

#include <stdint.h>
#include <peet/raw.h>

#define CURSOR (*(uint64_t *volatile *)PEET_CONTROL_ADDRESS)
#define LIMIT (*(uint64_t *volatile *)(PEET_CONTROL_ADDRESS + PEET_CONTROL_LIMIT))

/* The reference by which recorded code is known. */
#ifdef __cplusplus
extern "C" {
#endif
extern const char __peet_abi_3;
#ifdef __cplusplus
}
#endif
static const char *const abi __attribute__((used)) = &__peet_abi_3;

/** A plain block's id word. */
#define PLAIN(index) (0xffffffff00000000u | (uint32_t)~(index))

static inline void check(void)
{
    while (CURSOR >= LIMIT)
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tcall *%c0\n\tlea 128(%%rsp), %%rsp"
                         :
                         : "i"(PEET_CONTROL_ADDRESS + PEET_CONTROL_STUB)
                         : "memory");
}

static inline void record(uint32_t index)
{
    uint64_t *cursor = CURSOR;
    *cursor = PLAIN(index);
    CURSOR = cursor + 1;
}

#endif
