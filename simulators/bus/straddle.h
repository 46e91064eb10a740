/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution of a block with groups that straddle two lines (straddle.c).
 */
#ifndef PEET_BUS_STRADDLE_H
#define PEET_BUS_STRADDLE_H

#include "bus.h"

/** The slow part of peet__bus_split(): works out the split at a place where the group was never split. */
const struct group_split *peet__bus_split_anew(struct bus *b, const struct peet_block *block, struct line_access *w,
    uint32_t span, uint32_t room);

/** The lines of a group whose line ends @room bytes after its beginning.  NULL: they are not to be had (or there is
 * no memory for them) */
static inline __attribute__((always_inline)) const struct group_split *peet__bus_split(struct bus *b,
    const struct peet_block *block, struct line_access *w, uint32_t span, uint32_t room)
{
    return __builtin_expect(w->splits && span <= b->line_bytes && w->splits[room].known == 1, 1)
        ? &w->splits[room]
        : peet__bus_split_anew(b, block, w, span, room);
}

/**
 * peet__bus_take_straddling() - one execution, whether it hits or not
 * @t: all of it; more_time and more_stamps are set
 * @begins: where the block's groups begin, in the order of its line accesses. References that straddle two lines are
 * counted twice. Returns: 0, or -1: the block cannot be executed by groups, and nothing has happened
 */
int peet__bus_take_straddling(struct bus *b, struct execution *t, const struct block_template *p,
    const struct peet_block *block, const uint64_t *begins);
/** peet__bus_straddle_again() - peet__bus_take_straddling() was used. Returns: how often executions only hit, if that
 * number is to be reported now; else 0 */
int peet__bus_straddle_again(struct bus *b, const struct block_template *p, const struct execution *t);
/** peet__bus_straddle_often() - most executions of the block are split: works out where its groups' lines are last
 * used. Returns: 0, or -1: no group allows it */
int peet__bus_straddle_often(struct bus *b, const struct peet_block *block);
/** peet__bus_straddle_probes() - gives the probes of such a block what peet__bus_straddle_often() worked out. */
void peet__bus_straddle_probes(const struct bus *b, const struct block_template *p, struct peet_direct_block *inout);
void peet__bus_straddles_fini(struct bus *b);

#endif
