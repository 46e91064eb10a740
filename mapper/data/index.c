/* SPDX-License-Identifier: Apache-2.0 */
/* See data_index.h. */
#include "data/index.h"

#include <peet/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LEAF_ENTRIES = 1 << PEET__INDEX_LEAF_BITS,
    TOP_ENTRIES = 1 << (PEET__INDEX_SPACE_BITS - PEET__INDEX_LEAF_BITS - 12),
    CHUNK_PAGES = 64
};

struct chunk {
    struct peet__index_page pages[CHUNK_PAGES];
    struct chunk *next;
};

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

int peet_index_init(struct peet_index *x)
{
    memset(x, 0, sizeof *x);
    x->leaves = reserve(TOP_ENTRIES * sizeof *x->leaves);
    return x->leaves ? 0 : PEET_ENOMEM;
}

void peet_index_fini(struct peet_index *x)
{
    struct chunk *c;

    for (size_t i = 0; x->leaves && i < TOP_ENTRIES; i++)
        if (x->leaves[i])
            munmap(x->leaves[i], LEAF_ENTRIES * sizeof **x->leaves);
    if (x->leaves)
        munmap(x->leaves, TOP_ENTRIES * sizeof *x->leaves);
    while ((c = x->pages) != NULL) {
        x->pages = c->next;
        free(c);
    }
    free(x->lists);
    memset(x, 0, sizeof *x);
}

/* ------------------------------------------------------------------------------------------------- pages */

static struct peet__index_page *page_new(struct peet_index *x)
{
    struct peet__index_page *page = x->free_pages;
    struct chunk *c;

    if (page) { /* linked by its first word; all others are 0 */
        x->free_pages = *(struct peet__index_page **)(void *)page;
        memset(page, 0, sizeof(void *));
        return page;
    }
    if (!x->pages_left) {
        c = calloc(1, sizeof *c);
        if (!c)
            return NULL;
        c->next = x->pages;
        x->pages = c;
        x->pages_left = CHUNK_PAGES;
        x->page_bytes += sizeof *c;
    }
    return &((struct chunk *)x->pages)->pages[--x->pages_left];
}

static uint64_t *entry_of(struct peet_index *x, uint64_t page_number)
{
    uint64_t **leaf = &x->leaves[page_number >> PEET__INDEX_LEAF_BITS];

    if (!*leaf && !(*leaf = reserve(LEAF_ENTRIES * sizeof **leaf)))
        return NULL;
    return &(*leaf)[page_number & (LEAF_ENTRIES - 1)];
}

/** The page of cells at an entry, made if need be; an object that covered it whole goes on in the cells. */
static struct peet__index_page *cells_of(struct peet_index *x, uint64_t *entry)
{
    struct peet__index_page *page;
    uint32_t whole = *entry & 1 ? (uint32_t)(*entry >> 1) : 0;

    if (*entry && !whole)
        return (struct peet__index_page *)(uintptr_t)*entry;
    page = page_new(x);
    if (!page)
        return NULL;
    if (whole)
        for (unsigned i = 0; i < PEET__INDEX_CELLS; i++)
            page->cells[i] = whole;
    *entry = (uint64_t)(uintptr_t)page;
    return page;
}

/* ------------------------------------------------------------------------------------------------- lists */

uint32_t peet__index_listed(const struct peet_index *x, uint32_t cell, uint64_t address)
{
    const struct peet__index_list *l = &x->lists[cell - PEET_INDEX_HANDLES];
    unsigned at = address & 15;

    for (unsigned i = 0; i < l->n; i++)
        if (at < l->end[i])
            return at >= l->first[i] ? l->handle[i] : PEET_INDEX_NONE;
    return PEET_INDEX_NONE;
}

