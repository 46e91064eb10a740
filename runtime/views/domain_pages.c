/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages are copies in which views, and the bytes in them: the part of domain.h that moves bytes.  A record is
 * kept of every page that is a copy somewhere.  With PEET_DOMAINS_NOTED the machine says of each store; else the kernel
 * is asked which pages of a view it has copied (PAGEMAP_SCAN, Linux 6.7; the pagemap file elsewhere), once after every
 * turn of a context, unless there has been no page fault at all since: no page is copied without one.
 */
#include "views/domain_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An allocator of its own: neither world's heap may depend on what is copied. */
#define uthash_malloc(bytes) peet__domain_memory(bytes)
#define uthash_free(p, bytes) \
    peet__raw_syscall(SYS_munmap, (long)(p), (long)(((bytes) + PEET__PAGE - 1) & ~(PEET__PAGE - 1)), 0, 0, 0, 0)
#define uthash_fatal(message) peet__die(1, "views of memory: %s", message)
#include <uthash.h>

#ifndef PAGEMAP_SCAN
struct page_region {
    uint64_t start, end, categories;
};
struct pm_scan_arg {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
        category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_FILE (1 << 2)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)
#endif

struct entry {
    UT_hash_handle hh;
    struct entry *next; /* of the free ones */
    struct peet__page page;
};
static struct entry *entries, *free_entries;
static uint8_t *free_pages; /* linked through their first word */
static struct peet__page **sorted;
static size_t sorted_room;
static int watching;
static int pagemap = -1, scans = 1;
static uint64_t faults_seen[PEET_DOMAINS_MAX]; /* when the view's copies were last asked for, + 1 */

static size_t entry_bytes(void)
{
    return (sizeof(struct entry) + peet__domains.count * sizeof(uint8_t *) + 15) & ~(size_t)15;
}

static uint8_t *page_new(const void *contents)
{
    if (!free_pages) {
        const size_t n = 64;
        uint8_t *more = peet__domain_memory(n * PEET__PAGE);
        for (size_t i = 0; i < n; i++) {
            *(uint8_t **)(more + i * PEET__PAGE) = free_pages;
            free_pages = more + i * PEET__PAGE;
        }
    }
    uint8_t *page = free_pages;
    free_pages = *(uint8_t **)page;
    memcpy(page, contents, PEET__PAGE);
    return page;
}

static void page_free(uint8_t *page)
{
    *(uint8_t **)page = free_pages;
    free_pages = page;
}

struct peet__page *peet__page_find(uint64_t address)
{
    uint64_t key = address & ~(PEET__PAGE - 1);
    struct entry *e;
    HASH_FIND(hh, entries, &key, sizeof key, e);
    return e ? &e->page : NULL;
}

struct peet__page *peet__page_get(uint64_t address)
{
    struct peet__page *found = peet__page_find(address);
    if (found)
        return found;
    if (!free_entries) {
        size_t bytes = entry_bytes(), room = 64 * PEET__PAGE;
        char *more = peet__domain_memory(room);
        for (; room >= bytes; room -= bytes, more += bytes) {
            ((struct entry *)more)->next = free_entries;
            free_entries = (struct entry *)more;
        }
    }
    struct entry *e = free_entries;
    free_entries = e->next;
    memset(e, 0, entry_bytes());
    e->page.address = address & ~(PEET__PAGE - 1);
    HASH_ADD(hh, entries, page.address, sizeof e->page.address, e);
    return &e->page;
}

static void forget_base(struct peet__page *page, unsigned d)
{
    if (page->based >> d & 1)
        page_free(page->base[d]);
    page->based &= ~(1ul << d);
}

/* If nothing is to be said of the page any more. */
static void release(struct peet__page *page)
{
    if (page->copies || page->watched)
        return;
    struct entry *e = (struct entry *)((char *)page - offsetof(struct entry, page));
    HASH_DEL(entries, e);
    e->next = free_entries;
    free_entries = e;
}

static void mark(struct peet__page *page, unsigned d)
{
    if (page->copies >> d & 1)
        return;
    page->copies |= 1ul << d;
    peet__domains.statistics[d].copied_pages++;
}

static void unmark(struct peet__page *page, unsigned d)
{
    if (!(page->copies >> d & 1))
        return;
    forget_base(page, d);
    page->copies &= ~(1ul << d);
    peet__domains.statistics[d].copied_pages--;
    peet__domains.statistics[d].pages_dropped++;
}

