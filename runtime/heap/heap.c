/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See heap.h.  Small blocks (up to SMALL_MAX) come from spans of equal blocks, large ones are spans by
 * themselves.  A span is a run of pages; free runs lie in bins by length and are joined with their
 * neighbours.  All bookkeeping lies apart from the blocks, in sparse tables: a page table (page -> span), the
 * spans, and a bit per 16 bytes that says "a live block begins here", which is what catches double frees.
 * Only the link of a free small block lies in the block itself.
 */
#include "heap/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP_BYTES (PEET__HEAP_END - PEET__HEAP_BASE)
#define HEAP_PAGES (HEAP_BYTES / PEET__PAGE)
#define SMALL_MAX 32768u
#define CLASSES 56 /* 32 of 16-byte steps, 24 of four per doubling */
#define BINS 128   /* free runs of 1..127 pages, and of more */
#define SPANS_MAX (1u << 24)
#define SPAN_PAGES_MIN 4u
#define GROW_BYTES (1ul << 20)
#define RETURN_PAGES 256u /* free runs of that length go back to the kernel */

enum { UNUSED, FREE_RUN, SMALL, LARGE };

struct span {
    uint32_t start, npages;  /* first page, from the heap's base */
    uint32_t next, prev;     /* in a bin, or in a class's list of spans with room; 0 ends */
    void *free;              /* SMALL: freed blocks, linked */
    uint32_t bytes;          /* SMALL: of a block */
    uint32_t capacity, used; /* SMALL: blocks */
    uint32_t bump;           /* SMALL: blocks never given out begin here */
    uint8_t kind, cls;
    uint8_t zero; /* pages never written since the kernel gave them (SMALL: beyond bump) */
};

/* Tables, at fixed places of their own. */
static uint32_t *const page_span = (uint32_t *)PEET__HEAP_TABLES;
static struct span *const spans = (struct span *)(PEET__HEAP_TABLES + HEAP_PAGES * sizeof(uint32_t));
static uint64_t *const live =
    (uint64_t *)(PEET__HEAP_TABLES + HEAP_PAGES * sizeof(uint32_t) + SPANS_MAX * sizeof(struct span));
#define TABLE_BYTES (HEAP_PAGES * sizeof(uint32_t) + SPANS_MAX * sizeof(struct span) + HEAP_BYTES / 128)
_Static_assert(sizeof(struct span) <= 64, "the table has room");
_Static_assert(PEET__HEAP_TABLES + HEAP_PAGES * 4 + SPANS_MAX * 64ul + HEAP_BYTES / 128 <= PEET__HEAP_BASE, "layout");

static struct {
    int ready;
    uint32_t top;               /* pages below are in spans */
    uint32_t fresh;             /* pages from here on were never used */
    uint32_t mapped;            /* pages from here on are not mapped */
    uint32_t nspans, free_span; /* spans[1..nspans]; unused ones linked by next */
    uint32_t bins[BINS];
    uint64_t bin_used[BINS / 64];
    uint32_t room[CLASSES]; /* spans with free blocks */
    uint32_t class_bytes[CLASSES], class_pages[CLASSES];
} heap;

/* ------------------------------------------------------------------------------------------------ classes */

static unsigned class_of(size_t bytes)
{
    if (bytes <= 512)
        return bytes ? (unsigned)((bytes - 1) / 16) : 0;
    unsigned log = 63 - (unsigned)__builtin_clzl(bytes - 1); /* 2^log < bytes <= 2^(log+1) */
    return 32 + (log - 9) * 4 + (unsigned)((bytes - 1) >> (log - 2) & 3);
}

static int init(void)
{
    long got = syscall(SYS_mmap, PEET__HEAP_TABLES, (TABLE_BYTES + PEET__PAGE - 1) & ~(PEET__PAGE - 1),
        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != (long)PEET__HEAP_TABLES)
        return -1;
    for (unsigned c = 0; c < CLASSES; c++) {
        unsigned bytes = c < 32 ? 16 * (c + 1) : (5 + (c - 32) % 4) << (7 + (c - 32) / 4);
        unsigned pages = SPAN_PAGES_MIN;
        while (pages * PEET__PAGE / bytes < 4 || pages * PEET__PAGE % bytes > pages * PEET__PAGE / 8)
            pages++;
        heap.class_bytes[c] = bytes;
        heap.class_pages[c] = pages;
    }
    heap.ready = 1;
    return 0;
}

int (*peet__heap_added)(uint64_t lo, uint64_t hi);
int (*peet__heap_discard)(uint64_t lo, uint64_t hi);

/* Returns: 0 if the pages are zeros now */
static int discard(const void *p, size_t bytes)
{
    return peet__heap_discard ? peet__heap_discard((uint64_t)p, (uint64_t)p + bytes)
                              : madvise((void *)p, bytes, MADV_DONTNEED);
}