static int list_new(struct peet_index *x, uint32_t *out_number)
{
    struct peet__index_list *more;
    uint32_t room;

    if (x->free_list) {
        *out_number = x->free_list;
        x->free_list = x->lists[*out_number].next_free;
        return 0;
    }
    if (x->nlists + 1 >= x->lists_room) {
        room = x->lists_room ? 2 * x->lists_room : 64;
        more = realloc(x->lists, room * sizeof *more);
        if (!more)
            return PEET_ENOMEM;
        x->lists = more;
        x->lists_room = room;
    }
    *out_number = ++x->nlists;
    return 0;
}

/** Take [first, end) of a cell for a handle, 0 to free it: what else is in the cell stays */
static int set_part(struct peet_index *x, uint32_t *cell, unsigned first, unsigned end, uint32_t handle)
{
    uint32_t bytes[16], number;
    struct peet__index_list *l;
    unsigned n = 0;

    for (unsigned i = 0; i < 16; i++)
        bytes[i] = *cell & PEET_INDEX_HANDLES ? peet__index_listed(x, *cell, i) : *cell;
    for (unsigned i = first; i < end; i++)
        bytes[i] = handle;
    for (n = 1; n < 16 && bytes[n] == bytes[0]; n++)
        ;
    if (n == 16) { /* all one's: no list */
        if (*cell & PEET_INDEX_HANDLES) {
            number = *cell - PEET_INDEX_HANDLES;
            x->lists[number].next_free = x->free_list;
            x->free_list = number;
        }
        *cell = bytes[0];
        return 0;
    }
    if (*cell & PEET_INDEX_HANDLES)
        number = *cell - PEET_INDEX_HANDLES;
    else if (list_new(x, &number))
        return PEET_ENOMEM;
    l = &x->lists[number];
    l->n = 0;
    for (unsigned i = 0; i < 16; i = n) {
        for (n = i + 1; n < 16 && bytes[n] == bytes[i]; n++)
            ;
        if (!bytes[i])
            continue;
        l->handle[l->n] = bytes[i];
        l->first[l->n] = (uint8_t)i;
        l->end[l->n++] = (uint8_t)n;
    }
    *cell = PEET_INDEX_HANDLES + number;
    return 0;
}

/* ------------------------------------------------------------------------------------------------ ranges */

/** A page's part of a range.  @handle: 0: free it */
static int set_page(struct peet_index *x, uint64_t *entry, unsigned first, unsigned end, uint32_t handle)
{
    struct peet__index_page *page;
    int err = 0;

    if (first == 0 && end == 4096) {
        page = *entry && !(*entry & 1) ? (struct peet__index_page *)(uintptr_t)*entry : NULL;
        if (page) {
            for (unsigned i = 0; i < PEET__INDEX_CELLS; i++)
                if (page->cells[i] & PEET_INDEX_HANDLES)
                    set_part(x, &page->cells[i], 0, 16, 0);
            memset(page, 0, sizeof *page);
            *(struct peet__index_page **)(void *)page = x->free_pages;
            x->free_pages = page;
        }
        *entry = handle ? (uint64_t)handle << 1 | 1 : 0;
        return 0;
    }
    page = cells_of(x, entry);
    if (!page)
        return PEET_ENOMEM;
    while (first < end && !err) {
        uint32_t *cell = &page->cells[first / 16];
        unsigned stop = (first & ~15u) + 16 < end ? (first & ~15u) + 16 : end;

        if (!(first & 15) && stop - first == 16 && !(*cell & PEET_INDEX_HANDLES))
            *cell = handle;
        else
            err = set_part(x, cell, first & 15, stop - (first & ~15u), handle);
        first = stop;
    }
    return err;
}

static int set_range(struct peet_index *x, uint64_t address, uint64_t bytes, uint32_t handle)
{
    uint64_t end = address + bytes;
    int err = 0;

    while (address < end && !err) {
        uint64_t next = (address | 4095) + 1, stop = next < end ? next : end;
        uint64_t *entry = entry_of(x, address >> 12);

        err = entry ? set_page(x, entry, address & 4095, (unsigned)(stop - (address & ~(uint64_t)4095)), handle)
                    : PEET_ENOMEM;
        address = stop;
    }
    return err;
}

