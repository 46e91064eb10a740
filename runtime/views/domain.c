/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consistency domains: where views lie, and that each has what main memory has.  Main memory moves into a memory
 * file, in place; the address space is searched for offsets at which all that the subject can refer to fits beside
 * everything else; from then on mappings that come, go or change do so in every view (map.c, heap.c and stacks.c say
 * so).  Nothing of this happens in a plain run, or before peet_domains_begin().  What is in the views: domain_pages.c.
 */
#include "views/domain_internal.h"
#include "heap/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct peet__domains peet__domains = {.fd = -1};

#define CANONICAL_END 0x7ffffffff000ul
#define LOWEST 0x10000ul
#define CHUNK (64ul << 10) /* of zeros looked for and of bytes copied at once */

static long map_raw(uint64_t at, uint64_t bytes, int prot, int flags, int fd, uint64_t offset)
{
    return peet__raw_syscall(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, (long)offset);
}

static int failed(long result)
{
    return result < 0 && result > -4096;
}

/* Never where a library was or comes: its regions would seem to be there still. */
void *peet__domain_memory(size_t bytes)
{
    static uint64_t wish = PEET__LISTS_BASE;
    const uint64_t whole = (bytes + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
    long at = map_raw(wish, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    wish += whole;
    if (failed(at))
        peet__die(1, "views of memory: no memory for their bookkeeping");
    return (void *)at;
}

void peet__domain_memory_free(void *memory, size_t bytes)
{
    peet__raw_syscall(SYS_munmap, (long)memory, (long)((bytes + PEET__PAGE - 1) & ~(PEET__PAGE - 1)), 0, 0, 0, 0);
}

/* ------------------------------------------------------------------------------------------------- what is mapped */

struct mapping {
    uint64_t lo, hi;
    int prot;
    int own; /* the kernel's own, stack and vdso, and peet's lists */
};
struct mappings {
    struct mapping *v;
    unsigned n;
};
static struct mappings subject; /* before the host was loaded */
static struct mappings known;   /* when the views were made */

static uint64_t hex(const char **text)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        char c = **text;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return value;
    }
}

static int starts(const char *text, const char *with)
{
    while (*with)
        if (*text++ != *with++)
            return 0;
    return 1;
}

/* One line of /proc/self/maps: lo-hi rwxp offset device inode  [name] */
static void read_line(const char *line, struct mapping *out)
{
    out->lo = hex(&line);
    line++;
    out->hi = hex(&line);
    out->prot = (line[1] == 'r' ? PROT_READ : 0) | (line[2] == 'w' ? PROT_WRITE : 0) | (line[3] == 'x' ? PROT_EXEC : 0);
    while (*line && *line != '[')
        line++;
    out->own =
        starts(line, "[stack") || starts(line, "[v") || (out->lo >= PEET__CAPTURE_BASE && out->lo < PEET__ARGS_ARRAYS);
}

static struct mappings read_mappings(void)
{
    enum { TEXT = 8 << 20, MOST = 65536 };
    struct mappings out = {peet__domain_memory(MOST * sizeof(struct mapping)), 0};
    char *text = peet__domain_memory(TEXT);
    long fd = peet__raw_syscall(SYS_open, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0), got;
    size_t n = 0;
    while (fd >= 0 && n < TEXT - 1 &&
        (got = peet__raw_syscall(SYS_read, fd, (long)(text + n), (long)(TEXT - 1 - n), 0, 0, 0)) > 0)
        n += (size_t)got;
    if (fd >= 0)
        peet__raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    for (char *line = text; *line && out.n < MOST;) {
        char *end = line;
        while (*end && *end != '\n')
            end++;
        int last = *end == 0;
        *end = 0;
        read_line(line, &out.v[out.n++]);
        line = last ? end : end + 1;
    }
    peet__domain_memory_free(text, TEXT);
    return out;
}

void peet__domains_note_process(void)
{
    if (peet_domains_compiled())
        subject = read_mappings();
}

/* -------------------------------------------------------------------------------------------------------- regions */

