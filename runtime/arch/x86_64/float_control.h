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

#endif
