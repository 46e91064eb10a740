/* SPDX-License-Identifier: Apache-2.0 */
/* How a thread computes in floating point: rounding, traps, flushing to zero; not the flags of what has happened. */
#ifndef PEET_FLOAT_CONTROL_H
#define PEET_FLOAT_CONTROL_H

#include <stdint.h>

struct peet__float_control {
    uint32_t mxcsr;
    uint16_t x87;
};
enum { PEET__MXCSR_FLAGS = 0x3f };

static inline struct peet__float_control peet__float_control_get(void)
{
    struct peet__float_control control;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control.mxcsr), "=m"(control.x87));
    control.mxcsr &= ~(uint32_t)PEET__MXCSR_FLAGS;
    return control;
}

static inline void peet__float_control_set(struct peet__float_control control)
{
    struct peet__float_control old;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(old.mxcsr), "=m"(old.x87));
    control.mxcsr |= old.mxcsr & PEET__MXCSR_FLAGS;
    if (control.mxcsr != old.mxcsr) /* loading is slow */
        __asm__ volatile("ldmxcsr %0" : : "m"(control.mxcsr));
    if (control.x87 != old.x87)
        __asm__ volatile("fldcw %0" : : "m"(control.x87));
}

/** What has happened in the x87 unit, which the switch between contexts leaves alone; MXCSR has its own such flags. */
static inline uint16_t peet__x87_flags(void)
{
    enum { FLAGS = 0x7f };
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=a"(status));
    return status & FLAGS;
}

static inline void peet__x87_flags_set(uint16_t flags)
{
    enum { FLAGS = 0x7f, SUMMARY = 0x8080, STATUS = 2 };
    uint16_t environment[14];
    if (peet__x87_flags() == flags)
        return;
    __asm__ volatile("fnstenv %0" : "=m"(environment));
    environment[STATUS] = (uint16_t)((environment[STATUS] & ~(FLAGS | SUMMARY)) | flags);
    __asm__ volatile("fldenv %0" : : "m"(environment));
}

/** All of the x87 unit, which is as a new program finds it then. */
struct peet__x87 {
    uint8_t state[108];
};

static inline void peet__x87_keep(struct peet__x87 *out)
{
    __asm__ volatile("fnsave %0" : "=m"(*out));
}

static inline void peet__x87_restore(const struct peet__x87 *kept)
{
    __asm__ volatile("frstor %0" : : "m"(*kept));
}

#endif