/* The first region that ends above this address; nregions: none. */
static unsigned region_at(uint64_t address)
{
    const struct peet__domains *v = &peet__domains;
    unsigned lo = 0, hi = v->nregions;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (v->regions[mid].hi <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct peet__region *peet__region_of(uint64_t address)
{
    const struct peet__domains *v = &peet__domains;
    unsigned i = region_at(address);
    return i < v->nregions && v->regions[i].lo <= address ? &v->regions[i] : NULL;
}

static void region_insert(unsigned at, struct peet__region r)
{
    struct peet__domains *v = &peet__domains;
    if (v->nregions == v->regions_room) {
        unsigned room = v->regions_room ? 2 * v->regions_room : 1024;
        struct peet__region *more = peet__domain_memory(room * sizeof *more);
        if (v->nregions)
            memcpy(more, v->regions, v->nregions * sizeof *more);
        if (v->regions_room)
            peet__domain_memory_free(v->regions, v->regions_room * sizeof *more);
        v->regions = more;
        v->regions_room = room;
    }
    memmove(&v->regions[at + 1], &v->regions[at], (v->nregions - at) * sizeof r);
    v->regions[at] = r;
    v->nregions++;
}

static void region_remove(unsigned at)
{
    struct peet__domains *v = &peet__domains;
    memmove(&v->regions[at], &v->regions[at + 1], (--v->nregions - at) * sizeof *v->regions);
}

/* A region begins at this address if any goes across it. */
static void region_cut(uint64_t address)
{
    struct peet__domains *v = &peet__domains;
    unsigned i = region_at(address);
    if (i < v->nregions && v->regions[i].lo < address) {
        struct peet__region upper = v->regions[i];
        v->regions[i].hi = upper.lo = address;
        region_insert(i + 1, upper);
    }
}

static void region_clear(uint64_t lo, uint64_t hi)
{
    region_cut(lo);
    region_cut(hi);
    for (unsigned i = region_at(lo); i < peet__domains.nregions && peet__domains.regions[i].lo < hi;)
        region_remove(i);
}

static int alike(const struct peet__region *a, const struct peet__region *b)
{
    return a->hi == b->lo && a->class == b->class && a->prot == b->prot && a->file == b->file;
}

static void region_set(struct peet__region r)
{
    struct peet__domains *v = &peet__domains;
    region_clear(r.lo, r.hi);
    unsigned i = region_at(r.lo);
    region_insert(i, r);
    if (i + 1 < v->nregions && alike(&v->regions[i], &v->regions[i + 1])) {
        v->regions[i].hi = v->regions[i + 1].hi;
        region_remove(i + 1);
    }
    if (i > 0 && alike(&v->regions[i - 1], &v->regions[i])) {
        v->regions[i - 1].hi = v->regions[i].hi;
        region_remove(i);
    }
}

/* ------------------------------------------------------------------------------------------------------- mapping */

/* [lo, hi) in every view.  fd, offset: where its bytes are. */
static int map_views(uint64_t lo, uint64_t hi, int prot, enum peet_domain_class class, int fd, uint64_t offset)
{
    for (unsigned d = 1; d < peet__domains.count; d++) {
        uint64_t at = (uint64_t)peet__view(d, lo);
        long got = map_raw(at, hi - lo, prot & ~PROT_EXEC,
            (class == PEET_DOMAIN_SHARED ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED | MAP_NORESERVE, fd, offset);
        if (failed(got)) {
            errno = (int)-got;
            return -1;
        }
    }
    return 0;
}

static void unmap_views(uint64_t lo, uint64_t hi)
{
    for (unsigned d = 1; d < peet__domains.count; d++)
        map_raw((uint64_t)peet__view(d, lo), hi - lo, PROT_NONE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Windows: what a view has room for; [lo, hi) of main memory's addresses. */
#define WINDOWS_MAX 16
static struct window {
    uint64_t lo, hi;
} windows[WINDOWS_MAX];
static unsigned nwindows;

static int in_window(uint64_t lo, uint64_t hi)
{
    for (unsigned i = 0; i < nwindows; i++)
        if (windows[i].lo <= lo && hi <= windows[i].hi)
            return 1;
    return 0;
}

int peet__in_view(uint64_t address)
{
    return address < LOWEST || in_window(address, address + 1);
}

__attribute__((noreturn)) static void no_room(uint64_t lo, uint64_t hi)
{
    peet__die(1, "%u views of memory leave no room for another %lu MiB at 0x%lx: ask for fewer consistency domains",
        peet__domains.count, (hi - lo) >> 20, lo);
}

static int is_zero(const uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n / 8; i++)
        if (words[i])
            return 0;
    return 1;
}

/* What is there goes into the memory file.  Nothing of ours may be stored between this and the mapping that follows it:
 * this code may be about the C library's data, the running thread's, or our own. */
static int save(int fd, uint64_t lo, uint64_t hi)
{
    for (uint64_t at = lo; at < hi;) {
        uint64_t n = hi - at < CHUNK ? hi - at : CHUNK;
        if (!is_zero((const uint64_t *)at, n) &&
            peet__raw_syscall(SYS_pwrite64, fd, (long)at, (long)n, (long)at, 0, 0) != (long)n)
            return -1;
        at += n;
    }
    return 0;
}

/* Main memory that is there already moves into the memory file, in place. */
static int convert(const struct mapping *m, enum peet_domain_class class)
{
    struct peet__domains *v = &peet__domains;
    struct peet__region r = {m->lo, m->hi, (uint8_t)class, (uint8_t)m->prot, 0};
    int readable = m->prot & PROT_READ;
    if (!in_window(m->lo, m->hi))
        return 0;
    if (readable && save(v->fd, m->lo, m->hi) != 0)
        return -1;
    /* What cannot be written stays where it is, too: its bytes are the same. */
    if (m->prot & PROT_WRITE &&
        failed(map_raw(m->lo, m->hi - m->lo, m->prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, v->fd, m->lo)))
        return -1;
    if (map_views(m->lo, m->hi, m->prot, class, v->fd, m->lo) != 0)
        return -1;
    region_set(r);
    return 0;
}

int peet__domain_added(uint64_t lo, uint64_t hi, int prot, enum peet_domain_class class)
{
    struct peet__domains *v = &peet__domains;
    if (!peet__domains_on())
        return 0;
    if (!in_window(lo, hi))
        no_room(lo, hi);
    if (failed(map_raw(lo, hi - lo, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, v->fd, lo)) ||
        map_views(lo, hi, prot, class, v->fd, lo) != 0) {
        errno = ENOMEM;
        return -1;
    }
    region_set((struct peet__region){lo, hi, (uint8_t)class, (uint8_t)prot, 0});
    return 0;
}

/* The bytes of a file, privately: they move into the memory file. */
static int load(uint64_t lo, uint64_t hi, int fd, uint64_t offset)
{
    static uint8_t buffer[CHUNK];
    for (uint64_t at = lo; at < hi;) {
        long got = peet__raw_syscall(SYS_pread64, fd, (long)buffer, CHUNK < hi - at ? CHUNK : hi - at,
            (long)(offset + (at - lo)), 0, 0);
        if (got <= 0)
            return (int)got;
        if (peet__raw_syscall(SYS_pwrite64, peet__domains.fd, (long)buffer, got, (long)at, 0, 0) != got)
            return -1;
        at += (uint64_t)got;
    }
    return 0;
}

int peet__domain_mapped(uint64_t lo, uint64_t hi, int prot, int flags, int fd, int64_t offset)
{
    struct peet__domains *v = &peet__domains;
    if (!peet__domains_on())
        return 0;
    if (!in_window(lo, hi))
        no_room(lo, hi);
    peet__domain_unmapped(lo, hi); /* what was there, if it was put over something */
    if (flags & MAP_ANONYMOUS)
        return peet__domain_added(lo, hi, prot, PEET_DOMAIN_SHARED);
    if ((flags & MAP_TYPE) == MAP_PRIVATE)
        return load(lo, hi, fd, (uint64_t)offset) != 0 ? -1 : peet__domain_added(lo, hi, prot, PEET_DOMAIN_SHARED);
    if (map_views(lo, hi, prot, PEET_DOMAIN_SHARED, fd, (uint64_t)offset) != 0)
        return -1;
    region_set((struct peet__region){lo, hi, PEET_DOMAIN_SHARED, (uint8_t)prot, 1});
    (void)v;
    return 0;
}

void peet__domain_unmapped(uint64_t lo, uint64_t hi)
{
    struct peet__domains *v = &peet__domains;
    if (!peet__domains_on())
        return;
    for (unsigned i = region_at(lo); i < v->nregions && v->regions[i].lo < hi; i++) {
        uint64_t from = v->regions[i].lo > lo ? v->regions[i].lo : lo,
                 to = v->regions[i].hi < hi ? v->regions[i].hi : hi;
        peet__pages_forget(from, to);
        unmap_views(from, to);
        if (!v->regions[i].file)
            peet__raw_syscall(SYS_fallocate, v->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)from,
                (long)(to - from), 0, 0);
    }
    region_clear(lo, hi);
}

void peet__domain_protected(uint64_t lo, uint64_t hi, int prot)
{
    struct peet__domains *v = &peet__domains;
    if (!peet__domains_on())
        return;
    region_cut(lo);
    region_cut(hi);
    for (unsigned i = region_at(lo); i < v->nregions && v->regions[i].lo < hi; i++) {
        struct peet__region *r = &v->regions[i];
        if (prot & PROT_WRITE && !(r->prot & PROT_WRITE) && !r->file) /* perhaps not in the memory file yet */
            map_raw(r->lo, r->hi - r->lo, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, v->fd, r->lo);
        r->prot = (uint8_t)prot;
        for (unsigned d = 1; d < v->count; d++)
            peet__raw_syscall(SYS_mprotect, (long)peet__view(d, r->lo), (long)(r->hi - r->lo), prot & ~PROT_EXEC, 0, 0,
                0);
    }
}

int peet__domain_discard(uint64_t lo, uint64_t hi)
{
    struct peet__domains *v = &peet__domains;
    const struct peet__region *r = peet__region_of(lo);
    if (!peet__domains_on() || !r || r->file || r->hi < hi)
        return -1;
    for (unsigned d = 1; d < v->count && r->class == PEET_DOMAIN_SHARED; d++)
        peet__raw_syscall(SYS_madvise, (long)peet__view(d, lo), (long)(hi - lo), MADV_DONTNEED, 0, 0, 0);
    peet__pages_forget(lo, hi);
    return failed(peet__raw_syscall(SYS_fallocate, v->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)lo,
               (long)(hi - lo), 0, 0))
        ? -1
        : 0;
}

void peet__domain_alias(uint64_t lo, uint64_t hi)
{
    struct peet__domains *v = &peet__domains;
    if (!peet__domains_on())
        return;
    lo &= ~(PEET__PAGE - 1);
    hi = (hi + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
    region_cut(lo);
    region_cut(hi);
    peet__pages_forget(lo, hi);
    for (unsigned i = region_at(lo); i < v->nregions && v->regions[i].lo < hi; i++) {
        struct peet__region *r = &v->regions[i];
        if (r->class != PEET_DOMAIN_SHARED || r->file)
            continue;
        r->class = PEET_DOMAIN_ALIAS;
        map_views(r->lo, r->hi, r->prot, PEET_DOMAIN_ALIAS, v->fd, r->lo);
    }
}

/* -------------------------------------------------------------------------------------------------- the beginning */

/* Places in the address space that are taken, in order. */
static struct window *taken;
static unsigned ntaken, taken_room;

static void take(uint64_t lo, uint64_t hi)
{
    unsigned i = ntaken;
    if (ntaken == taken_room)
        peet__die(1, "views of memory: more mappings than can be counted");
    while (i > 0 && taken[i - 1].lo > lo) {
        taken[i] = taken[i - 1];
        i--;
    }
    taken[i] = (struct window){lo, hi};
    ntaken++;
}

/* By how much a window must move up to be clear of what is taken; 0: it is clear. */
static uint64_t obstacle(uint64_t lo, uint64_t hi)
{
    uint64_t move = 0;
    for (unsigned i = 0; i < ntaken && taken[i].lo < hi; i++)
        if (taken[i].hi > lo && taken[i].hi - lo > move)
            move = taken[i].hi - lo;
    return move;
}

/* The least offset from `from` on at which all windows are free. */
static int find_offset(uint64_t from, int64_t *out)
{
    const uint64_t step = 2ul << 20;
    uint64_t top = 0;
    for (unsigned i = 0; i < nwindows; i++)
        top = windows[i].hi > top ? windows[i].hi : top;
    for (uint64_t offset = (from + step - 1) & -step; top + offset <= CANONICAL_END;) {
        /* a pointer to nothing must not lead anywhere */
        uint64_t move = obstacle(offset, offset + LOWEST);
        for (unsigned i = 0; i < nwindows && !move; i++)
            move = obstacle(windows[i].lo + offset, windows[i].hi + offset);
        if (!move) {
            *out = (int64_t)offset;
            return 0;
        }
        offset += (move + step - 1) & -step;
    }
    return -1;
}

static void window(uint64_t lo, uint64_t hi)
{
    for (unsigned i = 0; i < nwindows; i++)
        if (lo <= windows[i].hi + (1ul << 30) && hi + (1ul << 30) >= windows[i].lo) {
            windows[i].lo = lo < windows[i].lo ? lo : windows[i].lo;
            windows[i].hi = hi > windows[i].hi ? hi : windows[i].hi;
            return;
        }
    if (nwindows == WINDOWS_MAX)
        return;
    windows[nwindows++] = (struct window){lo, hi};
}

static int in_layout(uint64_t lo)
{
    return (lo >= PEET__ARGS_ARRAYS && lo < PEET__HEAP_TABLES) || (lo >= PEET__HEAP_BASE && lo < PEET__HEAP_END) ||
        (lo >= PEET__BRK_BASE && lo < PEET__MAPS_END);
}

/* Room that each view has: so much of each range. */
static void make_windows(uint64_t share)
{
#define UPTO(base, end) window(base, (base) + share < (end) ? (base) + share : (end))
    nwindows = 0;
    window(PEET__ARGS_ARRAYS, PEET__ENV_STRINGS + 4 * PEET__GIB);
    window(peet__rt.main_ctx.stack.guard_lo, PEET__MAIN_STACK_TOP);
    UPTO(PEET__STACKS_BASE, PEET__STACKS_END);
    UPTO(PEET__HEAP_BASE, PEET__HEAP_END);
    UPTO(PEET__BRK_BASE, PEET__BRK_BASE + 32 * PEET__GIB);
    UPTO(PEET__MAPS_BASE, PEET__MAPS_END);
    UPTO(PEET__LIBRARIES_BASE, PEET__LIBRARIES_BASE + PEET__LIBRARIES_BYTES);
    for (unsigned i = 0; i < subject.n; i++) {
        const struct mapping *m = &subject.v[i];
        if (m->own || in_layout(m->lo) || m->lo == PEET_CONTROL_ADDRESS || m->hi > CANONICAL_END)
            continue;
        window(m->lo, m->hi);
    }
    /* libraries loaded later come near those that are there */
    for (unsigned i = 0; i < nwindows; i++)
        if (!in_layout(windows[i].lo) && windows[i].lo > 1ul << 40) {
            windows[i].lo -= 1ul << 30;
            windows[i].hi = windows[i].hi + (8ul << 30) < CANONICAL_END ? windows[i].hi + (8ul << 30) : CANONICAL_END;
        }
}

/* Offsets at which n views of all windows are clear of everything. */
static int find_offsets(unsigned n)
{
    struct mappings now = read_mappings();
    uint64_t from = 0;
    taken_room = now.n + (n + 1) * (WINDOWS_MAX + 1) + 16;
    taken = peet__domain_memory(taken_room * sizeof *taken);
    ntaken = 0;
    for (unsigned i = 0; i < now.n; i++)
        take(now.v[i].lo, now.v[i].hi);
    take(PEET__HEAP_TABLES, PEET__HEAP_TABLES + 16 * PEET__GIB); /* which come with the first block */
    for (unsigned i = 0; i < nwindows; i++)                      /* main memory's own room to grow */
        take(windows[i].lo, windows[i].hi);
    peet__domain_memory_free(now.v, 65536 * sizeof *now.v);
    int none = 0;
    for (unsigned d = 1; d < n && !none; d++) {
        none = find_offset(from, &peet__domains.offset[d]) != 0;
        from = (uint64_t)peet__domains.offset[d];
        take(from, from + LOWEST);
        for (unsigned i = 0; i < nwindows; i++) {
            uint64_t lo = (uint64_t)peet__view(d, windows[i].lo);
            take(lo, lo + windows[i].hi - windows[i].lo);
        }
    }
    peet__domain_memory_free(taken, taken_room * sizeof *taken);
    return none ? -1 : 0;
}

/* The less room each view has, the more fit. */
static int place_views(unsigned n)
{
    uint64_t share = 2048 * PEET__GIB;
    for (;; share /= 2) {
        make_windows(share);
        if (find_offsets(n) == 0)
            break;
        if (share <= 4 * PEET__GIB)
            return -1;
    }
    for (unsigned d = 1; d < n; d++)
        for (unsigned i = 0; i < nwindows; i++) {
            uint64_t lo = (uint64_t)peet__view(d, windows[i].lo), bytes = windows[i].hi - windows[i].lo;
            if (failed(map_raw(lo, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                    -1, 0)))
                return -1;
        }
    return 0;
}

/* Are these addresses of an object whose references go to views?  Then its data are shared. */
struct object_question {
    uint64_t address;
    int recorded;
};

static int ask_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object_question *q = arg;
    (void)size;
    for (unsigned p = 0; p < info->dlpi_phnum; p++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[p];
        uint64_t lo = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && q->address >= (lo & ~(PEET__PAGE - 1)) && q->address < lo + ph->p_memsz) {
            q->recorded = peet__object_is_viewed(info);
            return 1;
        }
    }
    return 0;
}

static enum peet_domain_class class_of(const struct mapping *m)
{
    struct object_question q = {m->lo, 0};
    if ((m->lo >= PEET__HEAP_BASE && m->lo < PEET__HEAP_END) || (m->lo >= PEET__BRK_BASE && m->lo < PEET__MAPS_END))
        return PEET_DOMAIN_SHARED;
    if (in_layout(m->lo) || !(m->prot & PROT_WRITE))
        return PEET_DOMAIN_ALIAS;
    dl_iterate_phdr(ask_object, &q);
    return q.recorded ? PEET_DOMAIN_SHARED : PEET_DOMAIN_ALIAS;
}

/* The parts of a mapping that are the subject's: those in its ranges, and those that were there before the host. */
static int convert_mapping(const struct mapping *m)
{
    uint64_t ring = (uint64_t)peet__ctl->scratch_begin;
    if (m->own || m->lo >= CANONICAL_END || (m->lo >= PEET__HEAP_TABLES && m->lo < PEET__HEAP_BASE) ||
        m->lo == PEET_CONTROL_ADDRESS ||
        (ring >= m->lo && ring < m->hi && m->hi - m->lo <= PEET__SCRATCH_BYTES + PEET__SCRATCH_SLACK_BYTES))
        return 0;
    if (in_layout(m->lo)) {
        struct mapping part = *m;
        if (part.lo == peet__rt.main_ctx.stack.guard_lo) /* stays, and cannot be read */
            part.lo += PEET__MAIN_GUARD_BYTES;
        /* Those of stacks that threads of constructors have stay, too. */
        for (; part.lo < m->hi; part.lo = part.hi + PEET__GUARD_BYTES) {
            part.hi = part.lo >= PEET__STACKS_BASE && part.lo < PEET__STACKS_END ? peet__stack_guard_in(part.lo, m->hi)
                                                                                 : m->hi;
            if (part.lo < part.hi && convert(&part, class_of(&part)) != 0)
                return -1;
        }
        return 0;
    }
    for (unsigned i = 0; i < subject.n; i++) {
        struct mapping part = *m;
        part.lo = subject.v[i].lo > m->lo ? subject.v[i].lo : m->lo;
        part.hi = subject.v[i].hi < m->hi ? subject.v[i].hi : m->hi;
        if (part.lo >= part.hi || subject.v[i].own)
            continue;
        if (convert(&part, class_of(&part)) != 0)
            return -1;
    }
    return 0;
}

int peet__domain_file(void)
{
    int fd = (int)peet__raw_syscall(SYS_memfd_create, (long)"peet-memory", MFD_CLOEXEC, 0, 0, 0, 0);
    if (fd < 0)
        return -1;
    /* out of the subject's way, who may count on low numbers */
    int high = (int)peet__raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900, 0, 0, 0);
    if (high >= 0) {
        peet__raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
        fd = high;
    }
    return failed(peet__raw_syscall(SYS_ftruncate, fd, (long)(1ul << 47), 0, 0, 0, 0)) ? -1 : fd;
}

