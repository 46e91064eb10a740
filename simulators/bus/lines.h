/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of a loop that only hit (lines.c).
 */
#ifndef PEET_BUS_LINES_H
#define PEET_BUS_LINES_H

#include "bus.h"

/**
 * peet__bus_lines() - take turns of a loop as long as they only hit
 * @p: has ways, at most PEET_DIRECT_LOOKS; @begins: where its groups begin, in the order of the ways; @strides: by value
 * @stamp: before the first turn
 * Returns: how many were taken; time, stamp and counts are the caller's
 */
uint64_t peet__bus_lines(struct bus *b, struct cache *c, const struct plan *p, const uint64_t *begins, const int64_t *strides, uint64_t turns,
    uint64_t stamp);

#endif