/* ------------------------------------------------------------------------------------------------- runs */

static uint32_t span_new(uint32_t start, uint32_t npages, unsigned kind)
{
    uint32_t index = heap.free_span;
    if (index)
        heap.free_span = spans[index].next;
    else if (heap.nspans + 1 < SPANS_MAX)
        index = ++heap.nspans;
    else
        return 0;
    spans[index] = (struct span){.start = start, .npages = npages, .kind = (uint8_t)kind};
    page_span[start] = page_span[start + npages - 1] = index;
    return index;
}

static void span_drop(uint32_t index)
{
    spans[index].kind = UNUSED;
    spans[index].next = heap.free_span;
    heap.free_span = index;
}

static void list_add(uint32_t *head, uint32_t index)
{
    spans[index].prev = 0;
    spans[index].next = *head;
    if (*head)
        spans[*head].prev = index;
    *head = index;
}

static void list_remove(uint32_t *head, uint32_t index)
{
    struct span *s = &spans[index];
    if (s->prev)
        spans[s->prev].next = s->next;
    else
        *head = s->next;
    if (s->next)
        spans[s->next].prev = s->prev;
    s->next = s->prev = 0;
}

static unsigned bin_of(uint32_t npages)
{
    return npages < BINS ? npages : 0;
}

static void bin_add(uint32_t index)
{
    unsigned bin = bin_of(spans[index].npages);
    list_add(&heap.bins[bin], index);
    heap.bin_used[bin / 64] |= 1ul << bin % 64;
}

static void bin_remove(uint32_t index)
{
    unsigned bin = bin_of(spans[index].npages);
    list_remove(&heap.bins[bin], index);
    if (!heap.bins[bin])
        heap.bin_used[bin / 64] &= ~(1ul << bin % 64);
}

/* The run at [start, start + npages) is free: join it with its neighbours, or with the top. */
static void run_free(uint32_t start, uint32_t npages, int zero)
{
    if (start > 0) {
        uint32_t before = page_span[start - 1];
        if (before && spans[before].kind == FREE_RUN && spans[before].start + spans[before].npages == start) {
            bin_remove(before);
            start = spans[before].start;
            npages += spans[before].npages;
            zero &= spans[before].zero;
            span_drop(before);
        }
    }
    if (start + npages == heap.top) {
        heap.top = start;
        return;
    }
    uint32_t after = page_span[start + npages];
    if (after && spans[after].kind == FREE_RUN && spans[after].start == start + npages) {
        bin_remove(after);
        npages += spans[after].npages;
        zero &= spans[after].zero;
        span_drop(after);
    }
    uint32_t index = span_new(start, npages, FREE_RUN);
    if (!index)
        return; /* out of spans: the pages are lost, no more */
    spans[index].zero = (uint8_t)zero;
    bin_add(index);
}

uint64_t peet__space_most = UINT64_MAX, peet__space_mapped;

int peet__space_lacks(uint64_t bytes)
{
    const uint64_t used = heap.top * PEET__PAGE + peet__space_mapped;
    return peet__space_most != UINT64_MAX && (used > peet__space_most || bytes > peet__space_most - used);
}

static int grow(uint32_t upto)
{
    if (upto <= heap.mapped)
        return 0;
    size_t bytes = (upto - heap.mapped) * PEET__PAGE;
    if (peet__space_most == UINT64_MAX)
        bytes = (bytes + GROW_BYTES - 1) & ~(GROW_BYTES - 1);
    uint64_t at = PEET__HEAP_BASE + heap.mapped * PEET__PAGE;
    if (at + bytes > PEET__HEAP_END || peet__space_lacks((upto - heap.top) * PEET__PAGE))
        return -1;
    if (syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (long)at)
        return -1;
    if (peet__heap_added && peet__heap_added(at, at + bytes) != 0)
        return -1;
    heap.mapped += (uint32_t)(bytes / PEET__PAGE);
    return 0;
}

/* The shortest free run that is long enough; 0 if none. */
static uint32_t find_run(uint32_t npages)
{
    for (unsigned bin = npages; bin < BINS; bin++) {
        uint64_t rest = heap.bin_used[bin / 64] >> bin % 64;
        if (!rest) {
            bin |= 63;
            continue;
        }
        return heap.bins[bin + (unsigned)__builtin_ctzl(rest)];
    }
    uint32_t best = 0;
    for (uint32_t i = heap.bins[0]; i; i = spans[i].next)
        if (spans[i].npages >= npages &&
            (!best || spans[i].npages < spans[best].npages ||
                (spans[i].npages == spans[best].npages && spans[i].start < spans[best].start)))
            best = i;
    return best;
}