static int heap_added(uint64_t lo, uint64_t hi)
{
    return peet__domain_added(lo, hi, PROT_READ | PROT_WRITE, PEET_DOMAIN_SHARED);
}

static int rescan_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct mappings *now = arg;
    uint64_t lo = UINT64_MAX, hi = 0;
    (void)size;
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_LOAD) {
            uint64_t begin = (info->dlpi_addr + info->dlpi_phdr[p].p_vaddr) & ~(PEET__PAGE - 1),
                     end = begin + info->dlpi_phdr[p].p_memsz + PEET__PAGE;
            lo = begin < lo ? begin : lo;
            hi = end > hi ? end : hi;
        }
    for (unsigned i = 0; i < known.n; i++)
        if (known.v[i].lo <= lo && lo < known.v[i].hi)
            return 0; /* the host's, or one that has views */
    for (unsigned i = 0; i < now->n; i++) {
        const struct mapping *m = &now->v[i];
        if (m->lo < lo || m->lo >= hi || peet__region_of(m->lo))
            continue;
        if (!in_window(m->lo, m->hi))
            no_room(m->lo, m->hi);
        if (convert(m, class_of(m)) != 0)
            peet__die(1, "views of memory: a library's memory at 0x%lx cannot be moved into a memory file", m->lo);
    }
    return 0;
}

