/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of the subject's own: mmap(), munmap(), mremap(), sbrk() and brk().  Where the kernel would
 * place a mapping depends on what else the process holds, so under simulation the subject's mappings get
 * places from a range of their own, lowest free place first.  The host's calls and plain runs go
 * straight to the kernel.
 */
#include "heap/heap.h"
#include "views/domain_internal.h"
#include "recording/notes.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_32BIT
#define MAP_32BIT 0x40
#endif

#define LOWEST 0x10000 /* below it nothing is mapped, but by who insists */

/* Free ranges below `bump`, ordered by address.  When the table is full a range is forgotten: address
 * space lost, nothing else. */
#define RANGES_MAX 4096
static struct range {
    uint64_t lo, hi;
} ranges[RANGES_MAX];
static unsigned nranges;
static uint64_t bump = PEET__MAPS_BASE;

/* The process's own break moves with libc's allocations for the host, so the subject has another. */
static uint64_t brk_now = PEET__BRK_BASE, brk_mapped = PEET__BRK_BASE;

#define CALLER ((uint64_t)__builtin_return_address(0))

static uint64_t whole_pages(size_t bytes)
{
    return (bytes + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
}

/* Lowest free place; 0 if the range is used up. */
static uint64_t place_take(uint64_t bytes)
{
    for (unsigned i = 0; i < nranges; i++) {
        if (ranges[i].hi - ranges[i].lo < bytes)
            continue;
        uint64_t at = ranges[i].lo;
        ranges[i].lo += bytes;
        if (ranges[i].lo == ranges[i].hi)
            memmove(&ranges[i], &ranges[i + 1], (--nranges - i) * sizeof *ranges);
        return at;
    }
    if (bytes > PEET__MAPS_END - bump)
        return 0;
    bump += bytes;
    return bump - bytes;
}

static void place_give(uint64_t lo, uint64_t hi)
{
    if (lo < PEET__MAPS_BASE)
        lo = PEET__MAPS_BASE;
    if (hi > bump)
        hi = bump;
    if (lo >= hi)
        return;
    unsigned i = 0, last;
    while (i < nranges && ranges[i].hi < lo)
        i++;
    /* join everything that touches [lo, hi): unmapping twice is allowed */
    for (last = i; last < nranges && ranges[last].lo <= hi; last++) {
        lo = ranges[last].lo < lo ? ranges[last].lo : lo;
        hi = ranges[last].hi > hi ? ranges[last].hi : hi;
    }
    if (last == i && nranges == RANGES_MAX)
        return;
    memmove(&ranges[i + 1], &ranges[last], (nranges - last) * sizeof *ranges);
    nranges = nranges - (last - i) + 1;
    ranges[i] = (struct range){lo, hi};
    if (hi == bump && i + 1 == nranges) {
        bump = lo;
        nranges--;
    }
}

/* The subject has put something of its own choice at [lo, hi): it is no longer free. */
static void place_claim(uint64_t lo, uint64_t hi)
{
    if (hi <= PEET__MAPS_BASE || lo >= PEET__MAPS_END)
        return;
    if (hi > bump) {
        uint64_t old = bump;
        bump = hi;
        if (lo > old)
            place_give(old, lo);
    }
    for (unsigned i = 0; i < nranges; i++) {
        struct range r = ranges[i];
        if (r.hi <= lo || r.lo >= hi)
            continue;
        memmove(&ranges[i], &ranges[i + 1], (--nranges - i) * sizeof *ranges);
        i--;
        if (r.lo < lo)
            place_give(r.lo, lo);
        if (r.hi > hi)
            place_give(hi, r.hi);
    }
}

/* What is not free is the subject's, whatever it has unmapped twice or put over a mapping of its own. */
void peet__map_count(void)
{
    if (peet__space_most == UINT64_MAX)
        return;
    peet__space_mapped = bump - PEET__MAPS_BASE + brk_mapped - PEET__BRK_BASE;
    for (unsigned i = 0; i < nranges; i++)
        peet__space_mapped -= ranges[i].hi - ranges[i].lo;
}

/* Returns: whether so many bytes more are beyond the subject's own limit; errno says so then. */
static int beyond_limit(uint64_t bytes)
{
    peet__map_count();
    if (!peet__space_lacks(bytes))
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *raw_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

static void *subject_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    uint64_t whole = whole_pages(bytes);
    if (beyond_limit(whole))
        return MAP_FAILED;
    if (bytes == 0 || whole == 0 || (flags & (MAP_32BIT | MAP_GROWSDOWN)))
        return raw_mmap(at, bytes, prot, flags, fd, offset);
    if (at) {
        if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
            if ((uint64_t)at < LOWEST)
                peet__fs_keep(); /* what is used without a thread pointer must fault */
            void *got = raw_mmap(at, bytes, prot, flags, fd, offset);
            if (got != MAP_FAILED)
                place_claim((uint64_t)got, (uint64_t)got + whole);
            return got;
        }
        /* a hint: there or, deterministically, elsewhere */
        void *hint = (void *)((uint64_t)at & ~(PEET__PAGE - 1));
        void *got = raw_mmap(hint, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
        if (got == hint) {
            place_claim((uint64_t)got, (uint64_t)got + whole);
            return got;
        }
        if (got != MAP_FAILED)
            syscall(SYS_munmap, got, bytes);
    }
    for (;;) {
        uint64_t place = place_take(whole);
        if (!place) {
            errno = ENOMEM;
            return MAP_FAILED;
        }
        void *got = raw_mmap((void *)place, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
        if (got != MAP_FAILED)
            return got;
        if (errno != EEXIST) {
            int error = errno;
            place_give(place, place + whole);
            errno = error;
            return MAP_FAILED;
        }
        /* taken behind our back, by a bare system call: leave it out for good */
    }
}

PUBLIC void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    if (!peet__is_subject())
        return raw_mmap(at, bytes, prot, flags, fd, offset);
    peet__rt.busy++;
    void *got = subject_mmap(at, bytes, prot, flags, fd, offset);
    if (got != MAP_FAILED &&
        peet__domain_mapped((uint64_t)got, (uint64_t)got + whole_pages(bytes), prot, flags, fd, offset) != 0) {
        syscall(SYS_munmap, got, bytes);
        place_give((uint64_t)got, (uint64_t)got + whole_pages(bytes));
        errno = ENOMEM;
        got = MAP_FAILED;
    }
    peet__rt.busy--;
    if (got != MAP_FAILED)
        peet__note_memory(PEET_RT_MAPPING, got, bytes, NULL, CALLER);
    return got;
}

PUBLIC void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) __attribute__((alias("mmap")));