void peet__page_copy(struct peet__page *page, unsigned d)
{
    if (page->copies >> d & 1)
        return;
    volatile uint8_t *at = peet__view(d, page->address);
    *at = *at;
    mark(page, d);
}

void peet__page_drop(struct peet__page *page, unsigned d)
{
    if (!(page->copies >> d & 1))
        return;
    peet__raw_syscall(SYS_madvise, (long)peet__view(d, page->address), PEET__PAGE, MADV_DONTNEED, 0, 0, 0);
    unmark(page, d);
    release(page);
}

void peet__page_base(struct peet__page *page, unsigned d)
{
    if ((peet__domains.flags & PEET_DOMAINS_NOTED) || page->based >> d & 1)
        return;
    page->base[d] = page_new((const void *)page->address);
    page->based |= 1ul << d;
}

void peet__pages_each(void (*each)(struct peet__page *, void *), void *self)
{
    struct entry *e, *next;
    HASH_ITER(hh, entries, e, next)
    each(&e->page, self);
}

static int by_address(const void *a, const void *b)
{
    const struct peet__page *x = *(struct peet__page *const *)a, *y = *(struct peet__page *const *)b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Heap sort: qsort() of the C library may allocate. */
static void sift(struct peet__page **v, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && by_address(&v[child], &v[child + 1]) < 0)
            child++;
        if (by_address(&v[root], &v[child]) >= 0)
            return;
        struct peet__page *t = v[root];
        v[root] = v[child];
        v[child] = t;
    }
}

struct peet__page **peet__pages_sorted(uint64_t mask, size_t *out_n)
{
    size_t n = 0, room = HASH_COUNT(entries);
    struct entry *e, *next;
    if (room > sorted_room) {
        sorted_room = 2 * room + 512;
        sorted = peet__domain_memory(sorted_room * sizeof *sorted); /* the old one is small change */
    }
    HASH_ITER(hh, entries, e, next)
    if (e->page.copies & mask)
        sorted[n++] = &e->page;
    for (size_t i = n / 2; i-- > 0;)
        sift(sorted, i, n);
    for (size_t i = n; i-- > 1;) {
        struct peet__page *t = sorted[0];
        sorted[0] = sorted[i];
        sorted[i] = t;
        sift(sorted, 0, i);
    }
    *out_n = n;
    return sorted;
}

/* ------------------------------------------------------------------------------------- what the kernel has copied */

static int scan(int fd, uint64_t lo, uint64_t hi, peet__pages_found *found, void *self)
{
    struct page_region vec[256];
    while (lo < hi) {
        struct pm_scan_arg arg = {.size = sizeof arg,
            .start = lo,
            .end = hi,
            .vec = (uint64_t)vec,
            .vec_len = 256,
            .category_inverted = PAGE_IS_FILE,
            .category_mask = PAGE_IS_FILE,
            .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            .return_mask = PAGE_IS_PRESENT};
        long n = peet__raw_syscall(SYS_ioctl, fd, (long)PAGEMAP_SCAN, (long)&arg, 0, 0, 0);
        if (n < 0)
            return -1;
        for (long i = 0; i < n; i++)
            found(vec[i].start, vec[i].end, self);
        lo = arg.walk_end > lo ? arg.walk_end : hi;
    }
    return 0;
}

static void read_pagemap(int fd, uint64_t lo, uint64_t hi, peet__pages_found *found, void *self)
{
    uint64_t words[512];
    for (uint64_t at = lo; at < hi;) {
        uint64_t want = (hi - at) / PEET__PAGE < 512 ? (hi - at) / PEET__PAGE : 512;
        long got = peet__raw_syscall(SYS_pread64, fd, (long)words, (long)(want * 8), (long)(at / PEET__PAGE * 8), 0, 0);
        if (got <= 0)
            peet__die(1, "views of memory: /proc/self/pagemap cannot be read");
        for (long i = 0; i < got / 8; i++, at += PEET__PAGE)
            if ((words[i] >> 62) && !(words[i] >> 61 & 1)) /* there or swapped out, and no file's */
                found(at, at + PEET__PAGE, self);
    }
}

void peet__pages_private(int fd, uint64_t lo, uint64_t hi, peet__pages_found *found, void *self)
{
    if (scans && scan(fd, lo, hi, found, self) != 0)
        scans = 0;
    if (!scans)
        read_pagemap(fd, lo, hi, found, self);
}

