/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of allocations, from malloc.c and map.c to the host: see notes.c.  The host's side is in runtime.h.
 */
#ifndef PEET_NOTES_H
#define PEET_NOTES_H

#include "runtime.h"

/** Subject world: memory has been got (moved_from: instead of that, else NULL), and given back.  Notes of a move are in
 *  that order: released, got. */
void peet__note_memory(enum peet_rt_memory what, const void *p, size_t bytes, const void *moved_from, uint64_t caller);
void peet__note_release(enum peet_rt_memory what, const void *p, size_t bytes, uint64_t caller);

#endif
