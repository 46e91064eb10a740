/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of which some references are looked at, and the tally that it has as far as can be told. */
#ifndef PEET_LOCALITY_SAMPLED_H
#define PEET_LOCALITY_SAMPLED_H

#include "locality.h"

/** @most_blocks: blocks of 512 bytes that are followed at a time.  Returns: NULL without memory */
struct locality_sampled *locality__sampled_new(uint64_t most_blocks, uint64_t seed);
void locality__sampled_free(struct locality_sampled *s);
/** Returns: 0, or -1: there was no memory */
int locality__sampled_reference(struct locality_sampled *s, uint64_t address);
/** The estimate, settled and consistent. */
void locality__sampled_tally(struct locality_sampled *s, struct peet_sim_tally *out_tally);
/** One block of 2^rate is followed. */
unsigned locality__sampled_rate(const struct locality_sampled *s);

#endif