int peet_index_insert(struct peet_index *x, uint64_t address, uint64_t bytes, uint32_t handle)
{
    if (bytes > (uint64_t)1 << PEET__INDEX_SPACE_BITS || address > ((uint64_t)1 << PEET__INDEX_SPACE_BITS) - bytes)
        return PEET_ELIMIT;
    return set_range(x, address, bytes, handle);
}

void peet_index_remove(struct peet_index *x, uint64_t address, uint64_t bytes)
{
    if (peet_index_insert(x, address, bytes, PEET_INDEX_NONE))
        return; /* nothing is there that is not */
}

uint32_t peet_index_next(const struct peet_index *x, uint64_t address, uint64_t end, uint64_t *out_at)
{
    const uint64_t space = (uint64_t)1 << PEET__INDEX_SPACE_BITS;

    if (end > space)
        end = space;
    while (address < end) {
        const uint64_t *leaf = x->leaves[address >> (PEET__INDEX_LEAF_BITS + 12)];
        uint64_t entry = leaf ? leaf[address >> 12 & (LEAF_ENTRIES - 1)] : 0;
        const struct peet__index_page *page;
        uint32_t handle;

        if (!leaf) {
            address = (address | (((uint64_t)1 << (PEET__INDEX_LEAF_BITS + 12)) - 1)) + 1;
            continue;
        }
        if (!entry) {
            address = (address | 4095) + 1;
            continue;
        }
        page = entry & 1 ? NULL : (const struct peet__index_page *)(uintptr_t)entry;
        if (page && !page->cells[address >> 4 & (PEET__INDEX_CELLS - 1)]) {
            address = (address | 15) + 1;
            continue;
        }
        handle = peet_index_find(x, address);
        if (handle) {
            *out_at = address;
            return handle;
        }
        address++;
    }
    return PEET_INDEX_NONE;
}

/** The entry of an address's page, and how many bytes round it are as empty as it is. */
static uint64_t entry_at(const struct peet_index *x, uint64_t address, uint64_t *out_grain)
{
    const uint64_t *leaf = x->leaves[address >> (PEET__INDEX_LEAF_BITS + 12)];

    *out_grain = leaf ? 4096 : (uint64_t)4096 << PEET__INDEX_LEAF_BITS;
    return leaf ? leaf[address >> 12 & (LEAF_ENTRIES - 1)] : 0;
}

static int is_free(const struct peet_index *x, uint64_t address, uint64_t *out_grain)
{
    uint64_t entry = entry_at(x, address, out_grain);

    if (!entry)
        return 1;
    *out_grain = 16;
    if (!(entry & 1) &&
        !((const struct peet__index_page *)(uintptr_t)entry)->cells[address >> 4 & (PEET__INDEX_CELLS - 1)])
        return 1;
    *out_grain = 1;
    return !peet_index_find(x, address);
}

void peet_index_gap(const struct peet_index *x, uint64_t address, uint64_t lo, uint64_t hi, uint64_t *out_lo,
    uint64_t *out_hi)
{
    enum { STEPS = 600 };
    uint64_t at = address, grain;

    if (hi > (uint64_t)1 << PEET__INDEX_SPACE_BITS)
        hi = (uint64_t)1 << PEET__INDEX_SPACE_BITS;
    for (int i = 0; i < STEPS && at < hi && is_free(x, at, &grain); i++)
        at = (at | (grain - 1)) + 1;
    *out_hi = at < hi ? at : hi;
    at = address;
    for (int i = 0; i < STEPS && at > lo && is_free(x, at - 1, &grain); i++)
        at = (at - 1) & ~(grain - 1);
    *out_lo = at > lo ? at : lo;
}