/* A span of so many pages that starts at a multiple of `align` pages; 0 if memory has run out. */
static uint32_t span_alloc(uint32_t npages, uint32_t align, unsigned kind)
{
    uint32_t slack = align - 1, start, have, zero;
    uint32_t run = find_run(npages + slack);
    if (run) {
        bin_remove(run);
        start = spans[run].start;
        have = spans[run].npages;
        zero = spans[run].zero;
        span_drop(run);
    } else {
        start = heap.top;
        have = npages + ((start + slack) & ~slack) - start;
        if (grow(start + have) != 0)
            return 0;
        zero = start >= heap.fresh;
        heap.top = start + have;
        if (heap.fresh < heap.top)
            heap.fresh = heap.top;
    }
    uint32_t aligned = (start + slack) & ~slack;
    uint32_t index = span_new(aligned, npages, kind);
    if (!index)
        return 0;
    spans[index].zero = (uint8_t)zero;
    if (aligned + npages < start + have)
        run_free(aligned + npages, start + have - aligned - npages, (int)zero);
    if (aligned > start)
        run_free(start, aligned - start, (int)zero);
    return index;
}

static void span_free(uint32_t index)
{
    struct span *s = &spans[index];
    uint32_t start = s->start, npages = s->npages;
    int zero = 0;
    if (npages >= RETURN_PAGES)
        zero = discard((void *)(PEET__HEAP_BASE + start * PEET__PAGE), npages * PEET__PAGE) == 0;
    span_drop(index);
    run_free(start, npages, zero);
}

/* ------------------------------------------------------------------------------------------------ blocks */

static char *span_base(const struct span *s)
{
    return (char *)(PEET__HEAP_BASE + s->start * PEET__PAGE);
}

static void set_live(const void *p)
{
    uint64_t bit = ((uint64_t)p - PEET__HEAP_BASE) / 16;
    live[bit / 64] |= 1ul << bit % 64;
}

static void clear_live(const void *p)
{
    uint64_t bit = ((uint64_t)p - PEET__HEAP_BASE) / 16;
    live[bit / 64] &= ~(1ul << bit % 64);
}

static int is_live(const void *p)
{
    uint64_t bit = ((uint64_t)p - PEET__HEAP_BASE) / 16;
    return live[bit / 64] >> bit % 64 & 1;
}

static uint32_t small_span_new(unsigned cls)
{
    uint32_t index = span_alloc(heap.class_pages[cls], 1, SMALL);
    if (!index)
        return 0;
    struct span *s = &spans[index];
    s->cls = (uint8_t)cls;
    s->bytes = heap.class_bytes[cls];
    s->capacity = (uint32_t)(s->npages * PEET__PAGE / s->bytes);
    for (uint32_t i = 0; i < s->npages; i++)
        page_span[s->start + i] = index;
    list_add(&heap.room[cls], index);
    return index;
}

static void *small_alloc(unsigned cls, int zero)
{
    uint32_t index = heap.room[cls];
    if (!index && !(index = small_span_new(cls)))
        return NULL;
    struct span *s = &spans[index];
    void *p = s->free;
    int clean = 0;
    if (p) {
        s->free = *(void **)p;
    } else {
        p = span_base(s) + (size_t)s->bump++ * s->bytes;
        clean = s->zero;
    }
    if (++s->used == s->capacity)
        list_remove(&heap.room[cls], index);
    set_live(p);
    if (zero && !clean)
        memset(p, 0, s->bytes);
    return p;
}

static void *large_alloc(size_t bytes, size_t align, int zero)
{
    if (bytes > HEAP_BYTES / 2 || align > HEAP_BYTES / 4)
        return NULL;
    uint32_t npages = (uint32_t)((bytes + PEET__PAGE - 1) / PEET__PAGE);
    uint32_t align_pages = align > PEET__PAGE ? (uint32_t)(align / PEET__PAGE) : 1;
    uint32_t index = span_alloc(npages ? npages : 1, align_pages, LARGE);
    if (!index)
        return NULL;
    char *p = span_base(&spans[index]);
    set_live(p);
    if (zero && !spans[index].zero && (npages < RETURN_PAGES || discard(p, npages * PEET__PAGE) != 0))
        memset(p, 0, bytes);
    return p;
}

void *peet__heap_alloc(size_t bytes, size_t align, int zero)
{
    if (!heap.ready && init() != 0)
        return NULL;
    if (align <= 16)
        return bytes <= SMALL_MAX ? small_alloc(class_of(bytes), zero) : large_alloc(bytes, 16, zero);
    /* A block of a small span is aligned if its size is: spans begin on a page. */
    if (align <= PEET__PAGE && bytes <= SMALL_MAX)
        for (unsigned cls = class_of(bytes < align ? align : bytes); cls < CLASSES; cls++)
            if (heap.class_bytes[cls] % align == 0)
                return small_alloc(cls, zero);
    return large_alloc(bytes, align, zero);
}