static void copied(uint64_t lo, uint64_t hi, void *domain)
{
    const unsigned d = *(const unsigned *)domain;
    for (uint64_t at = lo; at < hi; at += PEET__PAGE)
        mark(peet__page_get(at - (uint64_t)peet__domains.offset[d]), d);
}

static uint64_t faults(void)
{
    struct rusage usage;
    if (peet__raw_syscall(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0, 0, 0) != 0)
        return UINT64_MAX;
    return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

static void catch_up(unsigned d)
{
    struct peet__domains *v = &peet__domains;
    const uint64_t now = faults() + 1;
    if (now && now == faults_seen[d])
        return;
    faults_seen[d] = now;
    if (pagemap < 0 &&
        (pagemap = (int)peet__raw_syscall(SYS_open, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0)) < 0)
        peet__die(1, "views of memory: /proc/self/pagemap cannot be opened");
    for (unsigned i = 0; i < v->nregions; i++) {
        const struct peet__region *r = &v->regions[i];
        uint64_t lo = (uint64_t)peet__view(d, r->lo), hi = (uint64_t)peet__view(d, r->hi);
        if (r->class != PEET_DOMAIN_SHARED || !(r->prot & PROT_WRITE))
            continue;
        peet__pages_private(pagemap, lo, hi, copied, &d);
    }
}

void peet__pages_catch_up(uint64_t domains)
{
    struct peet__domains *v = &peet__domains;
    uint64_t ask = v->ran & domains;
    v->ran &= ~ask;
    if (v->flags & PEET_DOMAINS_NOTED)
        return;
    for (; ask; ask &= ask - 1)
        catch_up((unsigned)__builtin_ctzl(ask));
}

void peet__pages_forget(uint64_t lo, uint64_t hi)
{
    struct entry *e, *next;
    HASH_ITER(hh, entries, e, next)
    {
        struct peet__page *page = &e->page;
        if (page->address < lo || page->address >= hi)
            continue;
        for (uint64_t m = page->copies; m; m &= m - 1)
            unmark(page, (unsigned)__builtin_ctzl(m));
        if (page->watched)
            page_free(page->watched);
        page->watched = NULL;
        release(page);
    }
}

void peet__pages_new_process(void)
{
    if (pagemap >= 0)
        peet__raw_syscall(SYS_close, pagemap, 0, 0, 0, 0, 0);
    pagemap = -1;
    memset(faults_seen, 0, sizeof faults_seen); /* a new process counts afresh */
}

/* ------------------------------------------------------------------------------------------------- outside code */

void peet__pages_watch(void)
{
    struct entry *e, *next;
    peet__pages_catch_up(UINT64_MAX);
    HASH_ITER(hh, entries, e, next)
    if (!e->page.watched)
        e->page.watched = page_new((const void *)e->page.address);
    watching = 1;
}

int peet__pages_are_watched(void)
{
    return watching;
}

void peet__domain_stored_outside(uint64_t address, size_t n)
{
    peet__pages_catch_up(UINT64_MAX);
    for (size_t piece; n; address += piece, n -= piece) {
        struct peet__page *page = peet__page_find(address);
        piece = PEET__PAGE - (address & (PEET__PAGE - 1)) < n ? PEET__PAGE - (address & (PEET__PAGE - 1)) : n;
        for (uint64_t m = page ? page->copies : 0; m; m &= m - 1) {
            unsigned d = (unsigned)__builtin_ctzl(m);
            memcpy(peet__view(d, address), (const void *)address, piece);
            if (page->based >> d & 1)
                memcpy(page->base[d] + (address - page->address), (const void *)address, piece);
        }
    }
}

size_t peet__pages_watched(void)
{
    size_t bytes = 0;
    struct entry *e, *next;
    if (!watching)
        return 0;
    watching = 0;
    HASH_ITER(hh, entries, e, next)
    {
        struct peet__page *page = &e->page;
        if (!page->watched)
            continue;
        const uint8_t *now = (const uint8_t *)page->address;
        for (size_t w = 0; w < PEET__PAGE; w += 8) {
            if (memcmp(now + w, page->watched + w, 8) == 0)
                continue;
            for (size_t b = w; b < w + 8; b++) {
                if (now[b] == page->watched[b])
                    continue;
                bytes++;
                for (uint64_t m = page->copies; m; m &= m - 1) {
                    unsigned d = (unsigned)__builtin_ctzl(m);
                    peet__view(d, page->address)[b] = now[b];
                    if (page->based >> d & 1)
                        page->base[d][b] = now[b];
                }
            }
        }
        page_free(page->watched);
        page->watched = NULL;
        release(page);
    }
    return bytes;
}

/* ------------------------------------------------------------------------------------------------- the interface */

/* Whether all of [address, address + n) is mapped, and may be stored to if `prot` says so. */
static int mapped(uint64_t address, size_t n, int prot)
{
    uint64_t end = address + n;
    if (end < address)
        return 0;
    while (address < end) {
        const struct peet__region *r = peet__region_of(address);
        if (!r || (r->prot & prot) != prot)
            return 0;
        address = r->hi;
    }
    return 1;
}

static size_t within_page(uint64_t address, size_t n)
{
    size_t room = PEET__PAGE - (address & (PEET__PAGE - 1));
    return n < room ? n : room;
}

PUBLIC enum peet_domain_class peet_domain_class(uint64_t address)
{
    const struct peet__region *r = peet__region_of(address);
    return r ? (enum peet_domain_class)r->class : PEET_DOMAIN_NONE;
}

static int is_shared(uint64_t address)
{
    return peet_domain_class(address) == PEET_DOMAIN_SHARED;
}

PUBLIC int peet_domain_read(unsigned domain, uint64_t address, void *bytes, size_t n)
{
    if (domain >= peet_domains_count())
        return PEET_EINVALID;
    if (peet__domains_on() && !mapped(address, n, PROT_READ))
        return PEET_EINVALID;
    memcpy(bytes, peet__view(domain, address), n);
    return 0;
}

static void write_main(struct peet__page *page, uint64_t address, const void *bytes, size_t n)
{
    memcpy((void *)address, bytes, n);
    if (page && page->watched)
        memcpy(page->watched + (address - page->address), bytes, n);
}

PUBLIC int peet_domain_perform(uint64_t to, uint64_t address, const void *bytes, size_t n)
{
    struct peet__domains *v = &peet__domains;
    const uint8_t *from = bytes;
    if (!mapped(address, n, PROT_READ | PROT_WRITE))
        return PEET_EINVALID;
    to &= v->all | 1;
    peet__pages_catch_up(UINT64_MAX);
    while (n) {
        size_t piece = within_page(address, n);
        struct peet__page *page = peet__page_find(address);
        if (!is_shared(address)) {
            memcpy((void *)address, from, piece);
        } else {
            uint64_t copies = page ? page->copies : 0, others = v->all & ~to;
            uint64_t fresh = (to & 1 ? others : to & v->all) & ~copies;
            if (fresh && !page)
                page = peet__page_get(address);
            for (uint64_t m = fresh; m; m &= m - 1)
                peet__page_copy(page, (unsigned)__builtin_ctzl(m));
            copies |= fresh;
            if (to & 1)
                for (uint64_t m = copies & others; m; m &= m - 1)
                    peet__page_base(page, (unsigned)__builtin_ctzl(m)); /* keeps what it was given */
            for (uint64_t m = copies & to & ~1ul; m; m &= m - 1) {
                unsigned d = (unsigned)__builtin_ctzl(m);
                if (!(to & 1))
                    peet__page_base(page, d);
                memcpy(peet__view(d, address), from, piece);
                if (page->based >> d & 1)
                    memcpy(page->base[d] + (address - page->address), from, piece);
            }
            if (to & 1)
                write_main(page, address, from, piece);
        }
        v->statistics[0].performed_bytes += piece;
        address += piece;
        from += piece;
        n -= piece;
    }
    return 0;
}

PUBLIC int peet_domain_write(unsigned domain, uint64_t address, const void *bytes, size_t n)
{
    struct peet__domains *v = &peet__domains;
    const uint8_t *from = bytes;
    if (domain >= peet_domains_count() || (peet__domains_on() && !mapped(address, n, PROT_READ | PROT_WRITE)))
        return PEET_EINVALID;
    while (n) {
        size_t piece = within_page(address, n);
        if (domain == PEET_DOMAIN_MAIN || !is_shared(address)) {
            if (v->count > 1)
                peet__pages_catch_up(UINT64_MAX);
            struct peet__page *page = v->count > 1 ? peet__page_find(address) : NULL;
            for (uint64_t m = page ? page->copies : 0; m; m &= m - 1)
                peet__page_base(page, (unsigned)__builtin_ctzl(m));
            write_main(page, address, from, piece);
        } else {
            peet__page_copy(peet__page_get(address), domain);
            memcpy(peet__view(domain, address), from, piece);
        }
        address += piece;
        from += piece;
        n -= piece;
    }
    return 0;
}

PUBLIC void peet_domain_stored(unsigned domain, uint64_t address, size_t n)
{
    if (domain == PEET_DOMAIN_MAIN || domain >= peet_domains_count())
        return;
    while (n) {
        size_t piece = within_page(address, n);
        if (is_shared(address))
            mark(peet__page_get(address), domain);
        address += piece;
        n -= piece;
    }
}

PUBLIC uint64_t peet_domain_copied(uint64_t address)
{
    if (!peet__domains_on())
        return 0;
    peet__pages_catch_up(UINT64_MAX);
    const struct peet__page *page = peet__page_find(address);
    return page ? page->copies : 0;
}

PUBLIC void peet_domain_refresh(unsigned domain, uint64_t address, size_t n)
{
    struct peet__domains *v = &peet__domains;
    uint64_t end = address + n < address ? UINT64_MAX : address + n;
    size_t count;
    if (domain == PEET_DOMAIN_MAIN || domain >= peet_domains_count())
        return;
    peet__pages_catch_up(1ul << domain);
    if (address == 0 && end == UINT64_MAX && v->statistics[domain].copied_pages > 64) { /* all at once */
        for (unsigned i = 0; i < v->nregions; i++)
            if (v->regions[i].class == PEET_DOMAIN_SHARED)
                peet__raw_syscall(SYS_madvise, (long)peet__view(domain, v->regions[i].lo),
                    (long)(v->regions[i].hi - v->regions[i].lo), MADV_DONTNEED, 0, 0, 0);
        struct entry *e, *next;
        HASH_ITER(hh, entries, e, next)
        {
            unmark(&e->page, domain);
            release(&e->page);
        }
        return;
    }
    struct peet__page **pages = peet__pages_sorted(1ul << domain, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t lo = pages[i]->address, hi = lo + PEET__PAGE;
        if (hi <= address || lo >= end)
            continue;
        if (lo >= address && hi <= end) {
            peet__page_drop(pages[i], domain);
            continue;
        }
        uint64_t from = lo > address ? lo : address, to = hi < end ? hi : end;
        memcpy(peet__view(domain, from), (const void *)from, to - from);
        if (pages[i]->based >> domain & 1)
            memcpy(pages[i]->base[domain] + (from - lo), (const void *)from, to - from);
    }
}

PUBLIC size_t peet_domain_tidy(unsigned domain)
{
    size_t count, dropped = 0;
    if (domain == PEET_DOMAIN_MAIN || domain >= peet_domains_count())
        return 0;
    peet__pages_catch_up(1ul << domain);
    struct peet__page **pages = peet__pages_sorted(1ul << domain, &count);
    for (size_t i = 0; i < count; i++)
        if (memcmp((const void *)pages[i]->address, peet__view(domain, pages[i]->address), PEET__PAGE) == 0) {
            peet__page_drop(pages[i], domain);
            dropped++;
        }
    return dropped;
}

PUBLIC void peet_domain_statistics(unsigned domain, struct peet_domain_statistics *out)
{
    struct peet__domains *v = &peet__domains;
    struct peet_domain_statistics sum = {0};
    if (peet__domains_on())
        peet__pages_catch_up(UINT64_MAX);
    for (unsigned d = 0; d < PEET_DOMAINS_MAX; d++) {
        const struct peet_domain_statistics *s = &v->statistics[d];
        if (domain < PEET_DOMAINS_MAX && d != domain)
            continue;
        sum.copied_pages += s->copied_pages;
        sum.pages_dropped += s->pages_dropped;
        sum.performed_bytes += s->performed_bytes;
        sum.outside += s->outside;
    }
    sum.copied_bytes = sum.copied_pages * PEET__PAGE;
    for (unsigned i = 0; i < v->nregions; i++)
        if (v->regions[i].class == PEET_DOMAIN_SHARED)
            sum.mapped_bytes += v->regions[i].hi - v->regions[i].lo;
    *out = sum;
}