PUBLIC int munmap(void *at, size_t bytes)
{
    int result = (int)syscall(SYS_munmap, at, bytes);
    if (result == 0 && peet__is_subject()) {
        peet__rt.busy++;
        peet__domain_unmapped((uint64_t)at, (uint64_t)at + whole_pages(bytes));
        place_give((uint64_t)at, (uint64_t)at + whole_pages(bytes));
        peet__rt.busy--;
        peet__note_release(PEET_RT_MAPPING, at, bytes, CALLER);
    }
    return result;
}

static void *raw_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *fixed)
{
    return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, fixed);
}

static void *subject_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *fixed)
{
    uint64_t lo = (uint64_t)old, old_hi = lo + whole_pages(old_bytes), whole = whole_pages(bytes);
    if (lo + whole > old_hi && beyond_limit(lo + whole - old_hi))
        return MAP_FAILED;
    if (flags & MREMAP_FIXED) {
        void *got = raw_mremap(old, old_bytes, bytes, flags, fixed);
        if (got != MAP_FAILED) {
            place_give(lo, old_hi);
            place_claim((uint64_t)got, (uint64_t)got + whole);
        }
        return got;
    }
    if (lo < PEET__MAPS_BASE || lo >= PEET__MAPS_END)
        return raw_mremap(old, old_bytes, bytes, flags, NULL);
    if (lo + whole <= old_hi) {
        void *got = raw_mremap(old, old_bytes, bytes, flags, NULL);
        if (got != MAP_FAILED)
            place_give(lo + whole, old_hi);
        return got;
    }
    if (old_hi == bump && whole <= PEET__MAPS_END - lo) {
        void *got = raw_mremap(old, old_bytes, bytes, flags & ~MREMAP_MAYMOVE, NULL);
        if (got != MAP_FAILED) {
            bump = lo + whole;
            return got;
        }
    }
    if (!(flags & MREMAP_MAYMOVE)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    uint64_t place = place_take(whole);
    if (!place) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *got = raw_mremap(old, old_bytes, bytes, flags | MREMAP_FIXED, (void *)place);
    if (got == MAP_FAILED)
        place_give(place, place + whole);
    else if (old_bytes) /* 0 duplicates a shared mapping */
        place_give(lo, old_hi);
    return got;
}

/* With views of memory each page lies at its own place of the memory file: what moves is copied. */
static void *viewed_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *fixed)
{
    uint64_t lo = (uint64_t)old, was = whole_pages(old_bytes), whole = whole_pages(bytes);
    const struct peet__region *r = peet__region_of(lo);
    const int prot = r ? r->prot : PROT_READ | PROT_WRITE;
    if (whole == 0 || lo % PEET__PAGE || (was == 0 && !(flags & MREMAP_MAYMOVE))) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    if (!r || r->hi < lo + was || r->file || was == 0) {
        errno = r ? ENOMEM : EFAULT;
        return MAP_FAILED;
    }
    if (whole <= was && !(flags & MREMAP_FIXED)) {
        if (whole < was)
            munmap((void *)(lo + whole), was - whole);
        return old;
    }
    if (!(flags & MREMAP_MAYMOVE)) {
        void *more =
            mmap((void *)(lo + was), whole - was, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        return more == MAP_FAILED ? MAP_FAILED : old;
    }
    void *got = mmap(fixed, whole, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | (flags & MREMAP_FIXED ? MAP_FIXED : 0), -1, 0);
    if (got == MAP_FAILED)
        return got;
    memcpy(got, old, was < whole ? was : whole);
    if (prot != (PROT_READ | PROT_WRITE))
        mprotect(got, whole, prot);
    munmap(old, was);
    return got;
}

PUBLIC int mprotect(void *at, size_t bytes, int prot)
{
    int result = (int)syscall(SYS_mprotect, at, bytes, prot);
    if (result == 0)
        peet__domain_protected((uint64_t)at, (uint64_t)at + whole_pages(bytes), prot);
    return result;
}

PUBLIC int madvise(void *at, size_t bytes, int advice)
{
    if (peet__domains_on() && (advice == MADV_DONTNEED || advice == MADV_FREE) && (uint64_t)at % PEET__PAGE == 0 &&
        peet__is_subject() && peet__domain_discard((uint64_t)at, (uint64_t)at + whole_pages(bytes)) == 0)
        return 0;
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

PUBLIC void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    void *fixed = NULL;
    if (flags & MREMAP_FIXED) {
        va_list args;
        va_start(args, flags);
        fixed = va_arg(args, void *);
        va_end(args);
    }
    if (!peet__is_subject())
        return raw_mremap(old, old_bytes, bytes, flags, fixed);
    peet__rt.busy++;
    void *got = peet__domains_on() ? viewed_mremap(old, old_bytes, bytes, flags, fixed)
                                   : subject_mremap(old, old_bytes, bytes, flags, fixed);
    peet__rt.busy--;
    if (got != MAP_FAILED) {
        peet__note_release(PEET_RT_MAPPING, old, old_bytes ? PEET_RT_MOVED : 0, CALLER);
        peet__note_memory(PEET_RT_MAPPING, got, bytes, old_bytes ? old : NULL, CALLER);
    }
    return got;
}

/* -------------------------------------------------------------------------------------------------- break */

static int subject_brk(uint64_t to)
{
    if (to < PEET__BRK_BASE || to > PEET__BRK_END) {
        errno = ENOMEM;
        return -1;
    }
    uint64_t end = whole_pages(to);
    if (end > brk_mapped && beyond_limit(end - brk_mapped))
        return -1;
    if (end > brk_mapped &&
        raw_mmap((void *)brk_mapped, end - brk_mapped, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED) {
        errno = ENOMEM;
        return -1;
    }
    if (end < brk_mapped)
        syscall(SYS_munmap, end, brk_mapped - end);
    if (end > brk_mapped && peet__domain_added(brk_mapped, end, PROT_READ | PROT_WRITE, PEET_DOMAIN_SHARED) != 0)
        return -1;
    if (end < brk_mapped)
        peet__domain_unmapped(end, brk_mapped);
    brk_mapped = end;
    brk_now = to;
    return 0;
}

static void note_break(uint64_t before, uint64_t caller)
{
    if (brk_now > before)
        peet__note_memory(PEET_RT_BREAK, (void *)before, brk_now - before, NULL, caller);
    else if (brk_now < before)
        peet__note_release(PEET_RT_BREAK, (void *)brk_now, before - brk_now, caller);
}

PUBLIC void *sbrk(intptr_t by)
{
    if (!peet__is_subject()) {
        static void *(*real)(intptr_t);
        if (!real)
            real = (void *(*)(intptr_t))peet__next("sbrk");
        return real(by);
    }
    uint64_t before = brk_now;
    if (by != 0 && subject_brk(before + (uint64_t)by) != 0)
        return (void *)-1;
    note_break(before, CALLER);
    return (void *)before;
}

PUBLIC int brk(void *to)
{
    if (!peet__is_subject()) {
        static int (*real)(void *);
        if (!real)
            real = (int (*)(void *))peet__next("brk");
        return real(to);
    }
    uint64_t before = brk_now;
    int result = subject_brk((uint64_t)to);
    note_break(before, CALLER);
    return result;
}

/* ------------------------------------------------------------------------------ for the allocator */

void *peet__map_take(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return subject_mmap(at, bytes, prot, flags, fd, offset);
}

int peet__map_give(void *at, size_t bytes)
{
    const int result = (int)syscall(SYS_munmap, at, bytes);
    if (result == 0)
        place_give((uint64_t)at, (uint64_t)at + whole_pages(bytes));
    return result;
}

void *peet__map_move(void *old, size_t old_bytes, size_t bytes, int flags)
{
    return subject_mremap(old, old_bytes, bytes, flags, NULL);
}

void *peet__map_break(intptr_t by)
{
    const uint64_t before = brk_now;
    return by == 0 || subject_brk(before + (uint64_t)by) == 0 ? (void *)before : (void *)-1;
}
