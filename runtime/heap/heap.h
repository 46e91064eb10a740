/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject's heap: a fixed address range, and a placement that depends on the sequence of requests
 * alone.  malloc.c puts the C library's interface on it; the unit test calls it directly.  Not for several
 * host threads at once, and nothing here may be interrupted by a signal handler that comes back in.
 */
#ifndef PEET_HEAP_H
#define PEET_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include "layout.h"

/** Whether an address belongs to the heap's range. */
static inline int peet__heap_owns(const void *p)
{
    return (uint64_t)p - PEET__HEAP_BASE < PEET__HEAP_END - PEET__HEAP_BASE;
}

/**
 * peet__heap_alloc() - a block
 * @bytes: 0 gives a block of the smallest size
 * @align: a power of two; 16 is the least that any block has
 * @zero: fill with zeros
 * Returns: NULL if memory has run out
 */
void *peet__heap_alloc(size_t bytes, size_t align, int zero);

/** How many bytes of address space the subject's heap and mappings may have, by a limit that it has set itself (rlimit.c);
 * UINT64_MAX: no limit.  And how many its mappings and its break have (map.c), kept while there is a limit. */
extern uint64_t peet__space_most, peet__space_mapped;
/** peet__space_lacks() - whether so many bytes more would be beyond the limit */
int peet__space_lacks(uint64_t bytes);

enum peet__heap_fault { PEET__HEAP_OK, PEET__HEAP_FREED, PEET__HEAP_FOREIGN };

/** peet__heap_check() - whether p is the start of a live block; else why not */
enum peet__heap_fault peet__heap_check(const void *p);

/* The rest wants a live block. */
enum peet__heap_fault peet__heap_free(void *p); /* checks */
void *peet__heap_realloc(void *p, size_t bytes);
size_t peet__heap_usable(const void *p);

/** With views of memory (domain.c), what shall happen to fresh pages, and to pages that are not needed: zeros, as after
 *  MADV_DONTNEED.  Both return 0 if it has; NULL: nothing, and madvise(). */
extern int (*peet__heap_added)(uint64_t lo, uint64_t hi);
extern int (*peet__heap_discard)(uint64_t lo, uint64_t hi);

/** Bytes of pages that the heap holds for live blocks and for reuse: for tests. */
uint64_t peet__heap_footprint_bytes(void);

#endif
