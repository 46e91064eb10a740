/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of one block that are recorded once: by how much their registers and values grow in an iteration.  It is a constant, or what
 * registers say that the loop leaves alone (peet__block.moving): the columns of a matrix whose width is not known at compile time.
 * So a step is what the registers are after an iteration, less what they are before it, whenever it is asked for.
 */
#ifndef PEET_SCHEMA_PROGRAM_STRIDES_H
#define PEET_SCHEMA_PROGRAM_STRIDES_H

#include "program/parts.h"

/** The value of a form.  @regs: followed registers, and the words of the record after them */
static inline uint64_t peet__form_value(const struct peet__form *f, const uint64_t *regs)
{
    return f->disp + regs[f->a] + regs[f->b] * (uint64_t)(int64_t)f->mb + regs[f->c] * (uint64_t)(int64_t)f->mc;
}

/** By how much the register of update @k grows. */
static inline uint64_t peet__step_of(const struct peet__block *c, uint32_t k, const uint64_t *regs)
{
    return peet__form_value(&c->steps[k], regs) - regs[c->updates[k].reg];
}

/** By how much each value grows. */
static inline void peet__strides_of(const struct peet__block *c, const uint64_t *regs, int64_t *out)
{
    uint64_t step[PEET__SLOT] = {0};
    for (uint32_t k = 0; k < c->nupdates; k++)
        step[c->updates[k].reg] = peet__step_of(c, k, regs);
    for (uint32_t n = 0; n < c->nvalues; n++) {
        const struct peet__form *const f = &c->addresses[n];
        out[n] = (int64_t)(step[f->a] + step[f->b] * (uint64_t)(int64_t)f->mb + step[f->c] * (uint64_t)(int64_t)f->mc);
    }
}

/** The registers after so many iterations. */
static inline void peet__go_round(const struct peet__block *c, uint64_t *regs, uint64_t iterations)
{
    for (uint32_t k = 0; k < c->nupdates; k++)
        regs[c->updates[k].reg] += peet__step_of(c, k, regs) * iterations;
}

#endif