enum peet__heap_fault peet__heap_check(const void *p)
{
    uint64_t offset = (uint64_t)p - PEET__HEAP_BASE;
    if (!heap.ready || offset % 16 || offset >= heap.mapped * PEET__PAGE)
        return PEET__HEAP_FOREIGN;
    if (is_live(p))
        return PEET__HEAP_OK;
    /* Freed, if a block of that shape could have begun there; the page table holds old entries inside
     * large blocks, so in doubt it is foreign. */
    uint32_t page = (uint32_t)(offset / PEET__PAGE);
    if (page >= heap.top)
        return page < heap.fresh && offset % PEET__PAGE == 0 ? PEET__HEAP_FREED : PEET__HEAP_FOREIGN;
    const struct span *s = &spans[page_span[page]];
    if (page < s->start || page >= s->start + s->npages)
        return PEET__HEAP_FOREIGN;
    if (s->kind == SMALL)
        return ((char *)p - span_base(s)) % s->bytes == 0 ? PEET__HEAP_FREED : PEET__HEAP_FOREIGN;
    return s->kind == FREE_RUN ? PEET__HEAP_FREED : PEET__HEAP_FOREIGN;
}

enum peet__heap_fault peet__heap_free(void *p)
{
    uint64_t offset = (uint64_t)p - PEET__HEAP_BASE;
    if (offset % 16 || !heap.ready || offset >= heap.mapped * PEET__PAGE || !is_live(p))
        return peet__heap_check(p);
    uint32_t index = page_span[offset / PEET__PAGE];
    struct span *s = &spans[index];
    clear_live(p);
    if (s->kind == LARGE) {
        span_free(index);
        return PEET__HEAP_OK;
    }
    *(void **)p = s->free;
    s->free = p;
    unsigned cls = s->cls;
    if (s->used-- == s->capacity)
        list_add(&heap.room[cls], index);
    /* An empty span goes back, unless it is the class's only one with room. */
    if (s->used == 0 && (s->next || s->prev)) {
        list_remove(&heap.room[cls], index);
        span_free(index);
    }
    return PEET__HEAP_OK;
}

size_t peet__heap_usable(const void *p)
{
    const struct span *s = &spans[page_span[((uint64_t)p - PEET__HEAP_BASE) / PEET__PAGE]];
    return s->kind == SMALL ? s->bytes : s->npages * PEET__PAGE;
}

/* Let a large block have npages where it stands.  Returns 0 if it cannot grow. */
static int resize_in_place(uint32_t index, uint32_t npages)
{
    struct span *s = &spans[index];
    uint32_t end = s->start + s->npages;
    if (npages < s->npages) {
        uint32_t cut = s->npages - npages;
        s->npages = npages;
        page_span[s->start + npages - 1] = index;
        run_free(end - cut, cut, 0);
        return 1;
    }
    uint32_t more = npages - s->npages;
    if (end == heap.top) {
        if (grow(end + more) != 0)
            return 0;
        heap.top = end + more;
        if (heap.fresh < heap.top)
            heap.fresh = heap.top;
    } else {
        uint32_t after = page_span[end];
        if (!after || spans[after].kind != FREE_RUN || spans[after].start != end || spans[after].npages < more)
            return 0;
        uint32_t rest = spans[after].npages - more;
        int zero = spans[after].zero;
        bin_remove(after);
        span_drop(after);
        if (rest)
            run_free(end + more, rest, zero);
    }
    s->npages = npages;
    page_span[s->start + npages - 1] = index;
    return 1;
}

void *peet__heap_realloc(void *p, size_t bytes)
{
    uint32_t index = page_span[((uint64_t)p - PEET__HEAP_BASE) / PEET__PAGE];
    struct span *s = &spans[index];
    size_t have = peet__heap_usable(p);
    if (s->kind == SMALL) {
        /* shrink only if it saves half */
        if (bytes <= have && (bytes > have / 2 || have <= 32))
            return p;
    } else if (bytes > SMALL_MAX && bytes <= HEAP_BYTES / 2) {
        uint32_t npages = (uint32_t)((bytes + PEET__PAGE - 1) / PEET__PAGE);
        if (npages == s->npages || resize_in_place(index, npages))
            return p;
    }
    void *q = peet__heap_alloc(bytes, 16, 0);
    if (!q)
        return NULL;
    memcpy(q, p, bytes < have ? bytes : have);
    peet__heap_free(p);
    return q;
}

uint64_t peet__heap_footprint_bytes(void)
{
    return heap.top * PEET__PAGE;
}
