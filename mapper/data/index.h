/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address to the object that it lies in, in constant time.  Objects are numbers (handles) that the caller
 * gives; an object covers a range of addresses, and no two that are in the index at a time overlap: insert() cuts
 * nothing out.
 *
 * A page of 4 KiB that lies within one object has its handle in the page table; any other page has an array of a
 * handle for each 16 bytes; 16 bytes that several objects share have a short list.  The page table has two levels,
 * whose leaves (1 GiB of addresses) are reserved, not committed, so that only what is used takes memory.
 *
 * Users: mapper/data/data.c (objects of the subject), mapper/data/remap.c (where they have been moved to).
 */
#ifndef PEET_DATA_INDEX_H
#define PEET_DATA_INDEX_H

#include <stdint.h>
#include <stddef.h>

#define PEET_INDEX_NONE 0u /* no object: handles begin with 1 */
#define PEET_INDEX_HANDLES (1u << 31)

enum { PEET__INDEX_LEAF_BITS = 18, PEET__INDEX_SPACE_BITS = 47, PEET__INDEX_CELLS = 256 };

struct peet__index_page {
    uint32_t cells[PEET__INDEX_CELLS]; /* a handle, or PEET_INDEX_HANDLES + number of a list */
};

/** What the 16 bytes of a cell hold: [first, end) of each, in order. */
struct peet__index_list {
    uint32_t handle[16];
    uint8_t first[16], end[16];
    uint8_t n;
    uint32_t next_free;
};

struct peet_index {
    uint64_t **leaves; /* 1 << (47 - 30) of them; an entry: 0, handle << 1 | 1, or a page */
    struct peet__index_list *lists;
    uint32_t nlists, lists_room, free_list;
    void *pages; /* chunks of pages */
    struct peet__index_page *free_pages;
    uint32_t pages_left;
    uint64_t page_bytes; /* that pages and leaves take */
};

/** peet_index_init() - Returns: 0 or PEET_ENOMEM */
int peet_index_init(struct peet_index *index);
void peet_index_fini(struct peet_index *index);

/** peet_index_insert() - an object covers [address, address + bytes) from now on; the range must be free
 *  Returns: 0, PEET_ENOMEM, or PEET_ELIMIT beyond 47 bits */
int peet_index_insert(struct peet_index *index, uint64_t address, uint64_t bytes, uint32_t handle);

/** peet_index_remove() - the range is free again */
void peet_index_remove(struct peet_index *index, uint64_t address, uint64_t bytes);

/** peet_index_next() - the first object that covers something of [address, end), and from where on
 *  Returns: its handle or NONE.  For insertion into a range that may not be free; by the page, not constant */
uint32_t peet_index_next(const struct peet_index *index, uint64_t address, uint64_t end, uint64_t *out_at);

/** peet_index_gap() - the free range round an address that no object covers, within [lo, hi), or a part of it: the
 * search goes no further than some hundred pages */
void peet_index_gap(const struct peet_index *index, uint64_t address, uint64_t lo, uint64_t hi, uint64_t *out_lo,
    uint64_t *out_hi);

/** The cell is shared. */
uint32_t peet__index_listed(const struct peet_index *index, uint32_t cell, uint64_t address);

/** peet_index_find() - the object at an address, or PEET_INDEX_NONE */
static inline uint32_t peet_index_find(const struct peet_index *index, uint64_t address)
{
    const uint64_t *leaf;
    uint64_t entry;
    uint32_t cell;

    if (__builtin_expect(address >> PEET__INDEX_SPACE_BITS, 0))
        return PEET_INDEX_NONE;
    leaf = index->leaves[address >> (PEET__INDEX_LEAF_BITS + 12)];
    if (!leaf)
        return PEET_INDEX_NONE;
    entry = leaf[address >> 12 & ((1u << PEET__INDEX_LEAF_BITS) - 1)];
    if (entry & 1)
        return (uint32_t)(entry >> 1);
    if (!entry)
        return PEET_INDEX_NONE;
    cell = ((const struct peet__index_page *)(uintptr_t)entry)->cells[address >> 4 & (PEET__INDEX_CELLS - 1)];
    return __builtin_expect(cell & PEET_INDEX_HANDLES, 0) ? peet__index_listed(index, cell, address) : cell;
}

#endif