/* Regions of objects that have gone go with them: what comes to their place is mapped anew. */
static void forget_gone(const struct mappings *now)
{
    struct peet__domains *v = &peet__domains;
    for (unsigned i = v->nregions; i-- > 0;) {
        uint64_t lo = v->regions[i].lo, hi = v->regions[i].hi;
        int there = in_layout(lo);
        for (unsigned k = 0; k < now->n && !there; k++)
            there = now->v[k].lo <= lo && lo < now->v[k].hi;
        if (!there)
            peet__domain_unmapped(lo, hi);
    }
}

void peet__domains_rescan(void)
{
    struct mappings now = read_mappings();
    forget_gone(&now);
    dl_iterate_phdr(rescan_object, &now);
    peet__domain_memory_free(now.v, 65536 * sizeof *now.v);
}

PUBLIC int peet_domains_begin(unsigned n, unsigned flags, const char **out_why)
{
    struct peet__domains *v = &peet__domains;
    const char *unused;
    out_why = out_why ? out_why : &unused;
    if (n == 0 || n > PEET_DOMAINS_MAX || v->count > 1) {
        *out_why = "there can be 1 to 64 views of memory, made once";
        return PEET_EINVALID;
    }
    if (n > 1 && !subject.n) {
        *out_why =
            "the program was not compiled with -fpeet-domains: its references cannot go to other views of memory";
        return PEET_EUNSUPPORTED;
    }
    v->flags = flags;
    v->all = n == PEET_DOMAINS_MAX ? ~1ul : ((1ul << n) - 1) & ~1ul;
    if (n == 1)
        return 0;
    *out_why = "the address space has no room above the program and its libraries for so many views of memory";
    v->fd = peet__domain_file();
    if (v->fd < 0)
        *out_why = "the kernel gives no memory file (memfd_create)";
    if (v->fd < 0 || place_views(n) != 0)
        return PEET_ENOMEM;
    v->count = n;
    struct mappings now = read_mappings();
    for (unsigned i = 0; i < now.n; i++)
        if (convert_mapping(&now.v[i]) != 0)
            peet__die(1, "views of memory: memory at 0x%lx cannot be moved into a memory file", now.v[i].lo);
    known = now;
    peet__heap_added = heap_added;
    peet__heap_discard = peet__domain_discard;
    return 0;
}

PUBLIC unsigned peet_domains_count(void)
{
    return peet__domains.count > 1 ? peet__domains.count : 1;
}

PUBLIC int peet_rt_has_views(void)
{
    return peet__domains.count > 1;
}

PUBLIC void peet_rt_same_in_views(void *pages, size_t bytes)
{
    peet__domain_alias((uint64_t)pages, (uint64_t)pages + bytes);
}
