/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a block with groups in two lines (halves.c).
 */
#ifndef PEET_BUS_HALVES_H
#define PEET_BUS_HALVES_H

#include "bus.h"

/**
 * peet__bus_halves_go() - the turn, whatever happens
 * @t: all of it; more_time and more_stamps are set
 * @begins: where the block's groups begin, in the order of its ways
 * References that lie in two lines are counted once more.
 * Returns: 1: all hit where they were last; 0: done; -1: it must go another way, nothing has happened
 */
int peet__bus_halves_go(struct bus *b, struct turn *t, const struct plan *p, const struct peet_block *block, const uint64_t *begins);

#endif
