/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checker remembers.  Only check.c and tests look inside: tests ask which rows of a protocol's
 * table were used.
 */
#ifndef PEET_BUS_CHECK_H
#define PEET_BUS_CHECK_H

#include "bus.h"

struct checker {
    struct peet_sim_linemap data; /* per line: versions of the latest writes, then those that memory has */
    uint64_t *copies;             /* [frame][sector] versions */
    unsigned sectors;             /* per line */
    uint64_t version;             /* latest given out */
    uint64_t checks, violations;
    uint8_t processor_used[BUS_STATES_MAX][2], snoop_used[BUS_STATES_MAX][BUS_OPS_COUNT];
};

#endif
