/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parcels of a recording on the computer's own processors: what a thread has written, packed by itself while it is in
 * its cache (real.c).  The writer then has a tenth of the bytes to read, and only zstd is left to be done; and threads
 * pack side by side.
 */
#ifndef PEET_PLAIN_PARCEL_H
#define PEET_PLAIN_PARCEL_H

#include "plain/shared.h"

#include <stddef.h>

/** What a thread packs with. */
struct peet__parcels;

/** Memory for a thread.  @fast: as peet__codec_new().  Returns: NULL: there is none */
struct peet__parcels *peet__parcels_take(int fast);
/** It is for another thread.  NULL is allowed. */
void peet__parcels_give(struct peet__parcels *parcels);

/** The block's first bytes get their pages, all at once, if they have none yet. */
void peet__parcel_populate(struct peet__real_block *block, size_t bytes);
/** All that is in a block, which has @words words, becomes the next parcel of a crate that is not full. */
void peet__parcel_fill(struct peet__parcels *parcels, struct peet__real_block *crate,
    const struct peet__real_block *from, uint32_t words);

#endif
