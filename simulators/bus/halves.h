/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a block with groups in two lines (halves.c).
 */
#ifndef PEET_BUS_HALVES_H
#define PEET_BUS_HALVES_H

#include "bus.h"

/** The slow half of peet__bus_split(): made once for each place where the group can be cut. */
const struct group_split *peet__bus_cut(struct bus *b, const struct peet_block *block, struct group_way *w,
    uint32_t span, uint32_t room);

/** The halves of a group whose line ends @room bytes behind its beginning.  NULL: they are not to be had (or there is
 * no memory for them) */
static inline __attribute__((always_inline)) const struct group_split *peet__bus_split(struct bus *b,
    const struct peet_block *block, struct group_way *w, uint32_t span, uint32_t room)
{
    return __builtin_expect(w->splits && span <= b->line_bytes && w->splits[room].known == 1, 1)
        ? &w->splits[room]
        : peet__bus_cut(b, block, w, span, room);
}

/**
 * peet__bus_halves_go() - the turn, whatever happens
 * @t: all of it; more_time and more_stamps are set
 * @begins: where the block's groups begin, in the order of its ways
 * References that lie in two lines are counted once more.
 * Returns: 0, or -1: it must go another way, nothing has happened
 */
int peet__bus_halves_go(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block,
    const uint64_t *begins);
/** peet__bus_cut_again() - the turn went by peet__bus_halves_go().  Returns: how many of those for which machine code
 * needs to know nothing more there were, if it is time to say so; PEET_DIRECT_CUT: there are so many like this one that
 * it should know; 0 */
int peet__bus_cut_again(struct bus *b, const struct plan *p, const struct turn *t);
/** peet__bus_cut_tell() - what it should know: how the turn was cut.  Returns: 0, or -1: it can not be said */
int peet__bus_cut_tell(struct bus *b, const struct plan *p, const struct turn *t, struct peet_direct_cut *out);
/** peet__bus_cuts_count() - what machine code has counted joins the statistics. */
void peet__bus_cuts_count(struct bus *b);
/** peet__bus_cut_often() - it is, more often than not.  Returns: 0, or -1: there is nothing to be done about that */
int peet__bus_cut_often(struct bus *b, const struct peet_block *block);
/** peet__bus_cut_looks() - such a block's looks are told where they are cut. */
void peet__bus_cut_looks(const struct bus *b, const struct plan *p, struct peet_direct_block *inout);
void peet__bus_cuts_fini(struct bus *b);

#endif
